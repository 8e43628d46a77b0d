//! New releases of torch.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};
use serde_yaml::Value;

use catalog::torch::CudaBuild;

use crate::error::Error;
use crate::index::Index;
use crate::page::DistFile;

use super::edit::{list, quoted, source};
use super::packages::metadata;
use super::release::{Python, Wheels, finals, pinned, python_specifier, requires, wheels};
use super::{Candidate, News};

/// The newest releases of a partner among which the one for a torch is looked for.
const PARTNERS: usize = 8;

/// The versions in one column of a table.
pub(super) fn versions(base: &Value, field: &str) -> Vec<Version> {
    let rows = base["rows"].as_sequence().map_or(&[][..], Vec::as_slice);
    rows.iter().filter_map(|row| Version::from_str(row[field].as_str()?).ok()).collect()
}

/// Where a version belongs among rows that ascend.
pub(super) fn insert_index(known: &[Version], version: &Version) -> usize {
    known.iter().position(|other| other > version).unwrap_or(known.len())
}

pub(super) fn parse(base: &str) -> Result<Value, Error> {
    Ok(serde_yaml::from_str(base)?)
}

/// New torch releases.
pub(super) fn torch(
    index: &Index<'_>,
    wheel_index: &dyn Fn(&str) -> Option<Vec<DistFile>>,
    base: &str,
    today: &str,
    newest: u32,
) -> Result<News, Error> {
    let base = parse(base)?;
    let known = versions(&base, "version");
    let releases = finals("torch", index.project("torch")?.ok_or_else(|| Error::NoProject("torch".into()))?);
    let mut news = News::default();
    for (version, files) in &releases {
        if known.contains(version) || known.iter().min().is_some_and(|oldest| version < oldest) {
            continue;
        }
        match release(index, wheel_index, &base, version, files, today, newest) {
            Ok(row) => {
                let key = version.to_string();
                // Rows that come before this one move the place.
                let insert_index = insert_index(&known, version) + news.rows.len();
                news.rows.push(Candidate { key, table: "rows", index: insert_index, row, adds_to: None });
            }
            Err(why) => news.notes.push(format!("{version}: no row added: {why}")),
        }
    }
    // Before the new rows, which move the places of others.
    news.rows.splice(0..0, further_builds(&base, wheel_index, newest));
    Ok(news)
}

/// What the metadata of the wheel on PyPI pins.
#[derive(Default)]
struct Pins {
    cuda: Option<CudaBuild>,
    runtime: Option<String>,
    nccl: Option<String>,
    cudnn: Option<String>,
    triton: Option<String>,
}

fn pins(requires: &BTreeMap<String, String>) -> Pins {
    let of = |name: &str| {
        let own = requires.iter().find(|(known, _)| {
            *known == name
                || known
                    .strip_prefix(name)
                    .and_then(|rest| rest.strip_prefix("-cu"))
                    .is_some_and(|major| !major.is_empty() && major.bytes().all(|byte| byte.is_ascii_digit()))
        });
        own.and_then(|(_, text)| pinned(text))
    };
    let runtime = of("nvidia-cuda-runtime");
    Pins {
        cuda: of("cuda-toolkit").or_else(|| runtime.clone()).and_then(|cuda| CudaBuild::of_cuda(&cuda)),
        runtime,
        nccl: of("nvidia-nccl"),
        cudnn: of("nvidia-cudnn"),
        triton: requires.get("triton").map(|text| text.strip_prefix("==").unwrap_or(text).to_owned()),
    }
}

fn release(
    index: &Index<'_>,
    wheel_index: &dyn Fn(&str) -> Option<Vec<DistFile>>,
    base: &Value,
    version: &Version,
    files: &[DistFile],
    today: &str,
    newest: u32,
) -> Result<String, Error> {
    let x86 = wheels(files, "x86_64", newest);
    let arm = wheels(files, "aarch64", newest);
    let last = x86.pythons.keys().rev().find(|python| !python.1).ok_or(Error::NoWheel)?.0;
    let metadata = metadata(index, "torch", version, files)?;
    let pins = pins(&requires(&metadata, last, "x86_64")?);
    let declared = files.iter().find_map(|file| file.requires_python.as_deref());
    let day = files.iter().filter_map(|file| file.uploaded.clone()).min();
    let day = day.or_else(|| index.day("torch", &version.to_string()));
    let glibc = |wheels: &Wheels| wheels.pythons.values().filter_map(|glibc| *glibc).max();
    let mut lines = vec![format!("- version: {}", quoted(&version.to_string()))];
    let mut add =
        |name: &str, value: Option<String>| lines.extend(value.map(|value| format!("  {name}: {value}")));
    add("released", day);
    add("pypi_build", pins.cuda.map(|build| build.to_string()));
    add("pypi_cuda", pins.cuda.and_then(CudaBuild::cuda).as_deref().map(quoted));
    add("requires_python", declared.map(python_specifier).transpose()?.map(|text| quoted(&text)));
    add("pythons", Some(pythons(&x86)));
    add("aarch64_pythons", (!arm.pythons.is_empty()).then(|| pythons(&arm)));
    add("glibc_min", glibc(&x86).map(|(major, minor)| quoted(&format!("{major}.{minor}"))));
    for partner in ["torchvision", "torchaudio"] {
        if let Some(found) = partner_of(index, partner, version, &x86, newest)? {
            add(partner, Some(quoted(&found.version)));
            let python = found.python.filter(|text| partner == "torchvision" && text.contains("!="));
            add("torchvision_python", python.as_deref().map(quoted));
            add(&format!("{partner}_lacks"), (!found.lacks.is_empty()).then(|| list(&found.lacks)));
        }
    }
    add("triton", pins.triton.as_deref().map(quoted));
    let below = triton_below(&metadata, &x86, newest)?.filter(|_| pins.triton.is_some());
    add("triton_python_below", below.as_deref().map(quoted));
    add("nccl", pins.nccl.as_deref().map(quoted));
    add("cudnn", pins.cudnn.as_deref().map(quoted));
    add("builds_complete", Some("false".into()));
    add("checked", Some(today.to_owned()));
    add("source", Some(list(&[format!("package index: metadata and file list of torch {version}")])));
    let mut builds = Vec::new();
    if let Some((build, cuda)) = pins.cuda.and_then(|build| Some((build, build.cuda()?))) {
        let mut parts = vec![format!("build: {build}"), format!("cuda: {}", quoted(&cuda))];
        let pinned = [("cuda_runtime", &pins.runtime), ("nccl", &pins.nccl), ("cudnn", &pins.cudnn)];
        parts.extend(
            pinned.iter().filter_map(|(name, value)| Some(format!("{name}: {}", quoted(value.as_ref()?)))),
        );
        builds.push(format!("    - {{{}}}", parts.join(", ")));
    }
    for (name, pythons) in seen_builds(base, wheel_index, version, newest) {
        if pins.cuda != Some(name) {
            builds.extend(seen_build(name, &pythons));
        }
    }
    lines.push(if builds.is_empty() { "  builds: []".into() } else { "  builds:".into() });
    lines.extend(builds);
    Ok(lines.join("\n") + "\n")
}

fn pythons(wheels: &Wheels) -> String {
    list(&wheels.pythons.keys().map(ToString::to_string).collect::<Vec<_>>())
}

/// A release of torchvision or torchaudio.
struct Partner {
    version: String,
    /// The Pythons for which it has no wheel though torch has.
    lacks: Vec<String>,
    /// `Requires-Python`.
    python: Option<String>,
}

/// The newest release of a partner that goes with this torch by its requirements, the Pythons for which it
/// has no wheel though torch has, and the Pythons that it declares.
fn partner_of(
    index: &Index<'_>,
    partner: &str,
    torch: &Version,
    wheels_of_torch: &Wheels,
    newest: u32,
) -> Result<Option<Partner>, Error> {
    let Some(files) = index.project(partner)? else { return Ok(None) };
    for (version, files) in finals(partner, files).iter().rev().take(PARTNERS) {
        let own = wheels(files, "x86_64", newest);
        let last = own.pythons.keys().rev().find(|python| !python.1).map_or(newest, |python| python.0);
        let Ok(metadata) = metadata(index, partner, version, files) else { continue };
        let wanted = requires(&metadata, last, "x86_64")?.remove("torch").unwrap_or_default();
        if VersionSpecifiers::from_str(&wanted).is_ok_and(|wanted| wanted.contains(torch)) {
            let every = own.every.is_some() || own.pure;
            let lacks =
                wheels_of_torch.pythons.keys().filter(|python| !every && !own.pythons.contains_key(python));
            let python = files.iter().find_map(|file| file.requires_python.as_deref());
            let python = python.map(python_specifier).transpose()?;
            let lacks = lacks.map(Python::to_string).collect();
            return Ok(Some(Partner { version: version.to_string(), lacks, python }));
        }
    }
    Ok(None)
}

/// The Python from which on torch requires no triton any more.
fn triton_below(metadata: &str, pythons: &Wheels, newest: u32) -> Result<Option<String>, Error> {
    let first = pythons.pythons.keys().next().map_or(newest, |python| python.0);
    for minor in first..=newest + 3 {
        if !requires(metadata, minor, "x86_64")?.contains_key("triton") {
            return Ok((minor > first).then(|| format!("3.{minor}")));
        }
    }
    Ok(None)
}

/// The builds of a release that the wheel index has, of those that other releases have.
fn seen_builds(
    base: &Value,
    wheel_index: &dyn Fn(&str) -> Option<Vec<DistFile>>,
    version: &Version,
    newest: u32,
) -> Vec<(CudaBuild, Vec<String>)> {
    let mut seen = Vec::new();
    for name in build_names(base) {
        let Some(files) = wheel_index(&name.to_string()) else { continue };
        let own = |file: &DistFile| file.name.starts_with(&format!("torch-{version}+{name}-"));
        let files: Vec<DistFile> = files.into_iter().filter(own).collect();
        let found = wheels(&files, "x86_64", newest);
        if !found.pythons.is_empty() {
            seen.push((name, found.pythons.keys().map(ToString::to_string).collect()));
        }
    }
    seen
}

/// The builds of the newest releases.
fn build_names(base: &Value) -> BTreeSet<CudaBuild> {
    let rows = base["rows"].as_sequence().map_or(&[][..], Vec::as_slice);
    let builds = rows.iter().rev().take(6).flat_map(|row| row["builds"].as_sequence().into_iter().flatten());
    builds.filter_map(|build| CudaBuild::parse(build["build"].as_str()?)).collect()
}

fn seen_build(name: CudaBuild, pythons: &[String]) -> Option<String> {
    Some(format!(
        "    - {{build: {name}, cuda: {}, pythons: {},\n       {}}}",
        quoted(&name.cuda()?),
        list(pythons),
        source("download.pytorch.org: file list of the build")
    ))
}

/// Builds that the wheel index has and a row with incomplete builds has not.
fn further_builds(
    base: &Value,
    wheel_index: &dyn Fn(&str) -> Option<Vec<DistFile>>,
    newest: u32,
) -> Vec<Candidate> {
    let rows = base["rows"].as_sequence().map_or(&[][..], Vec::as_slice);
    let mut candidates = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let Some(version) = row["version"].as_str().and_then(|text| Version::from_str(text).ok()) else {
            continue;
        };
        if row["builds_complete"].as_bool() != Some(false) {
            continue;
        }
        let has = |name: CudaBuild| {
            row["builds"]
                .as_sequence()
                .into_iter()
                .flatten()
                .any(|build| build["build"].as_str().and_then(CudaBuild::parse) == Some(name))
        };
        for (name, pythons) in seen_builds(base, wheel_index, &version, newest) {
            if let Some(row) = seen_build(name, &pythons).filter(|_| !has(name)) {
                candidates.push(Candidate {
                    key: version.to_string(),
                    table: "rows",
                    index,
                    row: row + "\n",
                    adds_to: Some(index),
                });
            }
        }
    }
    candidates
}
