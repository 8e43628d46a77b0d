//! Packages of conda that no channel of the list has.

use crate::kind::Kind;
use crate::read::packages::PackageList;
use crate::rule::{Found, Judge, Rule, Severity, named};
use catalog::conda_torch::CondaTorch;
use catalog::{Table, version};

pub(crate) const RULE: Rule = Rule {
    id: "conda-package-missing",
    severity: Severity::Error,
    summary: "the channels of a conda environment have its CUDA and PyTorch packages",
    explain: include_str!("conda_package_missing.md"),
    judge: Judge::Packages(judge),
    fires: &[
        named(
            "environment.yml",
            "channels: [pytorch, defaults]\ndependencies:\n  - pytorch=2.1.2\n  - pytorch-cuda=12.1\n",
        ),
        named("environment.yml", "channels: [conda-forge]\ndependencies:\n  - cudatoolkit=12.1\n"),
        named(
            "environment.yml",
            "channels: [pytorch, nvidia]\ndependencies:\n  - pytorch=2.0.1\n  - pytorch-cuda=12.1\n",
        ),
        named("environment.yml", "channels: [pytorch, nvidia]\ndependencies:\n  - pytorch::pytorch=2.6.0\n"),
        named(
            "environment.yml",
            "channels: [pytorch, nvidia]\ndependencies:\n  - pytorch=2.5.1\n  - pytorch-cuda=12.6\n",
        ),
    ],
    silent: &[
        named(
            "environment.yml",
            "channels: [pytorch, nvidia, conda-forge]\ndependencies:\n  - pytorch=2.5.1\n  - \
             pytorch-cuda=12.4\n",
        ),
        named(
            "environment.yml",
            "channels: [conda-forge]\ndependencies:\n  - pytorch-gpu=2.6.0\n  - cuda-version=12.6\n  - \
             cudatoolkit=11.8\n",
        ),
        named(
            "environment.yml",
            "channels: [pytorch]\ndependencies:\n  - nvidia::pytorch-cuda=12.1\n  - cpuonly\n  - \
             pip:\n      - torch\n",
        ),
        named(
            "environment.yml",
            "channels: [pytorch, nvidia/label/cuda-11.7.1]\ndependencies:\n  - pytorch=2.0.1\n  - \
             pytorch-cuda=11.7.0\n",
        ),
        named("environment.yml", "dependencies:\n  - pytorch\n  - pytorch-cuda=12.1\n"),
    ],
};

/// An item of the list: channel, name, version.
struct Item {
    channel: Option<String>,
    name: String,
    version: Option<String>,
    line: usize,
}

fn judge(list: &PackageList) -> Vec<Found> {
    let parsed = (list.kind == Kind::Conda)
        .then(|| serde_yaml::from_str::<serde_yaml::Value>(&list.text).ok())
        .flatten();
    let Some(file) = parsed else { return Vec::new() };
    let texts = |key: &str| -> Vec<String> {
        let items = file.get(key).and_then(serde_yaml::Value::as_sequence).into_iter().flatten();
        items.filter_map(serde_yaml::Value::as_str).map(str::to_owned).collect()
    };
    let channels = texts("channels");
    // Without a list the configuration of conda decides.
    if channels.is_empty() {
        return Vec::new();
    }
    let items: Vec<Item> = texts("dependencies").iter().filter_map(|text| item(list, text)).collect();
    let find = |name: &str| items.iter().find(|item| item.name == name);
    // Mirrors have other names.
    let has = |channel: &str| {
        // `nvidia/label/cuda-11.8.0` is a part of nvidia.
        let is = |one: &str| {
            let label = one.strip_prefix(channel).is_some_and(|rest| rest.starts_with("/label/"));
            label || one.rsplit('/').next() == Some(channel) || one.contains("://")
        };
        channels.iter().any(|one| is(one))
    };
    let mut found: Vec<Found> = find("cudatoolkit").and_then(ended).into_iter().collect();
    let Some(cuda) =
        find("pytorch-cuda").or(find("pytorch").filter(|item| item.channel.as_deref() == Some("pytorch")))
    else {
        return found;
    };
    if cuda.name == "pytorch-cuda" && cuda.channel.is_none() {
        let missing = ["pytorch", "nvidia"].into_iter().find(|channel| !has(channel));
        found.extend(missing.map(|channel| {
            let message = format!(
                "pytorch-cuda needs packages of the channel {channel}, which is not \
                listed; conda cannot solve the environment"
            );
            Found::error(cuda.line, message, format!("Add `- {channel}` to channels")).about(&cuda.name)
        }));
    }
    found.extend(builds(list.catalog.conda_torch(), cuda, find("pytorch"), has("conda-forge")));
    found
}

/// cudatoolkit of a CUDA release that it does not have.
fn ended(toolkit: &Item) -> Option<Found> {
    let version = version::minor(toolkit.version.as_deref()?)?;
    let message = "cudatoolkit has no CUDA 12 release; its last version is 11.8";
    let fix = "Use cuda-version=12.x with cuda-toolkit, or the packages that need it alone";
    (version.0 >= 12).then(|| Found::error(toolkit.line, message, fix).about(&toolkit.name))
}

/// Whether the channel pytorch has such a build.
fn builds(known: &Table<CondaTorch>, cuda: &Item, torch: Option<&Item>, forge: bool) -> Option<Found> {
    let release = torch.and_then(|item| version::minor(item.version.as_deref()?));
    let of_channel =
        cuda.name == "pytorch-cuda" || torch.is_some_and(|item| item.channel.as_deref() == Some("pytorch"));
    let last = known.newest()?;
    let (newest, newest_cuda) = (last.release()?, last.cuda.last()?);
    if let (Some(release), Some(item)) = (release.filter(|release| *release > newest && of_channel), torch) {
        let message = format!(
            "the channel pytorch ends with {}.{}; it has no PyTorch {}.{}",
            newest.0, newest.1, release.0, release.1
        );
        return Some(
            Found::error(item.line, message, "Use pytorch-gpu of conda-forge, or install torch with pip")
                .about(&item.name)
                .unless_certain(!forge),
        );
    }
    let mut wanted = cuda.version.as_deref().filter(|_| cuda.name == "pytorch-cuda")?;
    // To conda, 11.7.0 is 11.7.
    while let Some(shorter) = wanted.strip_suffix(".0").filter(|shorter| shorter.contains('.')) {
        wanted = shorter;
    }
    match release {
        Some(release) => {
            let builds = &known.of_release(release)?.cuda;
            if builds.iter().any(|build| build == wanted) {
                return None;
            }
            let message = format!(
                "PyTorch {}.{} of the channel pytorch has no build for CUDA {wanted}, only for {}",
                release.0,
                release.1,
                builds.join(", ")
            );
            let fix = format!("Use pytorch-cuda={}", builds.last()?);
            Some(Found::error(cuda.line, message, fix).about(&cuda.name))
        }
        None => {
            let exists = known.all().iter().any(|row| row.cuda.iter().any(|build| build == wanted));
            let message =
                format!("the channel pytorch has no pytorch-cuda {wanted}; the newest is {newest_cuda}");
            let fix = format!("Use pytorch-cuda={newest_cuda}, or install torch with pip");
            (!exists && wanted.contains('.')).then(|| Found::error(cuda.line, message, fix).about(&cuda.name))
        }
    }
}

/// `nvidia::pytorch-cuda=12.1`, `python >=3.10`.
fn item(list: &PackageList, text: &str) -> Option<Item> {
    let (channel, rest) = match text.split_once("::") {
        Some((channel, rest)) => (Some(channel.trim().to_owned()), rest),
        None => (None, text),
    };
    let rest = rest.trim();
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c)).unwrap_or(rest.len());
    let exact = rest[end..].trim_start().strip_prefix('=').map(|rest| rest.trim_start_matches('=').trim());
    let version = exact.map(|version| {
        version.split(['=', ',', '*', ' ']).next().unwrap_or_default().trim_end_matches('.').to_owned()
    });
    let name = rest[..end].to_ascii_lowercase();
    Some(Item {
        channel,
        version: version.filter(|version| !version.is_empty()),
        line: list.line_of(text),
        name,
    })
    .filter(|item| !item.name.is_empty())
}
