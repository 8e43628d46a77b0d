//! The machine is not what --expect role=… says.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::{Facts, Role};

pub(super) const CHECK: Check = Check {
    id: "role-not-as-expected",
    group: Group::System,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "the machine is what `--expect role=…` says",
    explain: include_str!("role_not_as_expected.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let Some(expected) = facts.expected.role else {
        return Err(Verdict::NotApplicable("no role was expected (--expect role=…)".into()));
    };
    let container = facts.system.container.decided()?;
    let actual = match container {
        Some(name) => (Role::Container, format!("a container ({name})")),
        // WSL shows no PCI devices of its own.
        None if matches!(facts.system.wsl.decided()?, Some(wsl) if wsl.dxg) => {
            (Role::GpuNode, "WSL with a Windows GPU".to_owned())
        }
        None => {
            facts.pci.devices.decided()?;
            match facts.pci.gpus().count() {
                0 => (Role::BuildHost, "a machine without an NVIDIA GPU on its PCI bus".to_owned()),
                count => (Role::GpuNode, format!("a machine with {count} NVIDIA GPUs on its PCI bus")),
            }
        }
    };
    if actual.0 == expected {
        return Ok(Verdict::Pass);
    }
    let message = format!("role {} was expected, but this is {}", expected.name(), actual.1);
    let fix = Fix::manual(format!("If this is correct, pass --expect role={}.", actual.0.name()));
    Ok(Verdict::error(message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    #[test]
    fn another_role_is_found() {
        let mut facts = build_host();
        facts.pci.devices = Fact::Known(vec![]);
        expect(&CHECK, &facts, "pass", "");
        facts.expected.role = Some(Role::GpuNode);
        expect(&CHECK, &facts, "error", "without an NVIDIA GPU");
        facts.system.container = Fact::Known("podman".into());
        expect(&CHECK, &facts, "error", "a container (podman)");
        facts.system.container = Fact::Unknown("no /proc".into());
        expect(&CHECK, &facts, "unknown", "");
        facts.expected.role = None;
        expect(&CHECK, &facts, "not-applicable", "");
    }
}
