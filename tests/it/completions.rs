//! Completions and man pages, in the shells and readers that use them: a terminal, typed keys, Tab.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests run shells and the program")]

use std::fs;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::judge;

const ENVDOC: &str = env!("CARGO_BIN_EXE_envdoc");
/// What every shell is given; `\t` is Tab. All of them have one candidate.
const LINES: &[(&str, &[&str])] = &[
    ("envdoc explain driver-library-m\t", &["envdoc", "explain", "driver-library-mismatch"]),
    ("envdoc explain mem-kernel\t", &["envdoc", "explain", "mem-kernel-oom-kill"]),
    ("envdoc lint --only cache-left\t", &["envdoc", "lint", "--only", "cache-left-in-layer"]),
    ("envdoc resolve --preset fine\t", &["envdoc", "resolve", "--preset", "finetune"]),
    ("envdoc resolve --gpu h100,gh20\t", &["envdoc", "resolve", "--gpu", "h100,gh200"]),
    ("envdoc resolve --gpu=gh20\t", &["envdoc", "resolve", "--gpu=gh200"]),
    ("envdoc check --only=driver,toolk\t", &["envdoc", "check", "--only=driver,toolkit"]),
    ("envdoc inspect nvidia/c\t", &["envdoc", "inspect", "nvidia/cuda:"]),
    (
        "envdoc inspect nvidia/cuda:12.4.1-base-ubuntu22\t",
        &["envdoc", "inspect", "nvidia/cuda:12.4.1-base-ubuntu22.04"],
    ),
    ("envdoc check --from 'a fi\t", &["envdoc", "check", "--from", "a file.json"]),
    ("envdoc check --from a\\ fi\t", &["envdoc", "check", "--from", "a file.json"]),
    (
        "envdoc check --fail-on nev\t--form\t js\t",
        &["envdoc", "check", "--fail-on", "never", "--format", "json"],
    ),
    ("envdoc cluster rot\t", &["envdoc", "cluster", "rotate-keys"]),
];

/// A shell on a terminal of its own.
struct Shell {
    keyboard: File,
    screen: std::sync::mpsc::Receiver<Vec<u8>>,
    seen: String,
    child: std::process::Child,
}

impl Shell {
    fn start(program: &Path, arguments: &[&str], home: &Path) -> Shell {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let size = rustix::termios::Winsize { ws_row: 40, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&terminal, size).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let other = fs::OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        // A shell that reads keys wants the terminal to be its own.
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(program).args(arguments).current_dir(home);
        command.env_clear().env("HOME", home).env("TERM", "xterm").env("LANG", "C.UTF-8");
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("ENVDOC_CATALOG_DIR", "");
        command.stdin(other.try_clone().unwrap()).stdout(other.try_clone().unwrap()).stderr(other);
        let child = command.spawn().unwrap();
        drop(command);
        let keyboard = File::from(terminal);
        let mut reader = keyboard.try_clone().unwrap();
        let (sender, screen) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Shell { keyboard, screen, seen: String::new(), child }
    }

    /// Types keys, and returns what the shell printed until a line that begins with DONE.
    fn types(&mut self, keys: &str) -> String {
        self.seen.clear();
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while !self.seen.contains("\nDONE") {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.screen.recv_timeout(left) else {
                panic!("{keys:?} brought no answer:\n{}", self.seen);
            };
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        self.seen.clone()
    }

    /// The words of the command line that the keys make.
    fn words(&mut self, keys: &str) -> Vec<String> {
        // To the beginning of the line, where the name of the function that shows the words is put.
        let shown = self.types(&format!("{keys}\u{1}show \r"));
        let (_, shown) = shown.rsplit_once("SHOWN<").unwrap();
        let words = shown.split('<').filter_map(|part| part.split_once('>'));
        words.map(|(word, _)| word.to_owned()).collect()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The script of a shell, in a home that also has a file to complete.
fn home(shell: &str) -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("a file.json"), "{}").unwrap();
    let output = Command::new(ENVDOC).args(["completions", shell]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let script = home.path().join("_envdoc");
    fs::write(&script, output.stdout).unwrap();
    (home, script)
}

fn every_line_completes(shell: &mut Shell) {
    for (keys, expected) in LINES {
        let words = shell.words(keys);
        assert_eq!(&words, expected, "{keys:?}:\n{}", shell.seen);
    }
}

const SHOW: &str = "show() { printf 'SHOWN'; printf '<%s>' \"$@\"; printf '\\nDO%s\\n' NE; }";

#[test]
fn bash_completes_on_tab() {
    let (home, script) = home("bash");
    let mut shell = Shell::start(Path::new("bash"), &["--norc", "--noprofile", "-i"], home.path());
    shell.types(&format!("{SHOW}; source {}; printf '\\nDO%s\\n' NE\r", script.display()));
    every_line_completes(&mut shell);
}

/// Sourced by a startup file, and as a file in fpath, where the first Tab loads it.
#[test]
fn zsh_completes_on_tab() {
    let Some(zsh) = judge::find("zsh", "ENVDOC_ZSH", "apt-get install zsh") else { return };
    for load in ["autoload -Uz compinit; compinit -u -D; source", "true"] {
        let (home, script) = home("zsh");
        let mut shell = Shell::start(&zsh, &["-f", "-i"], home.path());
        let folder = home.path().display();
        let load = match load {
            "true" => format!("fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D"),
            load => format!("{load} {}", script.display()),
        };
        shell.types(&format!("PS1='%% '; bindkey -e; {load}; {SHOW}; printf '\\nDO%s\\n' NE\r"));
        every_line_completes(&mut shell);
    }
}

#[test]
fn fish_completes_on_tab() {
    let Some(fish) = judge::find("fish", "ENVDOC_FISH", "apt-get install fish") else { return };
    let (home, script) = home("fish");
    let mut shell = Shell::start(&fish, &["--no-config", "-i"], home.path());
    let show = "function show; printf 'SHOWN'; printf '<%s>' $argv; printf '\\nDO%s\\n' NE; end";
    shell.types(&format!("{show}; source {}; printf '\\nDO%s\\n' NE\r", script.display()));
    every_line_completes(&mut shell);
}

#[test]
fn own_checks_complete() {
    let home = tempfile::tempdir().unwrap();
    let completed = |words: &[&str], no_config: &str| {
        let mut command = Command::new(ENVDOC);
        command.args(["complete", "--index", &words.len().to_string(), "--", "envdoc"]).args(words);
        command.current_dir(home.path()).env_remove("ENVDOC_CONFIG").env("ENVDOC_NO_CONFIG", no_config);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let complete = |word: &str| completed(&["check", "--only", word], "");
    assert_eq!(complete("own"), "");
    let settings = home.path().join("envdoc.toml");
    fs::write(&settings, "[[check]]\nname = 'scratch'\ncommand = 'mountpoint /scratch'\n").unwrap();
    assert_eq!(complete("own"), "own\tOwn checks\nown:scratch\town check: mountpoint /scratch\n");
    assert_eq!(completed(&["explain", "own:"], ""), "own:scratch\town check: mountpoint /scratch\n");
    // The variable as the option reads it.
    for (value, on) in [("0", false), ("false", false), ("1", true)] {
        assert_eq!(completed(&["check", "--only", "own"], value).is_empty(), on, "{value}");
    }
    let secrets = "TOKEN=hunter2 curl https://u:secretpw@h/x";
    fs::write(&settings, format!("[[check]]\nname = 'scratch'\ncommand = '{secrets}'\n")).unwrap();
    for words in [&["check", "--only", "own"][..], &["explain", "own:"]] {
        let shown = completed(words, "");
        let hidden = !shown.contains("hunter2") && !shown.contains("secretpw");
        assert!(shown.contains("own:scratch\town check: ") && hidden, "{shown}");
    }
    fs::write(&settings, "[[check]]\nnaam = 'scratch'\n").unwrap();
    assert_eq!(complete("own"), "");
}

/// mandoc reports what is no valid man page; man, which is groff, what it cannot show.
#[test]
fn man_pages_are_valid() {
    let home = tempfile::tempdir().unwrap();
    let pages = home.path().join("man1");
    let made = Command::new(ENVDOC).arg("man").arg(&pages).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut files: Vec<PathBuf> = fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 20, "{files:?}");
    let no_text = Stdio::null;
    if let Some(mandoc) = judge::find("mandoc", "ENVDOC_MANDOC", "apt-get install mandoc") {
        let lint = Command::new(mandoc).args(["-T", "lint", "-W", "warning"]).args(&files).output().unwrap();
        assert!(lint.status.success(), "{}", String::from_utf8_lossy(&lint.stdout));
    }
    if let Some(man) = judge::find("man", "ENVDOC_MAN", "apt-get install man-db groff") {
        for file in &files {
            let mut command = Command::new(&man);
            command.args(["--warnings=all", "--local-file"]).arg(file).stdout(no_text());
            command.env("MANWIDTH", "100").env("MANROFFSEQ", "").env("LC_ALL", "C.UTF-8");
            let shown = command.output().unwrap();
            let warnings = String::from_utf8_lossy(&shown.stderr).into_owned();
            assert!(shown.status.success() && warnings.is_empty(), "{}: {warnings}", file.display());
        }
    }
}
