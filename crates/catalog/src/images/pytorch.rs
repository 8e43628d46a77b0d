//! pytorch/pytorch: the rows of `catalog/images/pytorch.yaml`, and what the release workflow proves.

use serde::Deserialize;

use super::super::file::{self, Contents, Sources};
use super::existence::Existence;
use super::image::{AbsentTag, Evidence, Flavour, Image, Repository};

/// The images of one torch release.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    torch: String,
    cuda: String,
    cudnn: String,
    #[serde(default)]
    matrix: bool,
    #[serde(default)]
    used: String,
    #[serde(default)]
    digest: String,
    system: Option<String>,
    python: Option<String>,
    externally_managed: Option<bool>,
    source: String,
    #[serde(default)]
    checked: String,
}

file::rows!(Row);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    checked: String,
    sources: Sources,
    repository: Repository,
    unconfirmed: Vec<AbsentTag>,
    rows: Vec<Row>,
    /// Every tag.
    #[serde(skip)]
    images: Vec<Image>,
}

impl Contents for File {
    const NAME: &str = "images/pytorch.yaml";
    const TEXT: &str = file::text!("images/pytorch.yaml");

    fn complete(&mut self) {
        file::complete(&mut self.rows, &self.checked, &self.sources);
        file::complete(&mut self.unconfirmed, &self.checked, &self.sources);
        file::complete(std::slice::from_mut(&mut self.repository), &self.checked, &self.sources);
        self.images = self.expanded();
    }
}

impl File {
    pub(crate) fn images(&self) -> &[Image] {
        &self.images
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Every tag, oldest torch first.
    fn expanded(&self) -> Vec<Image> {
        let mut images = Vec::new();
        for row in &self.rows {
            for cuda in row.cuda.split(' ') {
                images.push(image(row, cuda, Flavour::Runtime, "runtime"));
                images.push(image(row, cuda, Flavour::Devel, "devel"));
            }
        }
        images
    }

    /// Tags that somebody named and nobody confirmed.
    pub(crate) fn unconfirmed(&self) -> &[AbsentTag] {
        &self.unconfirmed
    }

    /// What the release workflow says of a tag that no list has.
    pub(crate) fn missing(&self, tag: &str) -> Existence<'static> {
        if let Some(row) = self.unconfirmed().iter().find(|row| row.reference.ends_with(&format!(":{tag}"))) {
            return Existence::Unknown { why: row.why.clone() };
        }
        let torch = tag.split('-').next().unwrap_or_default();
        // The workflow tells which CUDA and cuDNN a release comes with, and nothing of tags of another form.
        let formed = tag.split('-').nth(1).is_some_and(|word| word.starts_with("cuda"));
        match self.rows.iter().find(|row| row.torch == torch && row.matrix) {
            Some(row) if formed => Existence::No {
                why: format!(
                    "the images of torch {torch} are for CUDA {} with cuDNN {}, runtime and devel",
                    row.cuda.replace(' ', ", "),
                    row.cudnn
                ),
                source: row.source.clone(),
            },
            _ => Existence::Unknown {
                why: format!(
                    "no list of that release's images was read; tags are written {}",
                    self.repository.scheme
                ),
            },
        }
    }
}

fn image(row: &Row, cuda: &str, flavour: Flavour, size: &str) -> Image {
    let in_list = |list: &str| list.split(' ').any(|one| one == cuda);
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
