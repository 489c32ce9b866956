//! The environment of what runs inside a desktop: everything that points to another session is gone, and every toolkit
//! is told to expose its accessibility tree and to wait for no service that is not there.

use std::ffi::{OsStr, OsString};

use super::places::{DEFAULT_PATH, RUNTIME_VARIABLE};
use super::record::DesktopRecord;

/// Carries the desktop's id in every process inside.
pub(super) const MARKER_VARIABLE: &str = "DESKHAND_DESKTOP_ID";

/// The variables that a desktop sets for what runs inside. `PATH` is not among them: see [`whole`].
#[must_use]
pub fn environment(record: &DesktopRecord) -> Vec<(String, String)> {
    let text = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    let home = |below: &str| text(record.home.join(below));
    let mut all = vec![
        (MARKER_VARIABLE.into(), record.id.clone()),
        ("DESKHAND_DESKTOP".into(), record.name.to_string()),
        (RUNTIME_VARIABLE.into(), text(record.runtime.clone())),
        ("XAUTHORITY".into(), text(record.xauthority())),
        ("HOME".into(), text(record.home.clone())),
        ("TMPDIR".into(), home("tmp")),
        ("XDG_RUNTIME_DIR".into(), text(record.runtime_directory())),
        ("XDG_CONFIG_HOME".into(), home(".config")),
        ("XDG_DATA_HOME".into(), home(".local/share")),
        ("XDG_STATE_HOME".into(), home(".local/state")),
        ("XDG_CACHE_HOME".into(), home(".cache")),
    ];
    all.extend(record.display_name().map(|display| ("DISPLAY".into(), display)));
    all.extend(record.session_bus.clone().map(|bus| ("DBUS_SESSION_BUS_ADDRESS".into(), bus)));
    all.extend(FIXED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    if rustix::process::geteuid().is_root() {
        // The browser engines refuse to run as root with their sandbox on.
        all.push(("QTWEBENGINE_DISABLE_SANDBOX".into(), "1".into()));
        all.push(("ELECTRON_DISABLE_SANDBOX".into(), "1".into()));
    }
    all
}

/// A caller's environment made fit for a program inside: what points elsewhere removed, what the desktop sets added, and
/// the desktop's own `bin` first in `PATH`.
#[must_use]
pub fn whole(record: &DesktopRecord, base: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let set = environment(record);
    let is_set = |name: &OsStr| set.iter().any(|(other, _)| name == OsStr::new(other));
    let mut all: Vec<_> = base
        .iter()
        .filter(|(name, _)| !foreign(name) && !is_set(name) && name != "PATH")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    all.extend(set.into_iter().map(|(name, value)| (name.into(), value.into())));
    let path = base.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let path = path.filter(|path| !path.is_empty()).unwrap_or(OsStr::new(DEFAULT_PATH));
    let own = record.home.join(OWN_PROGRAMS);
    let rest = std::env::split_paths(path).filter(|folder| !folder.ends_with(OWN_PROGRAMS));
    let joined = std::env::join_paths(std::iter::once(own).chain(rest)).unwrap_or_else(|_| path.to_owned());
    all.push(("PATH".into(), joined));
    all
}

/// What the desktop's own parts inherit: the language and the search path, and nothing that applications are told.
#[must_use]
pub(super) fn for_parts(record: &DesktopRecord, base: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let kept = |name: &OsStr| {
        let name = name.to_string_lossy();
        name.starts_with("LC_") || ["LANG", "LANGUAGE", "PATH", "TZ", "USER", "LOGNAME"].contains(&&*name)
    };
    let kept: Vec<_> = base.iter().filter(|(name, _)| kept(name)).cloned().collect();
    whole(record, &kept)
}

/// The desktop's own programs below its home: they start browsers with the switches that those need.
pub(super) const OWN_PROGRAMS: &str = ".deskhand/bin";

/// Whether a variable belongs to another session, or would make a program wait for a service that is not here.
fn foreign(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let foreign = FOREIGN.contains(&&*name) || FOREIGN_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    foreign && !SYSTEM_FOLDERS.contains(&&*name)
}

/// Set in every desktop.
const FIXED: &[(&str, &str)] = &[
    ("XDG_SESSION_TYPE", "x11"),
    ("XDG_SESSION_CLASS", "user"),
    // GTK: X11, a renderer that needs no GPU (GTK 4 registers reliably only with it), settings in a file and not in a
    // service, no portal, no virtual file system service.
    ("GDK_BACKEND", "x11"),
    ("GSK_RENDERER", "cairo"),
    ("GSETTINGS_BACKEND", "keyfile"),
    ("GTK_USE_PORTAL", "0"),
    ("GIO_USE_VFS", "local"),
    ("GIO_USE_VOLUME_MONITOR", "unix"),
    ("GIO_USE_PORTALS", "0"),
    ("GVFS_DISABLE_FUSE", "1"),
    ("GNOME_ACCESSIBILITY", "1"),
    // Qt 5 and 6.
    ("QT_QPA_PLATFORM", "xcb"),
    ("QT_ACCESSIBILITY", "1"),
    ("QT_LINUX_ACCESSIBILITY_ALWAYS_ON", "1"),
    ("QT_QUICK_BACKEND", "software"),
    ("QTWEBENGINE_CHROMIUM_FLAGS", "--force-renderer-accessibility"),
    // Chromium and Electron.
    ("ACCESSIBILITY_ENABLED", "1"),
    ("ELECTRON_OZONE_PLATFORM_HINT", "x11"),
    // Firefox: the profile that the private home holds, and no crash reporter.
    ("MOZ_LEGACY_PROFILES", "1"),
    ("MOZ_CRASHREPORTER_DISABLE", "1"),
    ("MOZ_ENABLE_WAYLAND", "0"),
    // LibreOffice.
    ("SAL_USE_VCLPLUGIN", "gtk3"),
    ("SAL_DISABLE_WATCHDOG", "1"),
    ("OOO_DISABLE_RECOVERY", "1"),
    // No GPU here.
    ("LIBGL_ALWAYS_SOFTWARE", "1"),
];

const FOREIGN: &[&str] = &[
    "DISPLAY",
    "GDK_DEBUG",
    "WAYLAND_DISPLAY",
    "WAYLAND_SOCKET",
    "XAUTHORITY",
    "SESSION_MANAGER",
    "DESKTOP_SESSION",
    "DESKTOP_STARTUP_ID",
    "WINDOWID",
    "ICEAUTHORITY",
    "NO_AT_BRIDGE",
    "GTK_A11Y",
    "GTK_MODULES",
    "GTK_THEME",
    "GTK_IM_MODULE",
    "QT_IM_MODULE",
    "QT_IM_MODULES",
    "CLUTTER_IM_MODULE",
    "XMODIFIERS",
    "QT_QPA_PLATFORMTHEME",
    "QT_STYLE_OVERRIDE",
    "QT_SCALE_FACTOR",
    "QT_SCREEN_SCALE_FACTORS",
    "QT_AUTO_SCREEN_SCALE_FACTOR",
    "QT_DEVICE_PIXEL_RATIO",
    "GDK_SCALE",
    "GDK_DPI_SCALE",
    "GDK_SYNCHRONIZE",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "GNOME_KEYRING_CONTROL",
    "PULSE_SERVER",
    "PULSE_COOKIE",
    "CHROME_WRAPPER",
    "CHROME_DESKTOP",
    "SNAP",
    "OLDPWD",
];

const FOREIGN_PREFIXES: &[&str] = &[
    "DBUS_",
    "AT_SPI_",
    "XDG_",
    "KDE_",
    "GNOME_",
    "SWAYSOCK",
    "HYPRLAND_",
    "I3SOCK",
    "SYSTEMD_",
    "INVOCATION_",
    "JOURNAL_",
];

/// Where the system's software is, whatever the session.
const SYSTEM_FOLDERS: &[&str] = &["XDG_DATA_DIRS", "XDG_CONFIG_DIRS"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desktop::testing::record;

    fn value<'a>(all: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
        let mut values = all.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_os_str());
        let first = values.next();
        assert!(values.next().is_none(), "{name} is set twice");
        first
    }

    #[test]
    fn nothing_of_another_session_stays() {
        let base = [
            ("DISPLAY", ":0"),
            ("WAYLAND_DISPLAY", "wayland-0"),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus"),
            ("AT_SPI_BUS_ADDRESS", "unix:path=/x"),
            ("XDG_DATA_DIRS", "/y"),
            ("XDG_SESSION_ID", "3"),
            ("SSH_AUTH_SOCK", "/agent"),
            ("PATH", "/a:/b"),
            ("LANG", "de_DE.UTF-8"),
            ("MINE", "kept"),
        ];
        let base: Vec<_> = base.iter().map(|(k, v)| (OsString::from(k), OsString::from(v))).collect();
        let record = record();
        let all = whole(&record, &base);
        assert_eq!(value(&all, "DISPLAY"), Some(OsStr::new(":7")));
        assert_eq!(value(&all, "DBUS_SESSION_BUS_ADDRESS"), record.session_bus.as_deref().map(OsStr::new));
        for name in ["WAYLAND_DISPLAY", "AT_SPI_BUS_ADDRESS", "XDG_SESSION_ID", "SSH_AUTH_SOCK"] {
            assert_eq!(value(&all, name), None, "{name}");
        }
        assert_eq!(value(&all, "MINE"), Some(OsStr::new("kept")));
        assert_eq!(value(&all, "XDG_DATA_DIRS"), Some(OsStr::new("/y")));
        assert_eq!(value(&all, "LANG"), Some(OsStr::new("de_DE.UTF-8")));
        assert_eq!(value(&all, "PATH"), Some(OsStr::new("/home/x/.deskhand/bin:/a:/b")));
        assert_eq!(value(&for_parts(&record, &base), "MINE"), None);
    }

    #[test]
    fn an_environment_from_inside_another_desktop_is_replaced() {
        let outer = record();
        let mut inner = record();
        inner.home = "/home/y".into();
        let all = whole(&inner, &whole(&outer, &[]));
        assert_eq!(value(&all, "HOME"), Some(OsStr::new("/home/y")));
        assert!(value(&all, "PATH").unwrap().to_string_lossy().starts_with("/home/y/.deskhand/bin:/usr/"));
        assert!(!value(&all, "PATH").unwrap().to_string_lossy().contains("/home/x"));
    }
}
