//! Where an element stands: itself, everything above it, and its place among its siblings. Two sightings of one
//! element are compared here, whoever asks.

use std::collections::HashMap;
use std::sync::Arc;

use deskhand_contract::element::ElementFacts;
use deskhand_contract::provider::{NativeKey, NativeTree, Resolved};
use deskhand_contract::role::Role;

/// One ancestor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ancestor {
    pub(crate) key: NativeKey,
    pub(crate) role: Role,
    pub(crate) identifier: Box<str>,
    pub(crate) name: Box<str>,
}

/// An element as it was seen once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sighting {
    pub(crate) key: NativeKey,
    pub(crate) role: Role,
    pub(crate) identifier: Box<str>,
    pub(crate) name: Box<str>,
    /// From the window's root to its parent; empty for the root itself.
    pub(crate) above: Arc<[Arc<Ancestor>]>,
    /// Its place, where known.
    pub(crate) place: Place,
    /// Whether its native identity is never given to another element.
    pub(crate) persists: bool,
}

/// Where an element stands among its siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index among all children of its parent.
    pub(crate) index: Option<u32>,
    /// Index among siblings of the same role.
    pub(crate) among_like: Option<u32>,
}

impl Place {
    const UNKNOWN: Self = Self { index: None, among_like: None };

    /// Whether the two are the same place, as far as both say. What neither can compare is not the same.
    fn matches(self, other: Self) -> bool {
        let same = |one: Option<u32>, two: Option<u32>| one.zip(two).map(|(one, two)| one == two);
        same(self.among_like, other.among_like).or(same(self.index, other.index)).unwrap_or(false)
    }
}

/// How a sighting differs from an earlier one of what should be the same element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Difference {
    /// Another native identity.
    Identity,
    /// Another role.
    Role,
    /// Another identifier.
    Identifier,
    /// It hangs below something else.
    Ancestors,
    /// Another place among its siblings, and nothing else that proves it.
    Place,
}

impl Difference {
    /// In words that hold no text of the application.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Identity => "another element took its place",
            Self::Role => "its role changed",
            Self::Identifier => "its identifier changed",
            Self::Ancestors => "it is in another place of the window now",
            Self::Place => "its place among its siblings changed, and nothing else proves that it is the same",
        }
    }
}

impl Sighting {
    /// What makes `now` another element than this. Its own name is not part of that: see
    /// [`crate::bind`] for the effects that ask for it.
    pub(crate) fn difference(&self, now: &Self) -> Option<Difference> {
        if self.key != now.key {
            return Some(Difference::Identity);
        }
        if self.role != now.role {
            return Some(Difference::Role);
        }
        if self.identifier != now.identifier {
            return Some(Difference::Identifier);
        }
        let persists = self.persists && now.persists;
        let same_above = self.above.len() == now.above.len()
            && self
                .above
                .iter()
                .zip(now.above.iter())
                .enumerate()
                .all(|(level, (then, now))| then.is_like(now, level == 0, persists));
        if !same_above {
            return Some(Difference::Ancestors);
        }
        // A root has no siblings of its own window.
        if !persists && !self.above.is_empty() && !self.place.matches(now.place) {
            return Some(Difference::Place);
        }
        None
    }

    /// An element that was read live.
    pub(crate) fn of_resolved(resolved: &Resolved) -> Option<Self> {
        let (own, above) = resolved.lineage.split_last()?;
        let above: Vec<Arc<Ancestor>> = above
            .iter()
            .map(|step| {
                Arc::new(Ancestor {
                    key: step.key.clone(),
                    role: step.role,
                    identifier: step.identifier.clone(),
                    name: step.name.clone(),
                })
            })
            .collect();
        Some(Self {
            key: own.key.clone(),
            role: resolved.facts.role,
            identifier: resolved.facts.identifier.clone(),
            name: resolved.facts.name.clone(),
            above: above.into(),
            place: Place { index: own.index, ..Place::UNKNOWN },
            persists: resolved.identity_persists,
        })
    }
}

impl Ancestor {
    fn of(key: &NativeKey, facts: &ElementFacts) -> Self {
        Self { key: key.clone(), role: facts.role, identifier: facts.identifier.clone(), name: facts.name.clone() }
    }

    /// Whether it is the same ancestor. The root's name is the window's title, which may change, and so may the title
    /// of a page, where its document is proven the same. Where identities persist, another one is another ancestor,
    /// however alike.
    fn is_like(&self, now: &Self, is_root: bool, persists: bool) -> bool {
        let titled = is_root || (persists && self.role == Role::Document);
        self.role == now.role
            && self.identifier == now.identifier
            && (titled || self.name == now.name)
            && (!persists || self.key == now.key)
    }
}

/// The sightings of a tree's nodes, made as they are asked for.
pub(crate) struct Sightings<'a> {
    tree: &'a NativeTree,
    places: Vec<Place>,
    /// What is above the tree's first node: nothing, where that is the window's root.
    above_root: Arc<[Arc<Ancestor>]>,
    /// Where the first node itself stands, if it is not the window's root.
    root_place: Option<Place>,
    /// What is above the children of a node.
    below: HashMap<u32, Arc<[Arc<Ancestor>]>>,
}

impl<'a> Sightings<'a> {
    /// Of a whole window.
    pub(crate) fn of_window(tree: &'a NativeTree) -> Self {
        Self::below_of(tree, None)
    }

    /// Of a part of it, whose first node is `root`, seen before.
    pub(crate) fn below_of(tree: &'a NativeTree, root: Option<&Sighting>) -> Self {
        Self {
            tree,
            places: places(tree),
            above_root: root.map_or_else(|| Arc::from([]), |root| Arc::clone(&root.above)),
            root_place: root.map(|root| root.place),
            below: HashMap::new(),
        }
    }

    /// The sighting of a node.
    pub(crate) fn of(&mut self, index: u32) -> Sighting {
        let node = &self.tree.nodes[index as usize];
        let above = match node.parent {
            Some(parent) => self.above_children_of(parent),
            None => Arc::clone(&self.above_root),
        };
        let place = match (node.parent, self.root_place) {
            (None, Some(place)) => place,
            _ => self.places[index as usize],
        };
        Sighting {
            key: node.key.clone(),
            role: node.facts.role,
            identifier: node.facts.identifier.clone(),
            name: node.facts.name.clone(),
            above,
            place,
            persists: self.tree.identity_persists,
        }
    }

    fn above_children_of(&mut self, index: u32) -> Arc<[Arc<Ancestor>]> {
        // Upwards to what is known already, then down again, so that no depth is recursion.
        let mut unknown = vec![];
        let mut current = Some(index);
        while let Some(node) = current.filter(|node| !self.below.contains_key(node)) {
            unknown.push(node);
            current = self.tree.nodes[node as usize].parent;
        }
        let mut above = current.map_or_else(|| Arc::clone(&self.above_root), |known| Arc::clone(&self.below[&known]));
        for node in unknown.into_iter().rev() {
            let own = &self.tree.nodes[node as usize];
            let step = Arc::new(Ancestor::of(&own.key, &own.facts));
            above = above.iter().cloned().chain(std::iter::once(step)).collect();
            self.below.insert(node, Arc::clone(&above));
        }
        above
    }
}

/// The place of every node among its siblings.
fn places(tree: &NativeTree) -> Vec<Place> {
    let mut all: HashMap<u32, u32> = HashMap::new();
    let mut like: HashMap<(u32, Role), u32> = HashMap::new();
    tree.nodes
        .iter()
        .map(|node| {
            let Some(parent) = node.parent else { return Place { index: Some(0), among_like: Some(0) } };
            let take = |count: &mut u32| {
                let place = *count;
                *count += 1;
                place
            };
            let index = take(all.entry(parent).or_default());
            let among_like = take(like.entry((parent, node.facts.role)).or_default());
            Place { index: Some(index), among_like: Some(among_like) }
        })
        .collect()
}
