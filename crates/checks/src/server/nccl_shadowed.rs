//! Another NCCL lies before the one of the wheel.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::libraries::FoundIn;
use facts::python::PythonEnvironment;

pub(super) const CHECK: Check = Check {
    id: "nccl-shadowed",
    group: Group::Nccl,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "no other NCCL overrides the one installed with PyTorch",
    explain: include_str!("nccl_shadowed.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    const NONE: &str = "no NCCL wheel in the active Python environments";
    let environments = facts.python.environments.require(NONE)?;
    Verdict::together(environments.iter().filter(|e| e.active()).map(|e| one(facts, e)), NONE)
}

fn one(facts: &Facts, environment: &PythonEnvironment) -> Judged {
    let packages = environment.packages.require("no packages")?;
    let wheel = packages.iter().find(|package| package.name.starts_with("nvidia-nccl-cu"));
    let wheel = wheel.ok_or_else(|| Verdict::NotApplicable("no NCCL wheel".into()))?;
    let preload = facts.libraries.preload.decided()?;
    if let Some(library) =
        preload.and_then(|list| list.split([':', ' ']).find(|path| path.contains("libnccl.so")))
    {
        // Preloading the wheel's own file is a known way to make sure of it.
        if !environment.site_packages.iter().any(|site| library.starts_with(site.as_str())) {
            let message = format!(
                "LD_PRELOAD loads {library}, so PyTorch in {} runs with it instead of its own NCCL {}",
                environment.prefix, wheel.version
            );
            return Ok(Verdict::warning(
                message,
                Fix::safe("Remove the library from LD_PRELOAD:", &["unset LD_PRELOAD"]),
            ));
        }
    }
    let found = facts.libraries.nccl.decided()?;
    let first = found.into_iter().flatten().find(|library| library.found_in == FoundIn::LdLibraryPath);
    let Some(library) = first else { return Ok(Verdict::Pass) };
    let own = environment.site_packages.iter().any(|site| library.path.starts_with(site.as_str()));
    let version = library.version.known().map(String::as_str);
    if own || version == Some(wheel.version.as_str()) {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "LD_LIBRARY_PATH contains NCCL {} in {}, but PyTorch in {} comes with {}; a program that loads NCCL \
         before torch gets the wrong version for the whole process",
        version.unwrap_or("of unknown version"),
        library.directory,
        environment.prefix,
        wheel.version
    );
    let fix = Fix::manual(format!(
        "Remove {} from LD_LIBRARY_PATH for programs that use PyTorch.",
        library.directory
    ));
    Ok(Verdict::warning(message, fix)
        .evidence(format!("{} (LD_LIBRARY_PATH)", library.path))
        .evidence(format!("{} {} in {}", wheel.name, wheel.version, environment.prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::{machine, venv};

    fn verdict(environment: &'static str, library: &'static str, wheels: &[&str]) -> &'static str {
        let mut files = venv("2.5.1+cu124 12.4", wheels);
        files[0].1 = environment;
        files.push((library, ""));
        status(&crate::judge_one(&CHECK, &machine(&files)))
    }

    #[test]
    fn other_nccl_on_the_loader_path_shadows_the_wheel() {
        let wheel = ["nvidia_nccl_cu12-2.21.5"];
        let ld = "HOME=/root\nVIRTUAL_ENV=/venv\nLD_LIBRARY_PATH=/opt/nccl";
        assert_eq!(verdict(ld, "/opt/nccl/libnccl.so.2.18.5", &wheel), "warning");
        assert_eq!(verdict(ld, "/opt/nccl/libnccl.so.2.21.5", &wheel), "pass");
        assert_eq!(verdict(ld, "/usr/lib/libnccl.so.2.18.5", &wheel), "pass");
        assert_eq!(verdict(ld, "/opt/nccl/libnccl.so.2.18.5", &[]), "not-applicable");
        let preload = "HOME=/root\nVIRTUAL_ENV=/venv\nLD_PRELOAD=/opt/nccl/libnccl.so.2";
        assert_eq!(verdict(preload, "/opt/nccl/libnccl.so.2.18.5", &wheel), "warning");
    }

    #[test]
    fn libraries_that_could_not_be_looked_for_are_unknown() {
        let mut facts = machine(&venv("2.5.1+cu124 12.4", &["nvidia_nccl_cu12-2.21.5"]));
        facts.libraries.nccl = Fact::Unknown("permission denied".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("permission denied".into())));
    }
}
