//! A torch in ~/.local hides the one of the environment.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;
use facts::python::PythonEnvironment;

pub(super) const CHECK: Check = Check {
    id: "user-site-shadows-torch",
    group: Group::Python,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "no PyTorch in ~/.local overrides the one in the environment",
    explain: include_str!("user_site_shadows_torch.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    const NONE: &str = "no PyTorch in the Python environments found here";
    let environments = facts.python.environments.require(NONE)?;
    Verdict::together(environments.iter().filter(|e| e.active()).map(one), NONE)
}

fn one(environment: &PythonEnvironment) -> Judged {
    let packages = environment.packages.require("no packages")?;
    let all = |name: &str| packages.iter().filter(move |package| package.name == name).collect::<Vec<_>>();
    if all("torch").is_empty() {
        return Err(Verdict::NotApplicable("no PyTorch here".into()));
    }
    for name in ["torch", "torchvision", "triton"] {
        let copies = all(name);
        let Some((first, rest)) = copies.split_first() else { continue };
        let Some(hidden) =
            rest.iter().find(|other| other.version != first.version && other.site != first.site)
        else {
            continue;
        };
        if !first.site.contains("/.local/lib/python") {
            continue;
        }
        let message = format!(
            "{name} {} in {} overrides {name} {} of {}",
            first.version, first.site, hidden.version, environment.prefix
        );
        let fix = Fix::safe(
            "Uninstall the copy in ~/.local, and exclude ~/.local from this environment:",
            &[&format!("{} {name}", environment.pip("uninstall")), "export PYTHONNOUSERSITE=1"],
        );
        return Ok(Verdict::warning(message, fix).about(Subject::name(name)));
    }
    Ok(Verdict::Pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::{machine, venv};

    #[test]
    fn torch_in_user_site_shadows_the_environment() {
        let conda = [
            ("environment", "HOME=/root\nCONDA_PREFIX=/opt/conda"),
            ("/opt/conda/bin/python3", ""),
            ("/opt/conda/conda-meta/python-3.12.3-h1_0.json", ""),
            ("/opt/conda/lib/python3.12/site-packages/torch-2.5.1.dist-info/METADATA", ""),
            ("/opt/conda/lib/python3.12/site-packages/torch/version.py", "__version__ = '2.5.1'\n"),
        ];
        let own = ("/root/.local/lib/python3.12/site-packages/torch-2.3.1.dist-info/METADATA", "");
        let code = ("/root/.local/lib/python3.12/site-packages/torch/version.py", "__version__ = '2.3.1'\n");
        let mut files = conda.to_vec();
        assert_eq!(status(&crate::judge_one(&CHECK, &machine(&files))), "pass");
        files.extend([own, code]);
        let verdict = crate::judge_one(&CHECK, &machine(&files));
        assert_eq!(status(&verdict), "warning", "{verdict:?}");
        let mut facts = machine(&venv("", &[]));
        assert_eq!(status(&crate::judge_one(&CHECK, &facts)), "not-applicable");
        facts.python.environments = Fact::Unknown("no PATH".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("no PATH".into())));
    }
}
