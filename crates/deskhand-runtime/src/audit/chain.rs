//! The chain: which digest binds a row to the one before, and whether a sequence of rows is whole.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{Entry, Record, Row};

/// A row's place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub number: u64,
    /// Its digest, in hexadecimal.
    pub digest: String,
}

/// Why a sequence of rows is not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// This row's digest is not that of what it says.
    Altered(u64),
    /// This row does not follow the one before: rows are missing, doubled or in another order.
    OutOfOrder(u64),
    /// This line (counted from 1) is not a row.
    NotARow(u64),
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Altered(number) => write!(f, "row {number} was altered: its digest does not match"),
            Self::OutOfOrder(number) => write!(f, "row {number} does not follow the row before it"),
            Self::NotARow(line) => write!(f, "line {line} is not an audit row"),
        }
    }
}

impl std::error::Error for Broken {}

/// Whether `row` follows `previous` (nothing, for the first) and is as it was written.
///
/// # Errors
/// Says which row is wrong and how.
pub fn check(previous: Option<&Link>, row: &Row) -> Result<Link, Broken> {
    let (number, digest) = previous.map_or((0, BEGINNING), |link| (link.number, link.digest.as_str()));
    if row.number != number + 1 || row.previous != digest {
        return Err(Broken::OutOfOrder(row.number));
    }
    if row.digest != digest_of(&row.previous, row.number, &row.entry) {
        return Err(Broken::Altered(row.number));
    }
    Ok(Link { number: row.number, digest: row.digest.clone() })
}

/// Writes rows, one after another, each bound to the last.
pub(crate) struct Chain {
    record: Arc<dyn Record>,
    last: Mutex<Last>,
}

enum Last {
    /// The record has not been asked yet.
    Unasked,
    /// This one.
    Known(Option<Link>),
}

impl Chain {
    pub(crate) fn new(record: Arc<dyn Record>) -> Self {
        Self { record, last: Mutex::new(Last::Unasked) }
    }

    /// Writes `entry` as the next row and says its number.
    ///
    /// # Errors
    /// What the record says; the row is then not part of the chain.
    pub(crate) fn write(&self, entry: Entry) -> io::Result<u64> {
        // A panic while it was held left the chain as it was: the new link is stored only after the append.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let previous = match &*last {
            Last::Known(link) => link.clone(),
            Last::Unasked => self.record.last()?,
        };
        let (number, previous) = previous.map_or((1, BEGINNING.to_owned()), |link| (link.number + 1, link.digest));
        let digest = digest_of(&previous, number, &entry);
        let row = Row { number, entry, previous, digest };
        match self.record.append(&row) {
            Ok(()) => *last = Last::Known(Some(Link { number, digest: row.digest })),
            Err(error) => {
                // It may have been written in part: the record says where the chain stands.
                *last = Last::Unasked;
                return Err(error);
            }
        }
        Ok(number)
    }
}

/// The digest that the first row follows.
const BEGINNING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn digest_of(previous: &str, number: u64, entry: &Entry) -> String {
    /// The canonical form: fields in the order of their declaration, absent ones left out.
    #[derive(Serialize)]
    struct Canonical<'a> {
        number: u64,
        entry: &'a Entry,
    }
    let canonical = serde_json::to_vec(&Canonical { number, entry }).expect("a row is plain data with text keys");
    let mut hash = Sha256::new();
    hash.update(previous.as_bytes());
    hash.update([b'\n']);
    hash.update(&canonical);
    crate::digest::hexadecimal(&hash.finalize())
}
