//! DeepSpeed cannot be imported with the installed packages.

use std::str::FromStr;

use pep440_rs::VersionSpecifiers;

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use catalog::version::at_least;
use facts::Facts;
use facts::expected::contains;
use facts::python::PythonEnvironment;

pub(super) const CHECK: Check = Check {
    id: "deepspeed-incompatible",
    group: Group::Python,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "DeepSpeed works with the installed PyTorch, numpy and pydantic",
    explain: include_str!("deepspeed_incompatible.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    const NONE: &str = "DeepSpeed is not installed in the Python environments found here";
    let environments = facts.python.environments.require(NONE)?;
    let judged = environments.iter().map(|environment| {
        one(facts, environment).map(|verdict| if environment.active() { verdict } else { verdict.softened() })
    });
    Verdict::together(judged, NONE)
}

fn one(facts: &Facts, environment: &PythonEnvironment) -> Judged {
    let installed = environment.package("deepspeed");
    let installed = *installed.require("DeepSpeed is not installed")?;
    let public = |version: &str| version.split('+').next().unwrap_or_default().to_owned();
    let release = facts.catalog.deepspeed().release(&public(installed)).ok_or_else(|| {
        Verdict::Unknown(format!("could not determine what DeepSpeed {installed} works with").into())
    })?;
    let install = environment.pip("install");
    let install = |what: &str| format!("{install} '{what}'");
    let version = |name: &str| -> Result<Option<String>, Verdict> {
        Ok(environment.package(name).decided()?.map(|version| public(version)))
    };
    let finding = |with: String, effect: &str, commands: &[&str]| {
        let message = format!("DeepSpeed {installed} in {} {effect} {with}", environment.prefix);
        Ok(Verdict::error(message, Fix::safe("Install a compatible version:", commands))
            .about(Subject::name("deepspeed"))
            .evidence(format!("source: {}", release.source)))
    };
    let upgrade = install("deepspeed>=0.14.4");
    if let Some(torch) = version("torch")?
        && release.imports_with_torch_2_4 == Some(false)
        && at_least(&torch, "2.4") == Some(true)
    {
        return finding(format!("torch {torch}"), "cannot be imported with", &[&upgrade]);
    }
    if let Some(numpy) = version("numpy")?
        && release.imports_with_numpy_2 == Some(false)
        && at_least(&numpy, "2.0") == Some(true)
    {
        return finding(format!("numpy {numpy}"), "cannot be imported with", &[&install("numpy<2")]);
    }
    if let (Some(pydantic), Some(wanted)) = (version("pydantic")?, &release.pydantic) {
        let range = wanted.trim_start_matches("pydantic").trim();
        let range = VersionSpecifiers::from_str(range).ok();
        if let Some(range) = range.filter(|range| contains(range, &pydantic) == Some(false)) {
            let command = install(&format!("pydantic{range}"));
            return finding(
                format!("pydantic {pydantic} (needs {range})"),
                "does not work with",
                &[&command],
            );
        }
    }
    let python_3_12 =
        environment.version.decided()?.is_some_and(|version| at_least(version, "3.12") == Some(true));
    if python_3_12 && release.needs_setuptools == Some(true) && version("setuptools")?.is_none() {
        return finding(
            "Python 3.12 or newer without setuptools (No module named 'distutils')".into(),
            "cannot be imported in",
            &[&install("setuptools")],
        );
    }
    Ok(Verdict::Pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::Fact;
    use facts::testing::files::{machine, venv};

    #[test]
    fn reports_known_incompatible_versions() {
        let cases: [(&str, &[&str], &str); 9] = [
            (
                "2.5.1+cu124 12.4",
                &["deepspeed-0.14.0", "setuptools-70.0"],
                "cannot be imported with torch 2.5.1",
            ),
            ("2.3.1+cu121 12.1", &["deepspeed-0.14.0", "setuptools-70.0", "numpy-2.1.3"], "numpy 2.1.3"),
            ("2.3.1+cu121 12.1", &["deepspeed-0.14.0", "setuptools-70.0", "numpy-1.26.4"], "pass"),
            ("2.5.1+cu124 12.4", &["deepspeed-0.16.4", "numpy-2.1.3"], "without setuptools"),
            ("2.5.1+cu124 12.4", &["deepspeed-0.19.8", "numpy-2.1.3"], "pass"),
            ("2.5.1+cu124 12.4", &["deepspeed-0.19.8", "pydantic-1.10.2"], "pydantic 1.10.2"),
            (
                "2.3.1+cu121 12.1",
                &["deepspeed-0.11.1", "setuptools-70.0", "pydantic-2.6.0"],
                "pydantic 2.6.0",
            ),
            ("2.5.1+cu124 12.4", &["deepspeed-9.9.9"], "unknown"),
            ("2.5.1+cu124 12.4", &[], "not-applicable"),
        ];
        for (torch, others, expected) in cases {
            let verdict = crate::judge_one(&CHECK, &machine(&venv(torch, others)));
            match &verdict {
                Verdict::Found(found) => {
                    assert!(found.message.contains(expected), "{others:?}: {}", found.message)
                }
                other => assert_eq!(other.status(), expected, "{others:?}: {verdict:?}"),
            }
        }
        let mut facts = machine(&venv("2.5.1+cu124 12.4", &["deepspeed-0.14.0"]));
        facts.python.environments = Fact::Unknown("no PATH".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("no PATH".into())));
    }
}
