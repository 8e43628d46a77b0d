//! pytorch/pytorch: the rows of `catalog/images/pytorch.yaml`, and what the release workflow proves.

use serde::Deserialize;

use super::super::file;
use super::existence::Existence;
use super::image::{Evidence, Flavour, Image};
use super::list::{self, List};
use crate::Sources;

/// The images of one torch release.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    torch: String,
    cuda: Vec<String>,
    cudnn: String,
    #[serde(default)]
    matrix: bool,
    #[serde(default)]
    used: Vec<String>,
    #[serde(default)]
    digest: Vec<String>,
    system: Option<String>,
    python: Option<String>,
    externally_managed: Option<bool>,
    source: Sources,
    #[serde(default)]
    checked: String,
}

file::rows!(Row);

/// Every torch release, oldest first.
pub(crate) type File = List<Row>;

impl list::Row for Row {
    const NAME: &'static str = "images/pytorch.yaml";
    const TEXT: &'static str = file::text!("images/pytorch.yaml");

    fn images(&self) -> Vec<Image> {
        let flavours = [(Flavour::Runtime, "runtime"), (Flavour::Devel, "devel")];
        let of = |cuda: &String| flavours.map(|(flavour, size)| image(self, cuda, flavour, size));
        self.cuda.iter().flat_map(of).collect()
    }

    /// What the release workflow says of a tag that no list has.
    fn missing(list: &File, tag: &str) -> Existence<'static> {
        if let Some(row) = list.unconfirmed().iter().find(|row| row.reference.ends_with(&format!(":{tag}"))) {
            return Existence::Unknown { why: row.why.clone() };
        }
        let torch = tag.split('-').next().unwrap_or_default();
        // The workflow tells which CUDA and cuDNN a release comes with, and nothing of tags of another form.
        let formed = tag.split('-').nth(1).is_some_and(|word| word.starts_with("cuda"));
        match list.rows.iter().find(|row| row.torch == torch && row.matrix) {
            Some(row) if formed => Existence::No {
                why: format!(
                    "the images of torch {torch} are for CUDA {} with cuDNN {}, runtime and devel",
                    row.cuda.join(", "),
                    row.cudnn
                ),
                source: row.source.clone(),
            },
            _ => Existence::Unknown {
                why: format!(
                    "no list of that release's images was read; tags are written {}",
                    list.repository.scheme
                ),
            },
        }
    }
}

fn image(row: &Row, cuda: &str, flavour: Flavour, size: &str) -> Image {
    let in_list = |list: &[String]| list.iter().any(|one| one == cuda);
    let tag = format!("{}-cuda{cuda}-cudnn{}-{size}", row.torch, row.cudnn);
    Image {
        system: row.system.clone(),
        cuda: Some(cuda.to_owned()),
        has_cudnn: Some(true),
        cudnn: Some(row.cudnn.clone()),
        cudnn_known: true,
        python: row.python.clone(),
        externally_managed: row.externally_managed,
        torch: Some(row.torch.clone()),
        evidence: match (in_list(&row.digest), in_list(&row.used)) {
            (true, _) => Evidence::Digest,
            (_, true) => Evidence::Used,
            _ => Evidence::Workflow,
        },
        ..Image::new("pytorch/pytorch", tag, flavour, &row.source)
    }
}
