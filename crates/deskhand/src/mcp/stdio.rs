//! Standard input and output as the SDK's transport, with the rules of the wire kept by this side: bounded
//! lines, valid JSON-RPC or an error that says so, no batches, one request an id, and nothing but protocol on
//! standard output.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rustix::io::fcntl_dupfd_cloexec;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};

/// Longest line, in bytes, without its end.
pub(super) const MAX_LINE: usize = 8 << 20;
/// Lines that wait for a host which does not read.
const MAX_WAITING: usize = 256;

/// The methods that are served.
const METHODS: [&str; 5] = ["initialize", "server/discover", "ping", "tools/list", "tools/call"];

const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const INVALID_PARAMS: i64 = -32_602;

/// Takes the two streams for the protocol alone: afterwards whatever else reads standard input finds its end, and
/// whatever else writes to standard output writes to standard error.
pub(super) fn take_streams() -> io::Result<(File, File)> {
    let input = fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let output = fcntl_dupfd_cloexec(io::stdout(), 3)?;
    let null = File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    // Where standard error is closed, nothing is lost that could have been seen.
    if rustix::stdio::dup2_stdout(io::stderr()).is_err() {
        rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    }
    Ok((File::from(input), File::from(output)))
}

/// The two streams. Clones share them.
#[derive(Clone)]
pub(super) struct Stdio(Arc<Inner>);

/// What the writing thread is given.
enum Out {
    /// A line with its end.
    Line(Vec<u8>),
    /// Answered once everything before it is written.
    Mark(oneshot::Sender<()>),
}

struct Inner {
    incoming: AsyncMutex<mpsc::Receiver<ClientJsonRpcMessage>>,
    outgoing: mpsc::Sender<Out>,
    /// Requests whose answer is due.
    open: Mutex<HashSet<RequestId>>,
}

impl Stdio {
    /// Serves `input` and `output`, each with a thread of its own. `ended` is called when the host has closed
    /// either.
    ///
    /// # Errors
    /// No thread could be had.
    pub(super) fn new(
        input: impl io::Read + Send + 'static,
        output: impl io::Write + Send + 'static,
        ended: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (incoming_sender, incoming) = mpsc::channel(64);
        let (outgoing, mut lines) = mpsc::channel::<Out>(MAX_WAITING);
        let mut output = output;
        let ended = Arc::new(ended);
        let unread = Arc::clone(&ended);
        std::thread::Builder::new().name("mcp-out".into()).spawn(move || {
            while let Some(out) = lines.blocking_recv() {
                let line = match out {
                    Out::Line(line) => line,
                    Out::Mark(written) => {
                        // Nobody waits any more: all the same.
                        let _ = written.send(());
                        continue;
                    }
                };
                if output.write_all(&line).and_then(|()| output.flush()).is_err() {
                    return unread();
                }
            }
        })?;
        let stdio = Self(Arc::new(Inner { incoming: AsyncMutex::new(incoming), outgoing, open: Mutex::default() }));
        let reader = stdio.clone();
        std::thread::Builder::new().name("mcp-in".into()).spawn(move || {
            reader.0.read(&mut BufReader::with_capacity(64 << 10, input), &incoming_sender);
            drop(incoming_sender);
            ended();
        })?;
        Ok(stdio)
    }
}

impl Stdio {
    /// Waits until what was said is written. A host that does not read is not waited for; the end of the process
    /// is bounded elsewhere.
    pub(super) async fn flush(&self) {
        let (written, mark) = oneshot::channel();
        if self.0.outgoing.send(Out::Mark(written)).await.is_ok() {
            let _ = mark.await;
        }
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let inner = Arc::clone(&self.0);
        async move {
            match &item {
                JsonRpcMessage::Response(response) => inner.close(&response.id),
                JsonRpcMessage::Error(error) => {
                    if let Some(id) = &error.id {
                        inner.close(id);
                    }
                }
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
            }
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            inner.outgoing.send(Out::Line(line)).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.0.incoming.lock().await.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.flush().await;
        Ok(())
    }
}

/// What a line is.
enum Line {
    Whole,
    TooLong,
    End,
}

impl Inner {
    fn read(&self, input: &mut impl BufRead, incoming: &mpsc::Sender<ClientJsonRpcMessage>) {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            match read_line(input, &mut bytes) {
                // What is left without a line's end is half a message: nobody can have meant it.
                Ok(Line::End) | Err(_) => return,
                Ok(Line::TooLong) => {
                    self.refuse(None, INVALID_REQUEST, &format!("A line has more than {MAX_LINE} bytes."));
                    continue;
                }
                Ok(Line::Whole) => {}
            }
            let line = bytes.trim_ascii();
            if line.is_empty() {
                continue;
            }
            match self.understand(line) {
                Ok(Some(message)) => {
                    if incoming.blocking_send(message).is_err() {
                        return;
                    }
                }
                Ok(None) => {}
                Err((id, code, why)) => self.refuse(id, code, why),
            }
        }
    }

    /// The message of a line; nothing for one that needs no answer and means nothing here.
    fn understand(&self, line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, (Option<RequestId>, i64, &'static str)> {
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            return Err((None, PARSE_ERROR, "The line is not JSON."));
        };
        let Value::Object(members) = &value else {
            let why =
                if value.is_array() { "Batches are not part of this protocol." } else { "Not a JSON-RPC message." };
            return Err((None, INVALID_REQUEST, why));
        };
        let has_id = members.contains_key("id");
        let id = members.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
        let Some(method) = members.get("method") else {
            // An answer: this side never asks, so it answers nothing here. Anything else is no message at all.
            let is_answer = members.contains_key("result") || members.contains_key("error");
            return if is_answer { Ok(None) } else { Err((id, INVALID_REQUEST, "Not a JSON-RPC message.")) };
        };
        if has_id && id.is_none() {
            return Err((None, INVALID_REQUEST, "An id is a string or a whole number."));
        }
        if members.get("jsonrpc") != Some(&Value::from("2.0")) || !method.is_string() {
            return if has_id { Err((id, INVALID_REQUEST, "Not a JSON-RPC 2.0 request.")) } else { Ok(None) };
        }
        let Some(id) = id else {
            // A notification has no answer, not even one that says it is wrong.
            let message = serde_json::from_value::<ClientJsonRpcMessage>(value).ok();
            if let Some(JsonRpcMessage::Notification(notification)) = &message {
                self.note(&notification.notification);
            }
            return Ok(message);
        };
        let Ok(message) = serde_json::from_value::<ClientJsonRpcMessage>(value) else {
            return Err((Some(id), INVALID_PARAMS, "The params are not those of this method."));
        };
        // The SDK takes a known method with strange params for a method that it does not know.
        if let JsonRpcMessage::Request(request) = &message
            && let ClientRequest::CustomRequest(custom) = &request.request
            && METHODS.contains(&custom.method.as_str())
        {
            return Err((Some(id), INVALID_PARAMS, "The params are not those of this method."));
        }
        if !self.open().insert(id) {
            return Err((None, INVALID_REQUEST, "A request with this id is still under way."));
        }
        Ok(Some(message))
    }

    /// A cancelled request gets no answer, so its id is free again.
    fn note(&self, notification: &rmcp::model::ClientNotification) {
        if let rmcp::model::ClientNotification::CancelledNotification(cancelled) = notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.close(id);
        }
    }

    fn refuse(&self, id: Option<RequestId>, code: i64, why: &str) {
        let answer = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } });
        let mut line = answer.to_string().into_bytes();
        line.push(b'\n');
        // A host that reads nothing while it writes nonsense loses the answer to it.
        let _ = self.outgoing.try_send(Out::Line(line));
    }

    fn close(&self, id: &RequestId) {
        self.open().remove(id);
    }

    fn open(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads up to and over the next line's end, keeping no more than the bound.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Line> {
    let mut too_long = false;
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(Line::End);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(available.len());
        if line.len() + taken > MAX_LINE {
            too_long = true;
            *line = Vec::new();
        }
        if !too_long {
            line.extend_from_slice(&available[..taken]);
        }
        let consumed = taken + usize::from(end.is_some());
        input.consume(consumed);
        if end.is_some() {
            return Ok(if too_long { Line::TooLong } else { Line::Whole });
        }
    }
}
