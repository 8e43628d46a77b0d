//! Container images.

use super::Explanation;
use crate::universe::Universe;
use catalog::images::{self, Existence, Flavour, Image};

/// Whether a text names an image: a repository of the catalog, or anything with a path and a tag. `python`
/// alone is the language.
pub(super) fn is_reference(text: &str) -> bool {
    let known = images::REPOSITORIES.contains(&images::split(text).0);
    !text.contains(char::is_whitespace) && (text.contains('/') || (known && text != "python"))
}

pub(super) fn explain(universe: &Universe, reference: &str) -> Explanation {
    if let Some(repository) = universe.catalog.images().repository(reference) {
        return self::repository(universe, repository);
    }
    let mut explanation = match universe.catalog.images().exists(reference) {
        Existence::Yes(image) => return one(image),
        Existence::No { why, source } => {
            let mut explanation = Explanation::new(reference, format!("There is no such image: {why}."));
            explanation.sources(source.iter());
            explanation
        }
        Existence::Unknown { why } => Explanation::new(reference, format!("Not known: {why}.")),
    };
    for near in universe.catalog.images().nearest(reference) {
        explanation.alternative(near.reference());
        explanation.sources(near.source.iter());
    }
    explanation
}

fn repository(universe: &Universe, repository: &images::Repository) -> Explanation {
    let count = universe.catalog.images().of(&repository.name).len();
    let mut explanation = Explanation::new(
        &repository.name,
        format!("An image repository; the catalog knows {count} of its tags."),
    );
    explanation.row("tags", repository.scheme.clone());
    let newest: Vec<String> = universe
        .catalog
        .images()
        .of(&repository.name)
        .iter()
        .rev()
        .take(3)
        .map(|image| image.tag.clone())
        .collect();
    explanation.row("newest", newest.join(", "));
    explanation.sources(repository.source.iter());
    explanation
}

fn one(image: &Image) -> Explanation {
    let seen = if image.seen.is_empty() { String::new() } else { format!("; last seen {}", image.seen) };
    let mut explanation = Explanation::new(image.reference(), format!("Exists{seen}."));
    let contents = match image.flavour {
        Flavour::Base => "the CUDA runtime alone",
        Flavour::Runtime => "the CUDA libraries, no compiler",
        Flavour::Devel => "the CUDA libraries, nvcc and headers",
        Flavour::Plain => "no CUDA",
    };
    explanation.row("contains", contents);
    explanation.row("CUDA", image.cuda.clone().unwrap_or_default());
    let cudnn = match (&image.cudnn, image.has_cudnn) {
        (Some(version), _) => version.clone(),
        (None, Some(true)) => "yes, version unknown".to_owned(),
        (None, Some(false)) => "none".to_owned(),
        (None, None) => "not known".to_owned(),
    };
    explanation.row("cuDNN", cudnn);
    explanation.row("NCCL", image.nccl.clone().unwrap_or_default());
    explanation.row("system", image.system.clone().unwrap_or_else(|| "not known".to_owned()));
    explanation.row("Python", image.python.clone().unwrap_or_default());
    explanation.row("torch", image.torch.clone().unwrap_or_default());
    explanation
        .row("driver", image.driver_min.as_ref().map_or(String::new(), |one| format!("{one} or newer")));
    explanation.row("processors", image.architectures.as_ref().map_or(String::new(), |list| list.join(", ")));
    explanation.sources(image.source.iter());
    explanation
}
