//! `envdoc worker` as a program of its own, and as the bundle that is brought into containers.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::process::Stdio;
use std::time::{Duration, Instant};

use envdoc::worker::session::Session;
use envdoc::worker::{Answer, Failure, GREETING, Task, Why};
use tokio::process::{Child, Command};

const SOON: Duration = Duration::from_secs(10);

async fn start(command: &[&str]) -> (Child, Result<Session, String>) {
    let mut child = Command::new(command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (reader, writer) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let session = Session::open(reader, writer, SOON).await;
    (child, session)
}

#[tokio::test]
async fn two_workers_reach_each_other_and_end_with_their_input() {
    let program = env!("CARGO_BIN_EXE_envdoc");
    let (mut first, one) = start(&[program, "worker"]).await;
    let (mut second, two) = start(&[program, "worker"]).await;
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_ne!(one.hello.nonce, two.hello.nonce);

    let (listener, listening) = one.start(Task::ListenTcp { port: 0 }, SOON).await.unwrap();
    let Answer::Listening { port } = listening else { panic!("{listening:?}") };
    let connect = Task::ConnectTcp { address: "127.0.0.1".into(), port, greeting: true };
    let Answer::Connected { greeting, .. } = two.ask(connect.clone(), SOON).await.unwrap() else {
        panic!("not connected")
    };
    assert_eq!(greeting, Some(format!("{GREETING} {}", one.hello.nonce)));
    assert_eq!(one.ask(Task::Stop { listener }, SOON).await, Ok(Answer::Stopped));
    let refused = two.ask(connect, SOON).await;
    assert!(matches!(refused, Err(Failure { why: Why::Refused, .. })), "{refused:?}");

    // Many at once, and a deadline that one of them does not keep: the address is for documentation, nobody has it.
    let started = Instant::now();
    let nobody = Task::ConnectTcp { address: "192.0.2.1".into(), port: 9, greeting: false };
    let (late, identity) = tokio::join!(
        one.ask(nobody, Duration::from_millis(500)),
        one.ask(Task::Identity, Duration::from_millis(500))
    );
    assert!(late.is_err() && started.elapsed() < Duration::from_secs(3), "{late:?}");
    assert!(matches!(identity, Ok(Answer::Identity(_))), "{identity:?}");

    one.close().await;
    drop(two);
    for child in [&mut first, &mut second] {
        let status =
            tokio::time::timeout(SOON, child.wait()).await.expect("it goes on without input").unwrap();
        assert!(status.success(), "{status}");
    }
}

#[tokio::test]
async fn what_comes_in_place_of_a_worker_is_told() {
    let (_child, session) = start(&["sh", "-c", "echo no such program; exit 127"]).await;
    assert_eq!(session.err().as_deref(), Some("no such program"));
}

#[tokio::test]
async fn the_bundle_of_this_test_has_a_loader_and_a_c_library() {
    let bundle = envdoc::worker::bundle::Bundle::make().unwrap();
    let folder = tempfile::tempdir().unwrap();
    tar::Archive::new(bundle.tar.as_slice()).unpack(folder.path()).unwrap();
    let command = bundle.command(folder.path().to_str().unwrap(), &["--list"]);
    // The program that runs is this test, which lists itself when it is started by the bundle's own loader.
    let output = std::process::Command::new(&command[0]).args(&command[1..]).env_clear().output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("the_bundle_of_this_test"), "{command:?}: {output:?}");
}
