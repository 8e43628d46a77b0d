//! The toolkit looks for the driver where it is not.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "toolkit-driver-root-wrong",
    group: Group::Toolkit,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the driver root in the toolkit's configuration exists",
    explain: include_str!("toolkit_driver_root_wrong.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let config = facts.toolkit.config.require("no config.toml (defaults apply)")?;
    let root = config.driver_root.require("the driver root is the host's")?;
    if *facts.toolkit.driver_root_exists.require("the driver root is the host's")? {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "{} sets the driver root to {root}, which does not exist; GPU containers find no driver library",
        config.path
    );
    let fix = Fix::safe(
        "Set the driver root to /:",
        &["sudo nvidia-ctk config --set nvidia-container-cli.root=/ --in-place"],
    );
    Ok(Verdict::error(message, fix)
        .about(Subject { name: Some("nvidia-container-cli.root".into()), ..Subject::file(&config.path) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::gpu_host};

    #[test]
    fn the_root_must_be_there() {
        let config = (
            "read /etc/nvidia-container-runtime/config.toml",
            "[nvidia-container-cli]\nroot = \"/run/nvidia/driver\"\n",
        );
        assert!(verdict_line(&CHECK, &gpu_host(&Sparse::new(&[config]))).starts_with("error: "));
        assert_eq!(
            verdict_line(&CHECK, &gpu_host(&Sparse::new(&[config, ("stat /run/nvidia/driver", "{}")]))),
            "pass"
        );
        let unknown = Sparse::new(&[config]).failing(&[("stat /run/nvidia/driver", "no rights")]);
        assert_eq!(verdict_line(&CHECK, &gpu_host(&unknown)), "unknown: no rights");
        assert!(verdict_line(&CHECK, &gpu_host(&Sparse::new(&[]))).starts_with("not-applicable"));
    }
}
