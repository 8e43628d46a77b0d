//! What a container that envdoc starts to look inside an image may do: as little as looking needs, because
//! the image may be anybody's.

use bollard::models::HostConfig;

/// Threads and processes: libraries start a thread for every CPU core when Python imports them.
const PIDS_LIMIT: i64 = 4096;

/// Capabilities that root keeps, all of Docker's own set.
///
/// `DAC_OVERRIDE`: root reads and removes files of other users of the image, as it does in a training
/// container.
const KEPT: &[&str] = &["DAC_OVERRIDE"];
/// What a probe of the network keeps besides. `NET_BIND_SERVICE`: it listens on the cluster's ports, which
/// may be below 1024. `NET_RAW`: it watches which packets of the overlay pass the machine's interfaces.
const KEPT_FOR_NETWORK: &[&str] = &["DAC_OVERRIDE", "NET_BIND_SERVICE", "NET_RAW"];

/// How much a container may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Runs a program of the image.
    Program,
    /// Runs only a shell script that writes nothing: the image's files cannot be changed.
    Script,
    /// Tests the network: listens on ports and watches packets.
    Network,
}

/// Takes away from a container's configuration what looking does not need.
pub(crate) fn confined(needs: Needs, host: HostConfig) -> HostConfig {
    let kept = if needs == Needs::Network { KEPT_FOR_NETWORK } else { KEPT };
    // No memory limit: importing torch takes gigabytes, and `check --live` reports the limit that it finds.
    HostConfig {
        cap_drop: Some(vec!["ALL".to_owned()]),
        cap_add: Some(kept.iter().map(|name| (*name).to_owned()).collect()),
        // setuid programs of the image give nothing back.
        security_opt: Some(vec!["no-new-privileges".to_owned()]),
        pids_limit: Some(PIDS_LIMIT),
        // Files are copied into the others before they start, which engines refuse for a read-only root, and
        // Python's imports may write caches.
        readonly_rootfs: (needs == Needs::Script).then_some(true),
        ..host
    }
}
