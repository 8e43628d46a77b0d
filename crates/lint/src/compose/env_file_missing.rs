//! An env file that is not there.

use serde_yaml::Value;

use crate::read::compose::{Compose, IsStack, Service, below, text};
use crate::read::dockerfile::copied::join;
use crate::rule::{Example, Found, Judge, MISSING, Rule, Severity};

const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions }
}

pub(crate) const RULE: Rule = Rule {
    id: "env-file-missing",
    severity: Severity::Error,
    summary: "the env files of services exist",
    explain: include_str!("env_file_missing.md"),
    judge: Judge::Compose(judge),
    fires: &[
        with(
            "services:\n  train:\n    image: b\n    env_file: train.env\n",
            &[("train.env", MISSING), (".env.train", "NCCL_DEBUG=WARN\n")],
        ),
        with(
            "services:\n  train:\n    image: b\n    env_file:\n      - path: ./config/nccl.env\n",
            &[("config/nccl.env", MISSING), ("config/ncll.env", "NCCL_DEBUG=WARN\n")],
        ),
    ],
    silent: &[
        with(
            "services:\n  train:\n    image: b\n    env_file: train.env\n",
            &[("train.env", MISSING), ("train.env.example", "NCCL_DEBUG=WARN\n")],
        ),
        with(
            "services:\n  train:\n    image: b\n    env_file: [{path: train.env, required: false}]\n",
            &[("train.env", MISSING), (".env.train", "NCCL_DEBUG=WARN\n")],
        ),
        with(
            "services:\n  train:\n    image: b\n    env_file: [train.env, .env]\n",
            &[("train.env", "A=b\n"), (".env", MISSING), (".env.train", "NCCL_DEBUG=WARN\n")],
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack == IsStack::Yes {
        return Vec::new();
    }
    let whole = file.services.iter().filter(|one| !one.extends_elsewhere);
    let mut found: Vec<Found> = whole.flat_map(|service| faults(file, service)).collect();
    // Services with one anchor name the same file at the same place.
    found.dedup();
    found
}

fn faults(file: &Compose, service: &Service) -> Vec<Found> {
    let fault = |path: &String| {
        let whole = join("", path);
        // Not looked for, or there.
        if !matches!(file.files.get(&whole), Some(None)) {
            return None;
        }
        let near = near(file, &whole)?;
        let message = format!("env_file {path} does not exist, but {near} does; docker compose stops");
        Some(Found::error(service.line_of("env_file"), message, format!("Write `{near}`")))
    };
    required(service).iter().filter_map(fault).collect()
}

/// The env files without which the service does not start.
fn required(service: &Service) -> Vec<String> {
    let items = match service.at(&["env_file"]) {
        Some(Value::Sequence(items)) => items.clone(),
        other => other.cloned().into_iter().collect(),
    };
    let optional = |item: &&Value| below(item, &["required"]).and_then(text).as_deref() != Some("false");
    let path = |item: &Value| text(item).or_else(|| below(item, &["path"]).and_then(text));
    let paths = items.iter().filter(optional).filter_map(path);
    paths.filter(|path| !path.contains('$') && !path.starts_with('/')).collect()
}

/// A file of the same directory that is probably meant.
fn near<'f>(file: &'f Compose, path: &str) -> Option<&'f str> {
    let (folder, base) = path.rsplit_once('/').unwrap_or(("", path));
    let others = file.files.iter().filter(|(_, text)| text.is_some()).map(|(path, _)| path.as_str());
    let own = words(base);
    others.filter(|other| other.rsplit_once('/').unwrap_or(("", other)).0 == folder).find(|other| {
        let other = other.rsplit('/').next().unwrap_or_default();
        let theirs = words(other);
        let sample = ["example", "sample", "template", "dist", "tmpl"];
        let is_sample = theirs.iter().any(|word| sample.contains(&word.as_str()));
        let same = own.len() > 1 && own == theirs;
        !is_sample && other != base && (same || diagnostic::suggest::is_typo(base, other))
    })
}

/// The words of a name in one order: `.env.train` and `train.env` have the same.
fn words(base: &str) -> Vec<String> {
    let words = base.split(['.', '-', '_']).filter(|word| !word.is_empty());
    let mut words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    words.sort();
    words
}
