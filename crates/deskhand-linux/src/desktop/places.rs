//! Where desktops are kept and what the caller's surroundings are. Everything that other software would read from
//! globals comes in here, so that a test can have a world of its own.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::error::{DesktopError, Fault};

/// The world that desktops are started in.
#[derive(Debug, Clone)]
pub struct Places {
    /// Deskhand's own runtime directory (0700); desktops stand below it, one directory each.
    pub runtime: PathBuf,
    /// Where private home directories are made; on a disk rather than in memory, because browsers fill them.
    pub scratch: PathBuf,
    /// The directory of the X servers' sockets, `/tmp/.X11-unix`.
    pub x11_sockets: PathBuf,
    /// The caller's environment: the search path, the language, the proxies.
    pub environment: Vec<(OsString, OsString)>,
}

impl Places {
    /// The usual places for that environment: `$DESKHAND_RUNTIME_DIR`, which a private desktop sets for what runs in
    /// it, else `$XDG_RUNTIME_DIR/deskhand` where that directory is ours, else `/tmp/deskhand-UID`.
    #[must_use]
    pub fn of_environment(environment: Vec<(OsString, OsString)>) -> Self {
        let variable = |name: &str| value_in(&environment, name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let uid = rustix::process::geteuid().as_raw();
        let ours = |folder: &PathBuf| {
            folder.is_absolute() && std::fs::metadata(folder).is_ok_and(|meta| meta.is_dir() && meta.uid() == uid)
        };
        let runtime = variable(RUNTIME_VARIABLE)
            .or_else(|| variable("XDG_RUNTIME_DIR").filter(ours).map(|folder| folder.join("deskhand")))
            .unwrap_or_else(|| PathBuf::from(format!("/tmp/deskhand-{uid}")));
        let scratch = variable("TMPDIR").filter(|folder| folder.is_absolute()).unwrap_or_else(|| "/tmp".into());
        Self { runtime, scratch, x11_sockets: "/tmp/.X11-unix".into(), environment }
    }

    /// The directory that holds one directory for each desktop.
    #[must_use]
    pub fn desktops(&self) -> PathBuf {
        self.runtime.join("desktops")
    }

    /// The caller's value of a variable.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        value_in(&self.environment, name)
    }

    /// The caller's search path.
    #[must_use]
    pub fn search_path(&self) -> &OsStr {
        self.variable("PATH").filter(|path| !path.is_empty()).unwrap_or(OsStr::new(DEFAULT_PATH))
    }

    /// Makes the directories and proves that they are ours alone.
    ///
    /// # Errors
    /// [`Fault::NoPermission`] where one cannot be made or could be another user's.
    pub(super) fn ensure(&self) -> Result<(), DesktopError> {
        private_directory(&self.runtime)?;
        private_directory(&self.desktops())
    }

    /// Proves that an X server can make its socket.
    pub(super) fn check_x11_sockets(&self) -> Result<(), DesktopError> {
        let folder = &self.x11_sockets;
        let fix = format!("sudo install -d -m 1777 -o root {}", folder.display());
        let refused = |why: String| Err(DesktopError::new(Fault::NoPermission, why).fix(fix.clone()));
        let writable = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
        match std::fs::symlink_metadata(folder) {
            Ok(meta) if !meta.is_dir() => refused(format!("{} is no directory.", folder.display())),
            Ok(_) if writable(folder) => Ok(()),
            Ok(_) => refused(format!("No X server can make its socket: {} is not writable.", folder.display())),
            Err(_) if folder.parent().is_some_and(writable) => Ok(()),
            Err(_) => refused(format!("{} is missing and cannot be made.", folder.display())),
        }
    }
}

/// Names Deskhand's runtime directory for what runs inside a desktop, where `XDG_RUNTIME_DIR` is private.
pub(super) const RUNTIME_VARIABLE: &str = "DESKHAND_RUNTIME_DIR";

pub(super) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games";

/// Makes a directory with mode 0700, or proves that the one that is there is a directory, ours, and closed to others.
pub(super) fn private_directory(folder: &Path) -> Result<(), DesktopError> {
    let made = std::fs::DirBuilder::new().mode(0o700).create(folder);
    match made {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => {
            return Err(DesktopError {
                fault: Fault::NoPermission,
                ..DesktopError::io(&format!("The directory {} cannot be made", folder.display()), &error)
            }
            .fix("set XDG_RUNTIME_DIR to a directory of your own with mode 0700"));
        }
    }
    let meta = std::fs::symlink_metadata(folder)
        .map_err(|error| DesktopError::io(&format!("The directory {} cannot be read", folder.display()), &error))?;
    let refused = |why: &str, fix: String| {
        Err(DesktopError::new(Fault::NoPermission, format!("{} {why}.", folder.display())).fix(fix))
    };
    if !meta.is_dir() {
        return refused("is in the way: it is no directory", format!("mv {0} {0}.old", folder.display()));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return refused("belongs to another user", "set XDG_RUNTIME_DIR to a directory of your own".into());
    }
    if meta.mode() & 0o077 != 0 {
        return refused("is open to other users", format!("chmod 700 {}", folder.display()));
    }
    Ok(())
}

fn value_in<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    environment.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn world(pairs: &[(&str, &Path)]) -> Places {
        Places::of_environment(pairs.iter().map(|(k, v)| ((*k).into(), v.as_os_str().to_owned())).collect())
    }

    #[test]
    fn the_runtime_directory_is_the_users_own_or_one_below_tmp() {
        let own = tempfile::tempdir().unwrap();
        assert_eq!(world(&[("XDG_RUNTIME_DIR", own.path())]).runtime, own.path().join("deskhand"));
        let uid = rustix::process::geteuid().as_raw();
        let fallback = PathBuf::from(format!("/tmp/deskhand-{uid}"));
        assert_eq!(world(&[]).runtime, fallback);
        assert_eq!(world(&[("XDG_RUNTIME_DIR", Path::new("/nowhere/at/all"))]).runtime, fallback);
        assert_eq!(world(&[("XDG_RUNTIME_DIR", Path::new("relative"))]).runtime, fallback);
        assert_eq!(world(&[("DESKHAND_RUNTIME_DIR", Path::new("/x"))]).runtime, PathBuf::from("/x"));
    }

    #[test]
    fn a_directory_that_could_be_anothers_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let fresh = root.path().join("fresh");
        private_directory(&fresh).unwrap();
        private_directory(&fresh).unwrap();
        assert_eq!(std::fs::metadata(&fresh).unwrap().permissions().mode() & 0o777, 0o700);

        std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(private_directory(&fresh).unwrap_err().fix.unwrap(), format!("chmod 700 {}", fresh.display()));

        let link = root.path().join("link");
        std::os::unix::fs::symlink(root.path(), &link).unwrap();
        assert_eq!(private_directory(&link).unwrap_err().fault, Fault::NoPermission);

        let deep = root.path().join("no/such/parent");
        assert_eq!(private_directory(&deep).unwrap_err().fault, Fault::NoPermission);
    }
}
