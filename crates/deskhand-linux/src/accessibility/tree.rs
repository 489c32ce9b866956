//! A window's nodes, put together in document order with the facts that an answer wants.

use std::collections::HashSet;
use std::sync::Arc;

use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{NativeNode, NativeTree, TreeAsk, TreeNote, Unread, UnreadWhy};

use super::facts::{Extras, Surroundings, Wanted, Window, extras, facts, is_protected};
use super::interface::Interface;
use super::nodes::{Missing, Node, Nodes};
use super::object::Object;
use crate::map::role::native_name;
use crate::sys::bus::{Bus, all};

/// A place in the tree: the path, the index of its parent, what surrounds it.
struct Place {
    path: Arc<str>,
    parent: Option<u32>,
    depth: u32,
    around: Surroundings,
}

/// A node's place with what was read of it.
struct Placed<'a> {
    place: Place,
    node: &'a Node,
    cut: Option<UnreadWhy>,
}

/// What a tree is made of.
pub(crate) struct Source<'a> {
    pub(crate) bus: &'a Bus,
    pub(crate) name: &'a Arc<str>,
    pub(crate) toolkit: &'a str,
    pub(crate) version: &'a str,
    pub(crate) nodes: &'a Nodes,
    pub(crate) window: Window,
}

impl Source<'_> {
    /// Puts the tree below `root` together. `around` is what surrounds the root.
    pub(crate) fn tree(
        &self,
        root: &Object,
        around: Surroundings,
        ask: &TreeAsk,
        revision: u64,
        limit: &Limit,
    ) -> NativeTree {
        let wanted = Wanted { bounds: ask.bounds, affordances: ask.affordances, values: ask.values };
        let mut notes = Vec::new();
        let placed = self.place(root, around, ask, &mut notes);
        let answers = self.ask_extras(&placed, wanted, limit, &mut notes);
        let nodes = placed
            .iter()
            .zip(&answers)
            .map(|(placed, extras)| NativeNode {
                key: Object { bus: Arc::clone(self.name), path: Arc::clone(&placed.place.path) }.to_native(),
                parent: placed.place.parent,
                facts: facts(placed.node, extras, self.window, wanted, placed.place.around),
                unread: unread(placed),
            })
            .collect();
        if self.nodes.partial {
            notes.push(TreeNote::Partial);
        }
        notes.dedup();
        NativeTree {
            revision,
            nodes,
            toolkit: Some(format!("{} {}", self.toolkit, self.version).trim().to_owned())
                .filter(|name| !name.is_empty()),
            identity_persists: identity_persists(self.toolkit),
            notes,
        }
    }

    fn place(&self, root: &Object, around: Surroundings, ask: &TreeAsk, notes: &mut Vec<TreeNote>) -> Vec<Placed<'_>> {
        let mut placed: Vec<Placed<'_>> = Vec::new();
        let mut seen = HashSet::new();
        let mut waiting = vec![Place { path: Arc::clone(&root.path), parent: None, depth: 0, around }];
        while let Some(place) = waiting.pop() {
            let Some(node) = self.nodes.by_path.get(&place.path) else { continue };
            // An object that is named twice is shown once: in a cycle, below the first that names it.
            if !seen.insert(Arc::clone(&place.path)) {
                continue;
            }
            if placed.len() >= ask.max_nodes as usize {
                notes.push(TreeNote::Cut);
                if let Some(parent) = place.parent {
                    placed[parent as usize].cut = Some(UnreadWhy::Nodes);
                }
                continue;
            }
            let index = u32::try_from(placed.len()).expect("the bound on nodes fits");
            let below = Surroundings {
                protected: place.around.protected || is_protected(node),
                selectable: node.interfaces.has(Interface::Selection),
                realm: place.around.realm.below(native_name(node.role)),
                top: false,
            };
            let mut cut = None;
            if place.depth + 1 >= ask.max_depth && !node.children.is_empty() {
                cut = Some(UnreadWhy::Depth);
                notes.push(TreeNote::Cut);
            } else {
                waiting.extend(node.children.iter().rev().map(|child| Place {
                    path: Arc::clone(child),
                    parent: Some(index),
                    depth: place.depth + 1,
                    around: below,
                }));
            }
            placed.push(Placed { place, node, cut });
        }
        placed
    }

    fn ask_extras(
        &self,
        placed: &[Placed<'_>],
        wanted: Wanted,
        limit: &Limit,
        notes: &mut Vec<TreeNote>,
    ) -> Vec<Extras> {
        if !(wanted.bounds || wanted.affordances || wanted.values) {
            return vec![Extras::default(); placed.len()];
        }
        let questions = placed
            .iter()
            .map(|placed| extras(self.bus, (self.name, &placed.place.path), placed.node, self.window, wanted, limit));
        let mut partial = false;
        let answers = self
            .bus
            .wait(all(questions))
            .into_iter()
            .map(|answer| {
                answer.unwrap_or_else(|_| {
                    partial = true;
                    Extras::default()
                })
            })
            .collect();
        if partial {
            notes.push(TreeNote::Partial);
        }
        answers
    }
}

fn unread(placed: &Placed<'_>) -> Option<Unread> {
    let node = placed.node;
    let why = match (placed.cut, node.unread) {
        (Some(cut), _) => cut,
        (None, Some(Missing::Lazy)) => UnreadWhy::Lazy,
        (None, Some(Missing::Time)) => UnreadWhy::Time,
        (None, Some(Missing::Depth)) => UnreadWhy::Depth,
        (None, Some(Missing::Broken)) => UnreadWhy::Broken,
        (None, None) => return None,
    };
    Some(Unread { total: u64::try_from(node.claimed).ok(), why })
}

/// Whether a toolkit never gives an object's path to another object while the application runs. ATK and GTK 4
/// count up or draw a fresh identifier; Qt counts too, but drops and makes anew the objects of items.
pub(crate) fn identity_persists(toolkit: &str) -> bool {
    ["gtk", "Chromium", "Gecko", "VCL"].iter().any(|name| toolkit.eq_ignore_ascii_case(name))
}
