//! A requirements file of what the image installs.

use serde::Serialize;

use super::{fill, header};
use crate::error::Error;
use crate::image::plan::Plan;

const TEMPLATE: &str = include_str!("../../templates/requirements.txt.hbs");

#[derive(Debug, Serialize)]
struct Values {
    header: String,
    python: String,
    links: Vec<String>,
    requirements: Vec<String>,
}

/// The file of a plan.
///
/// A CUDA build of torch that is not PyPI's stands on an index of its own, which holds old copies of other packages too: only the pages
/// of torch and its partners are named.
pub fn requirements(plan: &Plan) -> Result<String, Error> {
    let stack = &plan.stack;
    let partners = [
        ("torch", true),
        ("torchvision", stack.torchvision.is_some()),
        ("torchaudio", stack.torchaudio.is_some()),
    ];
    let links = stack.index_url.iter().flat_map(|url| {
        partners.iter().filter(|(_, there)| *there).map(move |(name, _)| format!("{url}/{name}/"))
    });
    let values = Values {
        header: header(plan),
        python: stack.python.clone(),
        links: links.collect(),
        requirements: plan.requirements.clone(),
    };
    fill("requirements.txt.hbs", TEMPLATE, &values)
}
