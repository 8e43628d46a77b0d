//! The storage driver copies or is long deprecated.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

/// The check.
pub const CHECK: Check = Check {
    id: "docker-storage-driver-slow",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "the engine's storage driver shares layers and is maintained",
    explain: "\
## What it checks
The storage driver that the engine shows in `/info`: `vfs` copies every layer in full, `devicemapper` and
`aufs` are deprecated and gone from newer engines.

## Why it matters
With `vfs` each layer of an image of 20 GB is stored as a full copy: a build takes many times the space
and the time. It is the last that the engine tries, when no other driver works on the file system.
`devicemapper` was removed in Docker 25, `aufs` in Docker 24.

## How to fix it
Use overlay2 (or the containerd image store). On XFS the file system must have `ftype=1`. Images made with
the old driver are not seen by the new one.

## Sources
- docker/docs:content/manuals/engine/storage/drivers/select-storage-driver.md, vfs-driver.md
- docker/cli:docs/deprecated.md@28f756087e (aufs gone in 24.0, devicemapper in 25.0)
- moby/moby:daemon/graphdriver/driver_linux.go@docker-v29.7.2 (vfs is the last that is tried)
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    docker.answering()?;
    let driver = docker.info_text(&["Driver"]);
    let driver = driver.require("the engine names no storage driver")?;
    let why = match driver.as_str() {
        "vfs" => "it copies every layer in full, so that builds take many times the space and time",
        "devicemapper" => "it is deprecated, and gone from Docker 25 on",
        "aufs" => "it is deprecated, and gone from Docker 24 on",
        _ => return Ok(Verdict::Pass),
    };
    let says = format!("the engine's storage driver is {driver}: {why}");
    let fix = Fix::restarts_service(
        "Set \"storage-driver\": \"overlay2\" in daemon.json; images of the old driver must be pulled or built again.",
        &["sudo systemctl restart docker"],
    );
    Ok(Verdict::warning(says, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::says;
    use facts::testing::{Sparse, sparse::host};

    use facts::testing::sparse::engine;

    #[test]
    fn slow_drivers_are_named() {
        let of = |driver: &str| says(&CHECK, &host(&engine(&format!(r#"{{"Driver":"{driver}"}}"#), &[])));
        assert!(of("vfs").starts_with("warning: "));
        assert!(of("devicemapper").starts_with("warning: "));
        for driver in ["overlay2", "overlayfs", "fuse-overlayfs", "zfs", "btrfs"] {
            assert_eq!(of(driver), "pass");
        }
        assert!(says(&CHECK, &host(&Sparse::new(&[]))).starts_with("not-applicable"));
    }
}
