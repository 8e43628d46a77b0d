//! nvidia/cuda: the rows of `catalog/images/cuda.yaml`, and what their lists prove.

use serde::Deserialize;

use super::super::file;
use super::super::version::Version;
use super::existence::Existence;
use super::image::{Evidence, Flavour, Image};
use super::list::{self, List};
use crate::Sources;

/// Some flavours of one CUDA release on some systems.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    cuda: String,
    systems: Vec<String>,
    flavours: Option<Vec<String>>,
    cudnn_name: Option<String>,
    cudnn: Option<String>,
    nccl: Option<String>,
    aarch64: Option<Aarch64>,
    #[serde(default)]
    seen: String,
    hub: Option<String>,
    source: Sources,
    #[serde(default)]
    checked: String,
    /// Left out where a list has it.
    #[serde(default = "listed_evidence")]
    evidence: Evidence,
    /// True where NVIDIA's lists have the release.
    #[serde(skip)]
    listed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Aarch64 {
    #[serde(rename = "all")]
    All,
    #[serde(rename = "without cudnn")]
    WithoutCudnn,
    #[serde(rename = "none")]
    None,
}

file::rows!(Row);

fn listed_evidence() -> Evidence {
    Evidence::Listed
}

/// Every CUDA release, oldest first: some 1,200 tags today.
pub(crate) type File = List<Row>;

impl list::Row for Row {
    const NAME: &'static str = "images/cuda.yaml";
    const TEXT: &'static str = file::text!("images/cuda.yaml");

    fn read_sources(&mut self) {
        self.listed = self.source.iter().any(|key| key == "list");
    }

    fn images(&self) -> Vec<Image> {
        let mut images = Vec::new();
        expand(self, &mut images);
        images
    }

    /// What the lists say of a tag that is not in them.
    fn missing(list: &File, tag: &str) -> Existence<'static> {
        let repository = &list.repository;
        let release = tag.split('-').next().unwrap_or_default();
        let Some(version) = Version::parse(release) else {
            return unknown(format!("tags of nvidia/cuda are written {}", repository.scheme));
        };
        if let Some(word) = tag.split('-').find(|word| repository.left_out.iter().any(|left| left == word)) {
            return unknown(format!("the catalog leaves out the images with {word}"));
        }
        let (from, until) = (list.complete_from(), repository.complete_until.as_deref().unwrap_or_default());
        let without_system =
            tag.rsplit('-').next().is_some_and(|word| ["base", "runtime", "devel"].contains(&word));
        if version.numbers().len() != 3 || without_system {
            return match from.as_ref().is_some_and(|from| version >= *from) {
                true if without_system && version.numbers().len() == 3 => {
                    list.no("a tag names the system at its end (ubuntu22.04, rockylinux9, ubi9)".to_owned())
                }
                true => list
                    .no(format!("a tag names the CUDA release with three numbers{}", list.patches(&version))),
                false => unknown(format!("what tags CUDA {release} had is not known in full")),
            };
        }
        if list.listed(&version) {
            return list
                .no(format!("NVIDIA's lists up to {until} have CUDA {release}, but not this tag of it"));
        }
        match list.passed_over(&version) {
            true => list
                .no(format!("NVIDIA's lists up to {until} have later CUDA releases, but no CUDA {release}")),
            false => unknown(format!("NVIDIA's lists that were read end on {until}; it was not seen in use")),
        }
    }
}

impl File {
    fn no(&self, why: String) -> Existence<'static> {
        Existence::No { why, source: self.repository.source.clone() }
    }

    fn complete_from(&self) -> Option<Version> {
        self.repository.complete_from.as_deref().and_then(Version::parse)
    }

    /// The releases of which the lists have every tag.
    fn fully_listed(&self) -> impl Iterator<Item = Version> {
        let to = self.repository.complete_to.as_deref().and_then(Version::parse);
        let listed = self.rows.iter().filter(|row| row.listed).filter_map(|row| Version::parse(&row.cuda));
        listed.filter(move |row| row.numbers().len() == 3 && to.as_ref().is_some_and(|to| row <= to))
    }

    fn listed(&self, version: &Version) -> bool {
        self.fully_listed().any(|row| row == *version)
    }

    /// True where the lists went on without this release: they have a later one of its minor, or none of its
    /// minor and a later minor. (A minor can get a patch after the next minor came out.)
    fn passed_over(&self, version: &Version) -> bool {
        let seen = self.rows.iter().filter_map(|row| Version::parse(&row.cuda)).any(|row| row == *version);
        let same_minor = self.fully_listed().any(|row| row.minor() == version.minor());
        let later = self.fully_listed().any(|row| {
            row > *version
                && row.number(0) == version.number(0)
                && (row.minor() == version.minor() || !same_minor)
        });
        !seen && later && self.complete_from().is_some_and(|from| *version >= from)
    }

    /// `: 12.1.0, 12.1.1`, the releases that begin with these numbers.
    fn patches(&self, version: &Version) -> String {
        let mut found: Vec<&str> = Vec::new();
        for row in &self.rows {
            let same =
                Version::parse(&row.cuda).is_some_and(|row| row.numbers().starts_with(version.numbers()));
            if same && !found.contains(&row.cuda.as_str()) {
                found.push(&row.cuda);
            }
        }
        match found.is_empty() {
            true => String::new(),
            false => format!(": {}", found.join(", ")),
        }
    }
}

/// A flavour as rows write it, and what it means: with cuDNN, and how large.
const FLAVOURS: &[(&str, bool, Flavour)] = &[
    ("base", false, Flavour::Base),
    ("runtime", false, Flavour::Runtime),
    ("devel", false, Flavour::Devel),
    ("cudnn-runtime", true, Flavour::Runtime),
    ("cudnn-devel", true, Flavour::Devel),
];

fn expand(row: &Row, images: &mut Vec<Image>) {
    for system in &row.systems {
        for &(name, with_cudnn, flavour) in FLAVOURS {
            let present = match &row.flavours {
                Some(list) => list.iter().any(|word| word == name),
                None => !with_cudnn || row.cudnn_name.is_some(),
            };
            if present {
                images.push(image(row, system, with_cudnn, flavour));
            }
        }
    }
}

fn image(row: &Row, system: &str, with_cudnn: bool, flavour: Flavour) -> Image {
    let size = match flavour {
        Flavour::Base => "base",
        Flavour::Runtime => "runtime",
        _ => "devel",
    };
    let name = row.cudnn_name.as_deref().unwrap_or_default();
    let tag = match with_cudnn {
        true => format!("{}-{name}-{size}-{system}", row.cuda),
        false => format!("{}-{size}-{system}", row.cuda),
    };
    // The name gives the major of cuDNN up to 9 (`cudnn8`); later names are plain `cudnn`.
    let major = name.strip_prefix("cudnn").filter(|major| !major.is_empty());
    let cudnn = with_cudnn.then(|| row.cudnn.as_deref().or(major)).flatten();
    let on_hub = with_cudnn && flavour == Flavour::Devel && system.starts_with("ubuntu");
    let seen = row.hub.as_ref().filter(|_| on_hub).unwrap_or(&row.seen);
    let aarch64 = row.aarch64.map(|aarch64| match aarch64 {
        Aarch64::All => true,
        Aarch64::WithoutCudnn => !with_cudnn,
        Aarch64::None => false,
    });
    Image {
        system: Some(system.to_owned()),
        cuda: Some(row.cuda.clone()),
        has_cudnn: Some(with_cudnn),
        cudnn: cudnn.map(str::to_owned),
        cudnn_known: !with_cudnn || cudnn.is_some(),
        nccl: row.nccl.clone().filter(|_| flavour != Flavour::Base),
        architectures: aarch64.map(|aarch64| match aarch64 {
            true => &["x86_64", "aarch64"][..],
            false => &["x86_64"],
        }),
        evidence: row.evidence,
        seen: seen.clone(),
        ..Image::new("nvidia/cuda", tag, flavour, &row.source)
    }
}

fn unknown(why: String) -> Existence<'static> {
    Existence::Unknown { why }
}
