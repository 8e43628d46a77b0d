//! The torch of the image or of an earlier command is replaced by another one.

use pep440_rs::{Version, VersionSpecifiers};

use crate::read::dockerfile::install::{Install, Requirement};
use crate::read::dockerfile::{Dockerfile, Run, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};
use crate::torch::{self, Known};
use catalog::Catalog;
use catalog::torch::Release;

pub(crate) const RULE: Rule = Rule {
    id: "torch-replaced",
    severity: Severity::Error,
    summary: "torch is installed once, and nothing later replaces it",
    explain: include_str!("torch_replaced.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM pytorch/pytorch:2.2.1-cuda12.1-cudnn8-devel\nRUN pip install torchvision==0.21.0\n"),
        dockerfile("FROM python:3.11\nRUN pip install torch==2.5.1\nRUN pip install torchaudio==2.6.0\n"),
        dockerfile("FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nRUN pip install torch==2.6.0\n"),
        dockerfile("FROM nvcr.io/nvidia/pytorch:24.05-py3\nRUN pip install torch==2.3.0 torchvision\n"),
        dockerfile(
            "FROM python:3.11\nRUN pip install torch==2.5.1 torchvision==0.20.1\nRUN pip install \
             xformers==0.0.27.post2\n",
        ),
        dockerfile("FROM python:3.12\nRUN pip install torch==2.5.1\nRUN pip install vllm==0.6.3\n"),
        with(
            "FROM nvcr.io/nvidia/pytorch:24.05-py3\nRUN pip install torch==2.4.0\nCOPY fp8.py /work/\n",
            &[("fp8.py", "import torch\nimport transformer_engine.pytorch as te\nlayer = te.Linear(8, 8)\n")],
        ),
    ],
    silent: &[
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\n\
             RUN pip install torchvision==0.20.1 torchaudio==2.5.1\n",
        ),
        dockerfile(
            "FROM python:3.11\nRUN pip install torch==2.5.1\nRUN pip install --no-deps torchaudio==2.6.0\n",
        ),
        dockerfile("FROM python:3.11\nRUN pip install torch\nRUN pip install torchaudio==2.6.0\n"),
        dockerfile(
            "FROM python:3.11\nRUN pip install torch==2.5.1 torchvision==0.20.1\nRUN pip install \
             xformers==0.0.28.post3\nRUN pip install --no-deps xformers==0.0.27.post2\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter_map(|one| stage(file, one)).collect()
}

/// Modules of NVIDIA's image that are compiled against its torch, and the packages that bring others.
const COMPILED: &[(&str, &str)] =
    &[("transformer_engine", "transformer-engine"), ("apex", "apex"), ("flash_attn", "flash-attn")];

/// What no longer loads where a torch of PyPI replaces NVIDIA's own, and whether a copied program needs it.
fn broken_of_nvidia(
    file: &Dockerfile,
    stage: &Stage,
    (run, install): (&Run, &Install),
    wanted: &Release,
) -> Option<(String, bool)> {
    let image = run.state.image.filter(|image| image.repository == "nvcr.io/nvidia/pytorch")?;
    image
        .torch
        .as_deref()
        .filter(|torch| is_prerelease(torch) && !run.state.packages.contains_key("torch"))?;
    let again = |package: &str| {
        let installs = stage.runs.iter().filter_map(|one| one.install.as_ref());
        installs.into_iter().any(|one| one.requirement(package).is_some())
    };
    let compiled = COMPILED.iter().filter(|(_, package)| !again(package)).map(|(module, _)| *module);
    let compiled: Vec<&str> = compiled.collect();
    let of_line = |line: &str| {
        let rest = line.trim_start();
        let rest = rest.strip_prefix("import ").or_else(|| rest.strip_prefix("from "))?;
        let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
        compiled.iter().find(|module| **module == name).copied()
    };
    let programs = file.copies.iter().filter(|path| path.ends_with(".py"));
    let mut needs = programs.filter_map(|path| {
        let text = file.context_text(path)?;
        let (at, module) = text.lines().enumerate().find_map(|(at, line)| Some((at, of_line(line)?)))?;
        Some(format!("{module} (imported in {path}, line {})", at + 1))
    });
    // NVIDIA builds with the new C++ ABI: without it, all names with strings are others.
    let build = torch::build(run, install, wanted)?;
    let old = wanted.builds.iter().any(|one| one.build == build && one.cxx11_abi == Some(false));
    match needs.next() {
        Some(module) => Some((module, old)),
        None if compiled.is_empty() => None,
        None => Some((compiled.join(", "), false)),
    }
}

fn stage(file: &Dockerfile, stage: &Stage) -> Option<Found> {
    stage.runs.iter().find_map(|run| {
        let install =
            run.install.as_ref().filter(|one| !one.option("--no-deps") && !one.elsewhere() && one.certain)?;
        // Who removed the torch of the base image wants another one.
        let before = stage.runs.iter().take_while(|other| !std::ptr::eq(*other, run));
        let mut removals =
            before.filter(|other| other.command.has("uninstall") && other.command.has("torch"));
        if removals.next().is_some() && !run.state.packages.contains_key("torch") {
            return None;
        }
        let (there, whose) = present(run)?;
        // Of one command torch itself tells; its partners are another rule's.
        let Some(one) = torch::FAMILY.iter().find_map(|name| install.requirement(name)) else {
            return by_requirement(run, install, &there, &whose);
        };
        let Known::Release(wanted) = torch::known(run.state.catalog, one) else { return None };
        let partners = run.state.catalog.torch_partners();
        let loose = partners
            .partner(&one.name)
            .is_some_and(|row| row.requires_no_single_torch(&one.pin_text) != Some(false));
        let other = !loose
            && wanted.version != there
            && torch::version(wanted, &one.name) != partner(run.state.catalog, &there, one);
        other.then(|| {
            let broken = broken_of_nvidia(file, stage, (run, install), wanted);
            let ends = match &broken {
                Some((what, certain)) => format!(
                    "{what} {} at import with `undefined symbol`: the image compiled it against its own \
                     torch",
                    if *certain { "fails" } else { "may fail" }
                ),
                None => "both stay in the image layers".to_owned(),
            };
            let message =
                format!("{} replaces torch {there} of {whose} with {}; {ends}", named(one), wanted.version);
            let fix = match partner(run.state.catalog, &there, one) {
                Some(version) if one.name != "torch" => {
                    format!("Use {}=={version}, which is compatible with torch {there}", one.name)
                }
                _ => "Use a base image with the required torch, or one without torch".to_owned(),
            };
            Found::error(one, message, fix).unless_certain(broken.is_some_and(|(_, certain)| certain))
        })
    })
}

/// What a package requires of torch, where that is another one than the torch that is there.
fn by_requirement(run: &Run, install: &Install, there: &str, whose: &str) -> Option<Found> {
    let version: Version = there.parse().ok()?;
    let pinned = install.requirements.iter().filter(|one| one.pin.is_some());
    let (one, wanted) = pinned.into_iter().find_map(|one| {
        let row = one.row(run.state.catalog)?;
        let wanted: VersionSpecifiers = install.required(row, "torch")?.parse().ok()?;
        (!wanted.contains(&version)).then_some((one, wanted))
    })?;
    let left = ["torchvision", "torchaudio"].into_iter().find_map(|name| {
        run.state.packages.get(name).filter(|one| one.pin.is_some() && install.requirement(name).is_none())
    });
    let replaces =
        format!("{} requires torch {wanted}, and pip replaces torch {there} of {whose}", named(one));
    let message = match left {
        Some(left) => {
            format!(
                "{replaces}; {} stays, which was built for torch {there}, and its import fails",
                named(left)
            )
        }
        None => format!("{replaces}; both stay in the image layers"),
    };
    let fix = format!("Take the release of {} for torch {there}, and install both in one command", one.name);
    Some(Found::warning(one, message, fix))
}

/// The torch that is there before a command, and whose it is.
fn present(run: &Run) -> Option<(String, String)> {
    if let Some(torch) = run.state.packages.get("torch") {
        torch.pin.as_ref()?;
        return Some((torch.pin_text.clone(), torch.location()));
    }
    let image = run.state.image.filter(|_| !run.state.more_packages && !run.state.opaque)?;
    let text = image.torch.clone()?;
    // Into another Python than the image's nothing is replaced.
    let own = run.install.as_ref().is_some_and(|install| install.python == run.state.pythons.pip);
    // A build of NVIDIA's own, which the one of PyPI replaces.
    let of_nvidia = is_prerelease(&text)
        && image.repository == "nvcr.io/nvidia/pytorch"
        && run.install.as_ref().is_some_and(|install| install.requirement("torch").is_some());
    (own && (of_nvidia || !is_prerelease(&text))).then(|| (text, "the base image".to_owned()))
}

/// Whether a version is one before a release, as those of NVIDIA's images are: `2.4.0a0+07cecf4`.
fn is_prerelease(version: &str) -> bool {
    version.parse().is_ok_and(|version: Version| version.any_prerelease())
}

/// The version of a package that goes with a torch.
fn partner(catalog: &'static Catalog, torch: &str, one: &Requirement) -> Option<&'static str> {
    torch::version(catalog.torch().release(torch)?, &one.name)
}

fn named(one: &Requirement) -> String {
    format!("{}=={}", one.name, one.pin_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_a_local_version_make_no_prerelease() {
        assert!(is_prerelease("2.4.0a0+07cecf4168") && is_prerelease("2.1.0a0"));
        assert!(!is_prerelease("2.5.1+a8d6afb") && !is_prerelease("2.5.1"));
    }
}
