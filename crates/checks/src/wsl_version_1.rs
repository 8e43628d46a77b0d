//! WSL 1 has no GPU.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

/// The check.
pub const CHECK: Check = Check {
    id: "wsl-version-1",
    group: Group::System,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "the Windows Subsystem for Linux is version 2",
    explain: "\
## What it checks
Looks whether the kernel is that of the Windows Subsystem for Linux, version 1 (`4.4.0-…-Microsoft`).

## Why it matters
WSL 1 translates system calls and has no Linux kernel: it has no GPU and runs no Docker engine.

## How to fix it
Convert the distribution to WSL 2, in a Windows terminal. Its files stay.

## Sources
- MicrosoftDocs/WSL:WSL/compare-versions.md (WSL 1 has no full Linux kernel)
- https://docs.nvidia.com/cuda/wsl-user-guide (CUDA is for WSL 2)
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let wsl = facts.system.wsl.require("this is not WSL")?;
    if wsl.version != 1 {
        return Ok(Verdict::Pass);
    }
    let says = "this is WSL 1, which has neither GPUs nor a Docker engine; WSL 2 has both";
    let fix = Fix::restarts_service(
        "In a Windows terminal, with the distribution's own name (`wsl -l -v`); it stops meanwhile.",
        &["wsl --set-version Ubuntu 2"],
    );
    Ok(Verdict::error(says, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    use facts::system::Wsl;

    #[test]
    fn version_1_is_found() {
        let mut facts = build_host();
        facts.system.wsl = Fact::Known(Wsl { version: 1, dxg: false });
        expect(&CHECK, &facts, "error", "WSL 1");
        facts.system.wsl = Fact::Known(Wsl { version: 2, dxg: true });
        expect(&CHECK, &facts, "pass", "");
        facts.system.wsl = Fact::Unknown("no kernel".into());
        expect(&CHECK, &facts, "unknown", "");
        expect(&CHECK, &build_host(), "not-applicable", "");
    }
}
