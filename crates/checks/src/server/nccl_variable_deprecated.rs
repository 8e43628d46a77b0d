//! A variable is set by an old name, and what is installed knows the new one.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use std::str::FromStr;

use pep440_rs::Version;

use catalog::variables::{Owner, Status};
use diagnostic::Missing;
use facts::environment::Setting;
use facts::{Fact, Facts};

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
        let Some(reader) = row.owner.name() else { continue };
        old.push((setting, new, since, row.owner, reader));
    }
    if old.is_empty() {
        return Err(Verdict::NotApplicable("no variable is set under a deprecated name".into()));
    }
    let (mut compared, mut unknown) = (false, None);
    for (setting, new, since, owner, reader) in &old {
        let installed = if *owner == Owner::Nccl { nccl(facts) } else { torch(facts) };
        compared |= !installed.versions.is_empty();
        if let Some(version) = installed.versions.iter().find(|version| *version >= since) {
            return Ok(finding(setting, &new.name, reader, version));
        }
        unknown = unknown.or(installed.unknown);
    }
    if let Some(why) = unknown {
        return Err(Verdict::Unknown(why));
    }
    if compared {
        return Ok(Verdict::Pass);
    }
    Err(Verdict::NotApplicable("the software that reads the variable is not installed here".into()))
}

fn finding(setting: &Setting<'_>, new: &str, reader: &str, version: &Version) -> Verdict {
    let message = format!(
        "{} is a deprecated name for {new}, which {reader} {version} supports; the old name may stop working",
        setting.name
    );
    let unset = format!("unset {}", setting.name);
    let export = format!("export {new}={}", setting.value);
    let fix = Fix::safe("Rename the variable where it is set:", &[&unset, &export]);
    Verdict::warning(message, fix)
        .about(Subject::name(setting.name))
        .evidence(format!("{}={} in {}", setting.name, setting.value, setting.source))
}

/// What is installed of the software that reads a variable.
#[derive(Default)]
struct Installed {
    versions: Vec<Version>,
    /// Why not all versions are known.
    unknown: Option<Missing>,
}

impl Installed {
    /// Takes what is known; an absent list is an empty one.
    fn read<'f, T>(&mut self, fact: &'f Fact<T>) -> Option<&'f T> {
        fact.decided().unwrap_or_else(|why| {
            self.unknown.get_or_insert(why);
            None
        })
    }

    fn add(&mut self, what: &str, version: &str) {
        match Version::from_str(version) {
            Ok(version) => self.versions.push(version),
            Err(_) => {
                self.unknown.get_or_insert(format!("{what} has the unknown version {version:?}").into());
            }
        }
    }
}

fn torch(facts: &Facts) -> Installed {
    let mut installed = Installed::default();
    for environment in installed.read(&facts.python.environments).into_iter().flatten() {
        if let Some(torch) = installed.read(&environment.torch) {
            installed.add(&format!("PyTorch in {}", environment.prefix), &torch.version);
        }
    }
    installed
}

fn nccl(facts: &Facts) -> Installed {
    let mut installed = Installed::default();
    let mut wheels: Vec<&String> = Vec::new();
    for environment in installed.read(&facts.python.environments).into_iter().flatten() {
        for package in installed.read(&environment.packages).into_iter().flatten() {
            if package.name.starts_with("nvidia-nccl-") {
                installed.add(&package.name, &package.version);
                wheels.extend(&environment.site_packages);
            }
        }
    }
    for library in installed.read(&facts.libraries.nccl).into_iter().flatten() {
        match installed.read(&library.version) {
            Some(version) => installed.add(&library.path, version),
            // The name of a wheel's file has no version; that of the wheel was taken.
            None if wheels.iter().any(|site| library.path.starts_with(site.as_str())) => {}
            None => {
                installed
                    .unknown
                    .get_or_insert(format!("the version of {} is not known", library.path).into());
            }
        }
    }
    installed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::files::{machine, venv};
    use facts::testing::roles::*;

    use facts::libraries::{FoundIn, Library};

    fn node(nccl: &str) -> Facts {
        let mut facts = with_variables(gpu_node(), &[("NCCL_MIN_NCHANNELS", "8")]);
        facts.python.environments = Fact::Known(vec![]);
        facts.libraries.nccl = Fact::Known(vec![Library {
            path: format!("/usr/lib/x86_64-linux-gnu/libnccl.so.{nccl}"),
            version: Fact::Known(nccl.into()),
            found_in: FoundIn::Default,
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

    #[test]
    fn unknown_versions_are_unknown() {
        let mut facts = node("2.12.12");
        if let Fact::Known(libraries) = &mut facts.libraries.nccl {
            libraries[0].version = Fact::Absent;
        }
        expect(&CHECK, &facts, "unknown", "the version of /usr/lib/x86_64-linux-gnu/libnccl.so.2.12.12");
        let mut facts = node("2.12.12");
        facts.python = machine(&venv("2.5.1+cu124 12.4", &[])).python;
        if let Fact::Known(environments) = &mut facts.python.environments {
            environments[0].packages = Fact::Unknown("permission denied".into());
        }
        expect(&CHECK, &facts, "unknown", "permission denied");
    }

    #[test]
    fn unreadable_torch_is_not_taken_for_a_missing_one() {
        let facts = with_variables(gpu_node(), &[("NCCL_ASYNC_ERROR_HANDLING", "1")]);
        let with = |torch: &str| {
            let mut facts = facts.clone();
            facts.python = machine(&venv(torch, &[])).python;
            facts
        };
        expect(&CHECK, &with("2.5.1+cu124 12.4"), "warning", "TORCH_NCCL_ASYNC_ERROR_HANDLING");
        let mut unread = with("2.5.1+cu124 12.4");
        if let Fact::Known(environments) = &mut unread.python.environments {
            environments[0].torch = Fact::Unknown("version.py: permission denied".into());
        }
        expect(&CHECK, &unread, "unknown", "version.py: permission denied");
    }
}
