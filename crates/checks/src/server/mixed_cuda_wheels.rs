//! NCCL wheels for two CUDA majors in one environment.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use diagnostic::shell;
use facts::Facts;
use facts::python::PythonEnvironment;

pub(super) const CHECK: Check = Check {
    id: "mixed-cuda-wheels",
    group: Group::Nccl,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "an environment has the NCCL wheel of one CUDA major version only",
    explain: include_str!("mixed_cuda_wheels.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    const NONE: &str = "no NCCL wheels in the Python environments found here";
    let environments = facts.python.environments.require(NONE)?;
    Verdict::together(environments.iter().map(one), NONE)
}

fn one(environment: &PythonEnvironment) -> Judged {
    let packages = environment.packages.require("no packages")?;
    let wheels: Vec<&_> = packages.iter().filter(|p| p.name.starts_with("nvidia-nccl-cu")).collect();
    let [first, second, ..] = wheels.as_slice() else {
        return if wheels.is_empty() {
            Err(Verdict::NotApplicable("no NCCL wheel".into()))
        } else {
            Ok(Verdict::Pass)
        };
    };
    // The same wheel in two directories of the path is another matter.
    if wheels.iter().all(|wheel| wheel.name == first.name) {
        return Ok(Verdict::Pass);
    }
    let names: Vec<String> = wheels.iter().map(|wheel| format!("{} {}", wheel.name, wheel.version)).collect();
    let needed = environment.torch.known().and_then(|torch| {
        let build = torch.cuda_build()?;
        let name = format!("nvidia-nccl-{}", build.get(..4)?);
        wheels.iter().find(|wheel| wheel.name == name).copied()
    });
    let install = environment.pip("install");
    let uninstall = environment.pip("uninstall");
    let remove = wheels.iter().map(|wheel| shell::word(&wheel.name)).collect::<Vec<_>>().join(" ");
    let mut commands = vec![format!("{uninstall} -y {remove}")];
    if let Some(wheel) = needed {
        commands.push(format!(
            "{install} --no-deps {}=={}",
            shell::word(&wheel.name),
            shell::word(&wheel.version)
        ));
    }
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let text = match needed {
        Some(_) => "Remove all NCCL wheels, then reinstall the one for this PyTorch:",
        None => "Remove all NCCL wheels, then reinstall the one that is needed:",
    };
    let message = format!(
        "{} has {} and {}, which install the same libnccl.so.2; every program loads the one installed last",
        environment.prefix, names[0], second.name
    );
    let verdict = Verdict::error(message, Fix::safe(text, &commands));
    let verdict = names.into_iter().fold(verdict, |verdict, name| verdict.evidence(name));
    Ok(if environment.active() { verdict } else { verdict.softened() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::{machine, venv};

    #[test]
    fn wheels_for_two_cuda_majors_are_an_error() {
        let both = ["nvidia_nccl_cu12-2.27.5", "nvidia_nccl_cu13-2.29.7"];
        let cases: [(&[&str], &str); 3] = [(&both, "error"), (&both[..1], "pass"), (&[], "not-applicable")];
        for (others, expected) in cases {
            let verdict = crate::judge_one(&CHECK, &machine(&venv("2.12.0+cu130 13.0", others)));
            assert_eq!(status(&verdict), expected, "{others:?}: {verdict:?}");
        }
        let Ok(Verdict::Found(found)) = judge(&machine(&venv("2.12.0+cu130 13.0", &both))) else { panic!() };
        let fix = &found.fixes[0];
        assert_eq!(fix.commands[1], "/venv/bin/python3 -m pip install --no-deps nvidia-nccl-cu13==2.29.7");
    }

    #[test]
    fn packages_that_cannot_be_listed_are_unknown() {
        let mut facts = machine(&venv("2.12.0+cu130 13.0", &[]));
        if let Fact::Known(environments) = &mut facts.python.environments {
            environments[0].packages = Fact::Unknown("permission denied".into());
        }
        assert_eq!(judge(&facts), Err(Verdict::Unknown("permission denied".into())));
    }
}
