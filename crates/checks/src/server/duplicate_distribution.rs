//! One package is installed twice in one directory.

use diagnostic::shell;
use std::collections::BTreeMap;

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::python::PythonEnvironment;

pub(super) const CHECK: Check = Check {
    id: "duplicate-distribution",
    group: Group::Python,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "no GPU package is installed twice in one directory",
    explain: include_str!("duplicate_distribution.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    const NONE: &str = "no GPU packages in the Python environments found here";
    let environments = facts.python.environments.require(NONE)?;
    Verdict::together(environments.iter().map(one), NONE)
}

fn one(environment: &PythonEnvironment) -> Judged {
    let packages = environment.packages.require("no packages")?;
    let mut versions: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry((&package.site, &package.name)).or_default().push(&package.version);
    }
    let Some(((site, name), found)) = versions.iter().find(|(_, found)| found.len() > 1) else {
        return if packages.is_empty() {
            Err(Verdict::NotApplicable("no packages".into()))
        } else {
            Ok(Verdict::Pass)
        };
    };
    let install = environment.pip("install");
    let uninstall = environment.pip("uninstall");
    let message = format!(
        "{name} is installed {} times in {site} ({}), so its files are a mix of versions",
        found.len(),
        found.join(" and ")
    );
    let remove = format!("{uninstall} -y {}", shell::word(name));
    let again = format!("{install} {}", shell::word(name));
    let commands: Vec<&str> = found.iter().map(|_| remove.as_str()).chain([again.as_str()]).collect();
    let verdict =
        Verdict::warning(message, Fix::safe("Uninstall every copy, then install it again:", &commands))
            .about(Subject::name(*name));
    Ok(versions
        .iter()
        .filter(|(_, found)| found.len() > 1)
        .fold(verdict, |verdict, ((site, name), found)| {
            verdict.evidence(format!("{name} {} in {site}", found.join(", ")))
        }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::{machine, venv};

    #[test]
    fn reports_distribution_installed_twice() {
        let cases: [(&[&str], &str); 3] = [
            (&["numpy-1.26.4", "numpy-2.1.3"], "warning"),
            (&["nvidia_nccl_cu12-2.21.5", "nvidia_cudnn_cu12-9.1.0.70"], "pass"),
            (&[], "not-applicable"),
        ];
        for (others, expected) in cases {
            let verdict = crate::judge_one(&CHECK, &machine(&venv("", others)));
            assert_eq!(status(&verdict), expected, "{others:?}: {verdict:?}");
        }
        let mut facts = machine(&venv("", &[]));
        if let Fact::Known(environments) = &mut facts.python.environments {
            environments[0].packages = Fact::Unknown("permission denied".into());
        }
        assert_eq!(judge(&facts), Err(Verdict::Unknown("permission denied".into())));
    }
}
