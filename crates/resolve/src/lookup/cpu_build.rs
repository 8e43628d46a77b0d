//! `envdoc explain torch==2.10.0+cpu`.

use super::{Explanation, plain};
use crate::universe::Universe;
use catalog::torch::Release;

/// The build without CUDA, which is next to the CUDA builds on the wheel index.
pub(super) fn explanation(universe: &Universe, release: &Release) -> Explanation {
    let torch = universe.catalog.torch();
    let title = format!("torch {}+{}", release.version, torch.cpu_build());
    let mut explanation = Explanation::new(title, "A CPU build: without CUDA, for machines without a GPU.");
    let pythons = release.cpu.as_ref().and_then(|build| build.pythons.as_deref()).map(plain);
    explanation.row("released", release.released.clone().unwrap_or_default());
    explanation.row("x86_64", format!("--index-url {}", torch.cpu_index_url()));
    explanation.row("Python", pythons.unwrap_or_else(|| "not known".to_owned()));
    let on_pypi = release.aarch64_build.as_deref() == Some(torch.cpu_build());
    let aarch64 = match &release.aarch64_pythons {
        Some(pythons) if on_pypi => format!("PyPI's wheels, for Python {}", plain(pythons)),
        _ => "not known".to_owned(),
    };
    explanation.row("aarch64", aarch64);
    explanation.row("stack", format!("`envdoc resolve --cuda cpu --torch {}`", release.version));
    explanation.sources(release.source.iter().chain([torch.index_source()]));
    explanation
}
