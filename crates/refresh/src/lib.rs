//! What the world has and the catalog has not: asked of a package index, the PyTorch wheel index and image
//! registries.
//!
//! In: the catalog and what indexes and registries answer. Out: new texts of catalog files.
//!
//! New releases become rows. A row that breaks a rule is refused, named, and the rest goes on; what cannot be
//! reached is said and is no failure of the others. Texts are only added to: comments and all other rows
//! stay.

pub mod address;
mod edit;
pub mod error;
pub mod fuzzing;
pub mod index;
mod packages;
pub mod page;
pub(crate) mod release;
pub mod requirements;
pub mod rows;
mod tables;
mod torch;

use catalog::Catalog;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::index::Index;
use crate::page::DistFile;
use catalog::embedded;
use catalog::rules::{self, Broken};
use docker::registry::Client;

/// A row that is to be added, or lines that are to be added to one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    key: String,
    table: &'static str,
    index: usize,
    row: String,
    /// The row to which the lines are added; `None`: they are a row of their own.
    adds_to: Option<usize>,
}

/// What is new for one file.
#[derive(Debug, Default)]
struct News {
    rows: Vec<Candidate>,
    notes: Vec<String>,
}

/// What to ask for, and of whom.
pub struct Request<'r> {
    /// The package indexes.
    pub urls: Vec<String>,
    pub client: &'r Client,
    /// Files to refresh (`torch.yaml`); empty: all that can be.
    pub only: Vec<String>,
    /// The day, which new rows bear.
    pub today: String,
    /// The texts that are added to.
    pub texts: BTreeMap<String, String>,
    /// Called with what is asked next.
    pub progress: fn(&str),
    /// The images that are known.
    pub catalog: &'static Catalog,
    /// The PyTorch wheel index, with `{build}` for the build.
    pub wheel_index: String,
    /// The image registries: repository and registry.
    pub registries: Vec<(String, String)>,
}

/// A row that was added, or added to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// Path below `catalog/`: `torch.yaml`.
    pub file: String,
    /// What names the row in its file: a version (`2.6.0`) or a tag.
    pub key: String,
    /// Its text, or the lines that were added to it.
    pub text: String,
    /// Whether the row was there before.
    pub changed: bool,
}

#[derive(Debug, Default)]
pub struct Outcome {
    /// The new texts of the files that changed.
    pub texts: BTreeMap<String, String>,
    /// New rows, and rows that grew.
    pub added: Vec<Added>,
    /// Rows that break rules, and are not in the texts.
    pub refused: Vec<Broken>,
    /// Remarks, one a line.
    pub notes: Vec<String>,
    /// How many of those who were asked answered.
    pub answered: usize,
    /// How many were asked.
    pub asked: usize,
}

/// PyTorch's wheel index of one CUDA build: `{build}` is `cu124`.
pub const WHEEL_INDEX: &str = "https://download.pytorch.org/whl/{build}";

/// Files that a refresh has something to ask for, in the order in which they are asked: what others name
/// comes first.
pub fn files() -> Vec<String> {
    let first = ["cuda.yaml", "nccl.yaml", "torch.yaml", "deepspeed.yaml"].map(str::to_owned);
    let packages = catalog::packages::names().map(|name| format!("packages/{name}.yaml"));
    first.into_iter().chain(packages).chain([IMAGES.to_owned()]).collect()
}

/// Stands for the tags of all images.
const IMAGES: &str = "images";

/// Asks, and makes rows of the answers.
pub fn refresh(request: &Request<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let index = Index { client: request.client, urls: request.urls.clone() };
    let wheels = WheelIndex {
        client: request.client,
        url: request.wheel_index.clone(),
        pages: RefCell::default(),
        failed: RefCell::default(),
    };
    let newest = newest_python(request);
    let wanted = |file: &str| request.only.is_empty() || request.only.iter().any(|only| only == file);
    for file in files().into_iter().filter(|file| wanted(file)) {
        (request.progress)(&file);
        if file == IMAGES {
            tags(request, &mut outcome);
            continue;
        }
        let Some(base) = request.texts.get(&file) else { continue };
        let news = match file.as_str() {
            "cuda.yaml" => tables::cuda(&index, base, &request.today),
            "nccl.yaml" => tables::nccl(&index, base, &request.today, &[12, 13]),
            "torch.yaml" => torch::torch(&index, &|build| wheels.files(build), base, &request.today, newest),
            "deepspeed.yaml" => tables::deepspeed(&index, base, &request.today),
            _ => packages::news(&index, base, &request.today, newest),
        };
        outcome.asked += 1;
        match news {
            Ok(news) => {
                outcome.answered += 1;
                outcome.take(&file, base, news, request);
            }
            Err(why) => outcome.notes.push(format!("{file} could not be refreshed: {why}")),
        }
    }
    if let Some(why) = wheels.failed.take() {
        outcome.notes.push(format!("could not query the PyTorch wheel index: {why}"));
    }
    outcome
}

/// The newest minor of Python 3 that some torch has wheels for.
fn newest_python(request: &Request<'_>) -> u32 {
    newest_with_wheels(request.texts.get("torch.yaml").map(String::as_str).unwrap_or_default()).unwrap_or(14)
}

/// The newest minor of Python 3 with wheels in a text of torch.yaml: of its lists of Pythons alone, since
/// `triton_python_below: "3.16"` names one without wheels.
pub fn newest_with_wheels(text: &str) -> Option<u32> {
    let lists = text.split("pythons: [").skip(1).filter_map(|after| after.split(']').next());
    let pythons = lists
        .flat_map(|list| list.split('"'))
        .filter_map(|part| part.strip_prefix("3.")?.trim_end_matches('t').parse().ok());
    pythons.filter(|minor| *minor < 100).max()
}

impl Outcome {
    /// Adds the rows that keep the rules, one after the other.
    fn take(&mut self, file: &str, base: &str, news: News, request: &Request<'_>) {
        self.notes.extend(news.notes.iter().map(|note| format!("{} {note}", file.trim_end_matches(".yaml"))));
        let mut text = base.to_owned();
        for candidate in news.rows {
            // Rows that were refused leave later ones one place further up than they were meant to be.
            let edited = match candidate.adds_to {
                Some(row) => edit::extend(&text, candidate.table, row, &candidate.row),
                None => edit::insert(&text, candidate.table, candidate.index, &candidate.row),
            };
            let Some(edited) = edited else { continue };
            let others = |name: &str| self.text(name, request).map(Cow::Owned);
            let broken = rules::broken(file, &edited, &others);
            if broken.is_empty() {
                text = edited;
                self.added.push(Added {
                    file: file.to_owned(),
                    key: candidate.key,
                    text: candidate.row,
                    changed: candidate.adds_to.is_some(),
                });
            } else {
                self.refused
                    .extend(broken.into_iter().map(|one| Broken { row: candidate.key.clone(), ..one }));
            }
        }
        if text != base {
            self.texts.insert(file.to_owned(), text);
        }
    }

    fn text(&self, name: &str, request: &Request<'_>) -> Option<String> {
        let known = self.texts.get(name).or_else(|| request.texts.get(name)).cloned();
        known.or_else(|| embedded::file_named(name).map(|file| file.text.to_owned()))
    }
}

/// The PyTorch wheel index; asked for each build once, and not again once it did not answer.
struct WheelIndex<'c> {
    client: &'c Client,
    url: String,
    pages: RefCell<BTreeMap<String, Vec<DistFile>>>,
    failed: RefCell<Option<Error>>,
}

impl WheelIndex<'_> {
    fn files(&self, build: &str) -> Option<Vec<DistFile>> {
        if let Some(files) = self.pages.borrow().get(build) {
            return Some(files.clone());
        }
        if self.failed.borrow().is_some() {
            return None;
        }
        let index = Index { client: self.client, urls: vec![self.url.replace("{build}", build)] };
        match index.project("torch") {
            Ok(files) => {
                let files = files.unwrap_or_default();
                self.pages.borrow_mut().insert(build.to_owned(), files.clone());
                Some(files)
            }
            Err(why) => {
                *self.failed.borrow_mut() = Some(why);
                None
            }
        }
    }
}

/// Says which tags the registries have and the catalog has not. They become no rows: what an image brings,
/// its tag does not tell.
fn tags(request: &Request<'_>, outcome: &mut Outcome) {
    for (repository, registry) in &request.registries {
        outcome.asked += 1;
        match request.client.tags(registry, repository) {
            Err(why) => outcome.notes.push(format!("could not query the tags of {repository}: {why}")),
            Ok(tags) => {
                outcome.answered += 1;
                let known: BTreeSet<&str> =
                    request.catalog.images().of(repository).iter().map(|image| image.tag.as_str()).collect();
                let new: Vec<&str> =
                    tags.iter().map(String::as_str).filter(|tag| !known.contains(tag)).collect();
                if known.is_empty() || new.is_empty() {
                    continue;
                }
                let shown = new.iter().rev().take(10).copied().collect::<Vec<_>>().join(", ");
                outcome.notes.push(format!(
                    "{repository} has {} tags that are not in the catalog: {shown}",
                    new.len()
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_newest_python_is_one_with_wheels() {
        let row =
            "- version: \"2.15.0\"\n  pythons: [\"3.11\",\n   \"3.15t\"]\n  triton_python_below: \"3.16\"\n";
        assert_eq!(super::newest_with_wheels(row), Some(15));
        assert_eq!(super::newest_with_wheels(""), None);
    }
}
