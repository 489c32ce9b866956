//! Reading window properties: typed, bounded, and many in one round trip.

use x11rb::connection::RequestConnection;
use x11rb::cookie::Cookie;
use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt as _, GetPropertyReply, Window};

use crate::map::window::{TextEncoding, text};
use crate::sys::x11::{Atoms, XError};

/// A property that has been asked for.
pub(crate) type Asked<'c, C> = Cookie<'c, C, GetPropertyReply>;

/// Asks for at most `words` 32-bit words of a property, of any type.
pub(crate) fn ask<C: RequestConnection>(
    conn: &C,
    window: Window,
    name: impl Into<Atom>,
    words: u32,
) -> Result<Asked<'_, C>, XError> {
    Ok(conn.get_property(false, window, name, AtomEnum::ANY, 0, words)?)
}

/// The answer; nothing if the property or the window does not exist.
pub(crate) fn answer<C: RequestConnection>(asked: Asked<'_, C>) -> Result<Option<GetPropertyReply>, XError> {
    match asked.reply().map_err(XError::from) {
        Ok(reply) if reply.type_ == u32::from(AtomEnum::NONE) => Ok(None),
        Ok(reply) => Ok(Some(reply)),
        Err(error) if error.is_of_server() => Err(error),
        Err(_) => Ok(None),
    }
}

/// All 32-bit values of a property; empty for a missing property or one of another format.
pub(crate) fn words<C: RequestConnection>(asked: Asked<'_, C>) -> Result<Vec<u32>, XError> {
    Ok(answer(asked)?.and_then(|reply| Some(reply.value32()?.collect())).unwrap_or_default())
}

/// The first 32-bit value.
pub(crate) fn word<C: RequestConnection>(asked: Asked<'_, C>) -> Result<Option<u32>, XError> {
    Ok(answer(asked)?.and_then(|reply| reply.value32()?.next()))
}

/// A text property, decoded; nothing for a missing one or one that is no text.
pub(crate) fn string<C: RequestConnection>(asked: Asked<'_, C>, atoms: &Atoms) -> Result<Option<String>, XError> {
    Ok(answer(asked)?.and_then(|reply| decode(&reply, atoms)))
}

/// The two texts of `WM_CLASS`: instance and class.
pub(crate) fn class<C: RequestConnection>(asked: Asked<'_, C>) -> Result<Option<(String, String)>, XError> {
    Ok(answer(asked)?.filter(|reply| reply.format == 8).map(|reply| {
        let mut parts = reply.value.split(|byte| *byte == 0);
        let mut next = || text(parts.next().unwrap_or_default(), TextEncoding::Latin1);
        (next(), next())
    }))
}

fn decode(reply: &GetPropertyReply, atoms: &Atoms) -> Option<String> {
    if reply.format != 8 {
        return None;
    }
    let encoding = if reply.type_ == atoms.UTF8_STRING {
        TextEncoding::Utf8
    } else if reply.type_ == atoms.COMPOUND_TEXT {
        TextEncoding::Compound
    } else {
        TextEncoding::Latin1
    };
    Some(text(&reply.value, encoding))
}
