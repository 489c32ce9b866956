//! An element's value, read live and never kept.

use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{Fault, NativeValue};
use deskhand_contract::redacted::Redacted;

use super::interface::{Interface, TEXT, VALUE};
use super::nodes::Node;
use super::object::Object;
use crate::sys::bus::{Bus, BusFault, Call};

/// Longest value, in bytes.
const MAX_BYTES: usize = 16 << 10;

/// The value of an object whose facts are `node`.
///
/// # Errors
/// [`Fault::TooLarge`] beyond 16 KiB; [`Fault::Unsupported`] where it has none.
pub(crate) async fn value(bus: &Bus, element: &Object, node: &Node, limit: &Limit) -> Result<NativeValue, Fault> {
    if node.interfaces.has(Interface::Value) {
        let numbers = tokio::join!(
            bus.property::<f64>(element.at(), VALUE, "CurrentValue", limit),
            bus.property::<f64>(element.at(), VALUE, "MinimumValue", limit),
            bus.property::<f64>(element.at(), VALUE, "MaximumValue", limit),
        );
        if let (Ok(current), minimum, maximum) = numbers {
            let (minimum, maximum) = (minimum.unwrap_or(f64::NEG_INFINITY), maximum.unwrap_or(f64::INFINITY));
            return Ok(NativeValue::Number { current, minimum, maximum });
        }
    }
    if !node.interfaces.has(Interface::Text) {
        return Err(Fault::Unsupported("this element has no value".to_owned()));
    }
    let count = bus.property::<i32>(element.at(), TEXT, "CharacterCount", limit).await.map_err(fault)?;
    // Every character is at least one byte.
    if usize::try_from(count).is_ok_and(|count| count > MAX_BYTES) {
        return Err(Fault::TooLarge);
    }
    let call = Call { bus: &element.bus, path: &element.path, interface: TEXT, method: "GetText" };
    // To the count, not to -1: GTK 4's entries answer "to the end" with nothing.
    let text: String = bus.call(&call, &(0_i32, count), limit).await.map_err(fault)?;
    if text.len() > MAX_BYTES { Err(Fault::TooLarge) } else { Ok(NativeValue::Text(Redacted::new(text))) }
}

/// What a read's failure means to the runtime.
pub(crate) fn fault(fault: BusFault) -> Fault {
    match fault {
        BusFault::Absent | BusFault::Died => Fault::Gone,
        BusFault::Silent | BusFault::NotSent => Fault::Unresponsive,
        BusFault::Cancelled => Fault::Cancelled,
        BusFault::Lost => Fault::Backend("the accessibility bus was lost; the next call reconnects".to_owned()),
        BusFault::Refused => Fault::Unsupported("the application refused to answer".to_owned()),
        BusFault::Malformed => Fault::Unsupported("the application's answer is malformed".to_owned()),
    }
}
