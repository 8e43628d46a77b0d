//! The toolkit's config.toml cannot be read.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub const CHECK: Check = Check {
    id: "toolkit-config-invalid",
    group: Group::Toolkit,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the toolkit's config.toml is valid and names a mode that exists",
    explain: include_str!("toolkit_config_invalid.md"),
    judge,
};

const MODES: &[&str] = &["auto", "legacy", "csv", "cdi", "jit-cdi"];

fn judge(facts: &Facts) -> Judged {
    let toolkit = &facts.toolkit;
    if let Some(why) = toolkit.config_error.decided()? {
        let says = format!(
            "/etc/nvidia-container-runtime/config.toml: {why}; no GPU container starts while it cannot be read"
        );
        let fix = Fix::safe(
            "Mend the line, or write the defaults anew:",
            &["nvidia-ctk config default | sudo tee /etc/nvidia-container-runtime/config.toml"],
        );
        return Ok(Verdict::error(says, fix));
    }
    let config = toolkit.config.require("no config.toml: the defaults count")?;
    match config.mode.decided()? {
        Some(mode) if !MODES.contains(&mode.as_str()) => {
            let says =
                format!("{}: there is no mode {mode:?}; the modes are {}", config.path, MODES.join(", "));
            let fix = Fix::safe(
                "",
                &["sudo nvidia-ctk config --set nvidia-container-runtime.mode=auto --in-place"],
            );
            Ok(Verdict::error(says, fix))
        }
        _ => Ok(Verdict::Pass),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::says;
    use facts::testing::{Sparse, sparse::gpu_host};

    #[test]
    fn the_line_or_the_mode_is_named() {
        let of = |text: &str| {
            says(&CHECK, &gpu_host(&Sparse::new(&[("read /etc/nvidia-container-runtime/config.toml", text)])))
        };
        assert!(of("[nvidia-container-cli\n").contains("config.toml: line 1: "));
        assert!(of("[nvidia-container-runtime]\nmode = \"cdl\"\n").contains("no mode \"cdl\""));
        assert_eq!(of("[nvidia-container-runtime]\nmode = \"auto\"\n"), "pass");
        assert!(says(&CHECK, &gpu_host(&Sparse::new(&[]))).starts_with("not-applicable"));
        let denied = Sparse::new(&[])
            .failing(&[("read /etc/nvidia-container-runtime/config.toml", "permission denied")]);
        assert!(says(&CHECK, &gpu_host(&denied)).starts_with("unknown: "));
    }
}
