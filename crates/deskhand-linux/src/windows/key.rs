//! The native identity of a window and of a display, as the contract's opaque key.
//!
//! An X id alone is reused once its client is gone; with the process behind it, and when that began, it is not.

use deskhand_contract::provider::NativeKey;
use x11rb::protocol::xproto::Window;

/// What proves that a window is the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct WindowKey {
    /// The X id.
    pub(crate) id: Window,
    /// The process as the server saw it; 0 where it saw none.
    pub(crate) pid: u32,
    /// When that process began; 0 where it is not known here.
    pub(crate) started: u64,
}

const WINDOW: u8 = b'w';
const DISPLAY: u8 = b'd';

impl WindowKey {
    /// The opaque form.
    pub(crate) fn to_native(self) -> NativeKey {
        let mut bytes = Vec::with_capacity(17);
        bytes.push(WINDOW);
        bytes.extend(self.id.to_be_bytes());
        bytes.extend(self.pid.to_be_bytes());
        bytes.extend(self.started.to_be_bytes());
        NativeKey::new(&bytes)
    }

    /// The window of a key; nothing for a key of something else.
    pub(crate) fn from_native(key: &NativeKey) -> Option<Self> {
        let (&WINDOW, rest) = key.bytes().split_first()? else { return None };
        let (id, rest) = rest.split_first_chunk()?;
        let (pid, rest) = rest.split_first_chunk()?;
        let started = rest.try_into().ok()?;
        Some(Self { id: u32::from_be_bytes(*id), pid: u32::from_be_bytes(*pid), started: u64::from_be_bytes(started) })
    }
}

/// The key of the monitor whose name is this atom (0: the whole screen).
pub(crate) fn display_key(name: u32) -> NativeKey {
    let mut bytes = vec![DISPLAY];
    bytes.extend(name.to_be_bytes());
    NativeKey::new(&bytes)
}

/// The monitor of a key; nothing for a key of something else.
pub(crate) fn display_of(key: &NativeKey) -> Option<u32> {
    let (&DISPLAY, rest) = key.bytes().split_first()? else { return None };
    Some(u32::from_be_bytes(rest.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_round_trip_and_are_not_mixed() {
        let key = WindowKey { id: 0x60_0003, pid: 4_242, started: 77 };
        assert_eq!(WindowKey::from_native(&key.to_native()), Some(key));
        assert_eq!(display_of(&display_key(9)), Some(9));
        assert_eq!(display_of(&key.to_native()), None);
        assert_eq!(WindowKey::from_native(&display_key(9)), None);
        assert_eq!(WindowKey::from_native(&NativeKey::new(b"w1")), None);
    }
}
