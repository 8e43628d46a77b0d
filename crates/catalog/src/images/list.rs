//! The shape that every file of images has, and its reader.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::super::file::{self, Contents, Rows, SharedSources};
use super::super::torch::Release;
use super::existence::Existence;
use super::image::{AbsentTag, Image, Repository};

/// A row of a repository: some tags, and how they are written.
pub(crate) trait Row: file::Row + DeserializeOwned {
    /// See [`Contents::NAME`].
    const NAME: &'static str;
    /// See [`Contents::TEXT`].
    const TEXT: &'static str;

    /// Reads what the keys of its sources say, before they are written out in full.
    fn read_sources(&mut self) {}

    /// Its tags.
    fn images(&self) -> Vec<Image>;

    /// The torch of an image that is no release of PyTorch.
    fn torch_of(_image: &Image) -> Option<Release> {
        None
    }

    /// What the lists say of a tag that is not in them.
    fn missing(list: &List<Self>, tag: &str) -> Existence<'static>;
}

/// The images of one repository: a file of `catalog/images`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List<R> {
    checked: String,
    sources: SharedSources,
    pub(super) repository: Repository,
    /// Tags that were looked for in complete lists and are not there.
    #[serde(default)]
    absent: Vec<AbsentTag>,
    /// Tags that somebody named and nobody confirmed.
    #[serde(default)]
    unconfirmed: Vec<AbsentTag>,
    pub(super) rows: Vec<R>,
    /// Every tag, in the order of the rows.
    #[serde(skip)]
    images: Vec<Image>,
    /// The torch of every image of which it is known for which CUDA and which Python it was built, after the
    /// image's place in `images`.
    #[serde(skip)]
    torches: Vec<(usize, Release)>,
}

impl<R: Row> Contents for List<R> {
    const NAME: &'static str = R::NAME;
    const TEXT: &'static str = R::TEXT;
}

impl<R: Row> file::Sourced for List<R> {
    fn rows(&mut self) -> Vec<&mut dyn file::Row> {
        file::tables([
            self.rows.all_rows(),
            self.absent.all_rows(),
            self.unconfirmed.all_rows(),
            self.repository.all_rows(),
        ])
    }

    fn complete(&mut self) {
        self.rows.iter_mut().for_each(R::read_sources);
        let (day, sources) = (self.checked.clone(), self.sources.clone());
        file::complete(self.rows(), &day, &sources);
        self.images = self.rows.iter().flat_map(R::images).collect();
        let torch = |(index, image)| Some((index, R::torch_of(image)?));
        self.torches = self.images.iter().enumerate().filter_map(torch).collect();
    }
}

impl<R: Row> List<R> {
    pub(crate) fn images(&self) -> &[Image] {
        &self.images
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    pub(crate) fn absent(&self) -> &[AbsentTag] {
        &self.absent
    }

    pub(crate) fn unconfirmed(&self) -> &[AbsentTag] {
        &self.unconfirmed
    }

    pub(crate) fn torches(&self) -> impl Iterator<Item = (&Image, &Release)> {
        self.torches.iter().map(|(index, release)| (&self.images[*index], release))
    }

    /// What the lists say of a tag that is not in them.
    pub(crate) fn missing(&self, tag: &str) -> Existence<'static> {
        R::missing(self, tag)
    }
}
