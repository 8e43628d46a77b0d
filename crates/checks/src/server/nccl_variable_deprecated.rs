//! A variable is set by an old name, and what is installed knows the new one.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use std::str::FromStr;

use pep440_rs::Version;

use catalog::variables::Status;
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "nccl-variable-deprecated",
    group: Group::Environment,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "no variable is set under a deprecated name",
    explain: include_str!("nccl_variable_deprecated.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let settings = facts.environment.settings();
    let settings = settings.require("no environment")?;
    let mut old = Vec::new();
    for setting in settings {
        let Some(row) = facts.catalog.variable(setting.name) else { continue };
        if row.status != Status::Deprecated {
            continue;
        }
        let Some(new) = row.deprecated_by.as_deref().and_then(|it| facts.catalog.variable(it)) else {
            continue;
        };
        let Some(since) = new.since.as_deref().and_then(|since| Version::from_str(since).ok()) else {
            continue;
        };
        old.push((setting, new, since, row.owner.as_str()));
    }
    if old.is_empty() {
        return Err(Verdict::NotApplicable("no variable is set under a deprecated name".into()));
    }
    let mut compared = false;
    for (setting, new, since, owner) in &old {
        let installed = if *owner == "nccl" { nccl(facts)? } else { torch(facts)? };
        compared |= !installed.is_empty();
        let Some(version) = installed.iter().find(|version| *version >= since) else { continue };
        let maker = if *owner == "nccl" { "NCCL" } else { "PyTorch" };
        let message = format!(
            "{} is a deprecated name for {}, which {maker} {version} supports; the old name may stop working",
            setting.name, new.name
        );
        let unset = format!("unset {}", setting.name);
        let export = format!("export {}={}", new.name, setting.value);
        let fix = Fix::safe("Rename the variable where it is set:", &[&unset, &export]);
        return Ok(Verdict::warning(message, fix)
            .about(Subject::name(setting.name))
            .evidence(format!("{}={} in {}", setting.name, setting.value, setting.source)));
    }
    if compared {
        return Ok(Verdict::Pass);
    }
    Err(Verdict::NotApplicable("the software that reads the variable is not installed here".into()))
}

fn torch(facts: &Facts) -> Result<Vec<Version>, Verdict> {
    let environments = facts.python.environments.decided()?.into_iter().flatten();
    let torch = environments.filter_map(|environment| environment.torch.known());
    Ok(torch.filter_map(|torch| Version::from_str(&torch.version).ok()).collect())
}

fn nccl(facts: &Facts) -> Result<Vec<Version>, Verdict> {
    let libraries = facts.libraries.nccl.decided()?.into_iter().flatten();
    let mut versions: Vec<Version> =
        libraries.filter_map(|library| Version::from_str(library.version.known()?).ok()).collect();
    for environment in facts.python.environments.decided()?.into_iter().flatten() {
        let packages = environment.packages.known().into_iter().flatten();
        let wheels = packages.filter(|package| package.name.starts_with("nvidia-nccl-"));
        versions.extend(wheels.filter_map(|package| Version::from_str(&package.version).ok()));
    }
    Ok(versions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    use facts::libraries::Library;

    fn node(nccl: &str) -> Facts {
        let mut facts = with_variables(gpu_node(), &[("NCCL_MIN_NCHANNELS", "8")]);
        facts.python.environments = Fact::Known(vec![]);
        facts.libraries.nccl = Fact::Known(vec![Library {
            path: format!("/usr/lib/x86_64-linux-gnu/libnccl.so.{nccl}"),
            version: Fact::Known(nccl.into()),
            found_in: "default".into(),
            directory: "/usr/lib/x86_64-linux-gnu".into(),
        }]);
        facts
    }

    #[test]
    fn reports_old_name_if_the_installed_nccl_has_the_new_one() {
        expect(&CHECK, &node("2.21.5"), "warning", "NCCL_MIN_CTAS");
        expect(&CHECK, &node("2.12.12"), "pass", "");
        let mut none = node("2.21.5");
        none.libraries.nccl = Fact::Known(vec![]);
        expect(&CHECK, &none, "not-applicable", "");
        none.libraries.nccl = Fact::Unknown("permission denied".into());
        expect(&CHECK, &none, "unknown", "");
        expect(&CHECK, &gpu_node(), "not-applicable", "");
    }
}
