//! Rows in a file: one line of JSON each, appended, never changed.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::{Broken, Happening, Link, Record, Row, check};

/// A file of rows. One process writes it: a second one finds it locked.
#[derive(Debug)]
pub struct FileRecord {
    file: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    file: File,
    /// Where the last whole row ends.
    end: u64,
    last: Option<Link>,
}

/// Longest row, in bytes. The longest that the fields allow is under a kilobyte.
const MAX_ROW: usize = 16 << 10;

impl FileRecord {
    /// Opens the file at `path`, made if it is not there (for this user alone), and reads it to its end. What a
    /// crash left of a row after the last whole one is cut off.
    ///
    /// # Errors
    /// What the file system says; `InvalidData` where the chain is broken (the file is then left as it is: move
    /// it away to begin a new one); `WouldBlock` where another process writes it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let mut file = options.open(path)?;
        file.try_lock()
            .map_err(|_| io::Error::new(io::ErrorKind::WouldBlock, "another process writes this audit file"))?;
        let (last, end) = read(&mut file, |_| {}).map_err(|broken| match broken {
            Unreadable::Broken(broken) => io::Error::new(io::ErrorKind::InvalidData, broken),
            Unreadable::Io(error) => error,
        })?;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        Ok(Self { file: Mutex::new(Written { file, end, last }) })
    }
}

impl Record for FileRecord {
    fn last(&self) -> io::Result<Option<Link>> {
        Ok(self.file.lock().unwrap_or_else(PoisonError::into_inner).last.clone())
    }

    fn append(&self, row: &Row) -> io::Result<()> {
        let mut line = serde_json::to_vec(row).map_err(io::Error::other)?;
        line.push(b'\n');
        let mut written = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = written.file.write_all(&line).and_then(|()| match row.entry.happening {
            Happening::Intent => written.file.sync_data(),
            _ => Ok(()),
        });
        if let Err(error) = whole {
            // Part of a row may be there: the next one must not follow it.
            let end = written.end;
            written.file.set_len(end)?;
            written.file.seek(SeekFrom::Start(end))?;
            return Err(error);
        }
        written.end += line.len() as u64;
        written.last = Some(Link { number: row.number, digest: row.digest.clone() });
        Ok(())
    }
}

/// Proves that the file at `path` is whole; says how many rows it has. A row that a crash cut off at the very end
/// counts as not written.
///
/// # Errors
/// `InvalidData` with the first row that is wrong; else what the file system says.
pub fn verify(path: &Path) -> io::Result<u64> {
    let mut rows = 0;
    match read(&mut File::open(path)?, |_| rows += 1) {
        Ok(_) => Ok(rows),
        Err(Unreadable::Broken(broken)) => Err(io::Error::new(io::ErrorKind::InvalidData, broken)),
        Err(Unreadable::Io(error)) => Err(error),
    }
}

enum Unreadable {
    Broken(Broken),
    Io(io::Error),
}

/// Reads every row; says the last one and where it ends.
fn read(file: &mut File, mut each: impl FnMut(&Row)) -> Result<(Option<Link>, u64), Unreadable> {
    file.seek(SeekFrom::Start(0)).map_err(Unreadable::Io)?;
    let mut reader = BufReader::new(file);
    let (mut last, mut end, mut lines) = (None, 0_u64, 0_u64);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = io::Read::take(&mut reader, MAX_ROW as u64).read_until(b'\n', &mut line).map_err(Unreadable::Io)?;
        if read == 0 {
            return Ok((last, end));
        }
        lines += 1;
        if line.last() != Some(&b'\n') {
            let at_end = reader.fill_buf().map_err(Unreadable::Io)?.is_empty();
            return if at_end { Ok((last, end)) } else { Err(Unreadable::Broken(Broken::NotARow(lines))) };
        }
        let row: Row = serde_json::from_slice(&line).map_err(|_| Unreadable::Broken(Broken::NotARow(lines)))?;
        last = Some(check(last.as_ref(), &row).map_err(Unreadable::Broken)?);
        end += read as u64;
        each(&row);
    }
}
