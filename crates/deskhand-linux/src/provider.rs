//! The Linux provider: what each question of the seam is answered from.

use std::sync::{Arc, Mutex, PoisonError};

use deskhand_contract::geometry::Size;
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{
    AccessibilityStatus, ApplicationList, Bitmap, CaptureTarget, ChangeMark, Dispatch, DisplayFacts, Effect,
    EffectTarget, Fault, NativeKey, NativeTree, NativeValue, Profile, Provider, Resolved, TreeAsk, TreeSupport,
    WindowFacts,
};
use deskhand_contract::scope::{Capability, CapabilitySet};

use crate::accessibility::object::Object;
use crate::accessibility::{Accessibility, Target};
use crate::applications::Installed;
use crate::capture::display;
use crate::capture::pixels::Pixels;
use crate::capture::window::NoPicture;
use crate::sys::x11::{Deadline, XError};
use crate::windows::activate::{Activation, activate};
use crate::windows::enumerate::{XWindows, enumerate};
use crate::windows::facts::{Listed, Listing};
use crate::windows::key::{WindowKey, display_key, display_of};
use crate::windows::trees::{Trees, no_tree};
use crate::windows::watch::Watch;
use crate::x_server::{Lost, XServer, XServers};

/// Which desktop a [`LinuxProvider`] serves, and what on it is Deskhand's own.
#[derive(Debug, Clone, Default)]
pub struct LinuxOptions {
    /// The X display, such as `:7`; `None` for what `DISPLAY` names.
    pub display: Option<String>,
    /// Address of the session bus, behind which the accessibility bus is; `None` for what
    /// `DBUS_SESSION_BUS_ADDRESS` names.
    pub session_bus: Option<String>,
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
    watch: Arc<Watch>,
    trees: Trees,
    installed: Installed,
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
        let watch = Arc::new(Watch::begin(options.display).map_err(backend)?);
        let session_bus = options.session_bus.or_else(|| std::env::var("DBUS_SESSION_BUS_ADDRESS").ok());
        let woken = Arc::downgrade(&watch);
        let wake = Arc::new(move || {
            if let Some(watch) = woken.upgrade() {
                watch.bump();
            }
        });
        let trees = Trees::new(Accessibility::new(session_bus.filter(|address| !address.is_empty()), wake));
        let own_processes = Mutex::new(options.own_processes);
        let installed = Installed::new(std::env::vars().collect());
        Ok(Self { display, private: options.private, own_processes, servers, watch, trees, installed })
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

    /// The tree of a window: joined before, or joined now.
    fn target(&self, window: &NativeKey, limit: &Limit) -> Result<(WindowKey, Target), Fault> {
        let key = WindowKey::from_native(window).ok_or(Fault::Gone)?;
        let listing = self.listing(limit)?;
        let listed = listing.windows.iter().find(|listed| listed.key == key).ok_or(Fault::Gone)?;
        if let Some(target) = self.trees.known(key, &listed.window) {
            return Ok((key, target));
        }
        let joined = self.trees.join(&listing, limit);
        match self.trees.known(key, &listed.window) {
            Some(target) => Ok((key, target)),
            None => Err(no_tree(joined.get(&key))),
        }
    }

    /// Asks something of a window's tree. Where the join was over (its accessible is gone, the window is not), it
    /// is joined anew, once: a read may be repeated.
    fn read_tree<T>(
        &self,
        window: &NativeKey,
        limit: &Limit,
        question: impl Fn(&Target) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let (key, target) = self.target(window, limit)?;
        match question(&target) {
            Err(Fault::Gone) => {
                self.trees.forget(key);
                let (_, again) = self.target(window, limit)?;
                if again.top == target.top { Err(Fault::Gone) } else { question(&again) }
            }
            answer => answer,
        }
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
                Capability::ComputerAccessibilityObserve,
                Capability::ComputerControl,
                Capability::ComputerScrollToElement,
                Capability::ComputerTextInput,
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

    fn accessibility_status(&self, limit: &Limit) -> Result<AccessibilityStatus, Fault> {
        let listing = self.listing(limit)?;
        let mut notes = Vec::new();
        let (available, applications, unresponsive) = match self.trees.accessibility.applications(limit) {
            Ok(applications) => {
                let silent = applications.iter().filter(|one| one.silent).count();
                if silent > 0 {
                    notes.push(format!(
                        "{silent} of the applications do not answer; their windows have no tree until they do."
                    ));
                }
                (true, applications.len(), silent)
            }
            Err(fault) => {
                notes.push(fault.to_string());
                (false, 0, 0)
            }
        };
        let joined = self.trees.join(&listing, limit);
        let bare = joined.values().filter(|support| matches!(support, TreeSupport::No(_))).count();
        if available && bare > 0 {
            notes.push(format!("{bare} windows have no semantic tree; windows says why for each."));
        }
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Ok(AccessibilityStatus {
            available,
            applications: count(applications),
            unresponsive: count(unresponsive),
            notes,
        })
    }

    fn windows(&self, limit: &Limit) -> Result<Vec<WindowFacts>, Fault> {
        let listing = self.listing(limit)?;
        let mut joined = self.trees.join(&listing, limit);
        let mut facts = listing.facts();
        for (fact, listed) in facts.iter_mut().zip(&listing.windows) {
            if let Some(support) = joined.remove(&listed.key) {
                fact.tree = support;
            }
        }
        Ok(facts)
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

    fn tree(&self, window: &NativeKey, ask: &TreeAsk, limit: &Limit) -> Result<Arc<NativeTree>, Fault> {
        self.read_tree(window, limit, |target| self.trees.accessibility.tree(target, ask, limit))
    }

    fn resolve(&self, window: &NativeKey, element: &NativeKey, limit: &Limit) -> Result<Resolved, Fault> {
        let element = Object::from_native(element).ok_or(Fault::Gone)?;
        self.read_tree(window, limit, |target| self.trees.accessibility.resolve(target, &element, limit))
    }

    fn value(&self, window: &NativeKey, element: &NativeKey, limit: &Limit) -> Result<NativeValue, Fault> {
        let element = Object::from_native(element).ok_or(Fault::Gone)?;
        self.read_tree(window, limit, |target| self.trees.accessibility.value(target, &element, limit))
    }

    fn applications(&self, limit: &Limit) -> Result<ApplicationList, Fault> {
        self.installed.list(limit)
    }

    fn launch(&self, application: &NativeKey, limit: &Limit) -> Dispatch {
        self.installed.launch(application, limit)
    }

    fn perform(&self, target: &EffectTarget<'_>, effect: &Effect, limit: &Limit) -> Dispatch {
        if limit.is_over() {
            return Dispatch::NotStarted(Fault::Cancelled);
        }
        match effect {
            Effect::Activate => self.activate(target.window, limit),
            effect => self.act(target, effect, limit),
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
    /// An effect on an element. The window is joined before, as a read; the effect itself is never repeated.
    fn act(&self, target: &EffectTarget<'_>, effect: &Effect, limit: &Limit) -> Dispatch {
        let Some(element) = target.element.and_then(Object::from_native) else {
            return Dispatch::NotStarted(Fault::Gone);
        };
        match self.target(target.window, limit) {
            Ok(_) => self.trees.accessibility.perform(&element, effect, limit),
            Err(fault) => Dispatch::NotStarted(fault),
        }
    }

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
