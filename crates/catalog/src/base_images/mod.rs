//! The images of all repositories together: what there is, whether a reference exists, what is near it.

mod nearest;
#[cfg(test)]
mod tests;

use super::catalog::Catalog;
use super::images::{AbsentTag, Existence, Image, NGC, REPOSITORIES, Repository, split};
use super::torch::Release;

/// The images of a catalog. Each file is parsed when first asked for.
#[derive(Debug, Clone, Copy)]
pub struct Images<'c>(&'c Catalog);

impl Catalog {
    pub fn images(&self) -> Images<'_> {
        Images(self)
    }
}

impl<'c> Images<'c> {
    /// All images of one repository, oldest CUDA, torch or system first; empty for a repository that is not
    /// in the catalog.
    pub fn of(self, repository: &str) -> &'c [Image] {
        match repository {
            "nvidia/cuda" => self.0.cuda_images().images(),
            "pytorch/pytorch" => self.0.pytorch_images().images(),
            NGC => self.0.ngc_images().images(),
            "python" => self.0.python_images().images(),
            name => {
                let plain = self.0.plain_images().iter().find(|one| one.repository.name == name);
                plain.map_or(&[], |one| &one.images)
            }
        }
    }

    /// What is known of a repository as a whole; `None` for one that is not in the catalog.
    pub fn repository(self, name: &str) -> Option<&'c Repository> {
        match name {
            "nvidia/cuda" => Some(self.0.cuda_images().repository()),
            "pytorch/pytorch" => Some(self.0.pytorch_images().repository()),
            NGC => Some(self.0.ngc_images().repository()),
            "python" => Some(self.0.python_images().repository()),
            _ => self.0.plain_images().iter().map(|one| &one.repository).find(|row| row.name == name),
        }
    }

    /// Tags that were looked for in complete lists and are not there.
    pub fn absent(self) -> &'c [AbsentTag] {
        self.0.cuda_images().absent()
    }

    /// The torch of every image of [`NGC`] of which it is known for which CUDA and Python it was built.
    pub fn torches(self) -> impl Iterator<Item = (&'c Image, &'c Release)> {
        self.0.ngc_images().torches()
    }

    /// Looks up any reference: `nvidia/cuda`, `docker.io/library/python:3.12`, `nvidia/cuda:12.1-base`.
    pub fn exists(self, reference: &str) -> Existence<'c> {
        let reference = reference.trim();
        if reference.contains('@') {
            return Existence::Unknown { why: "the catalog knows tags, not digests".to_owned() };
        }
        let (repository, tag) = split(reference);
        let tag = tag.unwrap_or("latest");
        if let Some(image) = self.of(repository).iter().find(|image| image.tag == tag) {
            return Existence::Yes(image);
        }
        let full = format!("{repository}:{tag}");
        if let Some(row) = self.absent().iter().find(|row| row.reference == full) {
            return Existence::No { why: row.why.clone(), source: row.source.clone() };
        }
        match repository {
            "nvidia/cuda" => self.0.cuda_images().missing(tag),
            "pytorch/pytorch" => self.0.pytorch_images().missing(tag),
            NGC => self.0.ngc_images().missing(tag),
            "python" => self.0.python_images().missing(tag),
            _ if REPOSITORIES.contains(&repository) => {
                Existence::Unknown { why: "none of the lists that were read has it".to_owned() }
            }
            _ => Existence::Unknown { why: format!("{repository} is not in the catalog") },
        }
    }

    /// Up to three images of the same repository that differ least from a reference: first one for each way
    /// to differ (another patch, another system, another CUDA, …), then whatever is near. Empty for a
    /// repository that is not in the catalog.
    pub fn nearest(self, reference: &str) -> Vec<&'c Image> {
        let (repository, tag) = split(reference.trim());
        nearest::nearest(self.of(repository), tag.unwrap_or("latest"))
    }
}
