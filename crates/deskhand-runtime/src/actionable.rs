//! Which checks precede an effect? One table, and what each failure says that would work instead.
//!
//! | effect | shown | enabled | affordance | more |
//! | --- | --- | --- | --- | --- |
//! | activate_window | | | | |
//! | press | ● | ● | `can_press` | |
//! | press, context_menu | ● | ● | `can_context_menu` | |
//! | focus | ● | ● | `can_focus` | |
//! | select | ● | ● | `can_select` | |
//! | set_value, number | ● | ● | `can_set_value` | the number is in the element's range |
//! | set_value, boolean | ● | ● | `can_set_value` | the element has a state to set |
//! | scroll | ● | ● | `can_scroll` | |
//! | scroll_to_element | | | `can_scroll_to` | |
//! | input_text, fill_empty | ● | ● | `can_input_text` | focused, empty |
//! | input_text, replace | ● | ● | `can_input_text` | |
//!
//! *Shown* is not hidden (an inner page, a closed menu). Out of view does not matter to an element's own means. That
//! it is there, the same, and not protected was proven before ([`crate::bind`], [`crate::admit`]).

use deskhand_contract::action::TextMode;
use deskhand_contract::element::{Affordance, ElementFacts, State, ValuePresence};
use deskhand_contract::error::{CallError, ErrorCode};
use deskhand_contract::provider::{Fault, NativeValue, Resolved};
use deskhand_contract::text::escape;

use crate::bind::{self, Measured, Target, Wish};
use crate::call::Call;
use crate::element::Shown;
use crate::lineage::Sighting;

/// A check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    Shown,
    Enabled,
    Has(Affordance),
    InRange,
    HasState,
    Focused,
    Empty,
}

/// The table.
pub(crate) const fn checks(wish: &Wish) -> &'static [Check] {
    use Affordance as A;
    use Check as C;
    match wish {
        Wish::Activate => &[],
        Wish::Press => &[C::Shown, C::Enabled, C::Has(A::CanPress)],
        Wish::ContextMenu => &[C::Shown, C::Enabled, C::Has(A::CanContextMenu)],
        Wish::Focus => &[C::Shown, C::Enabled, C::Has(A::CanFocus)],
        Wish::Select => &[C::Shown, C::Enabled, C::Has(A::CanSelect)],
        Wish::Number(_) => &[C::Shown, C::Enabled, C::Has(A::CanSetValue), C::InRange],
        Wish::Checked(_) => &[C::Shown, C::Enabled, C::Has(A::CanSetValue), C::HasState],
        Wish::Scroll(..) => &[C::Shown, C::Enabled, C::Has(A::CanScroll)],
        Wish::InView => &[C::Has(A::CanScrollTo)],
        Wish::Text(TextMode::FillEmpty, _) => &[C::Shown, C::Enabled, C::Has(A::CanInputText), C::Focused, C::Empty],
        Wish::Text(TextMode::Replace, _) => &[C::Shown, C::Enabled, C::Has(A::CanInputText)],
    }
}

/// Runs the row of the table; the first check that fails is the error.
pub(crate) fn check(call: &Call<'_>, target: &Target, measured: &Measured, wish: &Wish) -> Result<(), CallError> {
    let Some(resolved) = &measured.element else { return Ok(()) };
    for check in checks(wish) {
        if let Some((code, what)) = failed(call, target, resolved, wish, *check)? {
            let works = what_works(call, target, resolved, wish, *check);
            let works = if works.is_empty() { String::new() } else { format!(" What would work: {works}.") };
            return Err(call.reject(code, format!("{what}{works}")));
        }
    }
    Ok(())
}

fn failed(
    call: &Call<'_>,
    target: &Target,
    resolved: &Resolved,
    wish: &Wish,
    check: Check,
) -> Result<Option<(ErrorCode, String)>, CallError> {
    let facts = &resolved.facts;
    let no = |what: &str| Some((ErrorCode::NotActionable, what.to_owned()));
    let found = match check {
        Check::Shown if facts.states.has(State::Hidden) => {
            no("This element is hidden: it is on a page or in a menu that is not open.")
        }
        Check::Enabled if facts.states.has(State::Disabled) => no("This element is disabled."),
        Check::Has(affordance) if !has(facts, affordance) => {
            let what = format!("This {} has not the affordance {}.", facts.role, affordance.name());
            Some((ErrorCode::NotActionable, what))
        }
        Check::InRange => out_of_range(call, target, wish)?,
        Check::HasState if check_state(facts).is_none() => {
            no("This element has no state that could be switched on or off.")
        }
        Check::Focused if !facts.states.has(State::Focused) => no("This element does not have the focus."),
        Check::Empty => not_empty(call, target, facts)?,
        Check::Shown | Check::Enabled | Check::Has(_) | Check::HasState | Check::Focused => None,
    };
    Ok(found)
}

fn out_of_range(call: &Call<'_>, target: &Target, wish: &Wish) -> Result<Option<(ErrorCode, String)>, CallError> {
    let Wish::Number(wanted) = wish else { return Ok(None) };
    match bind::value(call, target) {
        Ok(NativeValue::Number { minimum, maximum, .. }) => {
            let within = wanted.is_finite() && *wanted >= minimum && *wanted <= maximum;
            let what = format!("The number is out of this element's range, {minimum} to {maximum}.");
            Ok((!within).then_some((ErrorCode::NotActionable, what)))
        }
        Ok(NativeValue::Text(_)) | Err(Fault::Unsupported(_)) => {
            Ok(Some((ErrorCode::NotActionable, "This element holds no number.".to_owned())))
        }
        Err(fault) => Err(call.element_fault(fault, &target.surface, target.known())),
    }
}

fn not_empty(call: &Call<'_>, target: &Target, facts: &ElementFacts) -> Result<Option<(ErrorCode, String)>, CallError> {
    let full =
        || Some((ErrorCode::ValueNotEmpty, "This element is not empty, and fill_empty replaces nothing.".to_owned()));
    match facts.value {
        ValuePresence::Empty => Ok(None),
        ValuePresence::Present => Ok(full()),
        // Whether it is empty was not said: what it holds is looked at, and not kept.
        ValuePresence::Unknown | ValuePresence::None => match bind::value(call, target) {
            Ok(NativeValue::Text(text)) if text.is_empty() => Ok(None),
            Ok(_) | Err(Fault::TooLarge) => Ok(full()),
            Err(Fault::Unsupported(_)) => {
                let what = "Nothing proves that this element is empty.".to_owned();
                Ok(Some((ErrorCode::NotActionable, what)))
            }
            Err(fault) => Err(call.element_fault(fault, &target.surface, target.known())),
        },
    }
}

/// What the caller can do instead, as one list.
fn what_works(call: &Call<'_>, target: &Target, resolved: &Resolved, wish: &Wish, check: Check) -> String {
    let facts = &resolved.facts;
    let mut works: Vec<String> = Vec::new();
    match check {
        Check::Shown => works.push("show it first (press its tab, its menu or what expands it)".to_owned()),
        Check::Enabled => works.push("do first what enables it, then look again".to_owned()),
        Check::Focused => {
            if has(facts, Affordance::CanFocus) {
                works.push("focus it first".to_owned());
            }
            works.push("mode: replace, which needs no focus".to_owned());
        }
        Check::Empty => works.push("mode: replace".to_owned()),
        Check::InRange => {}
        Check::HasState => works.push("press".to_owned()),
        Check::Has(missing) => {
            let own = [
                (Affordance::CanPress, "press"),
                (Affordance::CanSelect, "select"),
                (Affordance::CanSetValue, "set_value"),
                (Affordance::CanInputText, "input_text"),
                (Affordance::CanFocus, "focus"),
            ];
            let others = own.iter().filter(|(affordance, _)| *affordance != missing && has(facts, *affordance));
            works.extend(others.map(|(_, name)| format!("{name} on it")));
            if has_targeted_input(call)
                && matches!(wish, Wish::Press | Wish::ContextMenu | Wish::Text(..) | Wish::Scroll(..))
            {
                works.push("means: targeted_input".to_owned());
            }
        }
    }
    if matches!(wish, Wish::Press)
        && matches!(check, Check::Shown | Check::Has(_))
        && let Some(ancestor) = pressable_ancestor(call, target, resolved)
    {
        works.push(ancestor);
    }
    works.join("; ")
}

/// The nearest ancestor that can be pressed, named so that it can be pressed next.
fn pressable_ancestor(call: &Call<'_>, target: &Target, resolved: &Resolved) -> Option<String> {
    /// Ancestors that are looked at.
    const NEAREST: usize = 4;
    let above = resolved.lineage.split_last()?.1;
    for step in above.iter().skip(1).rev().take(NEAREST) {
        let (window, key) = (target.window.clone(), step.key.clone());
        let Ok(ancestor) = call.read(move |provider, limit| provider.resolve(&window, &key, limit)) else { continue };
        let facts = &ancestor.facts;
        // Some toolkits claim an action for every box; what a person would press has a role for it.
        let usable = facts.role.is_interactive()
            && has(facts, Affordance::CanPress)
            && !facts.states.has(State::Disabled)
            && !facts.states.has(State::Hidden)
            && !facts.protected;
        if !usable {
            continue;
        }
        let sighting = Sighting::of_resolved(&ancestor)?;
        let generation = target.element.as_ref().map_or(1, |(_, known)| known.generation);
        let identities = &call.runner.identities;
        let id =
            call.session.held().elements.identify(&target.surface, sighting, generation, Shown::ToCaller, identities);
        return Some(format!("press {id}, the {} \"{}\" around it", facts.role, escape(&facts.name, 60)));
    }
    None
}

fn has_targeted_input(call: &Call<'_>) -> bool {
    let capabilities = call.runner.seam.provider().profile().capabilities;
    capabilities.has(deskhand_contract::scope::Capability::ComputerTargetedInput)
}

fn has(facts: &ElementFacts, affordance: Affordance) -> bool {
    facts.affordances.is_some_and(|affordances| affordances.has(affordance))
}

/// Whether an element that can be on or off is on; `Some(None)` is neither. `None` where it has no such state.
pub(crate) fn check_state(facts: &ElementFacts) -> Option<Option<bool>> {
    let states = facts.states;
    if states.has(State::Mixed) {
        Some(None)
    } else if states.has(State::Checked) || states.has(State::Pressed) {
        Some(Some(true))
    } else if states.has(State::Unchecked) || facts.role.is_checkable() {
        Some(Some(false))
    } else {
        None
    }
}
