//! The toolkit's config.toml cannot be read.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "toolkit-config-invalid",
    group: Group::Toolkit,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the toolkit's config.toml is valid and sets a known mode",
    explain: include_str!("toolkit_config_invalid.md"),
    judge,
};

const PATH: &str = "/etc/nvidia-container-runtime/config.toml";

fn judge(facts: &Facts) -> Judged {
    let toolkit = &facts.toolkit;
    if let Some(error) = toolkit.config_error.decided()? {
        let at = error.line.map_or(String::new(), |line| format!(" in line {line}"));
        let message = format!(
            "the toolkit's config.toml is invalid{at}: {}; GPU containers do not start",
            error.message
        );
        let subject = Subject { line: error.line, ..Subject::file(PATH) };
        let fix = Fix::safe(
            "Fix the line, or regenerate the file with the defaults:",
            &["nvidia-ctk config default | sudo tee /etc/nvidia-container-runtime/config.toml"],
        );
        return Ok(Verdict::error(message, fix).about(subject));
    }
    let config = toolkit.config.require("no config.toml (defaults apply)")?;
    let modes: Vec<&str> = facts.catalog.toolkit().modes().collect();
    match config.mode.decided()? {
        Some(mode) if !modes.contains(&mode.as_str()) => {
            let message = format!(
                "{} sets the unknown mode {mode:?}; valid modes are {}",
                config.path,
                modes.join(", ")
            );
            let fix = Fix::safe(
                "Set the mode to auto:",
                &["sudo nvidia-ctk config --set nvidia-container-runtime.mode=auto --in-place"],
            );
            let subject = Subject { name: Some("mode".into()), ..Subject::file(&config.path) };
            Ok(Verdict::error(message, fix).about(subject))
        }
        _ => Ok(Verdict::Pass),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::gpu_host};

    #[test]
    fn the_line_or_the_mode_is_named() {
        let of = |text: &str| {
            verdict_line(
                &CHECK,
                &gpu_host(&Sparse::new(&[("read /etc/nvidia-container-runtime/config.toml", text)])),
            )
        };
        assert!(of("[nvidia-container-cli\n").contains("config.toml is invalid in line 1: "));
        assert!(of("[nvidia-container-runtime]\nmode = \"cdl\"\n").contains("unknown mode \"cdl\""));
        assert_eq!(of("[nvidia-container-runtime]\nmode = \"auto\"\n"), "pass");
        assert!(verdict_line(&CHECK, &gpu_host(&Sparse::new(&[]))).starts_with("not-applicable"));
        let denied = Sparse::new(&[])
            .failing(&[("read /etc/nvidia-container-runtime/config.toml", "permission denied")]);
        assert!(verdict_line(&CHECK, &gpu_host(&denied)).starts_with("unknown: "));
    }
}
