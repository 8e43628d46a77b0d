//! The worker itself: reads requests, does them, answers.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use super::custom::Program;
use super::{Answer, Failure, Hello, PROTOCOL, Reply, Request, Task, Why, digest, dns, interfaces, machine};
use super::{auth, mtu, tcp, udp};
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;

/// The longest that a task may take, in seconds: a day.
const TASK_LIMIT_SECONDS: f64 = 86_400.0;

/// How long tasks go on when standard input has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Works until standard input ends, or is silent for longer than `silence`. `programs` handle the custom
/// tasks.
pub fn serve(silence: Option<Duration>, programs: &'static [Program]) -> Result<(), Error> {
    let runtime = docker::runtime()
        .map_err(|error| Error::new(Kind::Network, format!("cannot start the async runtime: {error}")))?;
    let (sender, requests) = mpsc::unbounded_channel();
    // Reading from a pipe cannot be given up, so a thread does it, which the end of the process ends.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().split(b'\n') {
            let Ok(line) = line else { break };
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    runtime.block_on(work(
        requests,
        silence.unwrap_or(Duration::from_secs_f64(TASK_LIMIT_SECONDS)),
        programs,
    ));
    programs.iter().for_each(|program| (program.finish)());
    Ok(())
}

/// Removes the directory that the program was brought in. Running programs keep their files until they end.
pub fn remove(folder: &Path) -> Result<(), Error> {
    // Its caller may be faster.
    host::file::remove_directory(folder)
}

async fn work(
    mut requests: mpsc::UnboundedReceiver<Vec<u8>>,
    silence: Duration,
    programs: &'static [Program],
) {
    let nonce = machine::nonce();
    let hello = Hello { envdoc: env!("CARGO_PKG_VERSION").into(), protocol: PROTOCOL, nonce: nonce.clone() };
    reply(0, Answer::Hello(hello));
    let mut listeners: HashMap<u64, JoinHandle<()>> = HashMap::new();
    let mut tasks = JoinSet::new();
    while let Ok(Some(line)) = tokio::time::timeout(silence, requests.recv()).await {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let request: Request = match serde_json::from_slice(&line) {
            Ok(request) => request,
            Err(error) => {
                let id = serde_json::from_slice::<serde_json::Value>(&line)
                    .ok()
                    .and_then(|value| value.get("id")?.as_u64())
                    .unwrap_or(0);
                reply(id, failed(Why::NotUnderstood, error.to_string()));
                continue;
            }
        };
        if let Task::Secret { secret } = request.task {
            auth::keep(secret);
            continue;
        }
        if let Task::Stop { listener } = request.task {
            let stopped = match listeners.remove(&listener) {
                Some(task) if !task.is_finished() => {
                    task.abort();
                    // Until it has ended, its socket still takes connections.
                    let _ = task.await;
                    true
                }
                _ => false,
            };
            let answer = match stopped {
                true => Answer::Stopped,
                false => failed(Why::NotFound, format!("no listener {listener}")),
            };
            reply(request.id, answer);
            continue;
        }
        let listens = matches!(request.task, Task::ListenTcp { .. } | Task::ListenUdp { .. });
        let id = request.id;
        if listens {
            listeners.insert(id, tokio::spawn(one(request, nonce.clone(), programs)));
        } else {
            tasks.spawn(one(request, nonce.clone(), programs));
        }
        while tasks.try_join_next().is_some() {}
    }
    // What was asked last may be answered still.
    let answered = async { while tasks.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, answered).await;
    // Programs that a task still runs are killed with it.
    tasks.shutdown().await;
}

/// One task to its end or its deadline.
async fn one(request: Request, nonce: String, programs: &'static [Program]) {
    let Request { id, seconds, task } = request;
    if !(seconds > 0.0 && seconds <= TASK_LIMIT_SECONDS) {
        reply(id, failed(Why::NotUnderstood, format!("{seconds} is not a valid number of seconds")));
        return;
    }
    let listens = matches!(task, Task::ListenTcp { .. } | Task::ListenUdp { .. });
    let deadline = Duration::from_secs_f64(seconds);
    match tokio::time::timeout(deadline, answer(id, task, deadline, &nonce, programs)).await {
        Ok(answer) => reply(id, answer),
        // A listener that stood until its end has answered already.
        Err(_) if listens => {}
        Err(_) => reply(id, failed(Why::TimedOut, format!("timed out after {seconds} s"))),
    }
}

async fn answer(
    id: u64,
    task: Task,
    deadline: Duration,
    nonce: &str,
    programs: &'static [Program],
) -> Answer {
    let listening = |port| reply(id, Answer::Listening { port });
    match tried(task, deadline, nonce, programs, listening).await {
        Ok(answer) => answer,
        Err(failure) => Answer::Failed(failure),
    }
}

async fn tried(
    task: Task,
    deadline: Duration,
    nonce: &str,
    programs: &'static [Program],
    listening: impl Fn(u16),
) -> Result<Answer, Failure> {
    match task {
        Task::Resolve { name } => tcp::resolve(&name).await.map(|addresses| Answer::Resolved { addresses }),
        Task::ResolveAt { name, server } => dns::resolve(&name, server).await,
        Task::Interfaces => interfaces::all().map(|interfaces| Answer::Interfaces { interfaces }),
        Task::Route { address } => interfaces::route(address),
        Task::Routes => interfaces::routes(),
        Task::Neighbour { address } => interfaces::neighbour(address),
        Task::ListenTcp { address, port } => {
            tcp::listen((address, port), nonce, auth::own()?, listening).await
        }
        Task::ConnectTcp { address, port, expected } => {
            tcp::connect(&address, port, expected, auth::own().ok()).await
        }
        Task::ListenUdp { address, port } => {
            udp::listen((address, port), nonce, auth::own()?, listening).await
        }
        Task::SendUdp { address, port, size, dont_fragment } => {
            udp::send(&address, port, size, dont_fragment, auth::own()?).await
        }
        Task::PathMtu { address, port, largest } => mtu::search(&address, port, largest, auth::own()?).await,
        Task::Space { path } => machine::space(&path),
        Task::Clock => Ok(Answer::Clock { unix_seconds: machine::clock() }),
        Task::Identity => Ok(Answer::Identity(machine::identity())),
        Task::Digest { path, exclude } => digest::digest(path, exclude).await.map(Answer::Digest),
        Task::Custom { program, payload } => match programs.iter().find(|known| known.name == program) {
            Some(known) => (known.run)(payload, deadline).await.map(|payload| Answer::Custom { payload }),
            None => Err(Failure { why: Why::NotUnderstood, message: format!("unknown program {program:?}") }),
        },
        Task::Stop { .. } | Task::Secret { .. } => Ok(Answer::Stopped),
    }
}

fn failed(why: Why, message: String) -> Answer {
    Answer::Failed(Failure { why, message })
}

/// One line. Where nobody reads it any more, the end of standard input is near.
fn reply(id: u64, answer: Answer) {
    if let Ok(mut line) = serde_json::to_string(&Reply { id, answer }) {
        line.push('\n');
        let _ = terminal::print(&line);
    }
}
