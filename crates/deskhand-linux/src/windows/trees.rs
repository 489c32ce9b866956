//! Which window has which semantic tree: joined once by evidence, kept while both are the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{Fault, TreeSupport};

use super::enumerate::{Visibility, XWindow};
use super::facts::Listing;
use super::join::{Candidate, Joined, Shape, Top, join};
use super::key::WindowKey;
use crate::accessibility::applications::Application;
use crate::accessibility::object::Object;
use crate::accessibility::{Accessibility, Target};
use crate::map::geometry::Placement;
use crate::map::state::Raw;

/// The trees of a display's windows.
pub(crate) struct Trees {
    pub(crate) accessibility: Accessibility,
    joined: Mutex<HashMap<WindowKey, Known>>,
}

/// A window's top-level accessible, as it was proven.
#[derive(Clone)]
struct Known {
    top: Object,
    toolkit: Arc<str>,
    version: Arc<str>,
}

impl Trees {
    pub(crate) fn new(accessibility: Accessibility) -> Self {
        Self { accessibility, joined: Mutex::default() }
    }

    /// Joins every window of `listing`. A bus that cannot be reached leaves all without a tree and says why.
    pub(crate) fn join(&self, listing: &Listing, limit: &Limit) -> HashMap<WindowKey, TreeSupport> {
        let applications = match self.accessibility.applications(limit) {
            Ok(applications) => applications,
            Err(fault) => {
                let no = TreeSupport::No(fault.to_string());
                return listing.windows.iter().map(|listed| (listed.key, no.clone())).collect();
            }
        };
        let silent: Vec<u32> = applications.iter().filter(|one| one.silent).filter_map(|one| one.pid).collect();
        let tops: Vec<(&Application, usize)> =
            applications.iter().flat_map(|one| (0..one.tops.len()).map(move |top| (one, top))).collect();
        let candidates: Vec<Candidate<'_>> = listing.windows.iter().map(|listed| candidate(&listed.window)).collect();
        let shapes: Vec<Top<'_>> = tops.iter().map(|(one, top)| shape(one, *top)).collect();
        let mut joined = self.lock();
        let known: Vec<(usize, usize)> = listing
            .windows
            .iter()
            .enumerate()
            .filter_map(|(window, listed)| {
                let known = joined.get(&listed.key)?;
                Some((window, tops.iter().position(|(one, top)| one.tops[*top].object == known.top)?))
            })
            .collect();
        let verdicts = join(&candidates, &shapes, &known);
        joined.retain(|key, _| {
            listing
                .windows
                .iter()
                .any(|listed| listed.key == *key && listed.window.client_pid.is_some_and(|pid| silent.contains(&pid)))
        });
        let mut support = HashMap::new();
        for (listed, verdict) in listing.windows.iter().zip(verdicts) {
            let is_silent = listed.window.client_pid.is_some_and(|pid| silent.contains(&pid));
            let answer = match verdict {
                Joined::To(index) => {
                    let (one, top) = tops[index];
                    let known = Known {
                        top: one.tops[top].object.clone(),
                        toolkit: Arc::clone(&one.toolkit),
                        version: Arc::clone(&one.version),
                    };
                    joined.insert(listed.key, known);
                    TreeSupport::Yes
                }
                _ if is_silent => TreeSupport::Unresponsive,
                Joined::Ambiguous => TreeSupport::No(
                    "several windows of its application fit and nothing tells them apart; bring it to the front, or \
                     move or rename one, and list the windows again"
                        .to_owned(),
                ),
                Joined::NoneOfProcess => TreeSupport::No(
                    "its application exposes other windows but not this one; take a snapshot, or look in the tree of \
                     its main window"
                        .to_owned(),
                ),
                Joined::NoProcess => {
                    TreeSupport::No("its application exposes no accessibility tree; take a snapshot instead".to_owned())
                }
            };
            support.insert(listed.key, answer);
        }
        support
    }

    /// The tree of a window that was just measured, where it was joined before.
    pub(crate) fn known(&self, key: WindowKey, window: &XWindow) -> Option<Target> {
        let known = self.lock().get(&key).cloned()?;
        Some(Target { top: known.top, toolkit: known.toolkit, version: known.version, placement: placement(window) })
    }

    /// Forgets a join that turned out to be over.
    pub(crate) fn forget(&self, key: WindowKey) {
        self.lock().remove(&key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WindowKey, Known>> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a window has no tree, as a fault.
pub(crate) fn no_tree(support: Option<&TreeSupport>) -> Fault {
    match support {
        Some(TreeSupport::Unresponsive) => Fault::Unresponsive,
        Some(TreeSupport::No(why)) => Fault::Unsupported(why.clone()),
        Some(TreeSupport::Yes) | None => Fault::Gone,
    }
}

fn candidate(window: &XWindow) -> Candidate<'_> {
    Candidate {
        pid: window.client_pid,
        title: &window.title,
        kind: window.kind,
        placement: placement(window),
        viewable: window.visibility == Visibility::Viewable,
        active: window.active,
    }
}

fn placement(window: &XWindow) -> Placement {
    Placement { client: window.rect, frame: window.frame_extents, shadow: window.shadow }
}

fn shape(application: &Application, top: usize) -> Top<'_> {
    let accessible = &application.tops[top];
    Top {
        pid: application.pid,
        name: &accessible.name,
        shape: match accessible.role {
            2 | 9 | 16 | 19 | 22 => Shape::Dialog,
            33 | 41 | 64 => Shape::Popup,
            _ => Shape::Main,
        },
        extents: accessible.screen,
        knows_place: !(application.toolkit.eq_ignore_ascii_case("gtk") && application.version.starts_with('4')),
        active: accessible.states.has(Raw::Active),
    }
}
