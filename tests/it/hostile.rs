//! Texts of strangers on a terminal: `tests/hostile/strings.yaml` at every place from which a text
//! reaches the output, and what the terminal got. docs/measurements/hostile-input.md has the numbers.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests run the program; the table is for docs/measurements"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use proptest::prelude::*;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// Stands before each text, so that it is seen that the text was shown at all.
const MARK: &str = "MARK";

#[derive(Deserialize)]
struct Hostile {
    id: String,
    value: String,
    one_line: bool,
    hidden: Vec<u32>,
}

#[derive(Deserialize)]
struct Word {
    id: String,
    value: String,
}

#[derive(Deserialize)]
struct Bytes {
    id: String,
    hex: String,
}

fn rows<T: for<'de> Deserialize<'de>>(name: &str) -> Vec<T> {
    serde_yaml::from_str(&fs::read_to_string(format!("{ROOT}/tests/hostile/{name}.yaml")).unwrap()).unwrap()
}

static STRINGS: LazyLock<Vec<Hostile>> = LazyLock::new(|| rows("strings"));
static HIDDEN: LazyLock<BTreeSet<char>> = LazyLock::new(|| {
    let points = STRINGS.iter().flat_map(|one| &one.hidden).filter(|&&point| point != 10);
    points.filter_map(|&point| char::from_u32(point)).collect()
});

/// The texts behind [`MARK`], without those that a place cannot hold.
fn texts(fits: impl Fn(&str) -> bool) -> Vec<String> {
    STRINGS.iter().filter(|one| fits(&one.value)).map(|one| format!("{MARK}{}", one.value)).collect()
}

pub(crate) fn envdoc(arguments: &[&str], dir: &Path) -> Command {
    let program = std::env::var("ENVDOC_HOSTILE_PROGRAM");
    let mut command = Command::new(program.as_deref().unwrap_or(env!("CARGO_BIN_EXE_envdoc")));
    command.args(arguments).current_dir(dir).env("ENVDOC_CATALOG_DIR", "").env("TERM", "xterm-256color");
    for name in ["NO_COLOR", "CI", "DOCKER_HOST", "ENVDOC_IGNORE", "ENVDOC_LINT_IGNORE"] {
        command.env_remove(name);
    }
    command
}

/// Everything that a program writes to the terminal that it runs on, which has that many columns.
pub(crate) fn on_terminal(mut command: Command, columns: Option<u16>) -> Vec<u8> {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let other = fs::OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    if let Some(ws_col) = columns {
        let size = rustix::termios::Winsize { ws_row: 40, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&other, size).unwrap();
    }
    command.stdin(Stdio::null()).stdout(other.try_clone().unwrap()).stderr(other);
    let mut child = command.spawn().unwrap();
    // It holds the other side of the terminal.
    drop(command);
    let mut output = Vec::new();
    // The last writer's end is an error of the reader.
    let _ = fs::File::from(terminal).read_to_end(&mut output);
    child.wait().unwrap();
    output
}

/// What reached the terminal of a source: characters that it acts on, and lines that a name began.
#[derive(Default)]
struct Reached {
    shown: usize,
    characters: BTreeSet<char>,
    lines: BTreeSet<String>,
    no_text: usize,
}

impl Reached {
    fn add(&mut self, output: &[u8]) {
        static COLOUR: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"\x1b\[(?:(?:[0-4]|3[1-79]|9[0-7])(?:;|m))*").unwrap());
        let Ok(text) = std::str::from_utf8(output) else {
            self.no_text += 1;
            return;
        };
        let text = text.replace("\r\n", "\n");
        let plain = COLOUR.replace_all(&text, "");
        self.shown += plain.matches(MARK).count();
        self.characters.extend(plain.chars().filter(|c| HIDDEN.contains(c)));
        for one in STRINGS.iter().filter(|one| one.one_line) {
            let rest = one.value.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).skip(1);
            // An indented line continues the one above it.
            for forged in rest.filter(|rest| rest.trim().len() > 5 && !rest.starts_with(' ')) {
                if plain.lines().any(|line| line.starts_with(forged)) {
                    self.lines.insert(format!("{}: {forged:?}", one.id));
                }
            }
        }
    }
}

/// Answers every request with what `reply` says to its path.
fn serve(stream: impl Read + Write, reply: &impl Fn(&str) -> (u16, Value)) {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    let mut line = String::new();
    if reader.read_line(&mut first).is_err() {
        return;
    }
    while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
        line.clear();
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    let (status, body) = reply(path);
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\nApi-Version: 1.45\r\n\
         Docker-Experimental: false\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let _ = reader.into_inner().write_all(head.as_bytes());
}

fn json_file(dir: &Path, name: &str, value: &Value) -> String {
    let path = dir.join(name);
    // ASCII alone: YAML lets few other characters stand in a file.
    let mut text = String::new();
    for c in value.to_string().chars() {
        match c.is_ascii() && c != '\x7f' {
            true => text.push(c),
            false if name.ends_with(".yaml") => text += &format!("\\U{:08x}", u32::from(c)),
            false => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text += &format!("\\u{unit:04x}")),
        }
    }
    fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

/// Files of these names, each with `end` behind it.
fn names_of_files(dir: &Path, end: &str, content: &str) -> usize {
    let names = texts(|text| !text.contains(['/', '\0']) && text.len() < 200);
    for name in &names {
        let path = dir.join(format!("{name}{end}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    names.len()
}

/// Runs the sources of one name and reports what reached the terminal.
fn judge(source: &str, commands: impl IntoIterator<Item = Command>) -> Option<String> {
    let mut reached = Reached::default();
    let mut last = Vec::new();
    for command in commands {
        last = on_terminal(command, None);
        reached.add(&last);
    }
    let Reached { shown, characters, lines, no_text } = reached;
    println!(
        "| {source} | {shown} | {} of {} | {} | {no_text} |",
        characters.len(),
        HIDDEN.len(),
        lines.len()
    );
    assert!(shown > 0, "{source}: nothing was shown: {}", String::from_utf8_lossy(&last));
    let clean = characters.is_empty() && lines.is_empty() && no_text == 0;
    (!clean).then(|| format!("{source}: {characters:?} lines {lines:?} not UTF-8 {no_text}"))
}

#[test]
fn untrusted_text_is_escaped_on_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let dir = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let mut wrong: Vec<String> = Vec::new();

    let files = dir("dockerfiles");
    assert!(names_of_files(&files, "/Dockerfile", "FROM ubuntu:24.04\nENV NCCL_DEBUG=LOUD\n") > 200);
    wrong.extend(judge("lint: names of files", [envdoc(&["lint", "."], &files)]));

    let one_line = |text: &str| !text.contains(['\n', '\r', '\0']);
    let lines: String = texts(|text| one_line(text) && !text.contains(['"', '\\', '$']))
        .iter()
        .map(|text| format!("ENV NCCL_DEBUG=\"{text}\"\n"))
        .collect();
    let text = dir("dockerfile");
    fs::write(text.join("Dockerfile"), format!("FROM ubuntu:24.04\n{lines}")).unwrap();
    wrong.extend(judge("lint: values of a Dockerfile", [envdoc(&["lint", "Dockerfile"], &text)]));

    let services: serde_json::Map<String, Value> =
        texts(|text| !text.contains(['{', '%']) && text.len() < 150)
            .into_iter()
            .map(|text| (text.clone(), json!({"image": "ubuntu", "environment": {"NCCL_DEBUG": text}})))
            .collect();
    let compose = dir("compose");
    json_file(&compose, "compose.yaml", &json!({"services": services}));
    wrong.extend(judge("lint: services of a compose file", [envdoc(&["lint", "compose.yaml"], &compose)]));

    let logs = dir("log");
    let log: String =
        texts(|_| true).iter().map(|text| format!("ImportError: libfoo.so.1: {text}\nplain\n")).collect();
    fs::write(logs.join("job.log"), log).unwrap();
    let raw: Vec<u8> = rows::<Bytes>("bytes")
        .iter()
        .flat_map(|row| {
            let digits = row.hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
            let bytes = digits.map(|pair| u8::from_str_radix(pair, 16).unwrap());
            [format!("ImportError: {MARK} {} ", row.id).into_bytes(), bytes.collect(), b"\n".to_vec()]
                .concat()
        })
        .collect();
    fs::write(logs.join("bytes.log"), raw).unwrap();
    wrong.extend(judge(
        "diagnose: lines of a log",
        [
            envdoc(&["diagnose", "job.log", "--timeline", "--verbose"], &logs),
            envdoc(&["diagnose", "bytes.log", "--timeline", "--verbose"], &logs),
            envdoc(&["diagnose", "job.log", "--format", "markdown"], &logs),
        ],
    ));

    let many = dir("logs");
    names_of_files(&many, ".log", "RuntimeError: CUDA error: out of memory\n");
    let each = fs::read_dir(&many).unwrap().map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        envdoc(&["diagnose", &name], &many)
    });
    wrong.extend(judge("diagnose: names of files", each));

    let own = dir("own");
    let files = texts(|text| !text.contains('\0'));
    let checks: String = (0..files.len())
        .map(|at| format!("[[check]]\nname = 'c{at}'\ncommand = ['sh', '-c', 'cat {at}; exit 1']\n"))
        .collect();
    for (at, text) in files.iter().enumerate() {
        fs::write(own.join(at.to_string()), text).unwrap();
    }
    fs::write(own.join("envdoc.toml"), checks).unwrap();
    let state = |mut command: Command| {
        command.env("XDG_STATE_HOME", &own);
        command
    };
    assert!(state(envdoc(&["trust"], &own)).output().unwrap().status.success());
    let check = ["check", "--only", "own", "--verbose", "--format"];
    let commands = ["text", "markdown", "github", "json"];
    let commands = commands.map(|format| state(envdoc(&[&check[..], &[format]].concat(), &own)));
    wrong.extend(judge("check: output of own checks", commands));

    let here = dir("here");
    let commands: [&[&str]; 6] = [
        &["lint", ""],
        &["diagnose", ""],
        &["resolve", "--torch", ""],
        &["explain", ""],
        &["check", "--from", ""],
        &["check", "--only", ""],
    ];
    let arguments = texts(|text| !text.contains('\0') && text.len() < 2000);
    let with = |(at, text): (usize, &String)| {
        let words: Vec<&str> = commands[at % commands.len()]
            .iter()
            .map(|word| if word.is_empty() { text.as_str() } else { *word })
            .collect();
        envdoc(&words, &here)
    };
    wrong.extend(judge("arguments", arguments.iter().enumerate().map(with)));

    let requests = texts(|_| true).into_iter().enumerate().map(|(at, text)| {
        let value = match at % 3 {
            0 => json!({text: "x"}),
            1 => json!({"python": text}),
            _ => json!({"torch": "2.9", "base_image": text}),
        };
        let path = json_file(&here, "request.yaml", &value);
        envdoc(&["render", "dockerfile", "--request", &path], &here)
    });
    wrong.extend(judge("render: keys and values of a request", requests));

    let clusters = texts(|_| true).into_iter().enumerate().map(|(at, text)| {
        let value = match at % 3 {
            0 => json!({"name": text}),
            1 => json!({"nodes": [{"name": text, "address": "10.0.0.1"}]}),
            _ => json!({"name": "x", "image": "x", "nodes": [{"name": "a", "address": text}]}),
        };
        let path = json_file(&here, "cluster.yaml", &value);
        envdoc(&["cluster", "render", "-f", &path, "-o", "rendered"], &here)
    });
    wrong.extend(judge("cluster render: keys and values", clusters));

    // Many in one value each: a reading is one text.
    let spread = |fits: &dyn Fn(&str) -> bool| -> Vec<String> {
        texts(|text| fits(text) && text.len() < 400).chunks(40).map(|some| some.join(" ")).collect()
    };
    let server = envdoc(&["snapshot", "--no-redact"], &here).output().unwrap();
    let server: Value = serde_json::from_slice(&server.stdout).unwrap();
    let snapshots = spread(&one_line).into_iter().map(|text| {
        let mut one = server.clone();
        let readings = one["readings"].as_object_mut().unwrap();
        let release = format!("PRETTY_NAME=\"{}\"\nID={text}\nVERSION_ID={text}\n", text.replace('"', ""));
        let daemon = json!({ &text: text }).to_string();
        let environment = format!("NCCL_DEBUG={text}\nUSER={text}\nVIRTUAL_ENV=/{text}\nCUDA_HOME=/{text}\n");
        readings.insert("read /etc/os-release".into(), json!({ "text": release }));
        readings.insert("environment".into(), json!({ "text": environment }));
        readings.insert("read /proc/sys/kernel/osrelease".into(), json!({ "text": text.clone() }));
        readings.insert("read /etc/docker/daemon.json".into(), json!({"text": daemon}));
        let path = json_file(&here, "snapshot.json", &one);
        envdoc(&["check", "--verbose", "--from", &path], &here)
    });
    wrong.extend(judge("check: a snapshot", snapshots));

    let all = spread(&|_| true);
    let answered = std::thread::scope(|scope| {
        let path = here.join("engine.sock");
        let engine = UnixListener::bind(&path).unwrap();
        let registry = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = registry.local_addr().unwrap().port();
        let text = all.join(" ");
        let reply = move |path: &str| match path {
            _ if path.ends_with("/version") => (
                200,
                json!({"Version": text, "ApiVersion": "1.45", "Os": "linux",
                "Arch": text, "KernelVersion": text, "MinAPIVersion": "1.24"}),
            ),
            _ if path.ends_with("/info") => (
                200,
                json!({"ServerVersion": text, "Name": text, "ID": text,
                "Warnings": [text], "DefaultRuntime": text, "Runtimes": {&text: {"path": text}},
                "OperatingSystem": text, "CgroupDriver": text, "Driver": text, "Swarm": {"Error": text},
                "SecurityOptions": [text], "Labels": [text], "DockerRootDir": text}),
            ),
            _ if path.ends_with("/_ping") => (200, json!("OK")),
            _ if path.ends_with("/v2/") => (200, json!({})),
            _ if path.contains("/history") => (200, json!([])),
            _ if path.contains("/images/") => (
                200,
                json!({"Id": "sha256:00", "Architecture": text, "Os": text,
                "Config": {"Env": [format!("NCCL_DEBUG={text}"), text], "Labels": {&text: text},
                    "User": text},
                "RootFS": {"Type": "layers", "Layers": []}, "RepoTags": [text], "Size": 1}),
            ),
            _ => (400, json!({"message": text, "errors": [{"code": "DENIED", "message": text}]})),
        };
        let other = reply.clone();
        scope.spawn(move || {
            for stream in engine.incoming().map_while(Result::ok) {
                if fs::exists(path.with_extension("end")).unwrap() {
                    break;
                }
                serve(stream, &reply);
            }
        });
        scope.spawn(move || {
            // `inspect` asks for the manifest and gets the reason.
            for stream in registry.incoming().map_while(Result::ok).take(1) {
                serve(stream, &other);
            }
        });
        let host = format!("unix://{}", here.join("engine.sock").display());
        let asking = |words: &[&str]| {
            let mut command = envdoc(words, &here);
            command.env("DOCKER_HOST", &host);
            command
        };
        let image = format!("127.0.0.1:{port}/a/b:1");
        let wrong = judge(
            "engine and registry",
            [
                asking(&["check", "--only", "docker", "--verbose"]),
                asking(&["inspect", "local/image:1", "--verbose"]),
                asking(&["diagnose", "--container", "name"]),
                envdoc(&["inspect", &image, "--remote", "--plain-http"], &here),
            ],
        );
        fs::write(here.join("engine.end"), "").unwrap();
        let _ = std::os::unix::net::UnixStream::connect(here.join("engine.sock"));
        let _ = std::net::TcpStream::connect(("127.0.0.1", port));
        wrong
    });
    wrong.extend(answered);

    let bin = dir("bin");
    fs::write(bin.join("said"), all.join("\n")).unwrap();
    // What the machine prints comes on standard error; ssh's own messages go into the file of `-E`.
    let script = "#!/bin/sh\nsaid=${0%/*}/said\ncat \"$said\" >&2\nwhile [ $# -gt 1 ]; do\n  \
                  [ \"$1\" != -E ] || cat \"$said\" >\"$2\"\n  shift\ndone\nexit 255\n";
    fs::write(bin.join("ssh"), script).unwrap();
    fs::set_permissions(bin.join("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(format!("{ROOT}/compose/two-node/cluster.yaml"), bin.join("cluster.yaml")).unwrap();
    let mut ssh = envdoc(&["cluster", "status", "-f", "cluster.yaml"], &bin);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    ssh.env("PATH", path);
    wrong.extend(judge("ssh", [ssh]));

    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_shell_reads_every_value_back() {
    let empty = tempfile::tempdir().unwrap();
    for Word { id, value } in rows::<Word>("shell") {
        for word in [diagnostic::shell::quoted(&value), diagnostic::shell::word(&value).into_owned()] {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(format!("set -- {word}; printf '%s,%s' $# \"$1\""));
            let output = shell.current_dir(empty.path()).env("HOME", empty.path()).output().unwrap();
            let read = String::from_utf8(output.stdout).unwrap();
            let expected = format!("1,{value}");
            // `$(…)` loses line ends at the end.
            assert_eq!(read.trim_end_matches('\n'), expected.trim_end_matches('\n'), "{id}: {word}");
        }
        assert!(!diagnostic::shell::word(&value).contains(diagnostic::visible::is_hidden), "{id}");
    }
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0, "a value was executed");
}

fn printed(word: &str) -> String {
    let script = format!("printf %s {word}");
    let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

const CHARACTERS: &str = "[ -~\u{1}-\u{1f}\u{7f}-\u{ff}\u{202e}$`'\"\\\\;&|\n]{0,24}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_shell_reads_any_value_back(text in CHARACTERS) {
        prop_assert_eq!(printed(&diagnostic::shell::quoted(&text)), text.as_str());
        prop_assert_eq!(printed(&diagnostic::shell::word(&text)), text.trim_end_matches('\n'));
        prop_assert!(!diagnostic::shell::word(&text).contains(diagnostic::visible::is_hidden));
    }
}
