//! The fake keeps the promises of a provider, so that what the engine's tests prove holds for others.

use deskhand_contract::role::Role;
use deskhand_testkit::conformance::{Stage, run};
use deskhand_testkit::{FakeDesktop, plant, recorded};

#[test]
fn the_fake_desktop_is_a_provider() {
    let desktop = FakeDesktop::new();
    plant(&desktop, recorded("list"));
    plant(&desktop, recorded("form"));
    run(&Stage { provider: &desktop, title: "Adjustable form", button: "OK", field: Role::Textbox });
}
