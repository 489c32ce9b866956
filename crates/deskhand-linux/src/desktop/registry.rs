//! The desktops that are there: one directory each. Whoever looks also clears away what nobody stands behind.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::ending;
use super::error::{DesktopError, Fault};
use super::option::{DesktopName, Size};
use super::places::{Places, private_directory};
use super::process::ProcessIdentity;
use super::record::{DesktopRecord, DesktopState, STATE_FILE};

/// All desktops of this user, by name: the living ones, and for an hour those that ended by themselves, with why.
///
/// # Errors
/// [`Fault::NoPermission`] where the directory is not safely ours.
pub fn list(places: &Places) -> Result<Vec<DesktopRecord>, DesktopError> {
    if !places.desktops().exists() {
        return Ok(Vec::new());
    }
    places.ensure()?;
    let mut found = Vec::new();
    for name in entries(&places.desktops()) {
        let directory = places.desktops().join(&name);
        if name.starts_with('.') {
            clear_remains(places, &directory);
        } else if let Ok(name) = DesktopName::parse(&name)
            && let Some(record) = look(places, &name)
        {
            found.push(record);
        }
    }
    for record in ended(places) {
        if !found.iter().any(|other| other.name == record.name) {
            found.push(record);
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The desktop of that name, also one that ended by itself within the last hour.
///
/// # Errors
/// [`Fault::NoSuchDesktop`], [`Fault::NoPermission`].
pub fn find(places: &Places, name: &DesktopName) -> Result<DesktopRecord, DesktopError> {
    let all = list(places)?;
    if let Some(record) = all.iter().find(|record| record.name == *name) {
        return Ok(record.clone());
    }
    let others: Vec<_> = all.iter().map(|record| record.name.as_str()).collect();
    let known =
        if others.is_empty() { "none is running".to_owned() } else { format!("there are: {}", others.join(", ")) };
    Err(DesktopError::new(Fault::NoSuchDesktop, format!("There is no desktop {name}; {known}."))
        .fix(format!("deskhand desktop start --name {name}")))
}

/// Takes a name for a new desktop: its directory and first record appear at once, or not at all.
pub(super) fn claim(places: &Places, name: Option<&DesktopName>, size: Size) -> Result<DesktopRecord, DesktopError> {
    places.ensure()?;
    for attempt in 0..CLAIM_ATTEMPTS {
        let id = random_hex::<16>()?;
        let name = match name {
            Some(name) => name.clone(),
            None => DesktopName::parse(&format!("desk-{}", &random_hex::<2>()?))?,
        };
        let directory = places.desktops().join(name.as_str());
        if directory.exists()
            && let Some(other) = look(places, &name)
        {
            if attempt + 1 < CLAIM_ATTEMPTS && other.state == DesktopState::Ending {
                std::thread::sleep(Duration::from_millis(50));
                continue;
            }
            return Err(in_use(&name));
        }
        if let Some(record) = take(places, &name, &id, size)? {
            forget(places, &name);
            return Ok(record);
        }
    }
    Err(DesktopError::new(Fault::NameInUse, "No free name could be taken.").fix("deskhand desktop list"))
}

/// Remembers for an hour why a desktop ended by itself.
pub(super) fn remember(record: &DesktopRecord, why: &str) {
    let Some(folder) = record.directory.parent().map(|desktops| desktops.join(ENDED)) else { return };
    if private_directory(&folder).is_err() {
        return;
    }
    let mut last = record.clone();
    last.state = DesktopState::Ended;
    last.ended = Some(why.to_owned());
    last.parts.clear();
    let _ = last.write_file(&folder.join(format!("{}.json", last.name)));
}

/// Forgets it. Says whether there was something to forget.
pub(super) fn forget(places: &Places, name: &DesktopName) -> bool {
    std::fs::remove_file(places.desktops().join(ENDED).join(format!("{name}.json"))).is_ok()
}

/// Random hexadecimal digits, two for each byte.
pub(super) fn random_hex<const BYTES: usize>() -> Result<String, DesktopError> {
    Ok(random::<BYTES>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Random bytes from the kernel.
pub(super) fn random<const BYTES: usize>() -> Result<[u8; BYTES], DesktopError> {
    let mut bytes = [0; BYTES];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| DesktopError::io("No random bytes", &error.into()))?;
    if got == BYTES { Ok(bytes) } else { Err(DesktopError::new(Fault::System, "Too few random bytes.")) }
}

/// The living desktop of that name. A record that nobody stands behind is ended here.
fn look(places: &Places, name: &DesktopName) -> Option<DesktopRecord> {
    let directory = places.desktops().join(name.as_str());
    let Some(record) = DesktopRecord::read(&directory) else {
        // Claimed directories appear with their record; one without is broken by something else. Young ones are left
        // alone, in case another version writes them otherwise.
        if older_than(&directory, ABANDONED_AFTER) {
            let _ = std::fs::remove_dir_all(&directory);
        }
        return None;
    };
    if record.attended() {
        return Some(record);
    }
    // Ended or renamed away between the two looks?
    if DesktopRecord::read(&directory).is_none_or(|again| again.id != record.id) {
        return None;
    }
    let why = "its supervisor and its keeper were killed";
    remember(&record, why);
    ending::clear(&record, ending::Standing::Visitor, ending::Grace::None);
    None
}

fn take(places: &Places, name: &DesktopName, id: &str, size: Size) -> Result<Option<DesktopRecord>, DesktopError> {
    let directory = places.desktops().join(name.as_str());
    if directory.as_os_str().len() > MAX_DIRECTORY_BYTES {
        return Err(DesktopError::new(
            Fault::NoPermission,
            format!("{} is too long a path for a socket.", directory.display()),
        )
        .fix("set XDG_RUNTIME_DIR to a shorter path"));
    }
    let fresh = places.desktops().join(format!(".{name}.{id}.new"));
    private_directory(&fresh)?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let record = DesktopRecord {
        name: name.clone(),
        id: id.to_owned(),
        state: DesktopState::Starting,
        ended: None,
        size,
        directory: directory.clone(),
        home: home(&places.scratch, id),
        runtime: places.runtime.clone(),
        starter: ProcessIdentity::own(),
        keeper: None,
        supervisor: None,
        owner: None,
        display: None,
        display_socket: None,
        session_bus: None,
        accessibility_bus: None,
        window_manager: None,
        parts: Vec::new(),
        started_at: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        ready_ms: None,
    };
    let placed = record.write_file(&fresh.join(STATE_FILE)).and_then(|()| {
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(rustix::fs::CWD, &fresh, rustix::fs::CWD, &directory, flags) {
            Ok(()) => Ok(Some(record)),
            Err(rustix::io::Errno::EXIST) => Ok(None),
            Err(error) => Err(DesktopError::io("The desktop's directory cannot be placed", &error.into())),
        }
    });
    if !matches!(placed, Ok(Some(_))) {
        let _ = std::fs::remove_dir_all(&fresh);
    }
    placed
}

/// Short, because applications make sockets deep inside: Chromium's needs 49 bytes more and refuses to start otherwise.
fn home(scratch: &Path, id: &str) -> PathBuf {
    let roomy = scratch.as_os_str().len() <= MAX_SCRATCH_BYTES;
    let scratch = if roomy { scratch } else { Path::new("/tmp") };
    scratch.join(format!("deskhand-{}", &id[..12]))
}

fn ended(places: &Places) -> Vec<DesktopRecord> {
    let folder = places.desktops().join(ENDED);
    let mut records = Vec::new();
    for name in entries(&folder) {
        let file = folder.join(name);
        match DesktopRecord::read_file(&file) {
            Some(record) if !older_than(&file, REMEMBERED_FOR) && records.len() < MAX_REMEMBERED => {
                records.push(record)
            }
            _ => drop(std::fs::remove_file(&file)),
        }
    }
    records
}

/// What an interrupted start or end left: a directory that is on its way in or out.
fn clear_remains(places: &Places, directory: &Path) {
    if directory.file_name().is_some_and(|name| name == ENDED) {
        return;
    }
    if older_than(directory, ABANDONED_AFTER) && directory.starts_with(places.desktops()) {
        let _ = std::fs::remove_dir_all(directory);
    }
}

fn in_use(name: &DesktopName) -> DesktopError {
    DesktopError::new(Fault::NameInUse, format!("A desktop {name} is there already."))
        .fix(format!("deskhand desktop stop {name}, or choose another name"))
}

fn entries(folder: &PathBuf) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).take(MAX_ENTRIES).collect()
}

fn older_than(file: &Path, age: Duration) -> bool {
    let modified = std::fs::symlink_metadata(file).and_then(|meta| meta.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|passed| passed > age))
}

const MAX_SCRATCH_BYTES: usize = 36;
const ENDED: &str = ".ended";
const CLAIM_ATTEMPTS: u32 = 40;
const ABANDONED_AFTER: Duration = Duration::from_secs(60);
const REMEMBERED_FOR: Duration = Duration::from_secs(3600);
const MAX_REMEMBERED: usize = 16;
const MAX_ENTRIES: usize = 1024;
/// A socket's path has at most 107 bytes; the longest one below is `/run/at-spi/bus_65535`.
const MAX_DIRECTORY_BYTES: usize = 84;
