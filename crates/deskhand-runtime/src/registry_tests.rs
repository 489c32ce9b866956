//! The registries under any order of events: an id names one thing, and never two.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use deskhand_contract::element::ElementFacts;
use deskhand_contract::id::{ElementId, SurfaceId, SystemEntropy};
use deskhand_contract::provider::{NativeKey, NativeNode, NativeTree};
use deskhand_contract::role::Role;
use proptest::prelude::*;

use crate::delta::Seen;
use crate::element::{Elements, MAX_ELEMENTS, Shown};
use crate::identity::Identities;
use crate::lineage::{Sighting, Sightings};
use crate::surface::{MAX_LINES, MAX_OBSERVATIONS, MAX_SURFACES, Observation, Surfaces, View};

const ROLES: [Role; 3] = [Role::Button, Role::Group, Role::Label];

fn node(key: u8, parent: Option<u32>, role: Role, name: &str) -> NativeNode {
    NativeNode { key: NativeKey::new(&[key]), parent, facts: ElementFacts::new(role, name), unread: None }
}

fn tree(nodes: Vec<NativeNode>, persists: bool) -> NativeTree {
    NativeTree { revision: 1, nodes, toolkit: None, identity_persists: persists, notes: Vec::new() }
}

/// A tree of up to twelve nodes: for each, the choice of its parent, role and name.
fn any_tree() -> impl Strategy<Value = NativeTree> {
    let choice = (any::<u8>(), 0..3_usize, 0..3_u8);
    (proptest::collection::vec(choice, 0..12), any::<bool>()).prop_map(|(choices, persists)| {
        let mut nodes = vec![node(0, None, Role::Window, "w")];
        for (index, (parent, role, name)) in choices.into_iter().enumerate() {
            let parent = u32::from(parent) % nodes.len() as u32;
            nodes.push(node(index as u8 + 1, Some(parent), ROLES[role], &name.to_string()));
        }
        tree(nodes, persists)
    })
}

fn all(tree: &NativeTree) -> Vec<Sighting> {
    let mut sightings = Sightings::of_window(tree);
    (0..tree.nodes.len() as u32).map(|index| sightings.of(index)).collect()
}

fn a_surface() -> (Identities, SurfaceId) {
    let identities = Identities::new(&SystemEntropy);
    let surface = identities.surface();
    (identities, surface)
}

proptest! {
    #[test]
    fn whatever_a_provider_calls_a_tree_parents_come_first_or_it_is_none(
        parents in proptest::collection::vec(proptest::option::weighted(0.9, 0..40_u32), 0..40)
    ) {
        let nodes = parents.iter().enumerate().map(|(key, parent)| node(key as u8, *parent, Role::Group, "")).collect();
        match crate::trees::sound(Arc::new(tree(nodes, true))) {
            Ok(tree) => {
                prop_assert!(tree.nodes[0].parent.is_none());
                for (index, node) in tree.nodes.iter().enumerate().skip(1) {
                    prop_assert!(node.parent.is_some_and(|parent| (parent as usize) < index));
                }
                let cut = tree.nodes.len() < parents.len();
                prop_assert_eq!(cut, !tree.notes.is_empty());
                // Every reader of it ends.
                all(&tree);
            }
            Err(_) => prop_assert!(parents.first().is_none_or(Option::is_some)),
        }
    }

    #[test]
    fn a_tree_that_is_seen_again_keeps_every_id(tree in any_tree()) {
        let (identities, surface) = a_surface();
        let mut elements = Elements::default();
        let mut see = |shown| -> Vec<ElementId> {
            all(&tree)
                .into_iter()
                .map(|sighting| elements.identify(&surface, sighting, 1, shown, &identities))
                .collect()
        };
        let first = see(Shown::ToCaller);
        prop_assert_eq!(first.iter().collect::<HashSet<_>>().len(), first.len());
        prop_assert_eq!(&see(Shown::Quietly), &first);
        prop_assert_eq!(&see(Shown::ToCaller), &first);
    }

    #[test]
    fn an_id_stays_with_one_identity_role_and_lineage(trees in proptest::collection::vec(any_tree(), 1..6)) {
        let (identities, surface) = a_surface();
        let mut elements = Elements::default();
        let mut ended: HashSet<ElementId> = HashSet::new();
        let mut named: HashMap<ElementId, Sighting> = HashMap::new();
        for tree in &trees {
            for sighting in all(tree) {
                let id = elements.identify(&surface, sighting.clone(), 1, Shown::ToCaller, &identities);
                prop_assert!(!ended.contains(&id), "an id that ended came back");
                if let Some(before) = named.get(&id) {
                    prop_assert_eq!(before.difference(&sighting), None);
                }
                named.insert(id, sighting);
            }
            let gone: Vec<ElementId> =
                named.keys().filter(|id| elements.get(&surface, id).is_none()).cloned().collect();
            for id in gone {
                named.remove(&id);
                ended.insert(id);
            }
        }
    }

    #[test]
    fn a_lineage_is_the_way_from_the_root(tree in any_tree()) {
        for (index, sighting) in all(&tree).iter().enumerate() {
            let mut way = Vec::new();
            let mut current = tree.nodes[index].parent;
            while let Some(parent) = current {
                way.push(tree.nodes[parent as usize].key.clone());
                current = tree.nodes[parent as usize].parent;
            }
            way.reverse();
            let keys: Vec<NativeKey> = sighting.above.iter().map(|step| step.key.clone()).collect();
            prop_assert_eq!(keys, way);
        }
    }

    #[test]
    fn surfaces_keep_their_ids_while_they_are_there(events in proptest::collection::vec((0..8_u8, any::<bool>()), 1..60)) {
        let identities = Identities::new(&SystemEntropy);
        let mut surfaces = Surfaces::default();
        let (mut there, mut ended) = (HashMap::<u8, SurfaceId>::new(), HashSet::new());
        for (window, closes) in events {
            let key = NativeKey::new(&[window]);
            if closes {
                if let Some(id) = there.remove(&window) {
                    ended.insert(id.clone());
                    let keys: Vec<NativeKey> = there.keys().map(|window| NativeKey::new(&[*window])).collect();
                    let gone = surfaces.keep_only(&keys.iter().collect());
                    prop_assert_eq!(gone, vec![id.clone()]);
                    prop_assert!(surfaces.is_gone(&id) && surfaces.key(&id).is_none());
                }
            } else {
                let (id, evicted) = surfaces.identify(&key, &identities);
                prop_assert!(evicted.is_none() && !ended.contains(&id));
                prop_assert_eq!(there.entry(window).or_insert_with(|| id.clone()), &id);
                prop_assert_eq!(surfaces.key(&id), Some(key));
            }
        }
    }
}

#[test]
fn elements_are_bounded_and_the_ones_seen_longest_ago_end() {
    let (identities, surface) = a_surface();
    let mut elements = Elements::default();
    let mut see = |number: u32| {
        let sighting = Sighting {
            key: NativeKey::new(&number.to_le_bytes()),
            role: Role::Button,
            identifier: "".into(),
            name: "".into(),
            above: Arc::from([]),
            place: crate::lineage::Place { index: Some(number), among_like: Some(number) },
            persists: true,
        };
        elements.identify(&surface, sighting, 1, Shown::ToCaller, &identities)
    };
    let first = see(0);
    let second = see(1);
    for number in 2..MAX_ELEMENTS as u32 {
        see(number);
    }
    assert_eq!(see(0), first, "seen again, it is young");
    see(u32::MAX);
    assert_eq!(see(0), first);
    assert!(elements.len() <= MAX_ELEMENTS);
    assert!(elements.get(&surface, &first).is_some() && elements.get(&surface, &second).is_none());
    assert!(elements.get(&identities.surface(), &first).is_none(), "an id is of one window");
    elements.end_surface(&surface);
    assert_eq!(elements.len(), 0);
}

#[test]
fn surfaces_and_their_observations_are_bounded() {
    let identities = Identities::new(&SystemEntropy);
    let mut surfaces = Surfaces::default();
    let (first, _) = surfaces.identify(&NativeKey::new(b"first"), &identities);
    let view = || View { root: None, max_depth: 24, max_nodes: 400 };
    for revision in 1..20 {
        let generation = surfaces.generation(&first, &view(), revision).unwrap();
        assert_eq!(generation, revision);
        let line = Seen { key: NativeKey::new(b"x"), text: "x".to_owned() };
        let lines = vec![line; MAX_LINES / 3].into();
        surfaces.keep(&first, Observation { generation, view: view(), revision, lines });
    }
    let kept = (1..20).filter(|one| surfaces.observation(&first, *one, &view()).is_some()).count();
    assert!((1..=MAX_OBSERVATIONS).contains(&kept), "{kept}");
    assert!(surfaces.observation(&first, 19, &view()).is_some(), "the last one stays");
    let mut evicted = Vec::new();
    for number in 0..MAX_SURFACES as u32 {
        evicted.extend(surfaces.identify(&NativeKey::new(&number.to_le_bytes()), &identities).1);
    }
    assert_eq!((surfaces.len(), evicted), (MAX_SURFACES, vec![first.clone()]));
    // It had to make room: it is not known to be gone.
    assert!(surfaces.key(&first).is_none() && !surfaces.is_gone(&first));
}

#[test]
fn a_chain_of_thousands_of_levels_is_cheap() {
    let mut nodes = vec![node(0, None, Role::Window, "w")];
    for index in 0..3_000_u32 {
        nodes.push(NativeNode { key: NativeKey::new(&index.to_le_bytes()), ..node(1, Some(index), Role::Group, "") });
    }
    let tree = tree(nodes, true);
    assert_eq!(Sightings::of_window(&tree).of(3_000).above.len(), 3_000);
}
