//! NCCL is not the version that the user said.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::expected::contains;

pub(super) const CHECK: Check = Check {
    id: "nccl-differs-from-expected",
    group: Group::Nccl,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "every NCCL that programs load has the expected version (--expect nccl)",
    explain: include_str!("nccl_differs_from_expected.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let none = || Verdict::NotApplicable("no NCCL version was expected (--expect nccl=...)".into());
    let range = facts.expected.nccl.as_ref().ok_or_else(none)?;
    let mut found: Vec<(String, String, String)> = Vec::new();
    for environment in facts.python.environments.decided()?.into_iter().flatten().filter(|e| e.active()) {
        for package in
            environment.packages.require("")?.iter().filter(|p| p.name.starts_with("nvidia-nccl-cu"))
        {
            let fix = format!("{} --no-deps '{}{range}'", environment.pip("install"), package.name);
            found.push((format!("{} in {}", package.name, environment.prefix), package.version.clone(), fix));
        }
    }
    let libraries = facts.libraries.nccl.decided()?.into_iter().flatten();
    if let Some(first) = libraries.into_iter().find(|library| library.is_reachable()) {
        let version = first.version.require("");
        let version = version.map_err(|_| Verdict::Unknown(format!("version of {}", first.path).into()))?;
        found.push((first.path.clone(), version.clone(), String::new()));
    }
    if found.is_empty() {
        let message = format!("NCCL {range} was expected, but no NCCL was found");
        return Ok(Verdict::error(message, Fix::manual("Install NCCL, or PyTorch, which includes it.")));
    }
    Verdict::together(
        found.into_iter().map(|(installation, version, command)| match contains(range, &version) {
            Some(true) => Ok(Verdict::Pass),
            None => {
                Err(Verdict::Unknown(format!("{installation} {version} is not a released version").into()))
            }
            Some(false) => {
                let commands: Vec<&str> =
                    Some(command.as_str()).into_iter().filter(|c| !c.is_empty()).collect();
                let fix = Fix::safe("Install the expected version, the same on every node:", &commands)
                    .punctuated();
                Ok(Verdict::error(format!("NCCL {range} was expected, but {installation} is {version}"), fix))
            }
        }),
        "",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::{machine, venv};

    #[test]
    fn wheel_and_library_are_compared() {
        let cases = [
            ("nccl=2.21.5", "nvidia_nccl_cu12-2.21.5", "pass"),
            ("nccl>=2.20", "nvidia_nccl_cu12-2.21.5", "pass"),
            ("nccl>=2.23", "nvidia_nccl_cu12-2.21.5", "error"),
            ("nccl>=2.23", "numpy-2.1.3", "error"),
        ];
        for (expect, wheel, expected) in cases {
            let mut facts = machine(&venv("2.5.1+cu124 12.4", &[wheel]));
            facts.expected.add(expect).unwrap();
            let verdict = crate::judge_one(&CHECK, &facts);
            assert_eq!(status(&verdict), expected, "{expect}, {wheel}: {verdict:?}");
        }
        let mut facts = machine(&[("/usr/lib/libnccl.so.2.18.5", "")]);
        assert_eq!(status(&crate::judge_one(&CHECK, &facts)), "not-applicable");
        facts.expected.add("nccl=2.21").unwrap();
        facts.python.environments = Fact::Absent;
        assert_eq!(status(&crate::judge_one(&CHECK, &facts)), "error");
        facts.libraries.nccl = Fact::Unknown("permission denied".into());
        assert_eq!(status(&crate::judge_one(&CHECK, &facts)), "unknown");
    }
}
