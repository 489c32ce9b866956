//! File descriptors that a process was born with.

use std::os::fd::RawFd;

/// Closes every descriptor above standard error that this process inherited. To be called first of all, in a
/// process that shall outlive its parent: a forgotten pipe end would keep a stranger waiting for its end.
pub(crate) fn close_inherited() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    // Collected first: the directory's own descriptor is among them and is closed with the listing.
    let inherited: Vec<RawFd> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor: &RawFd| *descriptor > 2)
        .collect();
    for descriptor in inherited {
        if is_open(descriptor) {
            // SAFETY: nothing in this process has opened a descriptor yet, so no owner exists for any above
            // standard error, and none is used afterwards.
            unsafe { rustix::io::close(descriptor) };
        }
    }
}

/// The listing above was closed when it was dropped; what else it named is still there.
fn is_open(descriptor: RawFd) -> bool {
    std::path::Path::new("/proc/self/fd").join(descriptor.to_string()).symlink_metadata().is_ok()
}
