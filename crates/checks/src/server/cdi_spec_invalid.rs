//! A CDI specification cannot be read.

use crate::{Applies, Check, Fix, FixClass, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "cdi-spec-invalid",
    group: Group::Toolkit,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "every CDI specification is valid",
    explain: include_str!("cdi_spec_invalid.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let invalid = facts.toolkit.cdi_invalid.require("no CDI directory")?;
    let Some((path, why)) = invalid.first() else {
        return if facts.toolkit.cdi.require("no CDI directory")?.is_empty() {
            Err(Verdict::NotApplicable("no CDI specification found".into()))
        } else {
            Ok(Verdict::Pass)
        };
    };
    let message = format!("{path} is not a valid CDI specification, so container engines ignore it: {why}");
    // The directories are shared: another maker's file must not be written over.
    let ours = path.rsplit('/').next().is_some_and(|name| name.contains("nvidia"));
    let fix = Fix {
        title: if ours {
            "Regenerate the file, or delete it:"
        } else {
            "Regenerate the file with the program that wrote it, or delete it."
        }
        .into(),
        commands: ours.then(|| format!("sudo nvidia-ctk cdi generate --output={path}")).into_iter().collect(),
        edits: Vec::new(),
        class: FixClass::Safe,
    };
    Ok(Verdict::warning(message, fix).about(Subject::file(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::gpu_host};

    #[test]
    fn reports_invalid_cdi_spec() {
        let of = |text: &str| {
            verdict_line(
                &CHECK,
                &gpu_host(&Sparse::new(&[
                    ("list /etc/cdi", "nvidia.yaml"),
                    ("read /etc/cdi/nvidia.yaml", text),
                ])),
            )
        };
        assert!(of("cdiVersion: 0.5.0\n").starts_with("warning: /etc/cdi/nvidia.yaml is not a valid"));
        assert_eq!(of("cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: []\n"), "pass");
        assert!(verdict_line(&CHECK, &gpu_host(&Sparse::new(&[]))).starts_with("not-applicable"));
        let denied = Sparse::new(&[]).failing(&[("list /etc/cdi", "permission denied")]);
        assert_eq!(verdict_line(&CHECK, &gpu_host(&denied)), "unknown: /etc/cdi: permission denied");
    }
}
