//! The programs that a desktop is made of: which one serves here, and what installs it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::error::{DesktopError, Fault};
use super::places::Places;
use super::process::{executable, program_in};

/// One thing that a desktop needs, and whether it is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The program's name.
    pub what: &'static str,
    /// Where it, or another that serves, was found.
    pub found: Option<PathBuf>,
    /// Whether no desktop starts without it.
    pub essential: bool,
    /// What it is for.
    pub why: &'static str,
    /// The command that installs it.
    pub fix: &'static str,
}

/// What a desktop needs on this machine, in the order in which it is started.
#[must_use]
pub fn requirements(places: &Places) -> Vec<Requirement> {
    vec![
        Requirement {
            what: "Xvfb",
            found: display_server(places.search_path()).map(DisplayServer::into_program),
            essential: true,
            why: "the virtual display of a private desktop (Xtigervnc serves as well)",
            fix: "apt-get install xvfb",
        },
        Requirement {
            what: "dbus-daemon",
            found: program_in(places.search_path(), "dbus-daemon"),
            essential: true,
            why: "the D-Bus session of a private desktop",
            fix: "apt-get install dbus",
        },
        Requirement {
            what: "at-spi-bus-launcher",
            found: accessibility_launcher(places),
            essential: true,
            why: "the accessibility bus, on which applications show their trees",
            fix: "apt-get install at-spi2-core",
        },
        Requirement {
            what: "openbox",
            found: window_manager(places.search_path()),
            essential: false,
            why: "the window manager; without one, windows are neither focused nor stacked nor listed reliably",
            fix: "apt-get install openbox",
        },
    ]
}

/// The programs of one desktop, all found.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) display_server: DisplayServer,
    pub(super) session_bus: PathBuf,
    pub(super) accessibility_launcher: PathBuf,
    pub(super) window_manager: Option<PathBuf>,
}

impl Programs {
    /// Finds them, or says what to install, everything that is missing in one go.
    pub(super) fn find(places: &Places) -> Result<Self, DesktopError> {
        let path = places.search_path();
        let found = (
            display_server(path),
            program_in(path, "dbus-daemon"),
            accessibility_launcher(places),
            window_manager(path),
        );
        if let (Some(display_server), Some(session_bus), Some(accessibility_launcher), window_manager) = found {
            return Ok(Self { display_server, session_bus, accessibility_launcher, window_manager });
        }
        let missing: Vec<_> =
            requirements(places).into_iter().filter(|need| need.found.is_none() && need.essential).collect();
        let names: Vec<_> = missing.iter().map(|need| format!("{} ({})", need.what, need.why)).collect();
        let packages: Vec<_> = missing.iter().filter_map(|need| need.fix.rsplit(' ').next()).collect();
        Err(DesktopError::new(Fault::MissingProgram, format!("Not installed: {}.", names.join("; ")))
            .fix(format!("apt-get install {}", packages.join(" "))))
    }
}

/// An X server without a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DisplayServer {
    Xvfb(PathBuf),
    Xtigervnc(PathBuf),
}

impl DisplayServer {
    fn into_program(self) -> PathBuf {
        match self {
            Self::Xvfb(program) | Self::Xtigervnc(program) => program,
        }
    }

    pub(super) fn program(&self) -> &Path {
        match self {
            Self::Xvfb(program) | Self::Xtigervnc(program) => program,
        }
    }
}

fn display_server(path: &OsStr) -> Option<DisplayServer> {
    let xvfb = program_in(path, "Xvfb").map(DisplayServer::Xvfb);
    xvfb.or_else(|| program_in(path, "Xtigervnc").map(DisplayServer::Xtigervnc))
}

/// Openbox, or another that speaks EWMH and needs neither a session nor a compositor.
fn window_manager(path: &OsStr) -> Option<PathBuf> {
    WINDOW_MANAGERS.iter().find_map(|name| program_in(path, name))
}

/// No search path holds it: the bus's service file says where it is.
fn accessibility_launcher(places: &Places) -> Option<PathBuf> {
    let from_service = data_folders(places).into_iter().find_map(|folder| {
        let text = std::fs::read_to_string(folder.join("dbus-1/services/org.a11y.Bus.service")).ok()?;
        let command = text.lines().find_map(|line| line.strip_prefix("Exec="))?;
        let program = PathBuf::from(command.split_ascii_whitespace().next()?);
        executable(&program).then_some(program)
    });
    let usual = || LAUNCHERS.iter().map(PathBuf::from).find(|program| executable(program));
    from_service.or_else(usual)
}

/// The directories of the system's shared data, most important first.
pub(super) fn data_folders(places: &Places) -> Vec<PathBuf> {
    let set = places.variable("XDG_DATA_DIRS").filter(|folders| !folders.is_empty());
    std::env::split_paths(set.unwrap_or(OsStr::new("/usr/local/share:/usr/share")))
        .chain(["/usr/share".into()])
        .filter(|folder| folder.is_absolute())
        .collect()
}

const WINDOW_MANAGERS: &[&str] = &["openbox", "xfwm4", "marco", "metacity", "icewm", "fluxbox", "jwm"];
const LAUNCHERS: &[&str] = &[
    "/usr/libexec/at-spi-bus-launcher",
    "/usr/lib/at-spi2-core/at-spi-bus-launcher",
    "/usr/lib/at-spi-bus-launcher",
    "/usr/lib/at-spi2/at-spi-bus-launcher",
];
