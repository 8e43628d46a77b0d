//! `images/NAME/request.yaml` on this machine.

use std::path::Path;

use diagnostic::error::Error;
use host::file;
use image::render::Built;
use image::request::ImageRequest;
use resolve::parse;
use resolve::request::RequirementKind;
use resolve::universe::Universe;

/// Reads a request file; paths in it are relative to it.
pub fn read(path: &Path) -> Result<ImageRequest, Error> {
    let name = path.display().to_string();
    let Some(text) = file::read(path)? else {
        return Err(file::missing(path));
    };
    let mut request = ImageRequest::parse(&name, &text)?;
    let directory = path.parent().unwrap_or(Path::new("."));
    for file in request.from.iter_mut().chain(&mut request.ca_certificates) {
        *file = directory.join(&*file).display().to_string();
    }
    if request.name.is_none() {
        // images/rl/request.yaml is rl, recipes/rl.yaml too.
        let stem = path.file_stem().filter(|stem| *stem != "request").or(directory.file_name());
        request.name = stem.map(|name| image_name(&name.to_string_lossy())).filter(|name| !name.is_empty());
    }
    request.origin = Some(name);
    Ok(request)
}

/// How a pipeline builds the image of a request file.
pub fn built(universe: &Universe, path: &Path) -> Result<Built, Error> {
    let request = read(path)?;
    let requirements = parse::requirements(universe, &request.stack_options())?.requirements;
    let of_gpu = requirements.iter().find_map(|requirement| match &requirement.kind {
        RequirementKind::Gpu(gpu) => gpu.processor.as_deref(),
        _ => None,
    });
    let context = path.parent().map(|dir| dir.display().to_string()).filter(|dir| !dir.is_empty());
    Ok(Built {
        platforms: request.platforms(of_gpu).join(","),
        name: request.name.unwrap_or_default(),
        context: context.unwrap_or_else(|| ".".into()),
    })
}

/// The name of an image after a file or directory, which may have any characters: `My model` is `my-model`.
fn image_name(of: &str) -> String {
    let mut name = String::new();
    for letter in of.chars() {
        let letter = match letter.is_ascii_alphanumeric() || "._".contains(letter) {
            true => letter.to_ascii_lowercase(),
            false => '-',
        };
        // One separator at a time, and none at the start.
        if letter.is_ascii_alphanumeric() || name.ends_with(|last: char| last.is_ascii_alphanumeric()) {
            name.push(letter);
        }
    }
    name.truncate(NAME_LIMIT);
    name.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric()).to_owned()
}

/// Letters of a name that is taken from a file or directory.
const NAME_LIMIT: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_name_is_sanitized_directory_name() {
        assert_eq!(image_name("rl-train.v2"), "rl-train.v2");
        assert_eq!(image_name("My model"), "my-model");
        assert_eq!(image_name(".tmp\nRUN x"), "tmp-run-x");
        assert_eq!(image_name("x..y__z--1"), "x.y_z-1");
        assert_eq!(image_name("模型"), "");
    }
}
