use super::super::messages::FAULTS;
use super::*;
use facts::docker::Endpoint;

fn address() -> SshAddress {
    Endpoint::from("ssh://root@127.0.0.1:2201").ssh().unwrap().clone()
}

#[test]
fn error_quotes_ssh_and_suggests_a_fix() {
    let unknown = from_messages(
        &address(),
        "No ED25519 host key is known for [127.0.0.1]:2201 and you have requested strict \
            checking.\r\nHost key verification failed.\r\n",
        "",
    );
    assert_eq!(
        unknown.message,
        "ssh: No ED25519 host key is known for [127.0.0.1]:2201 and you have requested strict checking."
    );
    assert!(unknown.fixes[0].commands == ["ssh -p 2201 root@127.0.0.1 true"]);
    let changed = from_messages(
        &address(),
        "@@@@@@@@@@@\r\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     \
            @\r\nSHA256:abc.\r\nOffending ED25519 key in /root/.ssh/known_hosts:3\r\nHost key \
            verification failed.\r\n",
        "",
    );
    assert!(
        changed
            .message
            .contains("has changed: Offending ED25519 key in /root/.ssh/known_hosts:3; it shows SHA256:abc")
    );
    assert!(changed.fixes[1].commands[0].contains("ssh-keygen -R '[127.0.0.1]:2201'"));
    let denied = from_messages(&address(), "root@127.0.0.1: Permission denied (publickey).\r\n", "");
    assert_eq!(denied.message, "ssh: root@127.0.0.1: Permission denied (publickey).");
}

#[test]
fn the_probe_finds_the_state_of_a_socket() {
    let folder = tempfile::tempdir().unwrap();
    let state = |name: &str| {
        let script = format!("s={}; {PROBE}", folder.path().join(name).display());
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        let ran = host::process::run_with_input(&["sh", "-c", &script], "", deadline);
        let host::Reading::Ran { stdout, .. } = ran else { panic!("{ran:?}") };
        SocketState::parse(&stdout).1
    };
    assert_eq!(state("none.sock"), SocketState::Absent);
    host::file::write(&folder.path().join("file"), "", false).unwrap();
    assert_eq!(state("file"), SocketState::NoSocket);
    let listener = std::os::unix::net::UnixListener::bind(folder.path().join("engine.sock")).unwrap();
    assert_eq!(state("engine.sock"), SocketState::Listening);
    drop(listener);
    assert_eq!(state("engine.sock"), SocketState::Silent);
}

#[test]
fn every_known_fault_has_a_fix() {
    for (words, fault) in FAULTS {
        let error = from_messages(&address(), &format!("ssh: {words} 10.0.0.1 port 22\n"), "");
        assert!(!error.fixes.is_empty(), "{fault:?}");
    }
    let slow = from_messages(&address(), "Connection timed out during banner exchange\n", "");
    assert_eq!(slow.fixes, Fault::NoBanner.fixes(&address()));
}

#[test]
fn error_describes_the_remote_socket_state() {
    let why = "channel 3: open failed: connect failed: open failed";
    let message = |probed| from_socket(&address(), why, probed).message;
    assert!(message(Some("ann\nabsent\n")).contains("does not exist"));
    assert!(message(Some("ann\nsocket\n")).contains("ann has no permission to use /var/run/docker.sock"));
    assert!(message(Some("ann\nsocket\nopen\n")).contains("no engine listens"));
    assert!(message(Some("ann\nsocket\nopen\nlistens\n")).contains("does not forward it"));
    assert!(message(Some("ann\n")).contains("not a socket"));
    assert!(message(None).contains(why));
}

#[test]
fn a_banner_is_never_the_reason() {
    let banner = "Debian GNU/Linux 12 \\n \\l\nPermission denied (to strangers). Sessions are timed out.\n";
    let message = |status, log, stdout| {
        let ended = Ended { status: Some(status), log, stderr: banner, stdout };
        let error = from_exit(&address(), ended);
        assert!(!error.message.contains("Debian") && !error.message.contains("strangers"), "{error:?}");
        assert!(error.fixes.iter().any(|fix| fix.to_string().to_lowercase().contains("ssh")), "{error:?}");
        error.message
    };
    let early = message(0, "", "");
    assert_eq!(
        early,
        "the login shell of root@127.0.0.1 ended with status 0 before it ran the command that envdoc sent"
    );
    let nologin = message(1, "", "This account is currently not available.\n");
    assert!(nologin.starts_with("root@127.0.0.1 has a login shell that allows no login"), "{nologin}");
    assert!(message(3, "", "maintenance\n").ends_with("; it printed: maintenance"));
    let denied = message(255, "root@127.0.0.1: Permission denied (publickey).\r\n", "");
    assert_eq!(denied, "ssh: root@127.0.0.1: Permission denied (publickey).");
}

#[test]
fn where_no_rule_knows_the_reason_the_last_line_is_shown_as_what_it_is() {
    let ended = |log, stderr| {
        let error = from_exit(&address(), Ended { status: Some(255), log, stderr, stdout: "" });
        assert!(error.fixes.iter().any(|fix| fix.to_string().to_lowercase().contains("ssh")), "{error:?}");
        error.message
    };
    assert_eq!(
        ended("", "motd\n\u{1b}[31mPAM: quota exceeded\u{7}\u{202e}\r\n\n"),
        "ssh -p 2201 root@127.0.0.1 ended with status 255 without a message of its own; last line on its \
         standard error: \"\\x1b[31mPAM: quota exceeded\\x07\\u202e\""
    );
    assert!(ended("", "\n").ends_with("ended with status 255 without a message of its own"));
    let closed = "Connection closed by UNKNOWN port 65535\r\n";
    let proxy = "/bin/sh: 1: exec: nc: not found\n";
    assert_eq!(
        ended(closed, proxy),
        "ssh: Connection closed by UNKNOWN port 65535; last line on its standard error: \"/bin/sh: 1: exec: \
         nc: not found\""
    );
    let closed = "kex_exchange_identification: Connection closed by remote host\r\n";
    assert!(
        ended(closed, proxy)
            .ends_with("remote host; last line on its standard error: \"/bin/sh: 1: exec: nc: not found\"")
    );
    let long = ended("", &"x".repeat(9000));
    assert!(long.len() < 400 && long.ends_with("x…\""), "{long}");
}

#[test]
fn an_output_that_floods_is_named() {
    let flooded = |output| flooded(&address(), output, 8 << 20);
    assert!(flooded(Output::Stdout).message.contains("printed more than 8 MiB before"));
    let error = flooded(Output::Stderr);
    assert!(error.message.contains("printed more than 8 MiB on standard error before"), "{error:?}");
    assert!(error.fixes[0].commands[0].contains("2>&1 >/dev/null"), "{error:?}");
}

#[test]
fn error_of_a_jump_host_is_reported() {
    let closed = "kex_exchange_identification: Connection closed by remote host\n";
    let jump = "Welcome to jump7\nssh: Could not resolve hostname jump8: Name or service not known\n";
    let error = from_messages(&address(), closed, jump);
    assert_eq!(error.message, "ssh: Could not resolve hostname jump8: Name or service not known");
    let error = from_messages(&address(), closed, "Connection refused by policy\n");
    assert!(error.message.contains("kex_exchange_identification"), "{error:?}");
}
