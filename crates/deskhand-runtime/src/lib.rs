//! (being laid)

#[allow(dead_code)]
mod delta;
#[allow(dead_code)]
mod image;
#[allow(dead_code)]
mod outline;
#[allow(dead_code)]
mod projection;

#[cfg(test)]
mod outline_tests;
