//! Which desktop is meant.

use std::fmt;

use deskhand_contract::error::ErrorCode;

use super::link::Unreachable;
use crate::config::{Environment, Places, RunnerFiles, file_name};
use crate::providers::{self, PrivateDesktop};

/// A desktop that can have a Runner.
#[derive(Debug, Clone)]
pub(crate) enum Desktop {
    /// The user's own.
    Own,
    /// One that Deskhand started.
    Private(PrivateDesktop),
}

/// Which desktop a caller wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The only private one, else the user's own.
    #[default]
    Default,
    /// The user's own.
    Current,
    /// The private one of that name.
    Named(String),
}

impl Choice {
    /// Reads `--desktop`.
    pub(crate) fn of(text: Option<&str>) -> Self {
        match text {
            None => Self::Default,
            Some("current") => Self::Current,
            Some(name) => Self::Named(name.to_owned()),
        }
    }

    /// Finds the desktop.
    ///
    /// # Errors
    /// Says which desktops there are, or how to start one.
    pub(crate) fn find(&self, environment: &Environment) -> Result<Desktop, Unreachable> {
        match self {
            Self::Current => own(environment),
            Self::Named(name) => {
                let running = running()?;
                let names: Vec<String> = running.iter().map(|desktop| desktop.name().to_owned()).collect();
                running.into_iter().find(|desktop| desktop.name() == name).map(Desktop::Private).ok_or_else(|| {
                    let there = if names.is_empty() { "none runs".into() } else { names.join(", ") };
                    unavailable(format!(
                        "There is no private desktop of that name ({there}). Start one: deskhand desktop start --name NAME"
                    ))
                })
            }
            Self::Default => {
                let mut running = running()?;
                match running.len() {
                    1 => Ok(Desktop::Private(running.remove(0))),
                    0 => own(environment),
                    _ if own(environment).is_ok() => Ok(Desktop::Own),
                    _ => {
                        let names: Vec<&str> = running.iter().map(PrivateDesktop::name).collect();
                        Err(Unreachable::new(
                            ErrorCode::ClientUnknown,
                            format!("Several private desktops run ({}). Say which: --desktop NAME", names.join(", ")),
                        ))
                    }
                }
            }
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Current => f.write_str("current"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl Desktop {
    /// Where its Runner's socket, lock and log lie.
    ///
    /// # Errors
    /// Says which directory is wrong, and the fix.
    pub(crate) fn runner_files(&self, environment: &Environment) -> Result<RunnerFiles, Unreachable> {
        let key = match self {
            // They go with the desktop's own directory.
            Self::Private(desktop) => return Ok(RunnerFiles::at(desktop.runner_socket())),
            Self::Own => match (&environment.wayland_display, &environment.display) {
                (Some(wayland), _) => file_name("wayland", wayland),
                (None, Some(display)) => file_name("x11", server(display)),
                (None, None) => file_name("x11", "none"),
            },
        };
        let places = Places::prepare(environment)
            .map_err(|why| Unreachable::new(ErrorCode::Configuration, format!("{why}.")))?;
        Ok(places.runner(&key))
    }

    /// Whether Deskhand started it.
    pub(crate) fn is_private(&self) -> bool {
        matches!(self, Self::Private(_))
    }

    /// What selects it on a command line.
    pub(crate) fn selector(&self) -> &str {
        match self {
            Self::Own => "current",
            Self::Private(desktop) => desktop.name(),
        }
    }
}

/// Every desktop of the user's: the private ones that run, and the one that this process is on.
///
/// # Errors
/// Says what cannot be read, and the fix.
pub(crate) fn all(environment: &Environment) -> Result<Vec<Desktop>, Unreachable> {
    let mut desktops: Vec<Desktop> = running()?.into_iter().map(Desktop::Private).collect();
    desktops.extend(own(environment));
    Ok(desktops)
}

/// Whether this process has a display of the user's.
pub(crate) fn has_display(environment: &Environment) -> bool {
    environment.display.is_some() || environment.wayland_display.is_some()
}

fn own(environment: &Environment) -> Result<Desktop, Unreachable> {
    if has_display(environment) {
        Ok(Desktop::Own)
    } else {
        Err(unavailable("There is no display here. Start a private desktop: deskhand desktop start".into()))
    }
}

fn running() -> Result<Vec<PrivateDesktop>, Unreachable> {
    let mut running = providers::private_desktops()?;
    running.retain(PrivateDesktop::is_ready);
    Ok(running)
}

fn unavailable(message: String) -> Unreachable {
    Unreachable::new(ErrorCode::Unavailable, message)
}

/// A display's server: screens of one server are one desktop, so `:0.0` is `:0`.
fn server(display: &str) -> &str {
    match display.rsplit_once('.') {
        Some((server, screen)) if server.contains(':') && screen.bytes().all(|byte| byte.is_ascii_digit()) => server,
        _ => display,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screens_of_one_server_are_one_desktop() {
        assert_eq!(server(":0.0"), ":0");
        assert_eq!(server(":0"), ":0");
        assert_eq!(server("host.example:10.0"), "host.example:10");
        assert_eq!(server("host.example:10"), "host.example:10");
    }
}
