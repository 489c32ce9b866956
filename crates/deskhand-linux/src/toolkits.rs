//! What each toolkit needs on this machine to show its semantic tree, and whether it is here.

use std::path::{Path, PathBuf};

/// One toolkit or browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolkit {
    /// Its name.
    pub what: &'static str,
    /// How it stands.
    pub state: ToolkitState,
    /// What its trees come from, or what is missing.
    pub why: &'static str,
    /// The command that mends it, where something is missing.
    pub fix: Option<&'static str>,
}

/// How a toolkit stands on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolkitState {
    /// Installed, and its trees can be read.
    Ready,
    /// Installed, and something that its trees need is not.
    Missing,
    /// Nothing of it is installed, so nothing is needed.
    Absent,
}

impl ToolkitState {
    /// The wire name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Missing => "missing",
            Self::Absent => "absent",
        }
    }
}

/// The toolkits whose trees Deskhand reads, as they stand below the file system's `root`.
#[must_use]
pub fn toolkits(root: &Path) -> Vec<Toolkit> {
    let machine = Machine::below(root);
    let built_in = |what, is_there: bool| Toolkit {
        what,
        state: if is_there { ToolkitState::Ready } else { ToolkitState::Absent },
        why: "shows its tree by itself",
        fix: None,
    };
    vec![
        machine.needing(
            "GTK 3",
            machine.has_library("libgtk-3.so.0"),
            machine.has_library("libatk-bridge-2.0.so.0"),
            "shows its tree through the ATK bridge",
            "apt-get install libatk-bridge2.0-0",
        ),
        built_in("GTK 4", machine.has_library("libgtk-4.so.1")),
        built_in("Qt 5", machine.has_library("libQt5Gui.so.5")),
        built_in("Qt 6", machine.has_library("libQt6Gui.so.6")),
        built_in("Firefox", machine.has_program(&["firefox", "firefox-esr"])),
        Toolkit {
            why: "shows its tree when started with --force-renderer-accessibility, as private desktops start it",
            ..built_in("Chromium", machine.has_program(&["chromium", "chromium-browser", "google-chrome"]))
        },
        machine.needing(
            "LibreOffice",
            machine.has_program(&["soffice", "libreoffice"]),
            ["usr/lib/libreoffice/program", "usr/lib64/libreoffice/program", "opt/libreoffice/program"]
                .iter()
                .any(|folder| root.join(folder).join("libvclplug_gtk3lo.so").exists()),
            "shows its tree through its GTK 3 plug-in",
            "apt-get install libreoffice-gtk3",
        ),
        Toolkit {
            what: "fonts",
            state: if machine.has_fonts() { ToolkitState::Ready } else { ToolkitState::Missing },
            why: "applications draw text with them; without one, pictures show boxes",
            fix: (!machine.has_fonts()).then_some("apt-get install fonts-dejavu-core"),
        },
    ]
}

struct Machine<'a> {
    root: &'a Path,
    libraries: Vec<PathBuf>,
}

impl<'a> Machine<'a> {
    fn below(root: &'a Path) -> Self {
        let mut libraries: Vec<PathBuf> =
            ["usr/lib64", "usr/lib", "lib64", "lib"].map(|folder| root.join(folder)).into();
        // Debian keeps them one level deeper: `usr/lib/x86_64-linux-gnu`.
        if let Ok(entries) = std::fs::read_dir(root.join("usr/lib")) {
            let triples = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().contains("-linux-gnu"));
            libraries.extend(triples.map(|entry| entry.path()));
        }
        Self { root, libraries }
    }

    fn has_library(&self, name: &str) -> bool {
        self.libraries.iter().any(|folder| folder.join(name).exists())
    }

    fn has_program(&self, names: &[&str]) -> bool {
        let folders = ["usr/local/bin", "usr/bin", "bin", "snap/bin"];
        names.iter().any(|name| folders.iter().any(|folder| self.root.join(folder).join(name).exists()))
    }

    fn has_fonts(&self) -> bool {
        ["usr/share/fonts", "usr/local/share/fonts"]
            .iter()
            .any(|folder| std::fs::read_dir(self.root.join(folder)).is_ok_and(|mut entries| entries.next().is_some()))
    }

    fn needing(
        &self,
        what: &'static str,
        is_there: bool,
        has_part: bool,
        why: &'static str,
        fix: &'static str,
    ) -> Toolkit {
        let state = match (is_there, has_part) {
            (false, _) => ToolkitState::Absent,
            (true, true) => ToolkitState::Ready,
            (true, false) => ToolkitState::Missing,
        };
        Toolkit { what, state, why, fix: (state == ToolkitState::Missing).then_some(fix) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(root: &Path, what: &str) -> Toolkit {
        toolkits(root).into_iter().find(|toolkit| toolkit.what == what).unwrap()
    }

    #[test]
    fn what_is_missing_has_a_fix_and_what_is_absent_needs_none() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(state(root.path(), "LibreOffice").state, ToolkitState::Absent);
        assert_eq!(state(root.path(), "fonts").fix, Some("apt-get install fonts-dejavu-core"));

        let put = |path: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        put("usr/bin/soffice");
        put("usr/lib/aarch64-linux-gnu/libgtk-3.so.0");
        assert_eq!(state(root.path(), "LibreOffice").fix, Some("apt-get install libreoffice-gtk3"));
        assert_eq!(state(root.path(), "GTK 3").state, ToolkitState::Missing);

        put("usr/lib/libreoffice/program/libvclplug_gtk3lo.so");
        put("usr/lib/aarch64-linux-gnu/libatk-bridge-2.0.so.0");
        put("usr/share/fonts/a.ttf");
        for what in ["LibreOffice", "GTK 3", "fonts"] {
            assert_eq!((state(root.path(), what).state, state(root.path(), what).fix), (ToolkitState::Ready, None));
        }
    }
}
