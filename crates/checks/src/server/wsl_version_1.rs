//! WSL 1 has no GPU.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "wsl-version-1",
    group: Group::System,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "the Windows Subsystem for Linux is version 2",
    explain: include_str!("wsl_version_1.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let wsl = facts.system.wsl.require("this is not WSL")?;
    if wsl.version != 1 {
        return Ok(Verdict::Pass);
    }
    let message = "this is WSL 1, which supports neither GPUs nor a Docker engine; WSL 2 supports both";
    let fix = Fix::restarts_service(
        "Convert the distribution from a Windows terminal, with its name from `wsl -l -v` (this stops it):",
        &["wsl --set-version Ubuntu 2"],
    );
    Ok(Verdict::error(message, fix))
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
