//! A package whose name is a misspelling of a well-known one.

use crate::read::dockerfile::Dockerfile;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, named};
use crate::torch::FAMILY;

pub(crate) const RULE: Rule = Rule {
    id: "package-name-misspelled",
    severity: Severity::Warning,
    summary: "package names are not misspelled",
    explain: include_str!("package_name_misspelled.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        named("requirements.txt", "numpyy==1.0\n"),
        dockerfile("FROM python:3.12\nRUN pip install --no-cache-dir transfomers\n"),
        dockerfile("FROM python:3.12\nRUN pip install --no-cache-dir nupmy\n"),
    ],
    silent: &[
        named("requirements.txt", "numpy\ntorchx\ndataset\ntokenizer\ntransformer\ntorchao\npeft\n"),
        named("requirements.txt", "numpyro\ntrlx\nhuggingfacehub\nNumPy\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let requirements = file.installs().flat_map(|(_, _, install)| &install.requirements);
    let found = requirements.filter_map(|one| {
        let meant = names().find(|known| is_slip(&one.name, known))?;
        if names().any(|known| known == one.name) {
            return None;
        }
        let message = format!("package {} is likely a misspelling of {meant}", one.name);
        Some(Found::warning(one, message, format!("Write {meant}")))
    });
    found.collect()
}

/// Well-known names.
fn names() -> impl Iterator<Item = &'static str> {
    catalog::packages::names().chain(FAMILY.iter().copied()).chain(["deepspeed"])
}

/// Shorter names are near to those of other packages.
const SHORTEST: usize = 5;
/// Names that may miss a letter.
const LONG: usize = 7;

/// Whether a name is another one with a letter doubled, two letters exchanged, or one left out. Other
/// differences may be another package: torchx, dataset.
fn is_slip(name: &str, known: &str) -> bool {
    if known.len() < SHORTEST || !name.is_ascii() || name == known {
        return false;
    }
    let without = |text: &str, index: usize| format!("{}{}", &text[..index], &text[index + 1..]);
    let letters = name.as_bytes();
    match name.len() as i64 - known.len() as i64 {
        1 => {
            (1..name.len()).any(|index| letters[index] == letters[index - 1] && without(name, index) == known)
        }
        0 => (1..name.len()).any(|index| {
            let mut other = letters.to_vec();
            other.swap(index - 1, index);
            other == known.as_bytes()
        }),
        -1 if known.len() >= LONG => {
            (1..known.len() - 1).any(|index| known.as_bytes()[index] != b'-' && without(known, index) == name)
        }
        _ => false,
    }
}
