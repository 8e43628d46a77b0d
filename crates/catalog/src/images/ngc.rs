//! NVIDIA's PyTorch images on NGC: the rows of `catalog/images/ngc.yaml`.

use serde::Deserialize;

use super::super::file;
use super::super::torch::{Build, Release};
use super::super::version::minor;
use super::existence::Existence;
use super::image::{Evidence, Flavour, Image};
use super::list::{self, List};
use crate::Sources;

/// One monthly release.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
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
    source: Sources,
    #[serde(default)]
    checked: String,
}

file::rows!(Row);

/// Every release, oldest first.
pub(crate) type File = List<Row>;

impl list::Row for Row {
    const NAME: &'static str = "images/ngc.yaml";
    const TEXT: &'static str = file::text!("images/ngc.yaml");

    fn images(&self) -> Vec<Image> {
        vec![image(self)]
    }

    fn torch_of(image: &Image) -> Option<Release> {
        torch_of(image)
    }

    /// A release is a month; which months have none is not known.
    fn missing(list: &File, tag: &str) -> Existence<'static> {
        let release = tag.split('-').next().unwrap_or_default();
        let month = release.split_once('.').and_then(|(_, month)| month.parse::<u8>().ok());
        match month {
            Some(month) if !(1..=12).contains(&month) => Existence::No {
                why: format!("a release is a year and a month, and {month} is none"),
                source: list.repository.source.clone(),
            },
            _ => Existence::Unknown {
                why: format!(
                    "none of NVIDIA's pages that were read has it; tags are written {}",
                    list.repository.scheme
                ),
            },
        }
    }
}

/// A torch that an image brings: `2.9.0a0+145a3a7bda` of 25.10 calls itself `2.9.0a0+145a3a7bda.nv25.10`.
fn torch_of(image: &Image) -> Option<Release> {
    let (version, commit) = image.torch.as_deref()?.split_once('+')?;
    image.system.as_ref()?;
    let build = Build {
        build: format!("{commit}.nv{}", image.tag.strip_suffix("-py3")?),
        cuda: Some(minor(image.cuda.as_deref()?).map(|(major, minor)| format!("{major}.{minor}"))?),
        pythons: Some(vec![image.python.clone()?]),
        nccl: image.nccl.clone(),
        cudnn: image.cudnn.clone(),
        ..Build::default()
    };
    Some(Release::of_image(version.to_owned(), build, &image.source))
}

fn image(row: &Row) -> Image {
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
