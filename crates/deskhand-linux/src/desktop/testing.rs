//! A record for the tests of this module.

use super::option::{DesktopName, Size};
use super::process::ProcessIdentity;
use super::record::{DesktopRecord, DesktopState};

pub(super) fn record() -> DesktopRecord {
    DesktopRecord {
        name: DesktopName::parse("desk").unwrap(),
        id: "00112233445566778899aabbccddeeff".into(),
        state: DesktopState::Ready,
        ended: None,
        size: Size::DEFAULT,
        directory: "/run/x/desk".into(),
        home: "/home/x".into(),
        runtime: "/run/x".into(),
        starter: ProcessIdentity { pid: 1, start_time: 1 },
        keeper: None,
        supervisor: None,
        owner: None,
        display: Some(7),
        display_socket: None,
        session_bus: Some("unix:path=/run/x/desk/bus".into()),
        accessibility_bus: None,
        window_manager: None,
        parts: Vec::new(),
        started_at: 0,
        ready_ms: None,
    }
}
