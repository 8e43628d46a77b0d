//! What to read where folders are named.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::Source;
use diagnostic::error::Error;
use host::file;

/// Endings of files that are no logs.
const NO_LOGS: &[&str] = &[
    "arrow",
    "bin",
    "bz2",
    "ckpt",
    "gguf",
    "gif",
    "h5",
    "idx",
    "jpeg",
    "jpg",
    "mp4",
    "npy",
    "npz",
    "onnx",
    "parquet",
    "pdf",
    "png",
    "pt",
    "pth",
    "py",
    "pyc",
    "safetensors",
    "so",
    "sqlite",
    "tar",
    "tfrecord",
    "tgz",
    "webp",
    "whl",
    "xz",
    "zip",
];

/// The sources that paths stand for: files, folders with all that is below them and the files that
/// links in them lead to, `-` for standard input. Links to folders are not followed. Hidden files
/// and what is plainly no log are left out of folders, which one source per folder says.
pub fn sources(paths: &[PathBuf]) -> Result<Vec<Source>, Error> {
    let mut sources = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            sources.push(Source::Standard);
            continue;
        }
        let below = match file::below(path) {
            Ok(Some(below)) => below,
            Ok(None) => {
                sources.push(Source::File(path.clone()));
                continue;
            }
            Err(error) if paths.len() > 1 => {
                sources.push(unreadable(path, &error));
                continue;
            }
            Err(error) => return Err(host::file::unreadable(path, &error)),
        };
        sources.extend(below.unreadable.iter().map(|(folder, error)| unreadable(folder, error)));
        let (mut hidden, mut others) = (0, Vec::new());
        let real: BTreeSet<PathBuf> =
            below.files.iter().filter_map(|file| file::canonical(file).ok()).collect();
        // `latest.log` is a link to one of the others; in /var/log/containers of Kubernetes all are links.
        let links = below.others.into_iter().filter(|link| !file::is_directory(link));
        let links = links.filter(|link| file::canonical(link).map_or(true, |target| !real.contains(&target)));
        for file in below.files.into_iter().chain(links) {
            let relative = file.strip_prefix(path).unwrap_or(&file);
            let ending = file.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
            if relative.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b".")) {
                hidden += 1;
            } else if let Some(ending) = ending.filter(|ending| NO_LOGS.contains(&ending.as_str())) {
                others.push(ending);
            } else {
                sources.push(Source::File(file));
            }
        }
        let mut why = Vec::new();
        if hidden > 0 {
            why.push(format!("{hidden} hidden files not read"));
        }
        if !others.is_empty() {
            let count = others.len();
            others.sort();
            others.dedup();
            why.push(format!("{count} files without a log extension not read (.{})", others.join(", .")));
        }
        if !why.is_empty() {
            sources.push(Source::LeftOut { name: path.display().to_string(), why });
        }
    }
    Ok(sources)
}

fn unreadable(path: &Path, error: &io::Error) -> Source {
    Source::Unreadable { name: path.display().to_string(), why: error.to_string() }
}
