//! What is written to audit, and that nothing was taken out of it: rows, each bound to the one before it by its
//! digest.
//!
//! An effect is two linked rows: the intent, written (and on disk) before dispatch, and the outcome after. A
//! refusal is a row, and so is a read that concerns privacy (displays, captures, values, installed
//! applications). A row never holds typed text, a value, a window's title, an element's name, pixels or a
//! native identity: its fields are the closed set below. Where an intent cannot be written, the effect does
//! not happen.

mod chain;
mod file;
mod memory;

use std::io;

use deskhand_contract::action::ActionKind;
use deskhand_contract::error::ErrorCode;
use deskhand_contract::geometry::Size;
use deskhand_contract::id::{ClientId, DisplayId, ElementId, GrantId, SurfaceId};
use deskhand_contract::role::Role;
use deskhand_contract::verdict::{Evidence, ExecutionState, Status};
use serde::{Deserialize, Serialize};

pub(crate) use chain::Chain;
pub use chain::{Broken, Link, check};
pub use file::{FileRecord, verify};
pub use memory::MemoryRecord;

/// Where rows are kept. Rows arrive one at a time, in order.
pub trait Record: Send + Sync + 'static {
    /// The last row's place in the chain, or `None` where there is none yet. Asked once, before the first append.
    ///
    /// # Errors
    /// What hinders the reading; then no effect happens.
    fn last(&self) -> io::Result<Option<Link>>;

    /// Keeps `row`. An [`Happening::Intent`] must be kept for good (on disk) when this returns.
    ///
    /// # Errors
    /// What hinders the writing. The row then counts as not written.
    fn append(&self, row: &Row) -> io::Result<()>;
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Counts from 1, without a gap.
    pub number: u64,
    /// What happened.
    pub entry: Entry,
    /// Digest of the row before, or 64 zeros. Hexadecimal.
    pub previous: String,
    /// SHA-256 over `previous`, the number and the entry, in hexadecimal.
    pub digest: String,
}

/// What happened, without a word of what was typed, read or shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// RFC 3339, UTC.
    pub time: String,
    /// What kind of row this is.
    pub happening: Happening,
    /// The Runner.
    pub client: ClientId,
    /// The session, by a number that holds in this process alone.
    pub session: u64,
    /// Who asked: `agent`, or `user` through the panel or an interactive terminal.
    pub origin: Origin,
    /// The action's qualified name: `computer_control.press`.
    pub action: String,
    /// Of an outcome: the number of its intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<u64>,
    /// The grant that an effect happens under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantId>,
    /// The window, by its opaque id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<SurfaceId>,
    /// The element, by its opaque id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<ElementId>,
    /// The display, by its opaque id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<DisplayId>,
    /// The element's role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// How far it got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_state: Option<ExecutionState>,
    /// What is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// What carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The error that it ended in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorCode>,
    /// Bytes of text that were handed over or read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_bytes: Option<u64>,
    /// Size of an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<Size>,
    /// SHA-256 of an image, in hexadecimal. Never of a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_sha256: Option<String>,
    /// How many entries a list had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

impl Entry {
    /// A row of `happening` about an action, with nothing else known.
    #[must_use]
    pub fn new(time: String, happening: Happening, client: ClientId, session: u64, action: ActionKind) -> Self {
        let action = action.qualified_name();
        Self { happening, session, action, ..Self::of_stop(time, client) }
    }

    /// The row of a Stop: it is of no session and no action.
    pub(crate) fn of_stop(time: String, client: ClientId) -> Self {
        Self {
            time,
            happening: Happening::Stop,
            client,
            session: 0,
            origin: Origin::Agent,
            action: "stop".to_owned(),
            intent: None,
            grant: None,
            surface: None,
            element: None,
            display: None,
            role: None,
            execution_state: None,
            status: None,
            evidence: None,
            error: None,
            text_bytes: None,
            dimensions: None,
            image_sha256: None,
            count: None,
        }
    }
}

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// An effect is about to be dispatched.
    Intent,
    /// An effect ended, however it ended.
    Outcome,
    /// A call was refused before anything was dispatched.
    Refusal,
    /// Something private was read.
    Read,
    /// A grant was minted.
    Grant,
    /// Stop.
    Stop,
}

/// Who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A program.
    Agent,
    /// A person, at the panel or an interactive terminal.
    User,
}
