//! What a build is made from: a plan as files and expectations.

use std::collections::BTreeMap;

use super::Args;
use ::image::plan::Plan;
use ::image::render;
use ::image::report::Note;
use ::image::verify::Expectations;
use diagnostic::error::Error;
use docker::context::Context;
use resolve::answer::Stack;

/// The part of an order that depends on what is built.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) context: Context,
    pub(super) secrets: BTreeMap<String, Vec<u8>>,
    pub(super) expected: Expectations,
    pub(super) arguments: BTreeMap<String, String>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) platform: Option<String>,
    pub(super) needs_buildkit: Option<String>,
    pub(super) names: Vec<String>,
    pub(super) stack: Option<Stack>,
    pub(super) notes: Vec<Note>,
}

/// The source of a planned image.
pub(super) fn of(plan: &Plan, notes: Vec<String>, args: &Args) -> Result<Source, Error> {
    let mut context = Context { dockerfile: "Dockerfile".into(), ..Context::default() };
    for file in render::files(plan)? {
        match file.path.as_str() {
            ".dockerignore" => context.ignore = Some(file.text),
            _ => context.files.push((file.path, file.text.into_bytes())),
        }
    }
    let mut secrets = BTreeMap::new();
    for secret in &plan.secrets {
        let bytes = match &secret.text {
            Some(text) => text.bytes(),
            None => host::file::read_bytes(secret.from.as_ref())?,
        };
        secrets.insert(secret.id.clone(), bytes);
    }
    // The directory is only needed to copy from it.
    if !plan.sources.is_empty() {
        context.folder = Some(args.folder()?);
    }
    let warnings = plan.warnings.iter().map(|warning| Note::Warning(warning.says.clone()));
    Ok(Source {
        context,
        secrets,
        expected: plan.expectations.clone(),
        arguments: plan.build_args.iter().cloned().collect(),
        // The Dockerfile has them.
        labels: BTreeMap::new(),
        platform: plan.platform.clone(),
        needs_buildkit: plan.buildkit.clone(),
        names: vec![plan.name.clone()],
        stack: Some(plan.stack.clone()),
        notes: warnings.chain(notes.into_iter().map(Note::Info)).collect(),
    })
}
