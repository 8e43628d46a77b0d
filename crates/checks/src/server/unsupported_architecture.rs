//! The processor is one for which there is no CUDA software any more.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "unsupported-architecture",
    group: Group::System,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "the processor is x86_64 or aarch64",
    explain: include_str!("unsupported_architecture.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let architecture = facts.system.architecture.require("the architecture is unknown")?;
    if matches!(architecture.as_str(), "x86_64" | "aarch64") {
        return Ok(Verdict::Pass);
    }
    let message =
        format!("the processor is {architecture}; CUDA builds of PyTorch exist only for x86_64 and aarch64");
    Ok(Verdict::error(message, Fix::manual("Use a machine with an x86_64 or aarch64 processor.")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    #[test]
    fn other_architectures_are_found() {
        let mut facts = build_host();
        facts.system.architecture = Fact::Known("ppc64le".into());
        expect(&CHECK, &facts, "error", "ppc64le");
        facts.system.architecture = Fact::Known("aarch64".into());
        expect(&CHECK, &facts, "pass", "");
        facts.system.architecture = Fact::Unknown("two loaders".into());
        expect(&CHECK, &facts, "unknown", "");
    }
}
