//! An entrypoint script that never runs the command.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::start;
use crate::read::script::{ShellFunction, functions};
use crate::rule::{Found, Judge, Rule, Severity, with};

pub(crate) const RULE: Rule = Rule {
    id: "command-dropped",
    severity: Severity::Warning,
    summary: "an entrypoint script runs the command that it gets",
    explain: include_str!("command_dropped.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        with(
            "FROM python:3.12-slim\nCOPY entrypoint.sh /entrypoint.sh\nENTRYPOINT [\"/entrypoint.sh\"]\nCMD \
             [\"python\", \"train.py\"]\n",
            &[("entrypoint.sh", "#!/bin/bash\nset -e\n/usr/sbin/sshd\necho ready\n")],
        ),
        with(
            "FROM python:3.12-slim\nCOPY entrypoint.sh /entrypoint.sh\nENTRYPOINT [\"/entrypoint.sh\"]\nCMD \
             [\"uvicorn\", \"serve:app\"]\n",
            &[(
                "entrypoint.sh",
                "#!/bin/bash\n# Gets things ready. Starts the command.\nset -e\nlog() { printf '%s\\n' \
                 \"$*\" \
                 >&2; }\nmkdir -p /hf\nlog \"command: $*\"\necho \"done\"\n",
            )],
        ),
    ],
    silent: &[
        with(
            "FROM python:3.12-slim\nCOPY entrypoint.sh /entrypoint.sh\nENTRYPOINT [\"/entrypoint.sh\"]\nCMD \
             [\"uvicorn\", \"serve:app\"]\n",
            &[(
                "entrypoint.sh",
                "#!/bin/bash\nlog() { echo \"$*\"; }\nrun() {\n  echo \"$*\"\n  \"$@\"\n}\nlog start\nrun \
                 \"$@\"\n",
            )],
        ),
        with(
            "FROM python:3.12-slim\nCOPY entrypoint.sh /entrypoint.sh\nENTRYPOINT [\"/entrypoint.sh\"]\nCMD \
             [\"serve\"]\n",
            &[(
                "entrypoint.sh",
                "#!/bin/bash\necho \"mode $1\"\ncase \"$1\" in serve) uvicorn a:b ;; esac\n",
            )],
        ),
        with(
            "FROM python:3.12-slim\nCOPY entrypoint.sh /entrypoint.sh\nENTRYPOINT [\"/entrypoint.sh\"]\nCMD \
             [\"serve\"]\n",
            &[("entrypoint.sh", "#!/bin/bash\necho \"$*\" > /run/command\nexec /opt/start\n")],
        ),
        with(
            "FROM python:3.12-slim\nCOPY entrypoint.sh /entrypoint.sh\nENTRYPOINT [\"/entrypoint.sh\"]\nCMD \
             [\"python\", \"train.py\"]\n",
            &[("entrypoint.sh", "#!/bin/bash\nset -e\n/usr/sbin/sshd\nexec \"$@\"\n")],
        ),
        with(
            "FROM python:3.12-slim\nCOPY entrypoint.sh /entrypoint.sh\nENTRYPOINT [\"/entrypoint.sh\"]\n",
            &[("entrypoint.sh", "#!/bin/bash\npython train.py\n")],
        ),
    ],
};

/// What a script writes for its arguments.
const ARGUMENTS: &[&str] = &[
    "$@",
    "${@",
    "$*",
    "${*",
    "$1",
    "${1",
    "$2",
    "$#",
    "${#",
    "shift",
    "getopts",
    "BASH_ARGV",
    "source ",
    ". ",
];

/// What only prints: in a function, or by itself.
const PRINTS: &[&str] = &["echo", "printf", "local", "return", "date"];

/// A script without its comments, the functions that only print, and the lines that only print, also with
/// such a function: `log "command: $*"` runs nothing.
fn without_messages(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let of = |one: &ShellFunction| one.lines.clone().filter_map(|line| lines.get(line - 1).copied());
    let printers: Vec<ShellFunction> = functions(text)
        .into_iter()
        .filter(|one| {
            let body = of(one).collect::<Vec<_>>().join("\n");
            let body = body.split_once('{').map_or("", |(_, rest)| rest);
            let mut parts = body.split([';', '\n']).map(|part| part.trim().trim_end_matches('}').trim());
            parts.all(|part| part.is_empty() || PRINTS.iter().any(|name| is_of(part, name)))
        })
        .collect();
    let kept = lines.iter().enumerate().filter(|(index, line)| {
        let line = line.trim();
        let plain = !line.contains(['|', ';', '`']) && !line.contains("$(") && !line.contains("&&");
        let names = PRINTS.iter().copied().chain(printers.iter().map(|one| one.name.as_str()));
        let prints = plain && !line.ends_with('\\') && names.into_iter().any(|name| is_of(line, name));
        let inside = printers.iter().any(|one| one.lines.contains(&(index + 1)));
        !line.starts_with('#') && !prints && !inside
    });
    kept.map(|(_, line)| *line).collect::<Vec<_>>().join("\n")
}

/// Whether a text is a command of a program, without an expansion that runs another one or a file it writes.
fn is_of(text: &str, program: &str) -> bool {
    let rest = text.strip_prefix(program);
    let plain = !text.contains("$(") && !text.contains('`') && !text.replace(">&2", "").contains('>');
    plain && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

fn judge(file: &Dockerfile) -> Vec<Found> {
    let (Some(entry), Some(command)) = (start::entrypoint(file), start::command(file)) else {
        return Vec::new();
    };
    let words = entry.json.as_deref().unwrap_or_default();
    let script = match words {
        [script] => script,
        [shell, script] if matches!(shell.rsplit('/').next(), Some("bash" | "sh")) => script,
        _ => return Vec::new(),
    };
    let Some(end) = file.stages.last().map(|stage| &stage.end) else { return Vec::new() };
    let text = file.text_at(end, script).map(|(_, text)| text);
    let shell =
        |text: &&str| text.lines().next().is_some_and(|line| line.starts_with("#!") && line.contains("sh"));
    let Some(text) = text.filter(shell) else { return Vec::new() };
    let text = without_messages(text);
    if ARGUMENTS.iter().any(|word| text.contains(word)) || !script.ends_with(".sh") {
        return Vec::new();
    }
    let message = format!(
        "{script} never runs its arguments, so that CMD in line {} has no effect, nor has a command of \
         docker run",
        command.line
    );
    vec![Found::warning(entry.line, message, "End the script with `exec \"$@\"`, or remove CMD")]
}
