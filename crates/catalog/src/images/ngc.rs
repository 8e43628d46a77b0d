//! NVIDIA's PyTorch images on NGC: the rows of `catalog/images/ngc.yaml`.

use std::sync::OnceLock;

use serde::Deserialize;

use super::super::file::{self, Sources};
use super::existence::Existence;
use super::image::{Evidence, Flavour, Image, Repository};

/// One monthly release.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    release: String,
    torch: Option<String>,
    cuda: Option<String>,
    nccl: Option<String>,
    cudnn: Option<String>,
    python: Option<String>,
    system: Option<String>,
    driver_min: Option<String>,
    evidence: Option<Evidence>,
    note: Option<String>,
    source: String,
    #[serde(default)]
    checked: String,
}

file::rows!(Row);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    checked: String,
    sources: Sources,
    repository: Repository,
    rows: Vec<Row>,
}

fn file() -> &'static File {
    static FILE: OnceLock<File> = OnceLock::new();
    FILE.get_or_init(|| {
        let mut file: File =
            file::parse("images/ngc.yaml", include_str!("../../../../catalog/images/ngc.yaml"));
        file::complete(&mut file.rows, &file.checked, &file.sources);
        file::complete(std::slice::from_mut(&mut file.repository), &file.checked, &file.sources);
        file
    })
}

/// Every release, oldest first.
pub(super) fn all() -> &'static [Image] {
    static IMAGES: OnceLock<Vec<Image>> = OnceLock::new();
    IMAGES.get_or_init(|| file().rows.iter().map(image).collect())
}

pub(super) fn repository() -> &'static Repository {
    &file().repository
}

fn image(row: &'static Row) -> Image {
    let tag = format!("{}-py3", row.release);
    Image {
        system: row.system.clone(),
        cuda: row.cuda.clone(),
        has_cudnn: row.cudnn.as_ref().map(|_| true),
        cudnn: row.cudnn.clone(),
        cudnn_known: row.cudnn.is_some(),
        nccl: row.nccl.clone(),
        python: row.python.clone(),
        torch: row.torch.clone(),
        driver_min: row.driver_min.clone(),
        evidence: row.evidence.unwrap_or(Evidence::Listed),
        note: row.note.clone(),
        ..Image::new("nvcr.io/nvidia/pytorch", tag, Flavour::Devel, &row.source)
    }
}

/// A release is a month; which months have none is not known.
pub(super) fn missing(tag: &str) -> Existence {
    let release = tag.split('-').next().unwrap_or_default();
    let month = release.split_once('.').and_then(|(_, month)| month.parse::<u8>().ok());
    match month {
        Some(month) if !(1..=12).contains(&month) => Existence::No {
            why: format!("a release is a year and a month, and {month} is none"),
            source: repository().source.clone(),
        },
        _ => Existence::Unknown {
            why: format!(
                "none of NVIDIA's pages that were read has it; tags are written {}",
                repository().scheme
            ),
        },
    }
}
