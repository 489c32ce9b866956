//! The engine of this process and the world that it is given.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use deskhand_contract::id::{ClientId, SystemEntropy};
use deskhand_contract::provider::Provider;
use deskhand_runtime::audit::{FileRecord, Link, Record, Row};
use deskhand_runtime::clock::SystemClock;
use deskhand_runtime::{Policy, Runner, World};

/// Most audit files of private desktops: as many as write at a time, taken again when one has ended.
const MAX_FILES: usize = 64;

/// An engine over `provider` that keeps its audit below `audit`.
pub(super) fn engine(provider: Arc<dyn Provider>, private: bool, audit: Result<PathBuf, String>) -> Arc<Runner> {
    let record: Arc<dyn Record> = match audit.map_err(io::Error::other).and_then(|folder| open(&folder, private)) {
        Ok(record) => Arc::new(record),
        // Reads go on. An effect needs its row, and is refused with this reason.
        Err(error) => Arc::new(Unwritable(error.to_string())),
    };
    Runner::new(World {
        provider,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        record,
        client: ClientId::local(),
        policy: if private { Policy::private_desktop() } else { Policy::own_desktop() },
    })
}

/// The first audit file that no other process writes.
fn open(folder: &Path, private: bool) -> io::Result<FileRecord> {
    let prefix = if private { "private" } else { "own" };
    for number in 1..=MAX_FILES {
        match FileRecord::open(&folder.join(format!("{prefix}-{number}.jsonl"))) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            opened => return opened,
        }
    }
    Err(io::Error::other("every audit file is being written by another Runner"))
}

/// A record that cannot be written, with the reason.
#[derive(Debug)]
struct Unwritable(String);

impl Record for Unwritable {
    fn last(&self) -> io::Result<Option<Link>> {
        Err(io::Error::other(self.0.clone()))
    }

    fn append(&self, _row: &Row) -> io::Result<()> {
        Err(io::Error::other(self.0.clone()))
    }
}
