//! `.python-version`, which pyenv, uv and others read.

use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

use crate::declared::{Declared, Origin, PythonRange};
use crate::not_read::{NotRead, Reason};

/// The Python that the file names; `None` where it is empty. Of several lines the first counts.
///
/// # Errors
/// It names another interpreter than CPython, or an environment.
pub(crate) fn read(name: &str, text: &str) -> Result<Option<Declared<PythonRange>>, NotRead> {
    let content = text.trim_start_matches('\u{feff}');
    let mut offset = text.len() - content.len();
    for (index, whole) in content.split_inclusive('\n').enumerate() {
        let line = whole.split('#').next().unwrap_or_default();
        let word = line.trim();
        if !word.is_empty() {
            let start = offset + line.len() - line.trim_start().len();
            let Some((specifiers, written)) = specifiers(word) else {
                let reason = Reason::OtherInterpreter { name: word.to_owned() };
                return Err(NotRead { file: name.to_owned(), line: Some(index + 1), reason });
            };
            let origin = Origin {
                file: name.to_owned(),
                line: index + 1,
                span: Some(start + word.len() - written.len()..start + word.len()),
                text: written.to_owned(),
                ..Origin::default()
            };
            return Ok(Some(Declared { value: PythonRange { specifiers }, origin }));
        }
        offset += whole.len();
    }
    Ok(None)
}

/// `3.11`, `3.11.9`, `cpython-3.11`, `>=3.10`: the versions, and the part that names them.
fn specifiers(word: &str) -> Option<(VersionSpecifiers, &str)> {
    let starts = ["cpython@", "cpython-", "cpython", "python-", "python"];
    let version = starts.iter().find_map(|start| word.strip_prefix(start)).unwrap_or(word);
    if version.starts_with(['=', '<', '>', '~', '!']) {
        return Some((VersionSpecifiers::from_str(version).ok()?, version));
    }
    let number = Version::from_str(version.trim_end_matches("-dev")).ok()?;
    let exact = number.release().len() > 2;
    let text = if exact { format!("=={number}") } else { format!("=={number}.*") };
    Some((VersionSpecifiers::from_str(&text).ok()?, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_cpython() {
        for (text, expected) in [
            ("3.11\n", "==3.11.*"),
            ("# ours\r\n 3.11.9 \r\n3.12\r\n", "==3.11.9"),
            ("cpython-3.12\n", "==3.12.*"),
            (">=3.10,<3.13\n", ">=3.10, <3.13"),
            ("3.13-dev", "==3.13.*"),
        ] {
            let read = super::read(".python-version", text).unwrap().unwrap();
            assert_eq!(read.value.specifiers.to_string(), expected, "{text}");
            assert_eq!(text[read.origin.span.unwrap()], read.origin.text, "{text}");
        }
        assert_eq!(super::read(".python-version", "\n# none\n").unwrap(), None);
    }

    #[test]
    fn other_interpreters_and_environments() {
        for text in ["pypy3.10-7.3.12", "my-env", "system", "3.13t", "miniconda3-latest"] {
            let error = super::read(".python-version", text).unwrap_err();
            assert_eq!(error.reason, Reason::OtherInterpreter { name: text.to_owned() });
        }
    }
}
