//! A desktop's private home: what keeps applications from asking first-run questions, from waiting for services that
//! are not there, and from hiding their accessibility trees.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::environment::OWN_PROGRAMS;
use super::process::program_in;

/// Makes the home and fills it. `path` is the search path in which browsers are looked for, `data` the directories
/// that hold `applications/`.
pub(super) fn prepare(home: &Path, path: &OsStr, data: &[PathBuf]) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(home)?;
    for below in ["tmp", ".config", ".local/share/applications", ".local/state", ".cache", OWN_PROGRAMS] {
        fs::DirBuilder::new().mode(0o700).recursive(true).create(home.join(below))?;
    }
    for (file, text) in FILES {
        let file = home.join(file);
        fs::create_dir_all(file.parent().unwrap_or(home))?;
        fs::write(file, text)?;
    }
    wrap_engines(home, path, data)
}

/// Puts a starter for each Chromium-based program that is installed first in the search path, and a menu entry that
/// names the starter before the system's. Debian's and Ubuntu's own starters read no variable for such switches.
fn wrap_engines(home: &Path, path: &OsStr, data: &[PathBuf]) -> io::Result<()> {
    let mut wrapped = Vec::new();
    for name in ENGINES {
        if let Some(real) = program_in(path, name) {
            let starter = home.join(OWN_PROGRAMS).join(name);
            fs::write(&starter, starter_text(&real))?;
            fs::set_permissions(&starter, fs::Permissions::from_mode(0o755))?;
            wrapped.push((*name, starter));
        }
    }
    if wrapped.is_empty() {
        return Ok(());
    }
    let own = home.join(".local/share/applications");
    for entry in data.iter().rev().flat_map(|folder| fs::read_dir(folder.join("applications")).into_iter().flatten()) {
        let Ok(entry) = entry else { continue };
        let file = entry.path();
        if file.extension() != Some(OsStr::new("desktop")) || entry.metadata().is_ok_and(|meta| meta.len() > MAX_ENTRY)
        {
            continue;
        }
        let Ok(text) = fs::read_to_string(&file) else { continue };
        if let Some(text) = redirected(&text, &wrapped) {
            fs::write(own.join(entry.file_name()), text)?;
        }
    }
    Ok(())
}

/// The starter of the program at that path, if it is one that needs the switches: it is used also where the program is
/// named by its whole path, as menu entries do.
pub(super) fn starter(home: &Path, program: &OsStr) -> Option<OsString> {
    let program = Path::new(program);
    let starter = home.join(OWN_PROGRAMS).join(program.file_name()?);
    let text = fs::read_to_string(&starter).ok()?;
    (program.is_absolute() && text == starter_text(program)).then(|| starter.into())
}

fn starter_text(real: &Path) -> String {
    let real = real.to_string_lossy().replace('\'', r"'\''");
    // The engine refuses to run as root with its sandbox on.
    let sandbox = if rustix::process::geteuid().is_root() { " --no-sandbox" } else { "" };
    format!("#!/bin/sh\nexec '{real}' {SWITCHES}{sandbox} \"$@\"\n")
}

/// A menu entry whose commands begin with a wrapped program, with the starter in its place; none where it has no such.
fn redirected(text: &str, wrapped: &[(&str, PathBuf)]) -> Option<String> {
    let mut changed = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let replaced = line.strip_prefix("Exec=").and_then(|command| {
            let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
            let name = Path::new(program.trim_matches('"')).file_name()?.to_str()?;
            let (_, starter) = wrapped.iter().find(|(other, _)| *other == name)?;
            Some(format!("Exec=\"{}\" {rest}", starter.display()))
        });
        match replaced {
            Some(line) => {
                changed = true;
                lines.push(line);
            }
            None if line == "DBusActivatable=true" => {}
            None => lines.push(line.to_owned()),
        }
    }
    changed.then(|| lines.join("\n") + "\n")
}

const SWITCHES: &str =
    "--force-renderer-accessibility --no-first-run --no-default-browser-check --password-store=basic";

/// Programs on Chromium's engine, Electron's among them, by the names of their commands.
const ENGINES: &[&str] = &[
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "google-chrome-beta",
    "brave-browser",
    "microsoft-edge",
    "microsoft-edge-stable",
    "opera",
    "vivaldi",
    "vivaldi-stable",
    "electron",
    "code",
    "code-insiders",
    "codium",
    "cursor",
    "discord",
    "element-desktop",
    "obsidian",
    "signal-desktop",
    "slack",
];

const MAX_ENTRY: u64 = 64 * 1024;

const FILES: &[(&str, &str)] = &[
    (".config/openbox/rc.xml", include_str!("home/openbox.xml")),
    (".config/gtk-3.0/settings.ini", "[Settings]\ngtk-enable-animations=0\n"),
    (".config/gtk-4.0/settings.ini", "[Settings]\ngtk-enable-animations=0\n"),
    (".config/pulse/client.conf", "autospawn = no\n"),
    (".config/chromium/First Run", ""),
    (".config/google-chrome/First Run", ""),
    (".config/libreoffice/4/user/registrymodifications.xcu", include_str!("home/libreoffice.xcu")),
    (".mozilla/firefox/profiles.ini", include_str!("home/firefox-profiles.ini")),
    (".mozilla/firefox/desktop.default/user.js", include_str!("home/firefox-user.js")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_menu_entry_names_the_starter() {
        let wrapped = [("chromium", PathBuf::from("/h/bin/chromium"))];
        let entry = "[Desktop Entry]\nExec=/usr/bin/chromium %U\nDBusActivatable=true\n[Action new]\nExec=chromium\n";
        let expected = "[Desktop Entry]\nExec=\"/h/bin/chromium\" %U\n[Action new]\nExec=\"/h/bin/chromium\" \n";
        assert_eq!(redirected(entry, &wrapped).as_deref(), Some(expected));
        assert_eq!(redirected("[Desktop Entry]\nExec=/usr/bin/chromium-bsu\n", &wrapped), None);
    }

    #[test]
    fn installed_engines_get_starters_and_others_do_not() {
        let root = tempfile::tempdir().unwrap();
        let programs = root.path().join("it's here");
        fs::create_dir(&programs).unwrap();
        fs::write(programs.join("chromium"), "#!/bin/sh\necho real \"$@\"\n").unwrap();
        fs::set_permissions(programs.join("chromium"), fs::Permissions::from_mode(0o755)).unwrap();
        let home = root.path().join("home");
        prepare(&home, programs.as_os_str(), &[]).unwrap();
        let ran = std::process::Command::new(home.join(".deskhand/bin/chromium")).arg("a b").output().unwrap();
        let said = String::from_utf8(ran.stdout).unwrap();
        assert!(said.starts_with("real --force-renderer-accessibility ") && said.ends_with(" a b\n"), "{said}");
        assert!(!home.join(".deskhand/bin/google-chrome").exists());
        assert_eq!(fs::metadata(&home).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
