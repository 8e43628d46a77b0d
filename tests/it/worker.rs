//! `envdoc worker` as a program of its own, and as the bundle that is brought into containers.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::process::Stdio;
use std::time::{Duration, Instant};

use cluster::smoke::rank_task;
use cluster::worker::session::Session;
use cluster::worker::{Answer, Expected, Failure, Task, Why};
use tokio::process::{Child, Command};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const SOON: Duration = Duration::from_secs(10);

async fn start(command: &[&str]) -> (Child, Result<Session, cluster::Error>) {
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

    let (listener, listening) =
        one.start(Task::ListenTcp { address: Some(LOOPBACK), port: 0 }, SOON).await.unwrap();
    let Answer::Listening { port } = listening else { panic!("{listening:?}") };
    let connect = Task::ConnectTcp { address: "127.0.0.1".into(), port, expected: Expected::Worker };
    let Answer::Connected { greeting, .. } = two.ask(connect.clone(), SOON).await.unwrap() else {
        panic!("not connected")
    };
    assert_eq!(greeting, Some(one.hello.nonce.clone()));
    // Whoever has not the secret of the run gets no answer.
    let mut stranger = std::net::TcpStream::connect((LOOPBACK, port)).unwrap();
    stranger.write_all(b"envdoc-worker\n").unwrap();
    let mut heard = Vec::new();
    let _ = stranger.read_to_end(&mut heard);
    assert_eq!(heard, b"");
    // The secret is in no argument and in no environment of the worker.
    let of = |file: &str| std::fs::read(format!("/proc/{}/{file}", first.id().unwrap())).unwrap();
    let long = |byte: &[u8]| byte.len() >= 64 && byte.iter().all(u8::is_ascii_hexdigit);
    let words = [of("cmdline"), of("environ")].concat();
    assert!(!words.split(|byte| b"\0= ".contains(byte)).any(long));
    assert_eq!(one.ask(Task::Stop { listener }, SOON).await, Ok(Answer::Stopped));
    let refused = two.ask(connect, SOON).await;
    assert!(matches!(refused, Err(Failure { why: Why::Refused, .. })), "{refused:?}");

    // Many at once, and a deadline that one of them does not keep: the address is for documentation, nobody
    // has it.
    let started = Instant::now();
    let nobody = Task::ConnectTcp { address: "192.0.2.1".into(), port: 9, expected: Expected::Nothing };
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

/// The most memory that a process has had, in bytes.
fn peak(child: &Child) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id().unwrap())).unwrap();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap();
    peak.trim().parse::<usize>().unwrap() << 10
}

#[tokio::test]
async fn a_rank_needs_its_data_and_less_than_8_mib_more() {
    const DATA: usize = 32 << 20;
    let program = env!("CARGO_BIN_EXE_envdoc");
    let ranks = [start(&[program, "worker"]).await, start(&[program, "worker"]).await];
    let sessions = [0, 1].map(|rank: usize| ranks[rank].1.as_ref().unwrap());
    let ask = |rank: usize, task: rank_task::Task| async move {
        sessions[rank].ask_custom(&task, Duration::from_secs(60)).await.unwrap()
    };
    let mut ports = [0; 2];
    for (rank, port) in ports.iter_mut().enumerate() {
        let answer = ask(rank, rank_task::Task::Listen { address: Some(LOOPBACK) }).await;
        let rank_task::Answer::Listening { port: own } = answer else { panic!("{answer:?}") };
        *port = own;
    }
    let join = |number: usize| rank_task::Task::Join {
        run: "memory".into(),
        own: sessions[number].hello.nonce.clone(),
        left: sessions[1 - number].hello.nonce.clone(),
        number,
        world: 2,
        address: "127.0.0.1".parse().unwrap(),
        port: ports[1 - number],
        stall: 20.0,
    };
    let both = tokio::join!(ask(0, join(0)), ask(1, join(1)));
    assert!(matches!(both, (rank_task::Answer::Joined { .. }, rank_task::Answer::Joined { .. })), "{both:?}");
    let before = [peak(&ranks[0].0), peak(&ranks[1].0)];
    let reduce =
        || rank_task::Task::AllReduce { elements: DATA / 4, warmup: 0, iterations: 2, corrupt: None };
    let both = tokio::join!(ask(0, reduce()), ask(1, reduce()));
    for (answer, ((child, _), before)) in [both.0, both.1].iter().zip(ranks.iter().zip(before)) {
        assert!(matches!(answer, rank_task::Answer::Reduced { wrong: 0, .. }), "{answer:?}");
        let more = peak(child) - before;
        assert!((DATA..=DATA + (8 << 20)).contains(&more), "{more} bytes for {DATA}");
    }
}

#[tokio::test]
async fn output_of_a_program_that_is_not_a_worker_is_reported() {
    let (_child, session) = start(&["sh", "-c", "echo no such program; exit 127"]).await;
    assert_eq!(session.err().map(|error| error.to_string()).as_deref(), Some("no such program"));
}

#[tokio::test]
async fn the_bundle_of_this_test_has_a_loader_and_a_c_library() {
    let bundle = cluster::worker::bundle::Bundle::make().unwrap();
    let folder = tempfile::tempdir().unwrap();
    tar::Archive::new(bundle.tar.as_slice()).unpack(folder.path()).unwrap();
    let command = bundle.command(folder.path().to_str().unwrap(), &["--list"]);
    // The program that runs is this test, which lists itself when it is started by the bundle's own loader.
    let output = std::process::Command::new(&command[0]).args(&command[1..]).env_clear().output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("the_bundle_of_this_test"), "{command:?}: {output:?}");
}

/// The terminal signals the whole process group of the command.
#[test]
fn an_interruption_reaches_the_ranks_through_envdoc_alone() {
    use std::os::unix::process::CommandExt;
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_envdoc"));
    command.args(["smoke", "--local", "--sizes", "8", "--pause", "rendezvous:3", "--output"]).arg(&report);
    let mut child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let ranks = crate::processes::started(&child, "envdoc", 2);
    let group = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::INT).unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{stderr}");
    assert!(stderr.contains("interrupted; all ranks were stopped"), "{stderr}");
    assert!(!report.exists(), "no verdict was reached");
    for rank in ranks {
        assert_ne!(rank.group, child.id(), "the terminal would signal the rank too");
        assert!(crate::processes::ends(rank.process), "{rank:?}");
    }
}
