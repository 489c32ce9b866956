//! What every provider promises, whoever it is: one suite, run by each of them on a desktop of its own.
//!
//! A provider's test makes a [`Stage`]: its provider with one window on it that holds a button and an empty text
//! field. [`run`] then asks what the seam's documentation says, with no knowledge of the platform.

use std::time::{Duration, Instant};

use deskhand_contract::action::TextMode;
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{
    CaptureTarget, Dispatch, Effect, EffectTarget, Fault, NativeKey, NativeTree, NativeValue, Provider, TreeAsk,
};
use deskhand_contract::redacted::Redacted;
use deskhand_contract::role::Role;

/// A provider and what stands on its desktop.
pub struct Stage<'a> {
    /// The provider.
    pub provider: &'a dyn Provider,
    /// Title of the window.
    pub title: &'a str,
    /// Name of a button in it.
    pub button: &'a str,
    /// Role of an empty field in it that takes text.
    pub field: Role,
}

/// Runs the suite.
///
/// # Panics
/// At the first promise that is not kept.
pub fn run(stage: &Stage<'_>) {
    let window = one_window(stage);
    measures(stage, &window);
    let tree = sound_tree(stage, &window);
    unchanged_is_the_same(stage, &window);
    resolves_every_node(stage, &window, &tree);
    strangers_are_gone(stage, &window);
    puts_text_in(stage, &window, &tree);
    own_pixels(stage, &window);
    heeds_limits(stage, &window);
}

fn soon() -> Limit {
    Limit::after(Duration::from_secs(10))
}

fn ask() -> TreeAsk {
    TreeAsk { root: None, max_nodes: 5_000, max_depth: 64, bounds: true, affordances: true, values: true }
}

fn one_window(stage: &Stage<'_>) -> NativeKey {
    let windows = stage.provider.windows(&soon()).expect("windows can be listed");
    let named: Vec<_> = windows.iter().filter(|facts| facts.title == stage.title).collect();
    assert_eq!(named.len(), 1, "one window has that title");
    let again = stage.provider.windows(&soon()).expect("windows can be listed again");
    assert!(again.iter().any(|facts| facts.key == named[0].key), "a window keeps its key");
    named[0].key.clone()
}

fn measures(stage: &Stage<'_>, window: &NativeKey) {
    let facts = stage.provider.window(window, &soon()).expect("a window can be measured");
    assert_eq!((facts.key == *window, facts.title.as_str()), (true, stage.title));
    assert!(!facts.geometry.is_empty(), "a window has pixels");
}

fn sound_tree(stage: &Stage<'_>, window: &NativeKey) -> std::sync::Arc<NativeTree> {
    let tree = stage.provider.tree(window, &ask(), &soon()).expect("the window has a tree");
    assert!(tree.nodes[0].parent.is_none(), "the root comes first");
    for (index, node) in tree.nodes.iter().enumerate().skip(1) {
        assert!(node.parent.is_some_and(|parent| (parent as usize) < index), "parents come before children");
        assert!(node.facts.affordances.is_some(), "affordances were asked for");
    }
    let button = tree.nodes.iter().find(|node| &*node.facts.name == stage.button);
    assert_eq!(button.expect("the button is in the tree").facts.role, Role::Button);
    let limited = TreeAsk { max_nodes: 2, ..ask() };
    let limited = stage.provider.tree(window, &limited, &soon()).expect("a bounded tree");
    assert!(limited.nodes.len() <= 2, "the bound on nodes is kept");
    tree
}

fn unchanged_is_the_same(stage: &Stage<'_>, window: &NativeKey) {
    let quiet = Instant::now() + Duration::from_secs(10);
    loop {
        let first = stage.provider.tree(window, &ask(), &soon()).expect("a tree");
        let second = stage.provider.tree(window, &ask(), &soon()).expect("a tree");
        if first.revision == second.revision {
            assert_eq!(first.nodes, second.nodes, "the same revision is the same tree");
            return;
        }
        assert!(Instant::now() < quiet, "a window at rest keeps its revision");
    }
}

fn resolves_every_node(stage: &Stage<'_>, window: &NativeKey, tree: &NativeTree) {
    for node in tree.nodes.iter().take(50) {
        let resolved = stage.provider.resolve(window, &node.key, &soon()).expect("a node resolves");
        let (first, last) = (resolved.lineage.first(), resolved.lineage.last());
        assert_eq!(first.map(|step| &step.key), Some(&tree.nodes[0].key), "a lineage begins at the root");
        assert_eq!(last.map(|step| &step.key), Some(&node.key), "a lineage ends at the element");
        assert_eq!(resolved.facts.role, node.facts.role);
        assert_eq!(resolved.facts.name, node.facts.name);
    }
}

fn strangers_are_gone(stage: &Stage<'_>, window: &NativeKey) {
    let stranger = NativeKey::new(b"no such thing");
    assert_eq!(stage.provider.window(&stranger, &soon()).err(), Some(Fault::Gone));
    assert_eq!(stage.provider.tree(&stranger, &ask(), &soon()).err(), Some(Fault::Gone));
    assert_eq!(stage.provider.resolve(window, &stranger, &soon()).err(), Some(Fault::Gone));
    let target = EffectTarget { window, element: Some(&stranger) };
    let dispatched = stage.provider.perform(&target, &Effect::Press, &soon());
    assert_eq!(dispatched, Dispatch::NotStarted(Fault::Gone), "nothing reaches a stranger");
}

fn puts_text_in(stage: &Stage<'_>, window: &NativeKey, tree: &NativeTree) {
    let field = tree.nodes.iter().find(|node| node.facts.role == stage.field && !node.facts.protected);
    let field = field.expect("the field is in the tree").key.clone();
    let text = Redacted::new("Grüße -rf \"x\" 東京".to_owned());
    let effect = Effect::InputText { mode: TextMode::Replace, text: text.clone() };
    let target = EffectTarget { window, element: Some(&field) };
    assert_eq!(stage.provider.perform(&target, &effect, &soon()), Dispatch::Sent);
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        let mark = stage.provider.change_mark();
        match stage.provider.value(window, &field, &soon()) {
            Ok(NativeValue::Text(held)) if held == text => return,
            Ok(_) => assert!(Instant::now() < until, "the text reads back exactly"),
            Err(fault) => panic!("a value can be read: {fault}"),
        }
        stage.provider.await_change(mark, Some(window), &Limit::after(Duration::from_millis(100)));
    }
}

fn own_pixels(stage: &Stage<'_>, window: &NativeKey) {
    let target = CaptureTarget::Window { window, region: None };
    let bitmap = stage.provider.capture(&target, &soon()).expect("the window can be captured");
    assert!(bitmap.size.area() > 0);
    assert!(bitmap.stride >= bitmap.size.width as usize * 4);
    assert!(bitmap.pixels.len() >= bitmap.stride * (bitmap.size.height as usize - 1) + bitmap.size.width as usize * 4);
}

fn heeds_limits(stage: &Stage<'_>, window: &NativeKey) {
    let cancelled = soon();
    cancelled.cancel.cancel();
    let target = EffectTarget { window, element: None };
    let dispatched = stage.provider.perform(&target, &Effect::Activate, &cancelled);
    assert!(matches!(dispatched, Dispatch::NotStarted(_)), "a cancelled effect does not begin");
    let begun = Instant::now();
    let mark = stage.provider.change_mark();
    stage.provider.await_change(mark, Some(window), &Limit::after(Duration::from_millis(50)));
    assert!(begun.elapsed() < Duration::from_secs(5), "a wait ends with its limit");
}
