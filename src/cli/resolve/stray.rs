//! Requirements without their option.

use std::path::Path;

use catalog::Catalog;
use diagnostic::error::{Error, Kind};
use diagnostic::shell;
use host::file;
use resolve::parse;

/// A requirement that lacks its option: `torch==2.6` is `--torch 2.6`, `8xH100` is `--gpu H100`.
pub(super) fn unexpected(catalog: &Catalog, text: &str) -> Error {
    let error = Error::new(Kind::Usage, format!("unexpected argument '{}'", text.escape_debug()));
    if file::is_directory(Path::new(text)) {
        return error.hint(format!("write --project {}", shell::word(text)));
    }
    let without_count = text.trim_start_matches(|first: char| first.is_ascii_digit());
    let names = [Some(text), without_count.strip_prefix(['x', 'X'])].into_iter().flatten();
    if let Some(gpu) = names.into_iter().find(|name| catalog.gpus().by_alias(name).is_some()) {
        return error.hint(format!("write --gpu {}", shell::word(gpu)));
    }
    let name = parse::package_name(text);
    let rest = text.trim_start_matches(|first: char| first.is_ascii_alphanumeric() || "._-".contains(first));
    let version = rest.strip_prefix("==").unwrap_or(rest);
    match name.as_str() {
        "" => error,
        "torch" | "cuda" | "python" if !version.is_empty() => {
            error.hint(format!("write --{name} {}", shell::word(version)))
        }
        _ => error.hint(format!("write --with {}", shell::word(text))),
    }
}
