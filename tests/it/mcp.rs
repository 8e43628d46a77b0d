//! `envdoc mcp` from outside: with the official Python client, and with clients that send anything.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests run the program")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::judge;

/// Longer than any session here; a server that is still there hangs.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_official_client_lists_calls_reads_and_cancels() {
    let install = "python3 -m venv target/mcp && target/mcp/bin/python -m pip install mcp";
    let Some(python) = judge::find("mcp-python", "ENVDOC_MCP_PYTHON", install) else { return };
    for mode in ["legacy", "auto"] {
        let output = Command::new(&python)
            .args(["tests/mcp/client.py", env!("CARGO_BIN_EXE_envdoc"), mode])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("ENVDOC_CATALOG_DIR", "")
            .env_remove("DOCKER_HOST")
            .output()
            .unwrap();
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && stdout.contains(" answers"), "{mode}: {stdout}\n{stderr}");
    }
}

struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start() -> Server {
        Server::with(&[])
    }

    fn with(variables: &[(&str, &str)]) -> Server {
        Server::spawn(&["mcp", "--no-config"], Path::new(env!("CARGO_MANIFEST_DIR")), variables)
    }

    fn spawn(arguments: &[&str], directory: &Path, variables: &[(&str, &str)]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_envdoc"))
            .args(arguments)
            .current_dir(directory)
            .env("ENVDOC_CATALOG_DIR", "")
            .env_remove("DOCKER_HOST")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Server { child, input, output }
    }

    fn send(&mut self, message: &Value) {
        self.input.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn initialized() -> Server {
        Server::start().begun()
    }

    fn begun(mut self) -> Server {
        let server = &mut self;
        server.send(&initialize());
        assert_eq!(server.receive()["result"]["serverInfo"]["name"], "envdoc");
        self
    }

    /// The exit code, what else was on standard output, and standard error.
    fn end(mut self) -> (Option<i32>, String, String) {
        drop(self.input.take());
        let start = Instant::now();
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => {
                    self.child.kill().unwrap();
                    panic!("the server hangs");
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (status.code(), rest, errors)
    }

    fn peak_mib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
    }
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}
    }})
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

#[test]
fn the_end_of_the_input_ends_the_session_with_0() {
    assert_eq!(Server::start().end(), (Some(0), String::new(), String::new()));
    let mut server = Server::initialized();
    server.send(&call(1, "explain", &json!({"text": "xid 79"})));
    let (code, rest, errors) = server.end();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    // The call that ran at the end has its answer, and nothing else is there.
    assert_eq!(rest.lines().count(), 1);
    let answer: Value = serde_json::from_str(&rest).unwrap();
    assert_eq!(answer["result"]["structuredContent"]["topic"], "failure");
}

#[test]
fn a_signal_ends_the_session_with_0() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let mut server = Server::initialized();
        // A call that reads the machine listens to Ctrl-C as well.
        server.send(&call(1, "check", &json!({"only": ["limits"], "timeout": 20})));
        server.receive();
        let pid = rustix::process::Pid::from_child(&server.child);
        let input = server.input.take();
        rustix::process::kill_process(pid, signal).unwrap();
        let (code, rest, _) = server.end();
        assert_eq!((code, rest.as_str()), (Some(0), ""), "{signal:?}");
        drop(input);
    }
}

#[test]
fn lines_of_any_length_take_little_memory() {
    let mut server = Server::initialized();
    let before = server.peak_mib();
    let mut input = server.input.take().unwrap();
    let writing = std::thread::spawn(move || {
        let part = vec![b'['; 1 << 20];
        for _ in 0..100 {
            input.write_all(&part).unwrap();
        }
        input.write_all(b"\n").unwrap();
        for _ in 0..2000 {
            input.write_all(&vec![b'['; 20_000]).unwrap();
            input.write_all(b"\n").unwrap();
        }
        input
    });
    for _ in 0..2001 {
        let answer = server.receive();
        assert!(answer["error"]["code"].is_i64(), "{answer}");
    }
    server.input = Some(writing.join().unwrap());
    server.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    assert_eq!(server.receive()["id"], 2);
    let after = server.peak_mib();
    assert!(after < before + 64, "{before} MiB, then {after} MiB");
    let (code, rest, errors) = server.end();
    assert_eq!((code, rest.as_str()), (Some(0), ""));
    assert!(errors.lines().count() <= 10, "{errors}");
}

/// Files that are the connection under other names.
#[test]
fn no_tool_reads_the_connection() {
    let mut server = Server::initialized();
    for (id, path) in (1..).zip(["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]) {
        for tool in ["lint", "diagnose"] {
            server.send(&call(id, tool, &json!({"paths": [path]})));
            let answer = server.receive();
            assert_eq!(answer["result"]["isError"], true, "{tool} {path}: {answer}");
        }
    }
    // Nor under the numbers that it has now. A server that reads it waits for ever.
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    let pid = rustix::process::Pid::from_child(&server.child);
    let watch = std::thread::spawn(move || {
        if waiting.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    });
    for number in 3..=9 {
        for path in [format!("/dev/fd/{number}"), format!("/proc/self/fd/{number}")] {
            for tool in ["lint", "diagnose"] {
                server.send(&call(number, tool, &json!({"paths": [path]})));
                let answer = server.receive();
                assert_eq!(answer["id"], number, "{tool} {path}: {answer}");
            }
        }
    }
    let (code, rest, _) = server.end();
    drop(done);
    watch.join().unwrap();
    assert_eq!((code, rest.as_str()), (Some(0), ""));
}

/// Variables with which settings files count.
fn variables(home: &str) -> [(&str, &str); 4] {
    [("HOME", home), ("XDG_CONFIG_HOME", ""), ("XDG_STATE_HOME", ""), ("ENVDOC_NO_CONFIG", "")]
}

/// Such an answer would look complete.
#[test]
fn a_call_of_which_nothing_or_a_part_can_run_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "ignore = ['base-image-missing']\n[[check]]\nname = 'z'\ncommand = 'true'\n";
    std::fs::write(folder.path().join("envdoc.toml"), settings).unwrap();
    std::fs::write(folder.path().join("Dockerfile"), "FROM python:3.12\n").unwrap();
    let variables = variables(folder.path().to_str().unwrap());
    let mut server = Server::spawn(&["mcp"], folder.path(), &variables).begun();
    for (tool, arguments, message) in [
        ("lint", json!({"paths": ["Dockerfile"], "only": ["base-image-missing"]}), "no rules left"),
        ("check", json!({"only": ["driver"], "ignore": ["driver"]}), "no checks left"),
        (
            "check",
            json!({"only": ["own", "driver"], "from": "m.json"}),
            "own checks run on this machine only",
        ),
    ] {
        server.send(&call(1, tool, &arguments));
        let answer = server.receive()["result"].clone();
        assert_eq!(answer["isError"], true, "{answer}");
        assert!(answer["content"][0]["text"].as_str().unwrap().contains(message), "{answer}");
    }
    assert_eq!(server.end().0, Some(0));
}

/// An agent must not take a check that did not run for one that passed.
#[test]
fn ignored_and_own_checks_are_in_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let settings = "ignore = ['driver-library-mismatch', 'base-image-missing']\n\
        [[check]]\nname = 'z'\ncommand = 'touch ran'\n";
    std::fs::write(project.join("envdoc.toml"), settings).unwrap();
    std::fs::write(project.join("Dockerfile"), "FROM python:3.12\n").unwrap();
    let home = folder.path().to_str().unwrap();
    let variables = variables(home);
    for trusted in [false, true] {
        if trusted {
            let trust = Command::new(env!("CARGO_BIN_EXE_envdoc"))
                .arg("trust")
                .current_dir(&project)
                .envs(variables)
                .env("ENVDOC_CATALOG_DIR", "")
                .output()
                .unwrap();
            assert!(trust.status.success(), "{}", String::from_utf8_lossy(&trust.stderr));
        }
        let mut server = Server::spawn(&["mcp"], &project, &variables).begun();
        server.send(&call(1, "check", &json!({"only": ["driver", "own"]})));
        let answer = server.receive()["result"].clone();
        let document = &answer["structuredContent"];
        let ignored = |id: &str| json!([{"id": id, "file": "envdoc.toml"}]);
        assert_eq!(document["ignored"], ignored("driver-library-mismatch"), "{answer}");
        let results = document["results"].as_array().unwrap();
        let own = results.iter().find(|one| one["check"] == "own:z").unwrap();
        assert_eq!(own["status"], "unknown");
        assert!(own["message"].as_str().unwrap().ends_with("run `envdoc check --only own:z`"), "{own}");
        assert!(results.iter().all(|one| one["check"] != "driver-library-mismatch"));
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("ignored by envdoc.toml: driver-library-mismatch"), "{text}");
        assert!(text.contains("own:z"), "{text}");
        server.send(&call(2, "lint", &json!({"paths": ["Dockerfile"]})));
        let answer = server.receive()["result"].clone();
        assert_eq!(answer["structuredContent"]["ignored"], ignored("base-image-missing"), "{answer}");
        assert!(answer["content"][0]["text"].as_str().unwrap().contains("ignored by envdoc.toml: base-"));
        assert_eq!(server.end().0, Some(0));
    }
    assert!(!project.join("ran").exists());
}

/// The user's settings file has the user's name in its path.
#[test]
fn answers_do_not_name_the_user_whose_settings_count() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    let home = folder.path().join("home/alice");
    let settings = home.join(".config/envdoc/envdoc.toml");
    for directory in [&project, settings.parent().unwrap()] {
        std::fs::create_dir_all(directory).unwrap();
    }
    std::fs::write(project.join("Dockerfile"), "FROM python:3.12\n").unwrap();
    std::fs::write(&settings, "ignore = ['driver-library-mismatch', 'base-image-missing']\n").unwrap();
    let variables = variables(home.to_str().unwrap());
    let mut server = Server::spawn(&["mcp"], &project, &variables).begun();
    let mut answer = |tool: &str, arguments: Value| {
        server.send(&call(1, tool, &arguments));
        server.receive()["result"].clone()
    };
    let file = "~/.config/envdoc/envdoc.toml";
    let by_user = |answer: &Value, is_error: bool| {
        assert_eq!(answer["isError"].as_bool().unwrap_or_default(), is_error, "{answer}");
        let shown = answer.to_string();
        assert!(shown.contains(file) && !shown.contains("alice"), "{shown}");
    };
    by_user(&answer("check", json!({"only": ["driver"]})), false);
    by_user(&answer("check", json!({"only": ["driver-library-mismatch"]})), true);
    by_user(&answer("lint", json!({"paths": ["Dockerfile"]})), false);
    by_user(&answer("lint", json!({"paths": ["Dockerfile"], "only": ["base-image-missing"]})), true);
    std::fs::write(&settings, "strict = 1\n").unwrap();
    for (tool, arguments, named) in [
        ("check", json!({"only": ["driver"]}), false),
        ("check", json!({"only": ["driver"], "redact": false}), true),
        ("lint", json!({"paths": ["Dockerfile"]}), false),
    ] {
        let shown = answer(tool, arguments).to_string();
        assert!(shown.contains("strict must be true or false"), "{shown}");
        assert_eq!(shown.contains("alice"), named, "{shown}");
    }
    assert_eq!(server.end().0, Some(0));
}

/// `DOCKER_HOST` is no argument of a call.
#[test]
fn no_engine_on_another_machine_is_asked() {
    let mut server = Server::with(&[("DOCKER_HOST", "tcp://192.0.2.1:2375")]);
    server.send(&initialize());
    server.receive();
    let start = Instant::now();
    server.send(&call(1, "snapshot", &json!({"redact": false, "timeout": 30, "max_bytes": 1 << 20})));
    let answer = server.receive();
    let readings = answer["result"]["structuredContent"]["readings"].as_object().unwrap();
    assert!(readings.keys().all(|asked| !asked.contains("192.0.2.1")), "{readings:?}");
    server.send(&call(2, "inspect", &json!({"image": "python:3.12"})));
    let answer = server.receive()["result"]["content"][0]["text"].to_string();
    assert!(answer.contains("tcp://192.0.2.1:2375 is not on this machine"), "{answer}");
    assert!(start.elapsed() < Duration::from_secs(30));
    server.end();
}

/// What tools/list costs a client: schemas of all answers included.
#[test]
fn the_list_of_tools_is_of_reasonable_size() {
    let mut server = Server::initialized();
    server.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let tools = server.receive()["result"]["tools"].as_array().unwrap().clone();
    let size = |key: &str| tools.iter().map(|tool| tool[key].to_string().len()).sum::<usize>();
    assert!(size("inputSchema") < 16 << 10, "{}", size("inputSchema"));
    assert!(size("outputSchema") < 64 << 10, "{}", size("outputSchema"));
    server.end();
}
