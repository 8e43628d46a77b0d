//! Looks a name up in the catalog: whether it exists, what it is, and its alternatives:
//! `torch==2.6.0+cu121`, `cu121`, `numpy 1.26.4`, `cuda 12.7`, `driver 550`, `h100`, `sm_90`,
//! `nvidia/cuda:12.1-base`, `NCCL_SOCKET_IFNAME`, the id of a constraint.

mod asked;
mod cpu_build;
mod cuda;
mod driver;
mod gpu;
mod image;
mod nccl;
mod package;
mod python;
mod torch;
mod variable;
mod why;

pub use asked::{Answer, NotInCatalog, Together, asked};
pub use why::{WhyError, why};

use super::constraints::CONSTRAINTS;
use super::parse;
use super::universe::Universe;
use catalog::images;
use catalog::torch::CudaBuild;
use diagnostic::words;

/// What the catalog knows about a name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explanation {
    /// `torch 2.6.0+cu121`.
    pub title: String,
    /// Whether it exists and what it is, in a sentence or two.
    pub summary: String,
    /// The nearest things that exist, one a line.
    pub alternatives: Vec<String>,
    /// Further facts: label and text.
    pub rows: Vec<(String, String)>,
    /// Where the facts come from.
    pub sources: Vec<String>,
}

impl Explanation {
    fn new(title: impl Into<String>, summary: impl Into<String>) -> Explanation {
        Explanation { title: title.into(), summary: summary.into(), ..Explanation::default() }
    }

    fn row(&mut self, label: &str, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.rows.push((label.to_owned(), text));
        }
    }

    fn alternative(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.alternatives.contains(&text) {
            self.alternatives.push(text);
        }
    }

    /// Adds sources that it does not have yet.
    fn sources<'s>(&mut self, sources: impl IntoIterator<Item = &'s str>) {
        for source in sources {
            if !self.sources.iter().any(|known| known == source) {
                self.sources.push(source.to_owned());
            }
        }
    }
}

/// Names that may be followed by a version, besides packages.
const KINDS: &[&str] = &["torch", "cuda", "driver", "nccl", "python", "torchvision", "torchaudio"];

/// Looks a name up; `None`: the catalog knows nothing of that name, only [`names`].
pub fn explain(universe: &Universe, text: &str) -> Option<Explanation> {
    let text = text.trim();
    if let Some(constraint) = CONSTRAINTS.iter().find(|constraint| constraint.id == text) {
        let summary = format!("A constraint of `envdoc resolve`. {}", constraint.description);
        let mut explanation = Explanation::new(constraint.id, summary);
        explanation.sources(constraint.sources.iter().copied());
        return Some(explanation);
    }
    let variable = universe.catalog.variable(text);
    if let Some(variable) = variable.or_else(|| universe.catalog.variable(&text.to_ascii_uppercase())) {
        return Some(variable::explain(variable));
    }
    if image::is_reference(text) {
        return Some(image::explain(universe, text));
    }
    if let Some(explanation) = gpu::explain(universe, text) {
        return Some(explanation);
    }
    if let Some(system) = parse::system(universe.catalog, text) {
        return Some(python::system(universe, system));
    }
    if let Some(explanation) = python::other_release(universe, text) {
        return Some(explanation);
    }
    if let Some(preset) = universe.catalog.presets().preset(text) {
        return Some(package::preset(preset));
    }
    let (name, version) = split(text);
    if let Some(cuda) = CudaBuild::parse(&name).filter(|_| version.is_empty()).and_then(CudaBuild::cuda) {
        return Some(cuda::explain(universe, &cuda));
    }
    match name.as_str() {
        "torch" | "pytorch" => Some(torch::explain(universe, version)),
        "torchvision" | "torchaudio" => Some(torch::partner(universe, &name, version)),
        "cuda" | "cuda-toolkit" => Some(cuda::explain(universe, version)),
        "driver" | "nvidia-driver" => Some(driver::explain(universe, version)),
        "nccl" | "nvidia-nccl-cu11" | "nvidia-nccl-cu12" | "nvidia-nccl-cu13" => {
            Some(nccl::explain(universe, version))
        }
        "python" => Some(python::explain(universe, version)),
        _ => universe.package(&name).map(|package| package::explain(universe, package, version)),
    }
}

/// Name and version: `torch==2.6.0`, `torch=2.6.0`, `torch 2.6.0`, `Flash_Attn`; the version is empty where
/// there is none.
fn split(text: &str) -> (String, &str) {
    let end =
        text.find(|letter: char| letter.is_whitespace() || "=<>~!@".contains(letter)).unwrap_or(text.len());
    let (name, version) = text.split_at(end);
    let version = version.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '=').trim();
    (name.to_ascii_lowercase().replace(['_', '.'], "-"), version.strip_prefix('v').unwrap_or(version))
}

/// `driver 550`, for a branch that was written alone.
pub fn driver_branch(universe: &Universe, text: &str) -> Option<String> {
    let branch = universe.catalog.drivers().branch(text.parse().ok()?)?;
    Some(format!("driver {}", branch.branch))
}

/// Whether two versions are one: `0.21` is `0.21.0` (PEP 440).
fn same(one: &str, other: &str) -> bool {
    let parse = |text: &str| text.parse::<pep440_rs::Version>().ok();
    one == other || parse(one).is_some_and(|number| parse(other) == Some(number))
}

/// The numbers of a version (`13.4.0` of `13.4.0rc1`, `2.26.2` of `2.26.2.post1`), and what PEP 440 calls it
/// where it is no plain release.
fn numbers(text: &str) -> Option<(catalog::version::Version, Option<&'static str>)> {
    if let Some(plain) = catalog::version::Version::parse(text) {
        return Some((plain, None));
    }
    let version: pep440_rs::Version = text.parse().ok()?;
    let numbers: Vec<String> = version.release().iter().map(u64::to_string).collect();
    let kind = match (version.any_prerelease(), version.is_post()) {
        (true, _) => Some("a pre-release"),
        (false, true) => Some("a post-release"),
        (false, false) => None,
    };
    Some((catalog::version::Version::parse(&numbers.join("."))?, kind))
}

/// Every name that [`explain`] knows without a version, for "did you mean".
pub fn names(universe: &Universe) -> impl Iterator<Item = &'static str> + '_ {
    let aliases = universe.catalog.gpus().all().iter().flat_map(|gpu| gpu.aliases.iter().map(String::as_str));
    let constraints = CONSTRAINTS.iter().map(|constraint| constraint.id);
    let systems = universe.catalog.systems();
    let codenames = systems.all().iter().filter_map(|system| system.codename.as_deref());
    let others = systems.other_releases().iter().map(|release| release.codename.as_str());
    let systems = systems.all().iter().map(|system| system.id.as_str()).chain(codenames).chain(others);
    KINDS
        .iter()
        .copied()
        .chain(universe.package_names())
        .chain(images::REPOSITORIES.iter().copied())
        .chain(constraints)
        .chain(systems)
        .chain(universe.catalog.presets().all().iter().map(|preset| preset.name.as_str()))
        .chain(aliases)
}

/// Python series in words, without the free-threaded builds: `3.10 to 3.14`.
fn plain(pythons: &[String]) -> String {
    let plain: Vec<&String> = pythons.iter().filter(|one| !one.ends_with('t')).collect();
    words::span(&plain)
}

#[cfg(test)]
mod tests;
