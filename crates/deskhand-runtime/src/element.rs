//! The elements that a session was told of: which id names which native thing, and where that stood.
//!
//! An id stays with its element across observations and ends when the element's lineage no longer holds. What is
//! remembered of it (its name above all) changes only when the caller is shown it again: an id never moves on to
//! something that the caller has not seen.

use std::collections::HashMap;

use deskhand_contract::id::{ElementId, SurfaceId};
use deskhand_contract::provider::NativeKey;

use crate::identity::Identities;
use crate::lineage::Sighting;

/// Elements that a session may hold. One more ends a quarter of them, those seen longest ago.
pub(crate) const MAX_ELEMENTS: usize = 16_384;

/// An element as the caller last saw it.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) surface: SurfaceId,
    pub(crate) sighting: Sighting,
    /// The generation in which it was last shown.
    pub(crate) generation: u64,
    seen: u64,
}

/// Whether the caller is shown what is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Yes: what is remembered becomes what it is now.
    ToCaller,
    /// No: a known element stays as it was last shown.
    Quietly,
}

/// The elements of one session.
#[derive(Default)]
pub(crate) struct Elements {
    by_id: HashMap<ElementId, Known>,
    by_key: HashMap<(SurfaceId, NativeKey), ElementId>,
    tick: u64,
}

impl Elements {
    /// The id of an element: the one that it had, while its lineage holds; else a new one, and the old one ends.
    pub(crate) fn identify(
        &mut self,
        surface: &SurfaceId,
        sighting: Sighting,
        generation: u64,
        shown: Shown,
        identities: &Identities,
    ) -> ElementId {
        self.tick += 1;
        let tick = self.tick;
        let key = (surface.clone(), sighting.key.clone());
        if let Some(id) = self.by_key.get(&key) {
            let known = self.by_id.get_mut(id).expect("both maps hold the same elements");
            if known.sighting.difference(&sighting).is_none() {
                known.seen = tick;
                if shown == Shown::ToCaller {
                    known.sighting = sighting;
                    known.generation = generation;
                }
                return id.clone();
            }
            self.by_id.remove(id);
        }
        if self.by_id.len() >= MAX_ELEMENTS {
            self.evict();
        }
        let id = identities.element();
        self.by_key.insert(key, id.clone());
        self.by_id.insert(id.clone(), Known { surface: surface.clone(), sighting, generation, seen: tick });
        id
    }

    /// What `id` names in `surface`.
    pub(crate) fn get(&self, surface: &SurfaceId, id: &ElementId) -> Option<&Known> {
        self.by_id.get(id).filter(|known| known.surface == *surface)
    }

    /// Ends every element of a surface.
    pub(crate) fn end_surface(&mut self, surface: &SurfaceId) {
        self.by_id.retain(|_, known| known.surface != *surface);
        self.by_key.retain(|(of, _), _| of != surface);
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    fn evict(&mut self) {
        let mut seen: Vec<u64> = self.by_id.values().map(|known| known.seen).collect();
        let quarter = seen.len() / 4;
        let (_, last, _) = seen.select_nth_unstable(quarter);
        let last = *last;
        self.by_id.retain(|_, known| known.seen > last);
        let by_id = &self.by_id;
        self.by_key.retain(|_, id| by_id.contains_key(id));
    }
}
