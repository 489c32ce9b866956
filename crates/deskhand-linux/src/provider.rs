//! The Linux provider: what each question of the seam is answered from.

use std::sync::{Arc, Mutex, PoisonError};

use deskhand_contract::geometry::Size;
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{
    AccessibilityStatus, Bitmap, CaptureTarget, ChangeMark, Dispatch, DisplayFacts, Effect, EffectTarget, Fault,
    NativeKey, NativeTree, NativeValue, Profile, Provider, Resolved, TreeAsk, WindowFacts,
};
use deskhand_contract::scope::{Capability, CapabilitySet};

use crate::capture::display;
use crate::capture::pixels::Pixels;
use crate::capture::window::NoPicture;
use crate::sys::x11::{Deadline, XError};
use crate::windows::activate::{Activation, activate};
use crate::windows::enumerate::{XWindows, enumerate};
use crate::windows::facts::{Listed, Listing};
use crate::windows::key::{WindowKey, display_key, display_of};
use crate::windows::watch::Watch;
use crate::x_server::{Lost, XServer, XServers};

/// Which desktop a [`LinuxProvider`] serves, and what on it is Deskhand's own.
#[derive(Debug, Clone, Default)]
pub struct LinuxOptions {
    /// The X display, such as `:7`; `None` for what `DISPLAY` names.
    pub display: Option<String>,
    /// Whether Deskhand started this desktop.
    pub private: bool,
    /// Processes that are parts of Deskhand and show windows (a panel, an indicator), with all that they start.
    /// This process itself always counts.
    pub own_processes: Vec<u32>,
}

/// A Linux desktop under X11.
pub struct LinuxProvider {
    display: String,
    private: bool,
    own_processes: Mutex<Vec<u32>>,
    servers: XServers,
    watch: Watch,
}

impl LinuxProvider {
    /// Connects to a desktop.
    ///
    /// # Errors
    ///
    /// [`Fault::Backend`] where the X server cannot be reached, with the fix.
    pub fn connect(options: LinuxOptions) -> Result<Self, Fault> {
        let display = options.display.clone().or_else(|| std::env::var("DISPLAY").ok()).unwrap_or_default();
        let servers = XServers::new(options.display.clone());
        let backend = |error: XError| unreachable(&display, &error);
        servers.live().map_err(backend)?;
        let watch = Watch::begin(options.display).map_err(backend)?;
        Ok(Self { display, private: options.private, own_processes: Mutex::new(options.own_processes), servers, watch })
    }

    /// Counts the windows of `pid`, and of all that it starts, as Deskhand's own from now on.
    pub fn add_own_process(&self, pid: u32) {
        self.own_processes.lock().unwrap_or_else(PoisonError::into_inner).push(pid);
    }

    fn listing(&self, limit: &Limit) -> Result<Listing, Fault> {
        let _deadline = Deadline::at(limit.deadline);
        let own = self.own_processes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (windows, local) = self.ask(|server| Ok((enumerate(&server.x11)?, server.pids_are_ours)))?;
        Ok(Listing::of(windows, local, &own))
    }

    /// Finds a window by its key, and that it is still the same one.
    fn listed(&self, key: &NativeKey, limit: &Limit) -> Result<Listed, Fault> {
        let key = WindowKey::from_native(key).ok_or(Fault::Gone)?;
        self.listing(limit)?.windows.into_iter().find(|listed| listed.key == key).ok_or(Fault::Gone)
    }

    fn ask<T>(&self, question: impl Fn(&Arc<XServer>) -> Result<T, XError>) -> Result<T, Fault> {
        self.servers.read(question).map_err(|error| fault(&self.display, error))
    }

    fn picture<T>(&self, take: impl Fn(&Arc<XServer>) -> Result<T, NoPicture>) -> Result<T, Fault> {
        self.servers.read(take).map_err(|error| match error {
            NoPicture::Gone => Fault::Gone,
            NoPicture::NotCapturable(why) => Fault::NotCapturable(why.to_owned()),
            NoPicture::Fault(error) => fault(&self.display, error),
        })
    }

    fn managed(&self) -> Result<XWindows, Fault> {
        self.ask(|server| enumerate(&server.x11))
    }
}

impl Provider for LinuxProvider {
    fn profile(&self) -> Profile {
        let mut capabilities = CapabilitySet::NONE;
        if self.servers.live().is_ok() {
            capabilities = CapabilitySet::of(&[
                Capability::ComputerObserve,
                Capability::ComputerSnapshotRegion,
                Capability::ComputerDisplayObserve,
                Capability::ComputerWindowActivate,
            ]);
        }
        Profile {
            platform: "linux",
            provider: "linux-atspi",
            session_type: "x11",
            fidelity: "device",
            private: self.private,
            capabilities,
        }
    }

    fn accessibility_status(&self, _limit: &Limit) -> Result<AccessibilityStatus, Fault> {
        Ok(AccessibilityStatus { available: false, applications: 0, unresponsive: 0, notes: Vec::new() })
    }

    fn windows(&self, limit: &Limit) -> Result<Vec<WindowFacts>, Fault> {
        Ok(self.listing(limit)?.facts())
    }

    fn window(&self, window: &NativeKey, limit: &Limit) -> Result<WindowFacts, Fault> {
        self.windows(limit)?.into_iter().find(|facts| facts.key == *window).ok_or(Fault::Gone)
    }

    fn displays(&self, limit: &Limit) -> Result<Vec<DisplayFacts>, Fault> {
        let _deadline = Deadline::at(limit.deadline);
        let displays = self.ask(|server| display::displays(&server.x11))?;
        let facts = displays.into_iter().map(|found| DisplayFacts {
            key: display_key(found.name),
            geometry: found.rect,
            primary: found.primary,
        });
        Ok(facts.collect())
    }

    fn tree(&self, _window: &NativeKey, _ask: &TreeAsk, _limit: &Limit) -> Result<Arc<NativeTree>, Fault> {
        Err(no_trees())
    }

    fn resolve(&self, _window: &NativeKey, _element: &NativeKey, _limit: &Limit) -> Result<Resolved, Fault> {
        Err(no_trees())
    }

    fn value(&self, _window: &NativeKey, _element: &NativeKey, _limit: &Limit) -> Result<NativeValue, Fault> {
        Err(no_trees())
    }

    fn perform(&self, target: &EffectTarget<'_>, effect: &Effect, limit: &Limit) -> Dispatch {
        if limit.is_over() {
            return Dispatch::NotStarted(Fault::Cancelled);
        }
        match effect {
            Effect::Activate => self.activate(target.window, limit),
            _ => Dispatch::NotStarted(no_trees()),
        }
    }

    fn capture(&self, target: &CaptureTarget<'_>, limit: &Limit) -> Result<Bitmap, Fault> {
        let _deadline = Deadline::at(limit.deadline);
        match *target {
            CaptureTarget::Window { window, region } => {
                let id = self.listed(window, limit)?.window.id;
                let (pixels, source) = self.picture(|server| {
                    let taken = server.pictures.take(&server.x11, &server.segments, id, region, limit);
                    server.release_when_idle();
                    taken
                })?;
                Ok(bitmap(pixels, source))
            }
            CaptureTarget::Display { display, without } => {
                let name = display_of(display).ok_or(Fault::Gone)?;
                let hidden: Vec<_> = without.iter().filter_map(|key| Some(WindowKey::from_native(key)?.id)).collect();
                let displays = self.ask(|server| display::displays(&server.x11))?;
                let rect = displays.iter().find(|found| found.name == name).ok_or(Fault::Gone)?.rect;
                let pixels = self.picture(|server| {
                    let taken = display::take(&server.x11, &server.segments, rect, &hidden);
                    server.release_when_idle();
                    taken
                })?;
                Ok(bitmap(pixels, rect.size()))
            }
        }
    }

    fn change_mark(&self) -> ChangeMark {
        ChangeMark(self.watch.mark())
    }

    fn await_change(&self, since: ChangeMark, window: Option<&NativeKey>, limit: &Limit) -> ChangeMark {
        let window = window.and_then(WindowKey::from_native).map(|key| key.id);
        ChangeMark(self.watch.wait(since.0, window, limit.deadline, || !limit.cancel.is_cancelled()))
    }
}

impl LinuxProvider {
    fn activate(&self, window: &NativeKey, limit: &Limit) -> Dispatch {
        let _deadline = Deadline::at(limit.deadline);
        let found = self.listed(window, limit).and_then(|listed| Ok((listed.window.id, self.managed()?.managed)));
        let (id, managed) = match found {
            Ok(found) => found,
            Err(fault) => return Dispatch::NotStarted(fault),
        };
        let server = match self.servers.live() {
            Ok((server, _)) => server,
            Err(error) => return Dispatch::NotStarted(fault(&self.display, error)),
        };
        match activate(&server.x11, id, managed) {
            Ok(Activation::Sent) => Dispatch::Sent,
            Ok(Activation::Impossible(why)) => Dispatch::NotStarted(Fault::Unsupported(why.to_owned())),
            Ok(Activation::Unknown(error)) => {
                self.servers.forget(&server);
                Dispatch::Unknown(error.to_string())
            }
            Err(error) => {
                if error.is_lost() {
                    self.servers.forget(&server);
                }
                Dispatch::NotStarted(fault(&self.display, error))
            }
        }
    }
}

impl Lost for NoPicture {
    fn is_lost(&self) -> bool {
        matches!(self, Self::Fault(error) if error.is_lost())
    }
}

fn bitmap(pixels: Pixels, source: Size) -> Bitmap {
    Bitmap {
        size: Size::new(pixels.width, pixels.height),
        stride: pixels.width as usize * 4,
        pixels: pixels.bytes,
        source,
    }
}

fn fault(display: &str, error: XError) -> Fault {
    match error {
        XError::Gone => Fault::Gone,
        error => unreachable(display, &error),
    }
}

/// What the reader of the error can do about it stands in the error.
fn unreachable(display: &str, error: &XError) -> Fault {
    let fix = "set DISPLAY (and XAUTHORITY, if the display asks for it) to a running X display, or start a private \
               desktop: deskhand desktop start";
    Fault::Backend(if display.is_empty() {
        format!("there is no X display: DISPLAY is not set; {fix}")
    } else {
        format!("{error} (display {display}); {fix}")
    })
}

fn no_trees() -> Fault {
    Fault::Unsupported("the accessibility bus is not reachable; deskhand doctor says what is missing".to_owned())
}
