//! The fake keeps the promises of a provider, so that what the engine's tests prove holds for others.

use deskhand_contract::role::Role;
use deskhand_testkit::conformance::{Stage, run};
use deskhand_testkit::{FakeDesktop, RECORDINGS, check, plant, recorded};

#[test]
fn every_recorded_window_is_read_and_what_it_shows_can_be_asked_for() {
    check(RECORDINGS.map(|name| (name, name)), |name| {
        let stage = crate::stage::Stage::new();
        let (window, planted) = plant(&stage.desktop, recorded(name));
        let surface = stage.surface(&window);
        let tree = stage.tree(&surface, None);
        assert_eq!(tree.total as usize, planted.len() + 1);
        let outline = tree.outline.unwrap();
        let ids: Vec<_> = outline.lines().filter_map(|line| line.rsplit_once(" #")?.1.parse().ok()).collect();
        assert!(ids.len() > 4, "{outline}");
        for element in ids {
            let state = deskhand_contract::action::Action::ElementState {
                surface: surface.clone(),
                element,
                include_value: false,
            };
            stage.reply(&state);
        }
    });
}

#[test]
fn the_fake_desktop_is_a_provider() {
    let desktop = FakeDesktop::new();
    plant(&desktop, recorded("list"));
    plant(&desktop, recorded("form"));
    run(&Stage { provider: &desktop, title: "Adjustable form", button: "OK", field: Role::Textbox });
}
