//! Runs the command of an own check and judges how it ended.

use std::time::Instant;

use diagnostic::{Diagnostic, Fix, Missing, MissingKind, Verdict, terminal, visible};
use host::redact::hide_credentials;
use host::{Reading, process};

use super::{Command, OwnCheck};

/// Lines of output that become evidence.
const EVIDENCE_LINES: usize = 20;

pub(super) fn verdict(check: &OwnCheck) -> Verdict {
    let argv: Vec<&str> = match &check.command {
        Command::Arguments(words) => words.iter().map(String::as_str).collect(),
        Command::Shell(line) => vec!["sh", "-c", line],
    };
    let command = check.shown_command();
    match process::run_in(check.directory(), &argv, "", Instant::now() + check.timeout) {
        Reading::Ran { status: Some(0), .. } => Verdict::Pass,
        Reading::Ran { status: Some(1), stdout, stderr } => found(check, &command, &stdout, &stderr),
        Reading::Ran { status: Some(code), stdout, stderr } => {
            unknown(format!("`{command}` exited with {code}{}", said(&stdout, &stderr)))
        }
        Reading::Ran { status: None, stdout, stderr } => {
            unknown(format!("`{command}` was killed by a signal{}", said(&stdout, &stderr)))
        }
        Reading::Failed(why) if why.timed_out() => {
            let seconds = check.timeout.as_secs_f64();
            let detail = format!("`{command}` ran longer than {seconds} s and was stopped");
            Verdict::Unknown(Missing::new(why.kind, detail))
        }
        Reading::Failed(why) => Verdict::Unknown(why),
        Reading::Absent | Reading::Text(_) => unknown(format!("`{command}`: command not found")),
    }
}

fn unknown(detail: String) -> Verdict {
    Verdict::Unknown(Missing::new(MissingKind::Other, detail))
}

fn found(check: &OwnCheck, command: &str, stdout: &str, stderr: &str) -> Verdict {
    let message = first_line(stdout, stderr).unwrap_or_else(|| format!("`{command}` exited with 1"));
    let mut found = Diagnostic::new(check.severity, message).id(check.id());
    found.evidence.push(format!("`{command}` exited with 1"));
    let lines = [stdout, stderr].map(lines).into_iter().flatten();
    found.evidence.extend(lines.take(EVIDENCE_LINES));
    found.fixes.extend(check.hint.clone().map(Fix::manual));
    found.into()
}

/// What the command says of itself: `: no such table`.
fn said(stdout: &str, stderr: &str) -> String {
    first_line(stderr, stdout).map(|line| format!(": {line}")).unwrap_or_default()
}

/// The first line with text in it, of the second output where the first has none.
fn first_line(first: &str, second: &str) -> Option<String> {
    lines(first).chain(lines(second)).next()
}

/// The lines with text in them, without credentials and what a terminal acts on. Credentials are hidden
/// before a line is shortened: half of one is not recognized.
fn lines(output: &str) -> impl Iterator<Item = String> {
    let shown = |line: &str| {
        let plain = terminal::foreign(line);
        let plain = hide_credentials(plain.trim().to_owned());
        visible::line(&visible::shortened(&plain)).into_owned()
    };
    output.lines().map(shown).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests read and write files")]

    use super::*;
    use crate::own::OwnCheck;
    use crate::trust::{Distrust, Untrusted};
    use crate::{Origin, Settings};
    use std::path::Path;
    use std::time::Duration;

    fn check(directory: &Path, command: &str, more: &str) -> OwnCheck {
        let text = format!("[[check]]\nname = 'x'\ncommand = {command}\n{more}");
        let path = directory.join("envdoc.toml");
        let settings: Settings = crate::load::parse_as(&path, &text, None, false).unwrap();
        settings.checks.into_iter().next().unwrap()
    }

    fn of(command: &str, more: &str) -> Verdict {
        check(Path::new("/"), command, more).outcome().verdict
    }

    #[test]
    fn the_exit_code_decides() {
        assert_eq!(of("['true']", ""), Verdict::Pass);
        for (command, status, message) in [
            ("['false']", "error", "`false` exited with 1"),
            ("'echo no scratch; exit 1'", "error", "no scratch"),
            ("'echo >&2; echo no scratch >&2; exit 1'", "error", "no scratch"),
            ("'exit 2'", "unknown", "`exit 2` exited with 2"),
            ("'no-such-program-7'", "unknown", "`no-such-program-7` exited with 127: "),
            ("['no-such-program-7']", "unknown", "`no-such-program-7`: command not found"),
            ("['./no-such-program-7']", "unknown", "`./no-such-program-7`: command not found"),
            ("'kill -9 $$'", "unknown", "`kill -9 $$` was killed by a signal"),
            ("'yes'", "unknown", "`yes` ran longer"),
        ] {
            let verdict = of(command, "timeout = 0.2\n");
            let large = command == "'yes'" && verdict.message().contains("printed more than");
            let said = verdict.message().starts_with(message) || large;
            assert!(verdict.status() == status && said, "{command}: {verdict:?}");
        }
    }

    #[test]
    fn severity_hint_and_output_reach_the_finding() {
        let verdict = of("'seq 100; exit 1'", "severity = 'warning'\nhint = 'Mount /scratch.'\n");
        let found = verdict.found().unwrap();
        assert_eq!((found.severity.word(), found.message.as_str()), ("warning", "1"));
        assert_eq!(found.fixes[0].title, "Mount /scratch.");
        assert_eq!(found.evidence.len(), 1 + EVIDENCE_LINES);
        assert_eq!(found.id, "own:x");
    }

    #[test]
    fn output_is_bounded_and_has_no_terminal_sequences_and_no_passwords() {
        let long = "x".repeat(9000);
        let line =
            r"printf '\033[31mred\033[0m \033]0;title\007\r\n'; echo postgres://me:hunter2@db/x; exit 1";
        let verdict = of(&format!("\"\"\"{}\"\"\"", line.replace('\\', r"\\")), "");
        let text = format!("{verdict:?}");
        assert!(!text.contains("u{1b}") && !text.contains("x1b") && !text.contains("hunter2"), "{text}");
        assert!(verdict.message().starts_with("red"), "{text}");
        let verdict = of(&format!("'echo {long}; exit 1'"), "");
        assert!(verdict.message().len() < 2000, "{}", verdict.message().len());
        // The line is cut in the middle of the password.
        let (before, after) = ("x".repeat(980), "y".repeat(500));
        let verdict = of(&format!("'echo {before} postgres://me:hunter2@db/x {after}; exit 2'"), "");
        assert!(!verdict.message().contains("hunt"), "{verdict:?}");
    }

    #[test]
    fn a_command_that_cannot_start_keeps_the_kind_of_failure() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("tool.sh");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o644)).unwrap();
        let verdict = check(folder.path(), "['./tool.sh']", "").outcome().verdict;
        let Verdict::Unknown(why) = &verdict else { panic!("{verdict:?}") };
        assert_ne!(why.kind, MissingKind::Other, "{why:?}");
    }

    #[test]
    fn ids_of_own_checks_have_a_name() {
        use crate::own::name_of;
        assert_eq!(name_of("own:scratch-mounted"), Some("scratch-mounted"));
        for text in ["own", "own:", "own: no such device", "own:A", "own:-x", "owner:x", "gpu"] {
            assert_eq!(name_of(text), None, "{text}");
        }
    }

    #[test]
    fn an_untrusted_file_ignores_only_its_own_checks() {
        let text = "ignore = ['own']\n[[check]]\nname = 'x'\ncommand = 'true'\n";
        let file = |path: &str, why: Option<Distrust>| {
            let path = Path::new(path);
            let untrusted = why.map(|why| Untrusted { file: path.to_owned(), found: path.to_owned(), why });
            crate::load::parse_as(path, text, untrusted, false).unwrap()
        };
        let user = file("/home/envdoc.toml", None);
        let ignores = |ignoring: &Settings, of: &Settings| of.checks[0].is_ignored_by(&ignoring.ignores.0[0]);
        let cases = [(None, true), (Some(Distrust::Never), false), (Some(Distrust::Changed), false)];
        for (why, others) in cases {
            let project = file("/p/envdoc.toml", why);
            assert_eq!(ignores(&project, &user), others);
            assert!(ignores(&project, &project) && ignores(&user, &project));
        }
    }

    #[test]
    fn a_command_runs_in_the_directory_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("tool.sh");
        std::fs::write(&script, "#!/bin/sh\ntest -f marker\n").unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let of = |command: &str| check(folder.path(), command, "").outcome().verdict;
        assert_eq!(of("['./tool.sh']").status(), "error");
        std::fs::write(folder.path().join("marker"), "").unwrap();
        assert_eq!(of("['./tool.sh']"), Verdict::Pass);
        assert_eq!(of("'./tool.sh'"), Verdict::Pass);
    }

    /// Whether a process still runs; one that nobody has waited for does not.
    fn runs(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
    }

    #[test]
    fn the_timeout_ends_the_whole_process_group() {
        let folder = tempfile::tempdir().unwrap();
        let line = "'sleep 300 & echo $! > pid; wait'";
        let verdict = check(folder.path(), line, "timeout = 0.5\n").outcome().verdict;
        assert_eq!(verdict.status(), "unknown");
        assert!(verdict.message().ends_with("ran longer than 0.5 s and was stopped"), "{verdict:?}");
        let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
        let gone = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            !runs(pid.trim())
        });
        assert!(gone, "the child of the command still runs");
    }

    #[test]
    fn a_command_of_an_untrusted_file_does_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let mut check = check(folder.path(), "'touch ran'", "");
        let file = folder.path().join("envdoc.toml");
        assert_eq!(check.origin, Origin { file: file.clone(), line: 2 });
        check.untrusted = Some(Untrusted { file: file.clone(), found: file.clone(), why: Distrust::Never });
        let verdict = check.outcome().verdict;
        assert_eq!(verdict.status(), "unknown");
        let command = format!("`envdoc trust {}`", file.display());
        assert!(verdict.message().contains(&command), "{verdict:?}");
        assert!(!folder.path().join("ran").exists());
        check.untrusted = None;
        assert_eq!(check.outcome().verdict, Verdict::Pass);
        assert!(folder.path().join("ran").exists(), "the command works");
    }
}
