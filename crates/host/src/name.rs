//! The name of this machine.

/// The name that the kernel has, as `uname -n` prints it; in a container it is the container's.
pub fn own() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
