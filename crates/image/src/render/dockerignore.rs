//! `.dockerignore`: what of the build context the image takes, and nothing else.

use serde::Serialize;

use super::{fill, header};
use crate::plan::{LOCKED, Plan};
use diagnostic::error::Error;

const TEMPLATE: &str = include_str!("../../../../templates/dockerignore.hbs");

#[derive(Debug, Serialize)]
struct Values {
    header: String,
    taken: Vec<String>,
}

/// The file of a plan.
pub fn dockerignore(plan: &Plan) -> Result<String, Error> {
    let locked = LOCKED.into_iter().filter(|_| plan.locked.is_some());
    let sources = plan.sources.iter().map(|path| path.trim_start_matches("./").trim_end_matches('/'));
    let taken = locked
        .chain(sources)
        .map(|path| if path == "." || path.is_empty() { "**" } else { path }.to_owned())
        .collect();
    fill("dockerignore.hbs", TEMPLATE, &Values { header: header(plan), taken })
}
