//! Brings a window to the front: the one effect of this part of the provider.
//!
//! With a window manager it is one request to it (as a pager, which it honours without second-guessing, and
//! which also restores an icon), after one for the window's workspace. Without one it is a raise and the input focus,
//! as ICCCM has it. Whether the window is in front afterwards is for the runtime to see.

use x11rb::connection::Connection as _;
use x11rb::properties::WmHints;
use x11rb::protocol::xproto::{
    ClientMessageEvent, ConfigureWindowAux, ConnectionExt as _, EventMask, InputFocus, StackMode, Window,
};

use super::property;
use crate::sys::x11::{X11, XError};

/// `_NET_ACTIVE_WINDOW`'s source indication of a pager.
const PAGER: u32 = 2;
/// `_NET_WM_DESKTOP` of a window on all workspaces.
pub(crate) const ALL_WORKSPACES: u32 = u32::MAX;

/// Asks for `window` to be in front. `managed` says whether a window manager that speaks EWMH runs.
///
/// # Errors
///
/// Before anything was sent: [`XError::Gone`] or [`XError::Unreachable`]. After: see [`Activation`].
pub(crate) fn activate(x11: &X11, window: Window, managed: bool) -> Result<Activation, XError> {
    // Proves that it is there, so that a vanished window is "not started".
    let attributes = x11.conn.get_window_attributes(window)?.reply()?;
    let sent = if managed {
        ask_manager(x11, window)
    } else if attributes.map_state == x11rb::protocol::xproto::MapState::VIEWABLE {
        take_focus(x11, window)
    } else {
        return Ok(Activation::Impossible("the window is hidden and no window manager runs that could show it again"));
    };
    Ok(match sent.and_then(|()| Ok(x11.conn.get_input_focus()?.reply().map(|_| ())?)) {
        Ok(()) => Activation::Sent,
        Err(error) => Activation::Unknown(error),
    })
}

/// How far an activation got.
#[derive(Debug)]
pub(crate) enum Activation {
    /// The server has taken it.
    Sent,
    /// Nothing was sent; the text says why.
    Impossible(&'static str),
    /// It was sent, and the server did not answer after.
    Unknown(XError),
}

fn ask_manager(x11: &X11, window: Window) -> Result<(), XError> {
    let theirs = property::ask(&x11.conn, window, x11.atoms._NET_WM_DESKTOP, 1)?;
    let current = property::ask(&x11.conn, x11.root, x11.atoms._NET_CURRENT_DESKTOP, 1)?;
    let mask = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
    if let (Some(theirs), Some(current)) = (property::word(theirs)?, property::word(current)?)
        && theirs != current
        && theirs != ALL_WORKSPACES
    {
        // Openbox and others only highlight a window elsewhere: the workspace is switched first, as pagers do.
        let data = [theirs, x11rb::CURRENT_TIME, 0, 0, 0];
        let event = ClientMessageEvent::new(32, x11.root, x11.atoms._NET_CURRENT_DESKTOP, data);
        x11.conn.send_event(false, x11.root, mask, event)?;
    }
    let event =
        ClientMessageEvent::new(32, window, x11.atoms._NET_ACTIVE_WINDOW, [PAGER, x11rb::CURRENT_TIME, 0, 0, 0]);
    x11.conn.send_event(false, x11.root, mask, event)?;
    Ok(x11.conn.flush()?)
}

fn take_focus(x11: &X11, window: Window) -> Result<(), XError> {
    let protocols = property::words(property::ask(&x11.conn, window, x11.atoms.WM_PROTOCOLS, 64)?)?;
    x11.conn.configure_window(window, &ConfigureWindowAux::new().stack_mode(StackMode::ABOVE))?;
    let hints = WmHints::get(&x11.conn, window)?.reply().ok().flatten();
    let takes_itself = protocols.contains(&x11.atoms.WM_TAKE_FOCUS);
    // A window that wants no focus given, and says that it takes it, is only told.
    if hints.and_then(|hints| hints.input).unwrap_or(true) || !takes_itself {
        x11.conn.set_input_focus(InputFocus::PARENT, window, x11rb::CURRENT_TIME)?;
    }
    if takes_itself {
        let data = [x11.atoms.WM_TAKE_FOCUS, x11rb::CURRENT_TIME, 0, 0, 0];
        let event = ClientMessageEvent::new(32, window, x11.atoms.WM_PROTOCOLS, data);
        x11.conn.send_event(false, window, EventMask::NO_EVENT, event)?;
    }
    Ok(x11.conn.flush()?)
}
