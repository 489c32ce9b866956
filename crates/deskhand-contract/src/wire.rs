//! Frames between a front door and a Runner.
//!
//! A frame is a header of eight bytes (the length of the head, then of the blob, both little-endian `u32`),
//! a head of JSON and a blob of bytes (an image, or nothing). Both lengths are bounded before anything
//! is allocated. Missing and unknown fields fail closed.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::argument::Arguments;
use crate::error::{CallError, ErrorCode, NextCall, Recovery, RecoveryKind};
use crate::reply::{Reply, Target};
use crate::verdict::Outcome;

/// Version of the frames. Both sides must speak the same.
pub const PROTOCOL: u32 = 1;
/// Longest head, in bytes.
pub const MAX_HEAD: u32 = 8 << 20;
/// Longest blob, in bytes.
pub const MAX_BLOB: u32 = 64 << 20;

/// What a front door sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "frame", rename_all = "snake_case", deny_unknown_fields)]
pub enum ToRunner {
    /// First: who speaks, for which session.
    Hello {
        /// [`PROTOCOL`].
        protocol: u32,
        /// The session: a name that outlives the connection, or none for one that ends with it.
        session: Option<String>,
        /// The permission mode that the host fixed for this session.
        mode: Mode,
    },
    /// A call.
    Call {
        /// Chosen by the sender, unique on this connection.
        call: u64,
        /// The action's wire name.
        action: String,
        /// Its arguments.
        arguments: Arguments,
        /// Milliseconds that the caller waits.
        time_ms: u32,
    },
    /// The call is no longer wanted.
    Cancel {
        /// Which.
        call: u64,
    },
    /// Stop: ends every running call of every session of this desktop.
    Stop {
        /// Answered by a reply of that number.
        call: u64,
    },
    /// Ends the Runner once nothing is under way.
    Quit {
        /// Answered by a reply of that number.
        call: u64,
    },
}

/// The permission mode of a session, fixed by its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Effects as granted.
    #[default]
    Auto,
    /// Effects as granted.
    Ask,
    /// Effects as granted.
    AcceptEdits,
    /// No effects.
    Plan,
    /// No effects.
    Goal,
}

impl Mode {
    /// Whether effects are refused before anything else is looked at.
    #[must_use]
    pub const fn refuses_effects(self) -> bool {
        matches!(self, Self::Plan | Self::Goal)
    }
}

/// What a Runner sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "frame", rename_all = "snake_case", deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "made once a call and moved twice; a box would buy nothing")]
pub enum FromRunner {
    /// Answers [`ToRunner::Hello`].
    Welcome {
        /// [`PROTOCOL`].
        protocol: u32,
        /// The Runner's version.
        version: String,
        /// What it is and can do.
        target: Target,
    },
    /// Answers a call. An image, if there is one, is the frame's blob.
    Reply {
        /// Which call.
        call: u64,
        /// Its end.
        ending: Ending,
    },
    /// The Runner cannot speak with this front door.
    Rejected {
        /// Why, and what to do.
        message: String,
    },
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// How far it got and what is proven.
    pub outcome: Outcome,
    /// The data, where it went well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Reply>,
    /// The error, where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
    /// Attempts at a read that was repeated once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_trace: Option<RecoveryTrace>,
}

/// An error on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorBody {
    /// What went wrong.
    pub code: ErrorCode,
    /// What is wrong and what to do.
    pub message: String,
    /// Whether the same call may be sent again.
    pub retryable: bool,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryBody>,
}

/// Advice on the wire: exactly one of `suggested_call` and `reconcile_with`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecoveryBody {
    /// What it is for.
    pub kind: RecoveryKind,
    /// A call that can be sent as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_call: Option<SuggestedCall>,
    /// The family of actions to reconcile with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconcile_with: Option<String>,
}

/// A call that can be sent as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuggestedCall {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Arguments,
}

/// How often a read was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecoveryTrace {
    /// The provider.
    pub provider: String,
    /// Attempts, one or two.
    pub attempts: u32,
    /// What made the first one fail, in a word.
    pub triggers: Vec<String>,
    /// Whether the second one answered.
    pub recovered: bool,
}

impl From<&Recovery> for RecoveryBody {
    fn from(recovery: &Recovery) -> Self {
        let (suggested_call, reconcile_with) = match &recovery.next {
            NextCall::Call { tool, arguments } => {
                (Some(SuggestedCall { tool: (*tool).to_owned(), arguments: arguments.clone() }), None)
            }
            NextCall::Family(family) => (None, Some((*family).to_owned())),
        };
        Self { kind: recovery.kind, suggested_call, reconcile_with }
    }
}

impl Ending {
    /// A call that went well.
    #[must_use]
    pub fn done(outcome: Outcome, data: Reply) -> Self {
        Self { outcome, data: Some(data), error: None, recovery_trace: None }
    }
}

impl From<CallError> for Ending {
    fn from(error: CallError) -> Self {
        Self {
            outcome: error.outcome,
            data: None,
            error: Some(ErrorBody {
                code: error.code,
                message: error.message,
                retryable: error.code.retryable(),
                recovery: error.recovery.as_ref().map(RecoveryBody::from),
            }),
            recovery_trace: None,
        }
    }
}

/// Writes one frame.
///
/// # Errors
/// What the stream says, or `InvalidData` where head or blob exceed their bounds.
pub fn write_frame(stream: &mut impl Write, head: &impl Serialize, blob: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(head).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    let lengths = (u32::try_from(head.len()), u32::try_from(blob.len()));
    let (Ok(head_length @ ..=MAX_HEAD), Ok(blob_length @ ..=MAX_BLOB)) = lengths else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the frame exceeds its bounds"));
    };
    let mut frame = Vec::with_capacity(8 + head.len());
    frame.extend_from_slice(&head_length.to_le_bytes());
    frame.extend_from_slice(&blob_length.to_le_bytes());
    frame.extend_from_slice(&head);
    stream.write_all(&frame)?;
    stream.write_all(blob)?;
    stream.flush()
}

/// Reads one frame, or `None` where the stream ended before its first byte.
///
/// # Errors
/// What the stream says; `InvalidData` where a length exceeds its bound or the head is not the
/// expected JSON; `UnexpectedEof` where the stream ended inside the frame.
pub fn read_frame<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut lengths = [0_u8; 8];
    let mut filled = 0;
    while filled < lengths.len() {
        match stream.read(&mut lengths[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let [a, b, c, d, e, f, g, h] = lengths;
    let (head_length, blob_length) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    if head_length > MAX_HEAD || blob_length > MAX_BLOB {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame's length exceeds its bound"));
    }
    let mut head = Vec::new();
    read_exactly(stream, head_length, &mut head)?;
    let mut blob = Vec::new();
    read_exactly(stream, blob_length, &mut blob)?;
    // The reason is dropped: it may quote what was sent.
    let head = serde_json::from_slice(&head)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a frame's head is not what was expected"))?;
    Ok(Some((head, blob)))
}

/// Reads `length` bytes, allocating only as they come.
fn read_exactly(stream: &mut impl Read, length: u32, bytes: &mut Vec<u8>) -> io::Result<()> {
    let read = stream.take(u64::from(length)).read_to_end(bytes)?;
    if read == length as usize { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_reads_back_with_its_blob_and_its_text() {
        let sent = ToRunner::Call {
            call: 7,
            action: "input_text".into(),
            arguments: Arguments::new().text("text", "hällo").integer("n", 3),
            time_ms: 1_000,
        };
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &sent, b"blob").unwrap();
        let (read, blob) = read_frame::<ToRunner>(&mut bytes.as_slice()).unwrap().unwrap();
        assert_eq!(read, sent);
        assert_eq!(blob, b"blob");
        assert!(!format!("{read:?}").contains("hällo"));
    }

    #[test]
    fn short_long_and_foreign_frames_are_refused() {
        assert!(read_frame::<ToRunner>(&mut [].as_slice()).unwrap().is_none());
        assert_eq!(read_frame::<ToRunner>(&mut [1, 2].as_slice()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let mut huge = u32::MAX.to_le_bytes().to_vec();
        huge.extend([0; 4]);
        assert_eq!(read_frame::<ToRunner>(&mut huge.as_slice()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        for head in
            [r#"{"frame":"call","call":1}"#, r#"{"frame":"cancel","call":1,"also":2}"#, r#"{"frame":"dance"}"#, "x"]
        {
            let mut bytes = (head.len() as u32).to_le_bytes().to_vec();
            bytes.extend([0; 4]);
            bytes.extend(head.as_bytes());
            assert!(read_frame::<ToRunner>(&mut bytes.as_slice()).is_err(), "{head}");
        }
    }

    #[test]
    fn recovery_is_exactly_one_of_its_two_forms() {
        let call = Recovery {
            kind: RecoveryKind::Reobserve,
            next: NextCall::Call { tool: "computer_observe", arguments: Arguments::new().text("action", "windows") },
        };
        let body = serde_json::to_string(&RecoveryBody::from(&call)).unwrap();
        assert_eq!(
            body,
            r#"{"kind":"reobserve","suggested_call":{"tool":"computer_observe","arguments":{"action":"windows"}}}"#
        );
    }
}
