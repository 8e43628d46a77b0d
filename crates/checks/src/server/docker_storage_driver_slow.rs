//! The storage driver copies or is long deprecated.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "docker-storage-driver-slow",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "the engine's storage driver shares layers and is maintained",
    explain: include_str!("docker_storage_driver_slow.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    docker.answering()?;
    let driver = docker.info_text(&["Driver"]);
    let driver = driver.require("the engine reports no storage driver")?;
    let why = match driver.as_str() {
        "vfs" => "it copies every layer in full, so builds take many times the space and time",
        "devicemapper" => "it is deprecated and was removed in Docker 25",
        "aufs" => "it is deprecated and was removed in Docker 24",
        _ => return Ok(Verdict::Pass),
    };
    let message = format!("Docker uses storage driver {driver}: {why}");
    let fix = Fix::restarts_service(
        "Set \"storage-driver\": \"overlay2\" in daemon.json and restart the engine (existing images must be \
         pulled or built again):",
        &["sudo systemctl restart docker"],
    );
    Ok(Verdict::warning(message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::host};

    use facts::testing::sparse::engine;

    #[test]
    fn slow_drivers_are_named() {
        let of =
            |driver: &str| verdict_line(&CHECK, &host(&engine(&format!(r#"{{"Driver":"{driver}"}}"#), &[])));
        assert!(of("vfs").starts_with("warning: "));
        assert!(of("devicemapper").starts_with("warning: "));
        for driver in ["overlay2", "overlayfs", "fuse-overlayfs", "zfs", "btrfs"] {
            assert_eq!(of(driver), "pass");
        }
        assert!(verdict_line(&CHECK, &host(&Sparse::new(&[]))).starts_with("not-applicable"));
    }
}
