//! Finds the installed applications: a bounded walk over the data folders, nearer ones first.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use deskhand_contract::provider::NativeKey;

use super::entry::{self, Entry, NotOffered};

/// Most entry files that one scan reads.
pub(crate) const MAX_SCANNED: usize = 1_024;
/// How deep below `applications/` entries are looked for.
const MAX_DEPTH: usize = 4;

/// Where applications come from, and for whom. Given from outside, so that nothing here reads the environment.
#[derive(Debug, Clone)]
pub(crate) struct Sources {
    /// Data folders, the user's own first, each with an `applications` folder.
    pub(crate) data: Vec<PathBuf>,
    /// Folders in which programs are looked for, in order.
    pub(crate) path: Vec<PathBuf>,
    /// The user's language, as `de_DE.UTF-8`.
    pub(crate) locale: String,
    /// The names of the current desktop, as `XDG_CURRENT_DESKTOP` lists them.
    pub(crate) desktops: Vec<String>,
}

impl Sources {
    /// The sources of a session with this environment, by the XDG Base Directory rules.
    #[must_use]
    pub(crate) fn of_environment(environment: &[(String, String)]) -> Self {
        let get = |name: &str| {
            environment.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_str())
        };
        let split =
            |list: &str| list.split(':').filter(|part| part.starts_with('/')).map(PathBuf::from).collect::<Vec<_>>();
        let home = get("XDG_DATA_HOME")
            .map(PathBuf::from)
            .or_else(|| get("HOME").map(|home| Path::new(home).join(".local/share")));
        let mut data: Vec<PathBuf> = home.into_iter().filter(|folder| folder.is_absolute()).collect();
        data.extend(split(get("XDG_DATA_DIRS").unwrap_or("/usr/local/share:/usr/share")));
        Self {
            data,
            path: split(get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin")),
            locale: get("LC_ALL").or_else(|| get("LC_MESSAGES")).or_else(|| get("LANG")).unwrap_or_default().to_owned(),
            desktops: get("XDG_CURRENT_DESKTOP").unwrap_or_default().split(':').map(str::to_owned).collect(),
        }
    }
}

/// What proves that a file is still the same file with the same content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FileIdentity {
    path: PathBuf,
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileIdentity {
    /// The identity of `path`, followed through links to the real file. `None` where there is none.
    #[must_use]
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let path = fs::canonicalize(path).ok()?;
        let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        Some(Self {
            path,
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// The real path.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// An installed application, as one scan found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Application {
    /// What the entry says.
    pub(crate) entry: Entry,
    /// The entry file.
    pub(crate) file: FileIdentity,
    /// The program that the command line begins with.
    pub(crate) program: FileIdentity,
}

impl Application {
    /// Everything that a launch proves again, as an opaque key.
    pub(crate) fn key(&self) -> NativeKey {
        let mut bytes = vec![b'a'];
        for identity in [&self.file, &self.program] {
            bytes.extend_from_slice(identity.path.as_os_str().as_bytes());
            bytes.push(0);
            for number in [identity.device, identity.inode, identity.bytes] {
                bytes.extend(number.to_be_bytes());
            }
            for (seconds, nanoseconds) in [identity.modified, identity.changed] {
                bytes.extend(seconds.to_be_bytes());
                bytes.extend(nanoseconds.to_be_bytes());
            }
        }
        NativeKey::new(&bytes)
    }
}

/// The result of a scan.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    /// Applications, by name and then by file.
    pub(crate) applications: Vec<Application>,
    /// Whether the bound on scanned files ended it.
    pub(crate) truncated: bool,
}

/// Looks through `sources`. An unreadable folder or file offers nothing and harms nothing.
#[must_use]
pub(crate) fn scan(sources: &Sources) -> Scan {
    let desktops: Vec<&str> = sources.desktops.iter().map(String::as_str).collect();
    let mut seen = HashSet::new();
    let mut applications = Vec::new();
    let mut scanned = 0;
    let mut truncated = false;
    'folders: for folder in &sources.data {
        let top = folder.join("applications");
        for file in entry_files(&top) {
            if scanned == MAX_SCANNED {
                truncated = true;
                break 'folders;
            }
            scanned += 1;
            let Some(id) = entry_id(&top, &file) else { continue };
            // The nearest file of an id decides, also when it hides the application.
            if !seen.insert(id) {
                continue;
            }
            applications.extend(read(&file, sources, &desktops));
        }
    }
    applications.sort_by(|a, b| (&a.entry.name, a.file.path()).cmp(&(&b.entry.name, b.file.path())));
    Scan { applications, truncated }
}

/// Reads one entry file and proves its program.
#[must_use]
pub(crate) fn read(file: &Path, sources: &Sources, desktops: &[&str]) -> Option<Application> {
    let identity = FileIdentity::of(file)?;
    let mut bytes = Vec::new();
    fs::File::open(identity.path()).ok()?.take(entry::MAX_BYTES as u64 + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() > entry::MAX_BYTES {
        return None;
    }
    let text = String::from_utf8(bytes).ok()?;
    let entry = match entry::read(&text, &sources.locale, desktops, &file.to_string_lossy()) {
        Ok(entry) => entry,
        Err(NotOffered::NotAnApplication | NotOffered::Hidden | NotOffered::NotShown | NotOffered::BrokenCommand) => {
            return None;
        }
    };
    if entry.try_exec.as_deref().is_some_and(|program| find_program(program, &sources.path).is_none()) {
        return None;
    }
    let program = find_program(&entry.command[0], &sources.path)?;
    Some(Application { entry, file: identity, program })
}

/// The executable that `name` means: a path as it is, a bare name by the folders of `path`.
#[must_use]
pub(crate) fn find_program(name: &str, path: &[PathBuf]) -> Option<FileIdentity> {
    let executable = |file: PathBuf| {
        let identity = FileIdentity::of(&file)?;
        let mode = fs::metadata(identity.path()).ok()?.permissions().mode();
        (mode & 0o111 != 0).then_some(identity)
    };
    if name.contains('/') {
        return Path::new(name).is_absolute().then(|| executable(PathBuf::from(name))).flatten();
    }
    path.iter().find_map(|folder| executable(folder.join(name)))
}

/// Entry files below `top`, breadth first, in name order, links to folders not followed.
fn entry_files(top: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = VecDeque::from([(top.to_owned(), 0)]);
    while let Some((folder, depth)) = folders.pop_front() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let mut names: Vec<PathBuf> = entries.flatten().take(4 * MAX_SCANNED).map(|entry| entry.path()).collect();
        names.sort();
        for path in names {
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            if metadata.is_dir() && depth < MAX_DEPTH {
                folders.push_back((path, depth + 1));
            } else if !metadata.is_dir() && path.extension().is_some_and(|extension| extension == "desktop") {
                files.push(path);
            }
            if files.len() > MAX_SCANNED {
                return files;
            }
        }
    }
    files
}

/// The id of an entry: its path below `applications/` with dashes for slashes.
fn entry_id(top: &Path, file: &Path) -> Option<String> {
    Some(file.strip_prefix(top).ok()?.to_str()?.replace('/', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap() }
        }

        fn write(&self, path: &str, text: &str) -> PathBuf {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        }

        fn program(&self, name: &str) -> PathBuf {
            let path = self.write(&format!("bin/{name}"), "#!/bin/sh\n");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        fn sources(&self) -> Sources {
            Sources {
                data: vec![self.folder.path().join("home"), self.folder.path().join("usr")],
                path: vec![self.folder.path().join("bin")],
                locale: String::new(),
                desktops: Vec::new(),
            }
        }

        fn names(&self) -> Vec<String> {
            scan(&self.sources()).applications.into_iter().map(|application| application.entry.name).collect()
        }
    }

    fn entry(name: &str, exec: &str) -> String {
        format!("[Desktop Entry]\nType=Application\nName={name}\nExec={exec}\n")
    }

    #[test]
    fn nearer_entries_shadow_further_ones_and_may_hide_them() {
        let place = Place::new();
        place.program("app");
        place.write("usr/applications/a.desktop", &entry("Far", "app"));
        place.write("usr/applications/kde/b.desktop", &entry("Nested", "app"));
        place.write("usr/applications/c.desktop", &entry("Gone", "app"));
        place.write("home/applications/a.desktop", &entry("Near", "app"));
        place.write("home/applications/c.desktop", &format!("{}Hidden=true\n", entry("Gone", "app")));
        place.write("home/applications/kde-b.desktop", &entry("Same id", "app"));
        assert_eq!(place.names(), ["Near", "Same id"]);
    }

    #[test]
    fn an_entry_without_its_program_is_not_offered() {
        let place = Place::new();
        place.program("app");
        place.write("bin/plain", "not executable");
        place.write("usr/applications/a.desktop", &entry("A", "app"));
        place.write("usr/applications/b.desktop", &entry("B", "missing"));
        place.write("usr/applications/c.desktop", &entry("C", "plain"));
        place.write("usr/applications/d.desktop", &entry("D", "bin/app"));
        place.write("usr/applications/e.desktop", &format!("{}TryExec=missing\n", entry("E", "app")));
        place.write("usr/applications/f.desktop", "\u{0}\u{1}");
        assert_eq!(place.names(), ["A"]);
    }

    #[test]
    fn a_scan_is_bounded_and_says_so() {
        let place = Place::new();
        place.program("app");
        for number in 0..MAX_SCANNED + 3 {
            place.write(&format!("usr/applications/{number:05}.desktop"), &entry("A", "app"));
        }
        let found = scan(&place.sources());
        assert_eq!(found.applications.len(), MAX_SCANNED);
        assert!(found.truncated);
    }

    #[test]
    fn a_replaced_file_has_another_identity() {
        let place = Place::new();
        let program = place.program("app");
        let before = FileIdentity::of(&program).unwrap();
        assert_eq!(FileIdentity::of(&program), Some(before.clone()));
        fs::remove_file(&program).unwrap();
        place.program("app");
        assert_ne!(FileIdentity::of(&program), Some(before));
    }
}
