//! The caller's side of a worker: tasks to one stream, answers from another, many at once.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Answer, Failure, Hello, PROTOCOL, Reply, Request, Task, Why, auth};
use crate::Error;
use docker::EngineMessage;
use docker::exec::ExecId;

/// What the way there and back may take beyond the task's own deadline.
const ROUND_TRIP_SLACK: Duration = Duration::from_secs(5);
/// How often a sign of life is sent.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// Lines before the worker's own that are kept to tell what came in its place: an error of ssh, of the
/// loader.
const FOREIGN_OUTPUT_LIMIT_BYTES: usize = 2000;
/// The longest line that is read, in bytes: an answer, or a line that is not the worker's.
const ANSWER_LIMIT_BYTES: u64 = 64 << 20;

type Waiting = Arc<Mutex<Option<HashMap<u64, oneshot::Sender<Answer>>>>>;

type Writer = Arc<tokio::sync::Mutex<Box<dyn AsyncWrite + Send + Unpin>>>;

/// A worker that answered. Dropping it closes its standard input, and so ends it.
pub struct Session {
    writer: Writer,
    waiting: Waiting,
    next: AtomicU64,
    reader: JoinHandle<()>,
    alive: JoinHandle<()>,
    /// What it said of itself.
    pub hello: Hello,
    /// What its engine calls it, where one started it in a container.
    pub exec: Option<ExecId>,
}

impl Session {
    /// Waits for the worker's first line.
    pub async fn open(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        deadline: Duration,
    ) -> Result<Session, Error> {
        let mut lines = BufReader::new(reader);
        let hello = match tokio::time::timeout(deadline, hello(&mut lines)).await {
            Ok(hello) => hello?,
            Err(_) => {
                return Err(Error::TimedOut { what: "the worker did not start", after: deadline });
            }
        };
        let mut writer = writer;
        give_secret(&mut writer).await.map_err(|error| Error::WorkerPipe(error.to_string()))?;
        let waiting: Waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let reader = tokio::spawn(read(lines, Arc::clone(&waiting)));
        let writer: Writer = Arc::new(tokio::sync::Mutex::new(Box::new(writer)));
        let alive = tokio::spawn(sign_of_life(Arc::clone(&writer)));
        Ok(Session { writer, waiting, next: AtomicU64::new(1), reader, alive, hello, exec: None })
    }

    /// Does a task, which may take as long as `deadline`.
    pub async fn ask(&self, task: Task, deadline: Duration) -> Result<Answer, Failure> {
        self.start(task, deadline).await.map(|(_, answer)| answer)
    }

    /// [`Session::ask`], and the number by which [`Task::Stop`] closes a listener; for one, `deadline` is how
    /// long it stays open.
    pub async fn start(&self, task: Task, deadline: Duration) -> Result<(u64, Answer), Failure> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        match self.waiting.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(gone()),
        };
        let request = Request { id, seconds: deadline.as_secs_f64(), task };
        let mut line = serde_json::to_vec(&request)
            .map_err(|error| Failure { why: Why::NotUnderstood, message: error.to_string() })?;
        line.push(b'\n');
        let answered = async {
            {
                let mut writer = self.writer.lock().await;
                writer.write_all(&line).await.map_err(|_| gone())?;
                writer.flush().await.map_err(|_| gone())?;
            }
            receiver.await.map_err(|_| gone())
        };
        match tokio::time::timeout(deadline + ROUND_TRIP_SLACK, answered).await {
            Ok(Ok(Answer::Failed(failure))) => Err(failure),
            Ok(Ok(answer)) => Ok((id, answer)),
            Ok(Err(failure)) => Err(failure),
            Err(_) => {
                if let Some(waiting) = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                    waiting.remove(&id);
                }
                let message = format!("the worker did not answer within {:.0} s", deadline.as_secs_f64());
                Err(Failure { why: Why::Unanswered, message })
            }
        }
    }

    /// Closes the worker's standard input.
    pub async fn close(self) {
        let _ = self.writer.lock().await.shutdown().await;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.reader.abort();
        self.alive.abort();
    }
}

/// The first request: the secret of this run. It has no answer, and the worker reads it before the next.
async fn give_secret(writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    let secret = auth::of_this_run()
        .map_err(|error| io::Error::other(format!("no random secret for the worker: {error}")))?;
    let mut line = serde_json::to_vec(&Request { id: 0, seconds: 1.0, task: Task::Secret { secret } })?;
    line.push(b'\n');
    writer.write_all(&line).await?;
    writer.flush().await
}

async fn sign_of_life(writer: Writer) {
    loop {
        tokio::time::sleep(KEEPALIVE_INTERVAL).await;
        let mut writer = writer.lock().await;
        if writer.write_all(b"\n").await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
}

fn gone() -> Failure {
    Failure { why: Why::Gone, message: "the worker exited or its connection closed".into() }
}

/// The first line that is a greeting. Lines before it are not the worker's (a message of the day) and are
/// reported if none comes.
async fn hello(lines: &mut (impl AsyncBufReadExt + Unpin)) -> Result<Hello, Error> {
    let mut foreign = String::new();
    loop {
        let mut line = Vec::new();
        match (&mut *lines).take(ANSWER_LIMIT_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) if foreign.trim().is_empty() => {
                return Err(Error::SilentWorker);
            }
            Ok(0) => return Err(Error::NoWorker(EngineMessage::new(&foreign))),
            Err(error) => return Err(Error::WorkerPipe(error.to_string())),
            Ok(_) => {}
        }
        match serde_json::from_slice(&line) {
            Ok(Reply { answer: Answer::Hello(hello), .. }) if hello.protocol == PROTOCOL => {
                return Ok(hello);
            }
            Ok(Reply { answer: Answer::Hello(hello), .. }) => {
                return Err(Error::OtherProtocol {
                    envdoc: hello.envdoc,
                    protocol: hello.protocol,
                    own: PROTOCOL,
                });
            }
            _ if foreign.len() < FOREIGN_OUTPUT_LIMIT_BYTES => {
                foreign.push_str(&String::from_utf8_lossy(&line))
            }
            _ => {}
        }
    }
}

/// Hands each answer to whoever waits for it, until the stream ends; then nobody waits any more.
async fn read(mut lines: impl AsyncBufReadExt + Unpin, waiting: Waiting) {
    let mut line = Vec::new();
    loop {
        match (&mut lines).take(ANSWER_LIMIT_BYTES).read_until(b'\n', &mut line).await {
            // A line without an end within the limit: what follows is no answer, either.
            Ok(count) if count > 0 && (count as u64) < ANSWER_LIMIT_BYTES => {}
            _ => break,
        }
        if let Ok(reply) = serde_json::from_slice::<Reply>(&line) {
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(sender) = waiting.as_mut().and_then(|waiting| waiting.remove(&reply.id)) {
                let _ = sender.send(reply.answer);
            }
        }
        line.clear();
    }
    *waiting.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn distinguishes_unresponsive_from_exited_workers() {
        let (ours, theirs) = tokio::io::duplex(1 << 12);
        let (reader, writer) = tokio::io::split(ours);
        let (_asked, mut replies) = tokio::io::split(theirs);
        let hello = Hello { envdoc: "1.0.0".into(), protocol: PROTOCOL, nonce: "a".into() };
        let mut line = serde_json::to_vec(&Reply { id: 0, answer: Answer::Hello(hello) }).unwrap();
        line.push(b'\n');
        replies.write_all(&line).await.unwrap();
        let session = Session::open(reader, writer, Duration::from_secs(5)).await.unwrap();
        let silent = session.ask(Task::Identity, Duration::from_millis(10)).await.unwrap_err();
        assert_eq!(silent.why, Why::Unanswered, "{silent}");
        replies.shutdown().await.unwrap();
        let ended = session.ask(Task::Identity, Duration::from_secs(5)).await.unwrap_err();
        assert_eq!(ended.why, Why::Gone, "{ended}");
    }
}
