//! Control: the way of a call from a front door to a Runner, and back as one envelope.
//!
//! [`gateway`] is that way: it reads the call, checks scopes and capabilities, sends it over a [`link`] and
//! closes it in an [`envelope`]. [`desktop`] says which desktop is meant, [`socket`] and [`start`] reach its
//! Runner, [`projection`] says what a caller is shown. It judges no effect: only a Runner can refuse one, and
//! nothing here can widen what it allows.

pub(crate) mod desktop;
pub(crate) mod envelope;
pub(crate) mod gateway;
pub(crate) mod link;
pub(crate) mod projection;
pub(crate) mod scopes;
pub(crate) mod socket;
pub(crate) mod start;
