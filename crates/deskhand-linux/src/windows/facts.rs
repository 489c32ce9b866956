//! From what X11 and the kernel say of windows to the contract's facts.

use std::collections::HashMap;

use deskhand_contract::provider::{Belonging, TreeSupport, WindowFacts, WindowKind as ContractKind};
use x11rb::protocol::xproto::Window;

use super::enumerate::{Visibility, XWindow, XWindows};
use super::key::WindowKey;
use super::process::{Owner, ProcessFacts, descends_from};
use crate::map::window::WindowKind;

/// The windows of a display with the processes behind them.
pub(crate) struct Listing {
    /// Front to back.
    pub(crate) windows: Vec<Listed>,
}

/// One window with the process behind it.
pub(crate) struct Listed {
    /// Its identity.
    pub(crate) key: WindowKey,
    /// What X11 says.
    pub(crate) window: XWindow,
    /// The process, where it is proven and this process may look at it.
    pub(crate) process: Option<ProcessFacts>,
    /// Whose it is.
    pub(crate) belongs_to: Belonging,
}

impl Listing {
    /// Adds the processes. `local`: whether the server's pids mean something in this namespace. `own`: processes
    /// of Deskhand that show windows.
    pub(crate) fn of(windows: XWindows, local: bool, own: &[u32]) -> Self {
        let mut processes: HashMap<u32, Option<ProcessFacts>> = HashMap::new();
        let windows = windows
            .windows
            .into_iter()
            .map(|window| {
                let pid = window.client_pid.filter(|_| local);
                let process =
                    pid.and_then(|pid| processes.entry(pid).or_insert_with(|| ProcessFacts::read(pid)).clone());
                let key = WindowKey {
                    id: window.id,
                    pid: window.client_pid.unwrap_or(0),
                    started: process.as_ref().map_or(0, |process| process.started),
                };
                let belongs_to = belonging(process.as_ref(), own);
                Listed { key, window, process, belongs_to }
            })
            .collect();
        Self { windows }
    }

    /// The contract's facts, with no tree joined yet.
    pub(crate) fn facts(&self) -> Vec<WindowFacts> {
        self.windows.iter().map(|listed| self.fact(listed)).collect()
    }

    fn fact(&self, listed: &Listed) -> WindowFacts {
        let window = &listed.window;
        let class = window.class.as_ref().map(|(instance, class)| if class.is_empty() { instance } else { class });
        let executable = listed.process.as_ref().and_then(executable);
        let application = class
            .cloned()
            .or_else(|| executable.clone())
            .or_else(|| listed.process.as_ref().map(|process| process.name.clone()))
            .unwrap_or_default();
        WindowFacts {
            key: listed.key.to_native(),
            title: window.title.clone(),
            application,
            class: class.cloned(),
            executable,
            kind: contract_kind(window.kind),
            geometry: window.rect,
            foreground: window.active,
            minimised: window.visibility == Visibility::Minimised,
            other_workspace: window.visibility == Visibility::OtherWorkspace,
            modal: window.modal,
            owner: self.owner(listed).map(WindowKey::to_native),
            belongs_to: listed.belongs_to,
            tree: TreeSupport::No("its application exposes no accessibility tree; take a snapshot instead".to_owned()),
        }
    }

    /// The window that it says it belongs to; for a popup that says nothing, its process's only other window.
    fn owner(&self, listed: &Listed) -> Option<WindowKey> {
        if let Some(owner) = listed.window.transient_for {
            return self.by_id(owner).map(|owner| owner.key);
        }
        if contract_kind(listed.window.kind) != ContractKind::Popup || listed.key.pid == 0 {
            return None;
        }
        let mut mains = self
            .windows
            .iter()
            .filter(|other| other.key.pid == listed.key.pid && contract_kind(other.window.kind) != ContractKind::Popup);
        let first = mains.next()?;
        let rest: Vec<_> = mains.collect();
        if rest.is_empty() {
            return Some(first.key);
        }
        // Of several the active one: a popup belongs to where the user is.
        std::iter::once(first).chain(rest).find(|main| main.window.active).map(|main| main.key)
    }

    fn by_id(&self, id: Window) -> Option<&Listed> {
        self.windows.iter().find(|listed| listed.window.id == id)
    }
}

fn belonging(process: Option<&ProcessFacts>, own: &[u32]) -> Belonging {
    let Some(process) = process else { return Belonging::Unproven };
    if process.pid == std::process::id() || own.iter().any(|own| descends_from(process.pid, *own)) {
        return Belonging::Deskhand;
    }
    match process.owner() {
        Owner::SameUser => Belonging::User,
        Owner::OtherUser | Owner::Elevated => Belonging::Elevated,
    }
}

fn executable(process: &ProcessFacts) -> Option<String> {
    let path = &process.program.as_ref()?.path;
    Some(path.rsplit('/').next().unwrap_or(path).to_owned())
}

fn contract_kind(kind: WindowKind) -> ContractKind {
    match kind {
        WindowKind::Normal | WindowKind::Utility | WindowKind::Splash => ContractKind::Normal,
        WindowKind::Dialog => ContractKind::Dialog,
        WindowKind::Popup | WindowKind::Tooltip | WindowKind::Notification => ContractKind::Popup,
        WindowKind::Dock | WindowKind::Desktop => ContractKind::Shell,
    }
}
