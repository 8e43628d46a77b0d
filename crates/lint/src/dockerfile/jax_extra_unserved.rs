//! Extras of jax whose GPU build the release does not have, or PyPI does not.

use crate::read::dockerfile::install::{Install, Requirement};
use crate::read::dockerfile::{Dockerfile, Run};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, named};
use pep440_rs::Version;

pub(crate) const RULE: Rule = Rule {
    id: "jax-extra-unserved",
    severity: Severity::Error,
    summary: "the extra of jax has a GPU build for this release, and the index has it",
    explain: include_str!("jax_extra_unserved.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.10\nRUN pip install \"jax[cuda12_pip]==0.4.13\"\n"),
        named("requirements.txt", "jax[cuda]==0.4.25\nflax\n"),
        dockerfile("FROM python:3.10\nRUN pip install jaxlib==0.4.13+cuda12.cudnn89 jax==0.4.13\n"),
        dockerfile(
            "FROM python:3.11\nRUN pip install \"jax[cuda11_pip]==0.4.35\" -f \
             https://storage.googleapis.com/jax-releases/jax_cuda_releases.html\nENV JAX_PLATFORMS=cuda\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.10\nRUN pip install \"jax[cuda12_pip]==0.4.13\" -f \
             https://storage.googleapis.com/jax-releases/jax_cuda_releases.html\n",
        ),
        named(
            "requirements.txt",
            "--find-links \
             https://storage.googleapis.com/jax-releases/jax_cuda_releases.html\njax[cuda12_pip]==0.4.25\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN pip install \"jax[cuda12]==0.4.35\" && pip install 'jax[cuda12_pip]'\n",
        ),
        dockerfile("FROM python:3.12\nRUN pip install \"jax[cuda12_local]==0.4.31\"\n"),
        dockerfile(
            "FROM python:3.10\nENV \
             PIP_FIND_LINKS=https://storage.googleapis.com/jax-releases/jax_cuda_releases.html\nRUN \
             pip install \"jax[cuda12_pip]==0.4.13\"\n",
        ),
    ],
};

/// Before it, GPU builds of jaxlib are only on the page of jax's own releases.
const PLUGINS_SINCE: [u64; 3] = [0, 4, 30];
/// From it on, no build for CUDA 11.
const NO_CUDA_11_SINCE: [u64; 3] = [0, 4, 26];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let wants_gpu = file.stages.iter().any(|stage| {
        let platform =
            ["JAX_PLATFORMS", "JAX_PLATFORM_NAME"].iter().find_map(|name| stage.end.variables.get(name));
        platform.and_then(|value| value.text.as_deref()).is_some_and(|text| matches!(text, "cuda" | "gpu"))
    });
    let found = file.installs().flat_map(|(_, run, install)| {
        install.requirements.iter().filter_map(move |one| fault(run, install, one, wants_gpu))
    });
    found.collect()
}

fn fault(run: &Run, install: &Install, one: &Requirement, wants_gpu: bool) -> Option<Found> {
    let pin = one.pin.as_ref()?;
    let before = |release: [u64; 3]| *pin < Version::new(release);
    if one.name == "jaxlib" {
        let local = one.local.as_deref().filter(|local| local.starts_with("cuda"))?;
        let message = format!(
            "PyPI has no jaxlib {}+{local}; builds with a local version are only on the page of jax's \
             releases",
            one.pin_text
        );
        return (before(PLUGINS_SINCE) && !served(run, install))
            .then(|| Found::error(one, message, FIX).unless_certain(install.certain && !one.default));
    }
    let extra = extras(one)?;
    if extra.starts_with("cuda11") && !before(NO_CUDA_11_SINCE) {
        let message = format!(
            "jax {} has no build for CUDA 11: pip ignores the extra {extra} and installs jax for the CPU \
             alone",
            one.pin_text
        );
        let fix = "Use the extra `cuda12`, or jax 0.4.25 or older";
        return Some(Found::error(one, message, fix).unless_certain(wants_gpu && !one.default));
    }
    let old = matches!(extra.as_str(), "cuda" | "cuda12_pip" | "cuda12_local") || extra.starts_with("cuda11");
    if !old || !before(PLUGINS_SINCE) || served(run, install) {
        return None;
    }
    let message = format!(
        "jax[{extra}] {} needs a jaxlib with a local version (+cuda…), which PyPI does not have; no \
         distribution is \
         found",
        one.pin_text
    );
    Some(Found::error(one, message, FIX).unless_certain(install.certain && !one.default))
}

const FIX: &str = "Add `-f https://storage.googleapis.com/jax-releases/jax_cuda_releases.html`, or use jax \
     0.4.30 or \
                   later with `jax[cuda12]`";

/// The extra of jax that names CUDA.
fn extras(one: &Requirement) -> Option<String> {
    if one.name != "jax" {
        return None;
    }
    one.extras().map(|extra| extra.replace('-', "_")).find(|extra| extra.starts_with("cuda"))
}

/// Whether an installation may find more than PyPI has.
fn served(run: &Run, install: &Install) -> bool {
    let variables = ["PIP_FIND_LINKS", "UV_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL", "UV_INDEX"];
    !install.extra.is_empty()
        || install.index.is_some()
        || run.state.indexes
        || install.elsewhere()
        || variables.iter().any(|name| run.variable(name).is_some())
}
