//! Rows in memory: for tests, and for a Runner that was given no file.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};

use super::{Link, Record, Row};

/// The last rows, in memory. They end with the process.
#[derive(Debug, Default)]
pub struct MemoryRecord {
    rows: Mutex<VecDeque<Row>>,
}

/// Rows that are kept; the oldest go first.
const MAX_ROWS: usize = 10_000;

impl MemoryRecord {
    /// The rows that are kept, oldest first.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl Record for MemoryRecord {
    fn last(&self) -> io::Result<Option<Link>> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(rows.back().map(|row| Link { number: row.number, digest: row.digest.clone() }))
    }

    fn append(&self, row: &Row) -> io::Result<()> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.len() == MAX_ROWS {
            rows.pop_front();
        }
        rows.push_back(row.clone());
        Ok(())
    }
}
