//! Where things lie: the runtime directory with a Runner's socket, lock and log.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::Environment;

/// Longest path of a Unix socket, without its closing NUL.
const MAX_SOCKET_PATH: usize = 107;
/// Longest file name that is put into the runtime directory.
const MAX_NAME: usize = 48;

/// Places of one user.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    runtime: PathBuf,
}

/// Where one Runner listens, and what lies beside that.
#[derive(Debug, Clone)]
pub(crate) struct RunnerFiles {
    /// Its socket.
    pub(crate) socket: PathBuf,
    /// Its lock. It is never removed while the directory stands: a lock on a removed file locks nothing.
    pub(crate) lock: PathBuf,
    /// Its log.
    pub(crate) log: PathBuf,
}

impl RunnerFiles {
    /// Those of the Runner that listens at `socket`.
    pub(crate) fn at(socket: PathBuf) -> Self {
        Self { lock: socket.with_extension("lock"), log: socket.with_extension("log"), socket }
    }
}

impl Places {
    /// Makes sure that the runtime directory exists, is this user's alone and is no symbolic link.
    ///
    /// # Errors
    /// Says which directory is wrong and what would mend it.
    pub(crate) fn prepare(environment: &Environment) -> Result<Self, String> {
        let uid = environment.uid;
        if let Some(runtime) = &environment.deskhand_runtime_dir {
            own_directory(runtime, uid)?;
            return Ok(Self { runtime: runtime.clone() });
        }
        if let Some(base) = &environment.runtime_dir {
            let runtime = base.join("deskhand");
            let fits = runtime.as_os_str().len() + 1 + MAX_NAME <= MAX_SOCKET_PATH;
            let ours = fs::metadata(base).is_ok_and(|found| found.is_dir() && found.uid() == uid);
            if fits && ours {
                own_directory(&runtime, uid)?;
                return Ok(Self { runtime });
            }
        }
        let runtime = PathBuf::from(format!("/tmp/deskhand-{uid}"));
        own_directory(&runtime, uid)?;
        Ok(Self { runtime })
    }

    /// The files of the Runner `key`.
    pub(crate) fn runner(&self, key: &str) -> RunnerFiles {
        RunnerFiles::at(self.runtime.join(format!("{key}.sock")))
    }
}

/// The directory of the audit files, made where it is not there, for this user alone.
///
/// # Errors
/// Says which directory is wrong, and the fix.
pub(crate) fn audit_directory(environment: &Environment) -> Result<PathBuf, String> {
    let Some(state) = &environment.state_dir else {
        return Err("there is no place for the audit log; set HOME or XDG_STATE_HOME".into());
    };
    if let Some(parent) = state.parent() {
        fs::create_dir_all(parent).map_err(|error| format!("{} cannot be made: {error}", parent.display()))?;
    }
    own_directory(state, environment.uid)?;
    let audit = state.join("audit");
    own_directory(&audit, environment.uid)?;
    Ok(audit)
}

/// `text` as (a part of) a file name: short, plain, and different for different texts.
pub(crate) fn file_name(prefix: &str, text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() || "._-".contains(character) { character } else { '_' })
        .take(20)
        .collect();
    if plain == text { format!("{prefix}-{plain}") } else { format!("{prefix}-{plain}-{:08x}", digest(text)) }
}

/// FNV-1a, folded to 32 bits. It only has to keep names apart.
fn digest(text: &str) -> u32 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash ^ (hash >> 32)) as u32
}

/// Makes `path` a directory of mode 0700 that belongs to `uid`, or says why it is not one.
fn own_directory(path: &Path, uid: u32) -> Result<(), String> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(format!("{} cannot be made: {error}", path.display())),
    }
    let found = fs::symlink_metadata(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    if !found.is_dir() {
        return Err(format!("{} is not a directory; remove it", path.display()));
    }
    if found.uid() != uid {
        return Err(format!("{} belongs to another user; set XDG_RUNTIME_DIR to a directory of yours", path.display()));
    }
    if found.mode() & 0o077 != 0 {
        return Err(format!("{0} is open to others; run: chmod 700 {0}", path.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(runtime_dir: &Path) -> Environment {
        Environment { runtime_dir: Some(runtime_dir.to_owned()), deskhand_runtime_dir: None, ..Environment::read() }
    }

    #[test]
    fn the_directory_is_made_private_and_a_strange_one_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let places = Places::prepare(&environment(home.path())).unwrap();
        assert_eq!(fs::metadata(&places.runtime).unwrap().mode() & 0o777, 0o700);
        assert!(Places::prepare(&environment(home.path())).is_ok());

        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&places.runtime, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(Places::prepare(&environment(home.path())).unwrap_err().contains("chmod 700"));

        let linked = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(&places.runtime, linked.path().join("deskhand")).unwrap();
        assert!(Places::prepare(&environment(linked.path())).unwrap_err().contains("not a directory"));
    }

    #[test]
    fn a_path_too_long_for_a_socket_falls_back() {
        let home = tempfile::tempdir().unwrap();
        let deep = home.path().join("x".repeat(90));
        fs::create_dir(&deep).unwrap();
        let places = Places::prepare(&environment(&deep)).unwrap();
        assert!(places.runner(&file_name("x11", &"y".repeat(300))).socket.as_os_str().len() <= MAX_SOCKET_PATH);
    }

    #[test]
    fn file_names_are_plain_and_differ() {
        assert_eq!(file_name("private", "work"), "private-work");
        let (one, two) = (file_name("x11", ":0"), file_name("x11", "_0"));
        assert_ne!(one, two);
        assert!(one.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)), "{one}");
        assert!(file_name("x11", "../../etc/passwd").len() + ".sock".len() <= MAX_NAME);
    }
}
