//! A plan as files.
//!
//! A template gets one struct without anything optional in it; every choice was made in the plan.

mod ci;
mod dockerfile;
mod dockerignore;
mod requirements;

use handlebars::Handlebars;
use serde::Serialize;

use crate::plan::{LOCKED, Plan};
use diagnostic::error::{Error, Kind};

/// Marker in the first lines of every rendered file.
pub const RENDERED_BY: &str = "rendered by envdoc";

/// A file of a build context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path in the build context: `Dockerfile`.
    pub path: String,
    pub text: String,
}

/// The files of a plan, the Dockerfile first.
pub fn files(plan: &Plan) -> Result<Vec<File>, Error> {
    let file = |path: &str, text: String| File { path: path.into(), text };
    let mut files = vec![file("Dockerfile", dockerfile(plan)?), file(".dockerignore", dockerignore(plan)?)];
    for (name, packages) in LOCKED.into_iter().zip(plan.locked.iter().flatten()) {
        files.push(file(name, requirements::locked(plan, packages)?));
    }
    Ok(files)
}

pub use ci::{Built, github, gitlab};
pub use dockerfile::dockerfile;
pub use dockerignore::dockerignore;
pub use requirements::{requirements, selected};

/// Renders a Handlebars template; a name that `values` lacks is an error.
pub fn fill<T: Serialize>(name: &str, template: &str, values: &T) -> Result<String, Error> {
    let mut handlebars = Handlebars::new();
    handlebars.set_strict_mode(true);
    handlebars.register_escape_fn(handlebars::no_escape);
    handlebars
        .render_template(template, values)
        .map_err(|error| Error::new(Kind::File, format!("templates/{name}: {error}")))
}

/// The words of the first line: `rendered by envdoc 0.1.0 from images/rl/request.yaml`.
fn header(plan: &Plan) -> String {
    let from = plan.origin.as_ref().map_or(String::new(), |origin| format!(" from {origin}"));
    format!("{RENDERED_BY} {}{from}", env!("CARGO_PKG_VERSION"))
}

/// Whether envdoc rendered a file, by its first line.
pub fn is_rendered(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.contains(RENDERED_BY))
}

/// A paragraph as lines that fit.
fn wrapped(text: &str) -> Vec<String> {
    textwrap::wrap(text, 116).into_iter().map(std::borrow::Cow::into_owned).collect()
}
