//! One native effect, once. The effect boundary is the message written to the application.

use deskhand_contract::action::TextMode;
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{Dispatch, Effect, Fault};

use super::facts::{action_names, role};
use super::interface::{ACTION, COMPONENT, EDITABLE_TEXT, Interface, SELECTION, VALUE};
use super::object::Object;
use super::resolve::Subject;
use crate::map::action::{main_action, menu_action};
use crate::map::state::Raw;
use crate::sys::bus::{Bus, BusFault, Call};

/// Performs `effect` on an element that was just read live.
pub(crate) async fn perform(bus: &Bus, element: &Object, live: &Subject, effect: &Effect, limit: &Limit) -> Dispatch {
    let at = |interface, method| Call { bus: &element.bus, path: &element.path, interface, method };
    match effect {
        Effect::Activate | Effect::Scroll { .. } => unsupported("this element has no such action"),
        Effect::Press => act(bus, element, live, |names| main_action(role(&live.node), names), limit).await,
        Effect::ContextMenu => act(bus, element, live, menu_action, limit).await,
        Effect::Focus => truth(bus.call(&at(COMPONENT, "GrabFocus"), &(), limit).await),
        Effect::ScrollToElement => {
            // 6: anywhere in view.
            truth(bus.call(&at(COMPONENT, "ScrollTo"), &6_u32, limit).await)
        }
        Effect::Select => select(bus, element, live, limit).await,
        Effect::SetNumber(number) => set_number(bus, element, live, *number, limit).await,
        Effect::SetChecked(wanted) => {
            let raw = live.node.states;
            let now = raw.has(Raw::Checked)
                || (raw.has(Raw::Pressed) && role(&live.node) == deskhand_contract::role::Role::ToggleButton);
            if now == *wanted && !raw.has(Raw::Indeterminate) {
                return Dispatch::Noop("it is in that state already".to_owned());
            }
            act(bus, element, live, |names| main_action(role(&live.node), names), limit).await
        }
        Effect::InputText { mode, text } => {
            if !live.node.interfaces.has(Interface::EditableText) {
                return unsupported("this element has no text interface; ask for means: targeted_input");
            }
            match mode {
                TextMode::Replace => {
                    truth(bus.call(&at(EDITABLE_TEXT, "SetTextContents"), &text.expose(), limit).await)
                }
                TextMode::FillEmpty => {
                    let length = i32::try_from(text.len()).unwrap_or(i32::MAX);
                    truth(bus.call(&at(EDITABLE_TEXT, "InsertText"), &(0_i32, text.expose(), length), limit).await)
                }
            }
        }
    }
}

/// The action that `choose` picks among the names as they are now.
async fn act(
    bus: &Bus,
    element: &Object,
    live: &Subject,
    choose: impl Fn(&[String]) -> Option<usize>,
    limit: &Limit,
) -> Dispatch {
    if !live.node.interfaces.has(Interface::Action) {
        return unsupported("this element has no action of its own");
    }
    let names = action_names(bus, element.at(), limit).await;
    let Some(index) = choose(&names) else {
        return unsupported("none of this element's actions is what was asked for");
    };
    let Ok(index) = i32::try_from(index) else {
        return unsupported("none of this element's actions is what was asked for");
    };
    let call = Call { bus: &element.bus, path: &element.path, interface: ACTION, method: "DoAction" };
    truth(bus.call(&call, &index, limit).await)
}

async fn select(bus: &Bus, element: &Object, live: &Subject, limit: &Limit) -> Dispatch {
    let (Some((parent, node)), Some(index)) = (&live.parent, live.index) else {
        return unsupported("its container has no selection");
    };
    if !node.interfaces.has(Interface::Selection) {
        return unsupported("its container has no selection");
    }
    // The index is proven now: the child at that place must still be this element.
    let child = Call {
        bus: &parent.bus,
        path: &parent.path,
        interface: super::interface::ACCESSIBLE,
        method: "GetChildAtIndex",
    };
    match bus.call::<_, super::object::Reference>(&child, &index, limit).await {
        Ok(reference) if super::object::object(&reference) == *element => {}
        Ok(_) => return Dispatch::NotStarted(Fault::Gone),
        Err(fault) => return Dispatch::NotStarted(super::value::fault(fault)),
    }
    let call = Call { bus: &parent.bus, path: &parent.path, interface: SELECTION, method: "SelectChild" };
    truth(bus.call(&call, &index, limit).await)
}

async fn set_number(bus: &Bus, element: &Object, live: &Subject, number: f64, limit: &Limit) -> Dispatch {
    if !live.node.interfaces.has(Interface::Value) {
        return unsupported("this element has no number to set");
    }
    let call =
        Call { bus: &element.bus, path: &element.path, interface: "org.freedesktop.DBus.Properties", method: "Set" };
    let sent: Result<zbus::message::Message, BusFault> =
        bus.call_raw(&call, &(VALUE, "CurrentValue", zbus::Variant::from(number)), limit).await;
    match sent {
        Ok(_) => Dispatch::Sent,
        Err(fault) => failed(fault),
    }
}

fn truth(answer: Result<bool, BusFault>) -> Dispatch {
    match answer {
        Ok(true) => Dispatch::Sent,
        Ok(false) => Dispatch::Noop("the application answered that it did nothing".to_owned()),
        // An answer came, so the call returned; what it says is for the eye to see.
        Err(BusFault::Malformed) => Dispatch::Sent,
        Err(fault) => failed(fault),
    }
}

fn failed(fault: BusFault) -> Dispatch {
    match fault {
        BusFault::Absent => Dispatch::NotStarted(Fault::Gone),
        BusFault::NotSent => Dispatch::NotStarted(Fault::Unresponsive),
        BusFault::Refused => Dispatch::Unknown("the application answered with an error".to_owned()),
        BusFault::Silent => Dispatch::Unknown("the application did not answer in time".to_owned()),
        BusFault::Died => Dispatch::Unknown("the application ended during the call".to_owned()),
        BusFault::Cancelled => Dispatch::Unknown("cancelled while the application was acting".to_owned()),
        BusFault::Lost | BusFault::Malformed => {
            Dispatch::Unknown("the accessibility bus was lost during the call".to_owned())
        }
    }
}

fn unsupported(why: &str) -> Dispatch {
    Dispatch::NotStarted(Fault::Unsupported(why.to_owned()))
}
