//! The processor is one for which there is no CUDA software any more.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

/// The check.
pub const CHECK: Check = Check {
    id: "unsupported-architecture",
    group: Group::System,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "the processor is x86_64 or aarch64",
    explain: "\
## What it checks
Looks at the architecture of the kernel.

## Why it matters
PyTorch publishes CUDA wheels for x86_64 and aarch64 only, so that pip finds \"no matching distribution\" or
builds for hours and fails.

## How to fix it
Use a machine with one of these processors. A 32-bit system on a 64-bit processor has to be installed anew.

## Sources
- PyPI metadata of torch 1.13 to 2.15: platform tags of the Linux wheels
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let architecture = facts.system.architecture.require("the architecture is not named")?;
    if matches!(architecture.as_str(), "x86_64" | "aarch64") {
        return Ok(Verdict::Pass);
    }
    let says =
        format!("the processor is {architecture}; CUDA builds of PyTorch exist for x86_64 and aarch64 only");
    Ok(Verdict::error(says, Fix::safe("Use a machine with an x86_64 or aarch64 processor.", &[])))
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
