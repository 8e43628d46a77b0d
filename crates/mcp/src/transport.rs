//! The connection: lines in, lines out, and what a client may not do.
//!
//! Two threads wait on the pipes, since reading standard input and writing to a client that does not read
//! block. What no answer of rmcp covers is answered here: lines that are too long or no message, requests
//! before `initialize`, too many at once, ids that are in use.

use std::collections::{HashSet, VecDeque};
use std::io::{self, BufReader, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use diagnostic::terminal;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, GetMeta, JsonRpcMessage,
    ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::line::{self, LINE_LIMIT_BYTES, Line};

/// The requests that wait for an answer at once.
const REQUESTS_MAX: usize = 32;
/// The cancelled requests whose ids are remembered.
const CANCELLED_MAX: usize = 256;
/// Lines that are read ahead, and messages that wait to be written.
const QUEUE: usize = 4;
/// How long a client may take to read the last answers.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// The notes on standard error about lines that are no messages.
const NOTES_MAX: u32 = 10;

/// The ids of requests without an answer.
#[derive(Default)]
struct Open {
    ids: Mutex<HashSet<RequestId>>,
    answered: Notify,
}

impl Open {
    fn ids(&self) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, id: &RequestId) {
        self.ids().remove(id);
        self.answered.notify_one();
    }
}

/// A connection to one client.
pub(crate) struct Lines {
    input: mpsc::Receiver<Line>,
    output: Option<mpsc::Sender<Vec<u8>>>,
    written: Option<oneshot::Receiver<()>>,
    open: Arc<Open>,
    /// Answers of the connection itself, to be sent before the next line is read.
    refusals: VecDeque<ServerJsonRpcMessage>,
    /// The latest cancelled requests, whose ids a late answer may still have.
    cancelled: VecDeque<RequestId>,
    initialized: bool,
    notes: u32,
}

impl Lines {
    /// Starts the threads. They end with the pipes.
    pub(crate) fn new(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> io::Result<Lines> {
        let (send_line, lines) = mpsc::channel(QUEUE);
        let (messages, receive_message) = mpsc::channel(QUEUE);
        let (done, written) = oneshot::channel();
        std::thread::Builder::new().name("mcp input".into()).spawn(move || read(input, &send_line))?;
        std::thread::Builder::new().name("mcp output".into()).spawn(move || {
            write(output, receive_message);
            let _ = done.send(());
        })?;
        Ok(Lines {
            input: lines,
            output: Some(messages),
            written: Some(written),
            open: Arc::default(),
            refusals: VecDeque::new(),
            cancelled: VecDeque::new(),
            initialized: false,
            notes: 0,
        })
    }

    /// Sends what is to be refused; `None` where nobody reads any more.
    async fn send_refusals(&mut self) -> Option<()> {
        let output = self.output.as_ref()?;
        while let Some(refusal) = self.refusals.front() {
            // Dropped while it waits, this future loses nothing.
            let place = output.reserve().await.ok()?;
            place.send(bytes(refusal).ok()?);
            self.refusals.pop_front();
        }
        Some(())
    }

    /// The next line; at the end of the input only once every request has its answer.
    async fn line(&mut self) -> Option<Line> {
        let output = self.output.clone()?;
        tokio::select! {
            line = self.input.recv() => if line.is_some() {
                return line;
            },
            () = output.closed() => return None,
        }
        while !self.open.ids().is_empty() {
            tokio::select! {
                () = self.open.answered.notified() => {}
                () = output.closed() => return None,
            }
        }
        None
    }

    /// The message of a line; what is none is refused.
    fn message(&mut self, line: Line) -> Option<ClientJsonRpcMessage> {
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong(length) => {
                let why = format!("a message has {length} bytes; the limit is {LINE_LIMIT_BYTES}");
                self.note(&why);
                self.refuse(None, ErrorData::invalid_request(why, None));
                return None;
            }
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        match serde_json::from_slice(&line) {
            Ok(message) => self.allowed(message),
            Err(_) => {
                self.refuse_line(&line);
                None
            }
        }
    }

    /// Answers a line that is no message. The id, if it can be read, tells the client which call failed.
    fn refuse_line(&mut self, line: &[u8]) {
        match serde_json::from_slice::<Value>(line) {
            Err(error) => {
                self.note("a line is not JSON, or nested too deeply");
                let why = format!("not JSON, or nested too deeply: {error}");
                self.refuse(None, ErrorData::parse_error(why, None));
            }
            // Notifications have no answer, not even a wrong one.
            Ok(Value::Object(message)) if message.contains_key("method") && !message.contains_key("id") => {
                self.note("a notification is not valid");
            }
            Ok(message) => {
                let id = message.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
                self.refuse(id, ErrorData::invalid_request("not a JSON-RPC 2.0 message of MCP", None));
            }
        }
    }

    fn allowed(&mut self, mut message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        match &mut message {
            JsonRpcMessage::Request(request) => {
                let id = request.id.clone();
                if let Some(refusal) = self.refusal(&id, &mut request.request) {
                    self.refuse(Some(id), refusal);
                    return None;
                }
                self.open.ids().insert(id);
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // It gets no answer any more.
                    self.open.close(id);
                    self.cancelled.push_back(id.clone());
                    if self.cancelled.len() > CANCELLED_MAX {
                        self.cancelled.pop_front();
                    }
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        // rmcp ends the connection at anything else before a first request.
        (self.initialized || matches!(message, JsonRpcMessage::Request(_))).then_some(message)
    }

    /// Why a request is not passed on.
    fn refusal(&mut self, id: &RequestId, request: &mut ClientRequest) -> Option<ErrorData> {
        let ids = self.open.ids();
        if ids.contains(id) {
            return Some(ErrorData::invalid_request("request id is already in use", None));
        }
        if self.cancelled.contains(id) {
            return Some(ErrorData::invalid_request("request id belongs to a cancelled request", None));
        }
        if ids.len() >= REQUESTS_MAX {
            let why = format!("too many pending requests (limit {REQUESTS_MAX}); retry later");
            return Some(ErrorData::invalid_request(why, None));
        }
        drop(ids);
        if self.initialized || matches!(request, ClientRequest::PingRequest(_)) {
            return None;
        }
        let complete = matches!(request, ClientRequest::InitializeRequest(_))
            || request.get_meta_mut().missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty();
        if !complete {
            return Some(ErrorData::invalid_request("the first request must be a valid `initialize`", None));
        }
        self.initialized = true;
        None
    }

    fn refuse(&mut self, id: Option<RequestId>, error: ErrorData) {
        self.refusals.push_back(ServerJsonRpcMessage::error(error, id));
    }

    fn note(&mut self, text: &str) {
        self.notes = self.notes.saturating_add(1);
        match self.notes {
            1..NOTES_MAX => terminal::note(&format!("ignored: {text}")),
            NOTES_MAX => terminal::note(&format!("ignored: {text}; later lines are ignored without a note")),
            _ => {}
        }
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (output, open) = (self.output.clone(), self.open.clone());
        async move {
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            let output = output.ok_or_else(closed)?;
            let place = output.reserve().await.map_err(|_| closed())?;
            place.send(bytes(&message)?);
            match &message {
                JsonRpcMessage::Response(response) => open.close(&response.id),
                JsonRpcMessage::Error(error) => error.id.iter().for_each(|id| open.close(id)),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.send_refusals().await?;
            let line = self.line().await?;
            if let Some(message) = self.message(line) {
                return Some(message);
            }
        }
    }

    /// Waits until what was sent is written, as long as the client reads.
    async fn close(&mut self) -> Result<(), io::Error> {
        self.output = None;
        if let Some(written) = self.written.take() {
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, written).await;
        }
        Ok(())
    }
}

fn bytes(message: &ServerJsonRpcMessage) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn read(input: impl Read, lines: &mpsc::Sender<Line>) {
    let mut input = BufReader::new(input);
    while let Ok(Some(line)) = line::next(&mut input, LINE_LIMIT_BYTES) {
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

fn write(mut output: impl Write, mut messages: mpsc::Receiver<Vec<u8>>) {
    while let Some(message) = messages.blocking_recv() {
        if output.write_all(&message).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}
