//! When is an id stale? From an id to the native thing that it still names, proven twice.
//!
//! [`resolve`] finds what the ids mean in their session. [`measure`] reads the window and the element live and
//! compares the element's lineage with the one that was observed: its role, identifier, everything above it, and,
//! where the platform does not prove identities persistent, its place among its siblings. [`bind`] measures once
//! more, repeats the refusals, runs the checks of [`crate::actionable`] and makes the one [`Binding`].
//!
//! Stale is never an effect on what took the element's place.

use std::sync::Arc;

use deskhand_contract::action::{Action, ActionKind, Direction, Gesture, PressTarget, TextMode, Value};
use deskhand_contract::element::ElementFacts;
use deskhand_contract::error::{CallError, ErrorCode};
use deskhand_contract::id::{ElementId, SurfaceId};
use deskhand_contract::provider::{Effect, Fault, NativeKey, Resolved, WindowFacts};
use deskhand_contract::redacted::Redacted;
use deskhand_contract::role::Role;

use crate::actionable;
use crate::admit;
use crate::call::Call;
use crate::element::Known;
use crate::lineage::{Difference, Sighting, Sightings};
use crate::trees;

/// What the ids of a call name, as its session last saw it.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) surface: SurfaceId,
    pub(crate) window: NativeKey,
    pub(crate) element: Option<(ElementId, Known)>,
}

/// What it is now.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) window: WindowFacts,
    /// Every window there is, front to back.
    pub(crate) windows: Arc<[WindowFacts]>,
    pub(crate) element: Option<Resolved>,
}

/// The native thing that an effect is aimed at, proven a moment ago. Made by [`bind`] alone, used once, by move.
pub(crate) struct Binding {
    window: NativeKey,
    element: Option<NativeKey>,
    effect: Effect,
}

impl Binding {
    /// What it was made for: the window, the element, the effect.
    pub(crate) fn spend(self) -> (NativeKey, Option<NativeKey>, Effect) {
        (self.window, self.element, self.effect)
    }
}

/// The target as it was right before dispatch, for the look afterwards.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) target: Target,
    pub(crate) measured: Measured,
    pub(crate) wish: Wish,
}

/// What the effect is to bring about.
#[derive(Debug, Clone)]
pub(crate) enum Wish {
    Activate,
    Press,
    ContextMenu,
    Focus,
    Select,
    Number(f64),
    Checked(bool),
    Scroll(Direction, u32),
    InView,
    Text(TextMode, Redacted),
}

impl Target {
    /// The element's native identity.
    pub(crate) fn element_key(&self) -> Option<&NativeKey> {
        self.element.as_ref().map(|(_, known)| &known.sighting.key)
    }

    /// What the caller knows the element as: for advice.
    pub(crate) fn known(&self) -> Option<(Role, &str)> {
        self.element.as_ref().map(|(_, known)| (known.sighting.role, &*known.sighting.name))
    }
}

impl Measured {
    /// The element's facts.
    pub(crate) fn facts(&self) -> Option<&ElementFacts> {
        self.element.as_ref().map(|resolved| &resolved.facts)
    }
}

impl Subject {
    /// The element's role: for audit.
    pub(crate) fn role(&self) -> Option<Role> {
        self.measured.facts().map(|facts| facts.role)
    }
}

/// What the action's ids mean in this session.
pub(crate) fn resolve(call: &Call<'_>, action: &Action) -> Result<Target, CallError> {
    let Some(surface) = action.surface() else {
        return Err(call.reject(ErrorCode::CapabilityMissing, "This Runner cannot do that."));
    };
    target(call, surface, action.element())
}

/// What these ids mean in this session.
pub(crate) fn target(call: &Call<'_>, surface: &SurfaceId, element: Option<&ElementId>) -> Result<Target, CallError> {
    let mut held = call.session.held();
    let Some(window) = held.surfaces.key(surface) else {
        drop(held);
        return Err(call.stale_surface("This surface_id names no window of this session, or its window is gone."));
    };
    let element = match element {
        None => None,
        Some(id) => match held.elements.get(surface, id) {
            Some(known) => Some((id.clone(), known.clone())),
            None => {
                drop(held);
                let what = "This element_id names no element of this window in this session, or it ended.";
                return Err(call.stale_element(what, surface, None));
            }
        },
    };
    Ok(Target { surface: surface.clone(), window, element })
}

/// Reads the target live and proves that it is still what was observed.
pub(crate) fn measure(call: &Call<'_>, target: &Target) -> Result<Measured, CallError> {
    let windows: Arc<[WindowFacts]> =
        call.read(|provider, limit| provider.windows(limit)).map_err(|fault| call.window_fault(fault))?.into();
    let Some(window) = windows.iter().find(|facts| facts.key == target.window).cloned() else {
        call.session.held().end_surface(&target.surface);
        return Err(call.stale_surface("This window is gone."));
    };
    let element = match &target.element {
        None => None,
        // Nothing of a refused window is read; who asks refuses it.
        Some(_) if admit::window(&window).is_some() => None,
        Some(_) => Some(live(call, target)?),
    };
    Ok(Measured { window, windows, element })
}

/// Reads the target's element live and proves that it is still the one that was observed.
pub(crate) fn live(call: &Call<'_>, target: &Target) -> Result<Resolved, CallError> {
    let Some((_, known)) = &target.element else {
        return Err(call.reject(ErrorCode::InvalidRequest, "An element_id is missing."));
    };
    let stale = |what: &str| call.stale_element(what, &target.surface, target.known());
    let (window, element) = (target.window.clone(), known.sighting.key.clone());
    let resolved = call
        .read(move |provider, limit| provider.resolve(&window, &element, limit))
        .map_err(|fault| call.element_fault(fault, &target.surface, target.known()))?;
    let Some(now) = Sighting::of_resolved(&resolved) else {
        return Err(stale("Nothing proves where this element is."));
    };
    match known.sighting.difference(&now) {
        None => Ok(resolved),
        // The live index counts children that a tree leaves out: the tree has the last word on the place.
        Some(Difference::Place) if stands_where_it_stood(call, target, known) => Ok(resolved),
        Some(difference) => Err(stale(&format!("This element is no longer the one observed: {}.", difference.words()))),
    }
}

/// The element as it is seen now, its place as it was proven.
pub(crate) fn seen_now(target: &Target, resolved: &Resolved) -> Option<Sighting> {
    let (_, known) = target.element.as_ref()?;
    let now = Sighting::of_resolved(resolved)?;
    Some(Sighting { place: known.sighting.place, ..now })
}

/// The target's element, proven now, where it names one.
pub(crate) fn sight(call: &Call<'_>, target: &Target) -> Result<Option<Sighting>, CallError> {
    if target.element.is_none() {
        return Ok(None);
    }
    Ok(seen_now(target, &live(call, target)?))
}

/// Whether the window's tree shows the element where it was seen.
fn stands_where_it_stood(call: &Call<'_>, target: &Target, known: &Known) -> bool {
    let Ok(tree) = trees::read(call, &target.window, &trees::outline_ask(None)) else { return false };
    let Some(index) = tree.nodes.iter().position(|node| node.key == known.sighting.key) else { return false };
    let now = Sightings::of_window(&tree).of(index as u32);
    known.sighting.difference(&now).is_none()
}

/// Measures once more, repeats the refusals and the checks, and makes the one binding.
pub(crate) fn bind(call: &Call<'_>, action: &Action, target: Target) -> Result<(Binding, Subject), CallError> {
    let measured = measure(call, &target)?;
    if let Some(refusal) = admit::refusal(call, action, &measured)? {
        return Err(call.refuse(refusal));
    }
    if let (ActionKind::Press | ActionKind::Select, Some((_, known)), Some(now)) =
        (call.kind, &target.element, measured.facts())
        && known.sighting.name != now.name
    {
        let what = "This element's name changed since it was observed.";
        return Err(call.stale_element(what, &target.surface, target.known()));
    }
    let wish = wish(call, action)?;
    actionable::check(call, &target, &measured, &wish)?;
    let binding =
        Binding { window: target.window.clone(), element: target.element_key().cloned(), effect: wish.effect() };
    Ok((binding, Subject { target, measured, wish }))
}

/// What an action wishes for. Actions that this Runner does not do were refused by their capability.
fn wish(call: &Call<'_>, action: &Action) -> Result<Wish, CallError> {
    let wish = match action {
        Action::ActivateWindow { .. } => Wish::Activate,
        Action::Press { at: PressTarget::Element(_), gesture: Gesture::Activate, .. } => Wish::Press,
        Action::Press { at: PressTarget::Element(_), gesture: Gesture::ContextMenu, .. } => Wish::ContextMenu,
        Action::Press { .. } => {
            let message = "This press needs means: targeted_input, which this Runner does not have. Press an \
                           element with gesture activate or context_menu.";
            return Err(call.reject(ErrorCode::CapabilityMissing, message));
        }
        Action::Focus { .. } => Wish::Focus,
        Action::Select { .. } => Wish::Select,
        Action::SetValue { value: Value::Number(number), .. } => Wish::Number(*number),
        Action::SetValue { value: Value::Boolean(checked), .. } => Wish::Checked(*checked),
        Action::Scroll { direction, pages, .. } => Wish::Scroll(*direction, *pages),
        Action::ScrollToElement { .. } => Wish::InView,
        Action::InputText { text, mode, .. } => Wish::Text(*mode, text.clone()),
        Action::Targets
        | Action::Windows { .. }
        | Action::Displays { .. }
        | Action::Applications { .. }
        | Action::AccessibilityStatus
        | Action::AccessibilityTree { .. }
        | Action::FindElements { .. }
        | Action::ElementState { .. }
        | Action::WaitFor { .. }
        | Action::SnapshotWindow { .. }
        | Action::SnapshotDisplay { .. }
        | Action::ReadText { .. }
        | Action::ReadClipboard
        | Action::ArtifactMetadata { .. }
        | Action::LaunchApplication { .. }
        | Action::Key { .. }
        | Action::PointerMove { .. }
        | Action::PointerClick { .. }
        | Action::WriteClipboard { .. }
        | Action::SaveSnapshot { .. } => {
            return Err(call.reject(ErrorCode::CapabilityMissing, "This Runner cannot do that."));
        }
    };
    Ok(wish)
}

impl Wish {
    fn effect(&self) -> Effect {
        match self {
            Self::Activate => Effect::Activate,
            Self::Press => Effect::Press,
            Self::ContextMenu => Effect::ContextMenu,
            Self::Focus => Effect::Focus,
            Self::Select => Effect::Select,
            Self::Number(number) => Effect::SetNumber(*number),
            Self::Checked(checked) => Effect::SetChecked(*checked),
            Self::Scroll(direction, pages) => Effect::Scroll { direction: *direction, pages: *pages },
            Self::InView => Effect::ScrollToElement,
            Self::Text(mode, text) => Effect::InputText { mode: *mode, text: text.clone() },
        }
    }
}

/// An element's value, read live. Never of a protected one.
pub(crate) fn value(call: &Call<'_>, target: &Target) -> Result<deskhand_contract::provider::NativeValue, Fault> {
    let (window, Some(element)) = (target.window.clone(), target.element_key().cloned()) else {
        return Err(Fault::Gone);
    };
    call.read(move |provider, limit| provider.value(&window, &element, limit))
}
