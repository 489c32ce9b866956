//! Sessions: who observed what. An id means something only in the session that it was given to.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deskhand_contract::id::{DisplayId, SurfaceId};
use deskhand_contract::provider::{DisplayFacts, NativeKey};
use deskhand_contract::wire::Mode;

use crate::element::Elements;
use crate::grant::Grant;
use crate::identity::Identities;
use crate::surface::Surfaces;

/// One observer: a connection, or a name that several share.
pub struct Session {
    number: u64,
    mode: Mode,
    held: Mutex<Held>,
}

/// What a session was told of. The lock on it is held for a moment, never during a question to the provider.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) surfaces: Surfaces,
    pub(crate) elements: Elements,
    pub(crate) displays: HashMap<DisplayId, DisplayFacts>,
    pub(crate) grant: Option<Grant>,
}

impl Held {
    /// The id of a window. Where another one had to end for it, its elements end too.
    pub(crate) fn surface(&mut self, key: &NativeKey, identities: &Identities) -> SurfaceId {
        let (id, ended) = self.surfaces.identify(key, identities);
        if let Some(ended) = ended {
            self.elements.end_surface(&ended);
        }
        id
    }

    /// Ends a window that is proven gone, with its elements.
    pub(crate) fn end_surface(&mut self, id: &SurfaceId) {
        self.surfaces.end(id);
        self.elements.end_surface(id);
    }

    /// Ends every window that is not among `there`, with its elements.
    pub(crate) fn keep_only(&mut self, there: &HashSet<&NativeKey>) {
        for gone in self.surfaces.keep_only(there) {
            self.elements.end_surface(&gone);
        }
    }
}

impl Session {
    /// Its number in this process: for audit rows.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The permission mode that its host fixed.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What it was told of. A panic under the lock leaves whole entries, so a poisoned lock is still good.
    pub(crate) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({}, {:?})", self.number, self.mode)
    }
}

/// Most named sessions. One more ends the one that was idle longest.
pub(crate) const MAX_NAMED: usize = 64;

/// The sessions that outlive their connections.
#[derive(Default)]
pub(crate) struct Sessions {
    named: Mutex<HashMap<(String, Mode), Named>>,
    count: AtomicU64,
}

struct Named {
    session: Arc<Session>,
    used: u64,
}

impl Sessions {
    /// The session of that name and mode, or a new one. Without a name it is new and ends with its last holder.
    pub(crate) fn open(&self, name: Option<&str>, mode: Mode) -> Arc<Session> {
        let Some(name) = name else { return self.begin(mode) };
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let used = self.count.fetch_add(1, Ordering::Relaxed);
        let key = (name.to_owned(), mode);
        if let Some(known) = named.get_mut(&key) {
            known.used = used;
            return Arc::clone(&known.session);
        }
        if named.len() >= MAX_NAMED {
            end_oldest(&mut named);
        }
        let session = self.begin(mode);
        named.insert(key, Named { session: Arc::clone(&session), used });
        session
    }

    fn begin(&self, mode: Mode) -> Arc<Session> {
        Arc::new(Session { number: self.count.fetch_add(1, Ordering::Relaxed) + 1, mode, held: Mutex::default() })
    }
}

/// Ends the one that was opened longest ago, of those that nobody holds if there is one. A holder keeps its ids;
/// only the name leads to a new session from then on.
fn end_oldest(named: &mut HashMap<(String, Mode), Named>) {
    let oldest =
        named.iter().min_by_key(|(_, one)| (Arc::strong_count(&one.session) > 1, one.used)).map(|(key, _)| key.clone());
    if let Some(key) = oldest {
        named.remove(&key);
    }
}
