//! A local version of torch without the index that has it.

use crate::read::dockerfile::install::{Install, Requirement};
use crate::read::dockerfile::{Dockerfile, Run};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};
use crate::torch::{self, Known};

pub(crate) const RULE: Rule = Rule {
    id: "torch-index-missing",
    severity: Severity::Error,
    summary: "a torch version with a CUDA suffix is installed from an index that has it",
    explain: include_str!("torch_index_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12\nRUN pip install torch==2.5.1+cu121\n"),
        dockerfile(
            "FROM python:3.12\nRUN pip install torch==2.5.1+cu121 --extra-index-url \
             https://download.pytorch.org/whl/cu118\n",
        ),
        dockerfile(
            "FROM python:3.11\nRUN pip install torch==2.4.1 --index-url \
             https://download.pytorch.org/whl/cuda124\n",
        ),
    ],
    silent: &[
        with(
            "FROM python:3.12\nCOPY . /app\nRUN pip install -r /app/requirements.txt\n",
            &[(
                "requirements.txt",
                "--extra-index-url https://download.pytorch.org/whl/cu121\ntorch==2.5.1+cu121\n",
            )],
        ),
        dockerfile(
            "FROM python:3.12\nRUN pip install torch==2.5.1+cu121 --extra-index-url \
             https://download.pytorch.org/whl/cu121\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN pip install torch==2.5.1+cu121 -f \
             https://download.pytorch.org/whl/torch_stable.html\n",
        ),
        dockerfile(
            "FROM python:3.12\nENV PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cu121\n\
             RUN pip install torch==2.5.1+cu121\n",
        ),
        dockerfile("FROM python:3.12\nCOPY pip.conf /etc/pip.conf\nRUN pip install torch==2.5.1+cu121\n"),
        dockerfile("FROM python:3.12\nRUN pip install torch==2.5.1+cu121 -i https://mirror.example/simple\n"),
        dockerfile(
            "FROM python:3.12\nRUN uv pip install --system --torch-backend=cu121 torch==2.5.1+cu121\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    torch::first_of_each(file, missing)
}

fn missing(run: &Run, install: &Install, one: &Requirement) -> Option<Found> {
    if let Some(found) = misnamed(install, one) {
        return Some(found);
    }
    let build = one.local.as_deref().filter(|local| torch::is_cuda_build(local))?;
    if torch::configured(run) {
        return None;
    }
    // What does not exist at all is another rule's.
    let Known::Release(release) = torch::known(run.state.catalog, one) else { return None };
    release.build(build)?;
    let certain = install.certain && !one.default;
    let urls: Vec<_> = install.index.iter().chain(&install.extra).collect();
    let others: Option<Vec<&str>> = urls
        .iter()
        .map(|url| torch::build_of_index(&url.text).filter(|other| url.known && *other != build))
        .collect();
    let message = match others?[..] {
        [] if torch::only_pypi(run, install) => {
            format!(
                "PyPI has no {}=={}+{build} (it hosts no local versions); pip finds no matching distribution",
                one.name, one.pin_text
            )
        }
        [] => return None,
        [ref first, ..] => format!(
            "the {first} index has no {}=={}+{build}; pip finds no matching \
             distribution",
            one.name, one.pin_text
        ),
    };
    let fix = format!("Add `--extra-index-url https://download.pytorch.org/whl/{build}`");
    Some(Found::error(one, message, fix).unless_certain(certain))
}

/// An index of PyTorch under a name that none of them has: `whl/cuda124`, `whl/cu12.4`.
fn misnamed(install: &Install, one: &Requirement) -> Option<Found> {
    let urls = install.index.iter().chain(&install.extra).filter(|url| url.known);
    urls.into_iter().find_map(|url| {
        let rest = url.text.split_once("download.pytorch.org/whl/")?.1.trim_end_matches('/');
        let name = rest.strip_prefix("nightly/").unwrap_or(rest);
        let number = name.strip_prefix("cuda").or_else(|| name.strip_prefix("cu"))?;
        let digits: String = number.chars().filter(char::is_ascii_digit).collect();
        let wrong = name.starts_with("cuda") || number.contains(['.', '-', '_']);
        let message = format!(
            "download.pytorch.org has no index {name}; pip finds no matching distribution of {}",
            one.name
        );
        let fix = format!(
            "Write `https://download.pytorch.org/whl/{}`",
            rest.replace(name, &format!("cu{digits}"))
        );
        (wrong && digits.len() == 3).then(|| Found::error(one, message, fix).unless_certain(install.certain))
    })
}
