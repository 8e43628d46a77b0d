//! New releases of what stands around torch: NCCL, CUDA toolkits, DeepSpeed.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::Version;

use crate::error::Error;
use crate::index::Index;

use super::edit::{flow, quoted, source};
use super::packages::metadata;
use super::release::{finals, requires};
use super::torch::{insert_index, parse, versions};
use super::{Candidate, News};

/// New NCCL releases by the wheels for each CUDA major.
pub(super) fn nccl(index: &Index<'_>, base: &str, today: &str, majors: &[u32]) -> Result<News, Error> {
    let known = versions(&parse(base)?, "version");
    let mut new: BTreeMap<Version, Vec<u32>> = BTreeMap::new();
    for major in majors {
        let name = format!("nvidia-nccl-cu{major}");
        for version in finals(&name, index.project(&name)?.unwrap_or_default()).into_keys() {
            if known.iter().max().is_none_or(|newest| version > *newest) {
                new.entry(version).or_default().push(*major);
            }
        }
    }
    let row = |(version, majors): (Version, Vec<u32>)| {
        let names: Vec<String> = majors.iter().map(|major| format!("nvidia-nccl-cu{major}")).collect();
        let majors: Vec<String> = majors.iter().map(ToString::to_string).collect();
        let parts = [
            format!("version: {}", quoted(&version.to_string())),
            format!("pypi_cuda_majors: [{}]", majors.join(", ")),
            source(&format!("package index: file lists of {}", names.join(" and "))),
            format!("checked: {today}"),
        ];
        Candidate {
            key: version.to_string(),
            table: "rows",
            index: usize::MAX,
            row: flow(&parts),
            adds_to: None,
        }
    };
    Ok(News { rows: new.into_iter().map(row).collect(), notes: Vec::new() })
}

/// New CUDA toolkits by the package `cuda-toolkit`.
pub(super) fn cuda(index: &Index<'_>, base: &str, today: &str) -> Result<News, Error> {
    let base = parse(base)?;
    let known = versions(&base, "toolkit");
    let files = index.project("cuda-toolkit")?.ok_or_else(|| Error::NoProject("cuda-toolkit".into()))?;
    let mut news = News::default();
    let mut seen = BTreeSet::new();
    for version in finals("cuda-toolkit", files).into_keys() {
        // `13.0.3.0` stands for 13.0.3.
        let toolkit = version.release().iter().take(3).map(u64::to_string).collect::<Vec<_>>().join(".");
        let Ok(release) = Version::from_str(&toolkit) else { continue };
        if known.iter().max().is_none_or(|newest| release > *newest) && seen.insert(toolkit.clone()) {
            let parts = [
                format!("toolkit: {}", quoted(&toolkit)),
                source("package index: file list of cuda-toolkit"),
                format!("checked: {today}"),
            ];
            let index = insert_index(&known, &release);
            news.rows.push(Candidate {
                key: toolkit,
                table: "rows",
                index,
                row: flow(&parts),
                adds_to: None,
            });
        }
    }
    Ok(news)
}

/// New DeepSpeed releases. What only its code tells (which CUDA minors it lets differ, what breaks its
/// import) stays unknown.
pub(super) fn deepspeed(index: &Index<'_>, base: &str, today: &str) -> Result<News, Error> {
    let known = versions(&parse(base)?, "version");
    let releases =
        finals("deepspeed", index.project("deepspeed")?.ok_or_else(|| Error::NoProject("deepspeed".into()))?);
    let mut news = News::default();
    for (version, files) in releases {
        if known.iter().max().is_some_and(|newest| version <= *newest) {
            continue;
        }
        let requires = match metadata(index, "deepspeed", &version, &files)
            .and_then(|text| requires(&text, 12, "x86_64"))
        {
            Ok(requires) => requires,
            Err(why) => {
                news.notes.push(format!("{version}: no row added: {why}"));
                continue;
            }
        };
        let day = files.iter().filter_map(|file| file.uploaded.clone()).min();
        let day = day.or_else(|| index.day("deepspeed", &version.to_string()));
        let mut parts = vec![format!("version: {}", quoted(&version.to_string()))];
        parts.extend(day.map(|day| format!("released: {day}")));
        for name in ["torch", "pydantic"] {
            let text = requires.get(name).filter(|text| !text.is_empty());
            parts.extend(text.map(|text| format!("{name}: {}", quoted(text))));
        }
        parts.push(source(&format!("package index: metadata of deepspeed {version}")));
        parts.push(format!("checked: {today}"));
        let key = version.to_string();
        news.rows.push(Candidate { key, table: "rows", index: usize::MAX, row: flow(&parts), adds_to: None });
    }
    Ok(news)
}
