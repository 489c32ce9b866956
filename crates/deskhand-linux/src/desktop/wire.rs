//! What a starter and a supervisor say to each other: one JSON value after its length, over a Unix socket.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::children::Exit;
use super::error::{DesktopError, Fault};
use super::process::ProcessIdentity;
use super::record::DesktopRecord;

/// What a starter wants. The name, the size and the directories are in the record already.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) owner: OwnerWire,
    pub(super) display: Option<u16>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) x11_sockets: PathBuf,
    pub(super) scratch: PathBuf,
    pub(super) deadline_ms: u64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OwnerWire {
    Nobody,
    Process(ProcessIdentity),
    Caller,
}

/// The supervisor's one answer to a starter.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StartAnswer {
    Ready(Box<DesktopRecord>),
    Failed(FailureWire),
}

/// A program to start inside. Its standard streams come as three file descriptors beside it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExecOrder {
    pub(super) argv: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) directory: PathBuf,
    /// Whether the program ends with its caller.
    pub(super) attached: bool,
}

/// What the supervisor says of it: started or failed, and of an attached one, how it ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExecAnswer {
    Started(ProcessIdentity),
    Failed(FailureWire),
    Ended(Exit),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FailureWire {
    fault: String,
    message: String,
    fix: Option<String>,
}

impl From<DesktopError> for FailureWire {
    fn from(error: DesktopError) -> Self {
        Self { fault: error.fault.name().to_owned(), message: error.message, fix: error.fix }
    }
}

impl From<FailureWire> for DesktopError {
    fn from(wire: FailureWire) -> Self {
        let fault = Fault::named(&wire.fault).unwrap_or(Fault::System);
        Self { fault, message: wire.message, fix: wire.fix }
    }
}

/// One value with its length before it.
pub(super) fn encode(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(value)?;
    if body.len() > MAX_FRAME {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the arguments and the environment exceed 4 MiB"));
    }
    let length = u32::try_from(body.len()).expect("the bound is below u32");
    let mut frame = length.to_le_bytes().to_vec();
    frame.extend(body);
    Ok(frame)
}

pub(super) fn send(mut to: impl Write, value: &impl Serialize) -> io::Result<()> {
    to.write_all(&encode(value)?)
}

pub(super) fn receive<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut body = vec![0; bounded(length)?];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

/// A frame's length, within the bound.
pub(super) fn bounded(length: [u8; 4]) -> io::Result<usize> {
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > MAX_FRAME { Err(io::ErrorKind::InvalidData.into()) } else { Ok(length) }
}

/// 4 MiB: Linux lets arguments and environment together have 2 MiB at most by default, and JSON takes more room.
const MAX_FRAME: usize = 4 * 1024 * 1024;
