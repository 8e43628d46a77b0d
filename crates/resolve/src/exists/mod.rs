//! Does a thing exist, what is it, and what does instead? Answered from the catalog alone:
//! `torch==2.6.0+cu121`, `numpy 1.26.4`, `cuda 12.7`, `driver 550`, `h100`, `sm_90`, `nvidia/cuda:12.1-base`,
//! the id of a constraint.

mod cuda;
mod driver;
mod gpu;
mod image;
mod nccl;
mod package;
mod python;
mod torch;
mod why;

pub use why::{WhyError, why};

use super::constraints::CONSTRAINTS;
use super::world::World;
use catalog::images;

/// What is known of a thing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explanation {
    /// The thing: `torch 2.6.0+cu121`.
    pub title: String,
    /// Whether it exists and what it is, in a sentence or two.
    pub says: String,
    /// What does instead, each in a line.
    pub instead: Vec<String>,
    /// What else is known: label and text.
    pub rows: Vec<(String, String)>,
    /// Where this was read.
    pub sources: Vec<String>,
}

impl Explanation {
    fn new(title: impl Into<String>, says: impl Into<String>) -> Explanation {
        Explanation { title: title.into(), says: says.into(), ..Explanation::default() }
    }

    fn row(&mut self, label: &str, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.rows.push((label.to_owned(), text));
        }
    }

    fn instead(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.instead.contains(&text) {
            self.instead.push(text);
        }
    }

    fn source(&mut self, text: &str) {
        let parts = text.split("; ").filter(|part| !part.is_empty());
        for part in parts {
            if !self.sources.iter().any(|known| known == part) {
                self.sources.push(part.to_owned());
            }
        }
    }
}

/// Words that begin the name of a thing, besides packages.
const KINDS: &[&str] = &["torch", "cuda", "driver", "nccl", "python", "torchvision", "torchaudio"];

/// Explains a thing; `None` where nothing of that name is known: [`names`] are.
pub fn thing(world: &World, text: &str) -> Option<Explanation> {
    let text = text.trim();
    if let Some(constraint) = CONSTRAINTS.iter().find(|constraint| constraint.id == text) {
        let says = format!("A constraint of `envdoc resolve`. {}", constraint.says);
        let mut explanation = Explanation::new(constraint.id, says);
        explanation.source(constraint.source);
        return Some(explanation);
    }
    if image::is_reference(text) {
        return Some(image::explain(world, text));
    }
    if let Some(explanation) = gpu::explain(world, text) {
        return Some(explanation);
    }
    if let Some(system) =
        world.catalog.systems().all().iter().find(|system| system.id == text || system.name == text)
    {
        return Some(python::system(world, system));
    }
    if let Some(preset) = world.catalog.presets().preset(text) {
        return Some(package::preset(preset));
    }
    let (name, version) = split(text);
    match name.as_str() {
        "torch" | "pytorch" => Some(torch::explain(world, version)),
        "torchvision" | "torchaudio" => Some(torch::partner(world, &name, version)),
        "cuda" | "cuda-toolkit" => Some(cuda::explain(world, version)),
        "driver" | "nvidia-driver" => Some(driver::explain(world, version)),
        "nccl" => Some(nccl::explain(world, version)),
        "python" => Some(python::explain(world, version)),
        _ => world.package(&name).map(|package| package::explain(world, package, version)),
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

/// Every name that [`thing`] knows without a version, for "did you mean".
pub fn names(world: &World) -> impl Iterator<Item = &'static str> + '_ {
    let aliases = world.catalog.gpus().all().iter().flat_map(|gpu| gpu.aliases.iter().map(String::as_str));
    let constraints = CONSTRAINTS.iter().map(|constraint| constraint.id);
    let systems = world.catalog.systems().all().iter().map(|system| system.id.as_str());
    KINDS
        .iter()
        .copied()
        .chain(world.package_names())
        .chain(images::REPOSITORIES.iter().copied())
        .chain(constraints)
        .chain(systems)
        .chain(world.catalog.presets().all().iter().map(|preset| preset.name.as_str()))
        .chain(aliases)
}

#[cfg(test)]
mod tests;
