//! Thin native calls: the X server, shared memory, the buses. The only place of `unsafe`.

pub(crate) mod bus;
pub(crate) mod x11;
pub(crate) mod x11_shm;
