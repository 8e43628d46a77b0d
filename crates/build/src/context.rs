//! What is sent to the engine: the files of a plan, or the user's own Dockerfile with its directory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use diagnostic::error::{Error, Kind};
use docker::context::Context;
use host::file;
use image::plan::Plan;
use image::render;

/// Path in the context of a Dockerfile that lies outside it.
const DOCKERFILE_FROM_OUTSIDE: &str = ".envdoc/Dockerfile";

/// The files of a plan; the user's directory only where something is copied from it.
pub(crate) fn of_plan(plan: &Plan, directory: &Path) -> Result<Context, Error> {
    let mut context = Context { dockerfile: "Dockerfile".into(), ..Context::default() };
    for file in render::files(plan)? {
        match file.path.as_str() {
            ".dockerignore" => context.ignore = Some(file.text),
            _ => context.files.push((file.path, file.text.into_bytes())),
        }
    }
    if !plan.sources.is_empty() {
        context.folder = Some(absolute(directory)?);
    }
    Ok(context)
}

/// The secrets of a plan, by their ids.
pub(crate) fn secrets_of_plan(plan: &Plan) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let secret = |secret: &image::plan::Secret| {
        let bytes = match &secret.text {
            Some(text) => text.bytes(),
            None => file::read_bytes(secret.from.as_ref())?,
        };
        Ok((secret.id.clone(), bytes))
    };
    plan.secrets.iter().map(secret).collect()
}

/// The user's own Dockerfile and directory.
pub(crate) fn of_dockerfile(dockerfile: &Path, directory: &Path) -> Result<Context, Error> {
    let folder = absolute(directory)?;
    let path = absolute_dockerfile(dockerfile)?;
    // A Dockerfile's own .dockerignore comes before that of the directory.
    let ignore = file::read(&PathBuf::from(format!("{}.dockerignore", path.display())))?;
    let mut context = Context { folder: Some(folder.clone()), ignore, ..Context::default() };
    match path.strip_prefix(&folder).ok().and_then(Path::to_str) {
        Some(relative) => context.dockerfile = relative.to_owned(),
        None => {
            let text = file::read(&path)?.unwrap_or_default();
            context.files.push((DOCKERFILE_FROM_OUTSIDE.to_owned(), text.into_bytes()));
            context.dockerfile = DOCKERFILE_FROM_OUTSIDE.to_owned();
        }
    }
    Ok(context)
}

/// The context's directory, as an absolute path; an error where it is none.
pub(crate) fn absolute(directory: &Path) -> Result<PathBuf, Error> {
    let wrong = |why: String| Error::new(Kind::File, format!("build context `{}`{why}", directory.display()));
    let folder = file::canonical(directory).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => wrong(": no such directory".into()),
        _ => wrong(format!(": {error}")),
    })?;
    match file::is_directory(&folder) {
        true => Ok(folder),
        false => Err(wrong(" is not a directory".into())),
    }
}

/// A Dockerfile, as an absolute path; an error where there is none.
pub(crate) fn absolute_dockerfile(path: &Path) -> Result<PathBuf, Error> {
    file::canonical(path).map_err(|error| file::unreadable(path, &error))
}
