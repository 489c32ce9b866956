//! The windows that a session was told of, and what it was shown of each.

use std::collections::{HashMap, HashSet, VecDeque};

use deskhand_contract::id::{ElementId, SurfaceId};
use deskhand_contract::provider::NativeKey;

use crate::delta::Seen;
use crate::identity::Identities;

/// Windows that a session may hold. One more ends the one that was named longest ago.
pub(crate) const MAX_SURFACES: usize = 256;
/// Observations that are kept of a window.
pub(crate) const MAX_OBSERVATIONS: usize = 4;
/// Lines that are kept of all observations of a session; the oldest observations go first.
pub(crate) const MAX_LINES: usize = 40_000;
/// Ended ids that are remembered as gone, so that a wait for their end is answered.
const MAX_GONE: usize = 128;

/// What part of a window an observation showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) root: Option<ElementId>,
    pub(crate) max_depth: u32,
    pub(crate) max_nodes: u32,
}

/// What was shown once.
#[derive(Debug, Clone)]
pub(crate) struct Observation {
    pub(crate) generation: u64,
    pub(crate) view: View,
    /// The provider's revision of the tree.
    pub(crate) revision: u64,
    pub(crate) lines: std::sync::Arc<[Seen]>,
}

/// A window of a session.
#[derive(Debug)]
struct Surface {
    key: NativeKey,
    generation: u64,
    observations: VecDeque<Observation>,
    named: u64,
}

/// The windows of one session.
#[derive(Default)]
pub(crate) struct Surfaces {
    by_id: HashMap<SurfaceId, Surface>,
    by_key: HashMap<NativeKey, SurfaceId>,
    gone: VecDeque<SurfaceId>,
    lines: usize,
    tick: u64,
}

impl Surfaces {
    /// The id of a window, which it keeps while it is there. Also says which one had to end for it.
    pub(crate) fn identify(&mut self, key: &NativeKey, identities: &Identities) -> (SurfaceId, Option<SurfaceId>) {
        self.tick += 1;
        if let Some(id) = self.by_key.get(key) {
            self.by_id.get_mut(id).expect("both maps hold the same windows").named = self.tick;
            return (id.clone(), None);
        }
        let oldest = (self.by_id.len() >= MAX_SURFACES)
            .then(|| self.by_id.iter().min_by_key(|(_, surface)| surface.named).map(|(id, _)| id.clone()))
            .flatten();
        if let Some(oldest) = &oldest {
            self.remove(oldest);
        }
        let id = identities.surface();
        self.by_key.insert(key.clone(), id.clone());
        let surface = Surface { key: key.clone(), generation: 0, observations: VecDeque::new(), named: self.tick };
        self.by_id.insert(id.clone(), surface);
        (id, oldest)
    }

    /// The native window of `id`.
    pub(crate) fn key(&mut self, id: &SurfaceId) -> Option<NativeKey> {
        self.tick += 1;
        let surface = self.by_id.get_mut(id)?;
        surface.named = self.tick;
        Some(surface.key.clone())
    }

    /// The id of a native window, if it has one.
    pub(crate) fn id(&self, key: &NativeKey) -> Option<SurfaceId> {
        self.by_key.get(key).cloned()
    }

    /// Ends the windows that are not among `there`; says which.
    pub(crate) fn keep_only(&mut self, there: &HashSet<&NativeKey>) -> Vec<SurfaceId> {
        let gone: Vec<SurfaceId> =
            self.by_id.iter().filter(|(_, surface)| !there.contains(&surface.key)).map(|(id, _)| id.clone()).collect();
        for id in &gone {
            self.end(id);
        }
        gone
    }

    /// Ends a window that is proven gone.
    pub(crate) fn end(&mut self, id: &SurfaceId) {
        if self.remove(id) {
            if self.gone.len() == MAX_GONE {
                self.gone.pop_front();
            }
            self.gone.push_back(id.clone());
        }
    }

    /// Whether `id` ended because its window is gone.
    pub(crate) fn is_gone(&self, id: &SurfaceId) -> bool {
        self.gone.contains(id)
    }

    /// The generation of an observation of `view`: the last one's, where nothing changed since, else a new one.
    /// Generations count from 1. `None` where the surface ended meanwhile.
    pub(crate) fn generation(&mut self, id: &SurfaceId, view: &View, revision: u64) -> Option<u64> {
        let surface = self.by_id.get_mut(id)?;
        let same = surface.observations.back().filter(|last| last.view == *view && last.revision == revision);
        if let Some(last) = same {
            return Some(last.generation);
        }
        surface.generation += 1;
        Some(surface.generation)
    }

    /// Keeps an observation, in place of one of the same generation.
    pub(crate) fn keep(&mut self, id: &SurfaceId, observation: Observation) {
        let Some(surface) = self.by_id.get_mut(id) else { return };
        let before: usize = surface.observations.iter().map(|kept| kept.lines.len()).sum();
        surface.observations.retain(|kept| kept.generation != observation.generation);
        if surface.observations.len() == MAX_OBSERVATIONS {
            surface.observations.pop_front();
        }
        surface.observations.push_back(observation);
        let after: usize = surface.observations.iter().map(|kept| kept.lines.len()).sum();
        self.lines = self.lines + after - before;
        while self.lines > MAX_LINES && self.evict_observation() {}
    }

    /// The kept observation of that generation and view.
    pub(crate) fn observation(&self, id: &SurfaceId, generation: u64, view: &View) -> Option<Observation> {
        let surface = self.by_id.get(id)?;
        surface.observations.iter().find(|kept| kept.generation == generation && kept.view == *view).cloned()
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Drops the oldest observation of the window that was named longest ago and has one to spare.
    fn evict_observation(&mut self) -> bool {
        let oldest = self
            .by_id
            .values_mut()
            .filter(|surface| !surface.observations.is_empty())
            .min_by_key(|surface| surface.named);
        let Some(dropped) = oldest.and_then(|surface| surface.observations.pop_front()) else { return false };
        self.lines -= dropped.lines.len();
        true
    }

    fn remove(&mut self, id: &SurfaceId) -> bool {
        let Some(surface) = self.by_id.remove(id) else { return false };
        self.by_key.remove(&surface.key);
        self.lines -= surface.observations.iter().map(|kept| kept.lines.len()).sum::<usize>();
        true
    }
}
