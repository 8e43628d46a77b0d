//! Whether a setup.py compiles CUDA code in the build of an image.

use crate::read::dockerfile::Run;

/// What of the machine may leave the CUDA code out of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Makes {
    /// Nothing: the setup.py makes it in any case, or the image sets the switch for it.
    Always,
    /// It looks for CUDA, or reads variables that are not known as switches.
    WithCuda,
}

/// How a setup.py makes a CUDAExtension in the build of an image; `None` where it makes none, where it asks
/// for GPUs, of which a build has none, or where that is not known.
pub(crate) fn makes_extension(text: &str, run: &Run) -> Option<Makes> {
    if !text.contains("CUDAExtension") {
        return None;
    }
    let names = names(text);
    let code = || text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let calls = |line: &str| {
        names.iter().any(|name| {
            let mut places = line.match_indices(name.as_str());
            places.any(|(at, _)| line[at + name.len()..].starts_with('(') && !is_name(&line[..at]))
        })
    };
    if !code().any(calls) {
        return None;
    }
    let asks = ["is_available", "device_count"].iter().any(|word| text.contains(word));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let tests: Vec<(&str, Test)> =
        SWITCHES.iter().flat_map(|name| tests(&flat, name).into_iter().map(|test| (*name, test))).collect();
    if tests.is_empty() {
        let choice = ["CUDA_HOME", "environ", "getenv", "subprocess", "which("];
        let chooses = choice.iter().any(|word| text.contains(word));
        return (!asks).then_some(if chooses { Makes::WithCuda } else { Makes::Always });
    }
    let switched = tests.iter().any(|(name, test)| {
        let value = run.variable(name).and_then(|value| value.text);
        value.is_some_and(|value| !value.is_empty() && test.is_free() && test.holds(&value))
    });
    switched.then_some(Makes::Always)
}

/// Variables that setup.py files commonly take as a switch for CUDA code.
const SWITCHES: &[&str] = &["FORCE_CUDA", "WITH_CUDA", "BUILD_CUDA_EXT", "USE_CUDA"];

/// The most aliases, and the most tests of one variable, that are looked at.
const LIMIT: usize = 32;

/// CUDAExtension, and names that it is assigned to: `ext = CUDAExtension`, `Ext = CUDAExtension if …`.
fn names(text: &str) -> Vec<String> {
    let mut names = vec!["CUDAExtension".to_owned()];
    for line in text.lines().map(str::trim) {
        let Some((name, value)) = line.split_once('=') else { continue };
        let (name, value) = (name.trim(), value.trim());
        let whole = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let rest = value
            .rsplit_once("CUDAExtension")
            .filter(|(before, _)| before.is_empty() || before.ends_with('.'));
        let alone = rest.is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with(" if "));
        if whole && !name.is_empty() && alone && names.len() < LIMIT {
            names.push(name.to_owned());
        }
    }
    names
}

fn is_name(before: &str) -> bool {
    before.ends_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_')
}

/// The tests of a variable of the environment, in a text without line breaks.
fn tests<'t>(flat: &'t str, name: &str) -> Vec<Test<'t>> {
    let of = |quoted: String| {
        let places = flat.match_indices(quoted.as_str()).take(LIMIT);
        places.filter_map(|(at, _)| Test::read(flat, at, at + quoted.len())).collect::<Vec<_>>()
    };
    [format!("\"{name}\""), format!("'{name}'")].into_iter().flat_map(of).collect()
}

/// Whether the next statement begins, where the lines of a file are joined.
fn is_statement(after: &str) -> bool {
    after.starts_with(' ')
        && !["and", "if", "not", "in", "==", "!="]
            .iter()
            .any(|word| after.trim_start().split(' ').next() == Some(*word))
}

/// A test of an environment variable in a text without line breaks.
struct Test<'t> {
    /// What stands before it, without blanks at the end.
    before: &'t str,
    after: &'t str,
    /// The text that it is compared with; `None`: any value that is not empty.
    wanted: Option<&'t str>,
    /// Whether the value is read as a number.
    number: bool,
}

impl<'t> Test<'t> {
    /// Around the name between two places: `os.getenv("X", "0") == "1"`, `os.environ.get("X")`, `"X" in
    /// os.environ`; the same without `os.`, where it is imported from there.
    fn read(text: &'t str, start: usize, end: usize) -> Option<Test<'t>> {
        let (before, after) = (&text[..start], &text[end..]);
        let membership = [" in os.environ", " in environ"].iter().find_map(|head| after.strip_prefix(head));
        if let Some(rest) = membership {
            return Some(Test { before: before.trim_end(), after: rest, wanted: None, number: false });
        }
        let before = before.trim_end();
        let before =
            ["getenv(", "environ.get(", "environ["].iter().find_map(|head| before.strip_suffix(head))?;
        let before = before.strip_suffix("os.").unwrap_or(before);
        let close = after.find([')', ']'])?;
        let (mut before, mut after) = (before.trim_end(), &after[close + 1..]);
        let mut number = false;
        for head in ["int(", "bool(int("] {
            if let Some(outer) = before.strip_suffix(head) {
                number = true;
                before = outer.trim_end();
                after = after.trim_start_matches(')');
                break;
            }
        }
        let Some(rest) = after.strip_prefix(" == ") else {
            return Some(Test { before, after, wanted: None, number });
        };
        let quote = rest.chars().next().filter(|letter| matches!(letter, '"' | '\''));
        let (wanted, after) = match quote {
            Some(quote) => rest[1..].split_once(quote)?,
            None => rest.split_at(rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len())),
        };
        Some(Test { before, after, wanted: Some(wanted), number })
    }

    /// Whether nothing else has to hold with it: it stands alone or behind `or`.
    fn is_free(&self) -> bool {
        let free = ["if", "elif", "or", "(", "="].iter().any(|word| self.before.ends_with(word));
        let ends = [":", " or", " else", ")", " if"].iter().any(|end| self.after.starts_with(end));
        free && (ends || self.after.is_empty() || is_statement(self.after))
    }

    fn holds(&self, value: &str) -> bool {
        match self.wanted {
            Some(wanted) => wanted == value,
            None if self.number => value.parse::<i64>().is_ok_and(|number| number != 0),
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Context;
    use crate::read::dockerfile::Dockerfile;

    fn how(text: &str, environment: &str) -> Option<Makes> {
        let text_of_file = format!("FROM python:3.12\nENV {environment}\nRUN x\n");
        let file = Dockerfile::read(catalog::testing::catalog(), &text_of_file, &Context::new());
        makes_extension(text, &file.stages[0].runs[0])
    }

    fn makes(text: &str, environment: &str) -> bool {
        how(text, environment).is_some()
    }

    #[test]
    fn switches() {
        let body = "    ext = CUDAExtension\nsetup(ext_modules=[ext('a', ['a.cu'])])\n";
        let with = |head: &str| format!("ext = CppExtension\n{head}\n{body}");
        let or = with("if torch.cuda.is_available() or os.getenv(\n    'FORCE_CUDA', '0'\n) == '1':");
        assert!(makes(&or, "FORCE_CUDA=1"));
        assert!(!makes(&or, "FORCE_CUDA=0") && !makes(&or, "X=1"));
        let and = with("if torch.cuda.is_available() and os.getenv('FORCE_CUDA', '0') == '1':");
        assert!(!makes(&and, "FORCE_CUDA=1"));
        let turned = with("if os.getenv('FORCE_CUDA') == '1' and torch.cuda.is_available():");
        assert!(!makes(&turned, "FORCE_CUDA=1"));
        assert!(makes(&with("if 'WITH_CUDA' in os.environ:"), "WITH_CUDA=x"));
        let imported =
            ["'FORCE_CUDA' in environ", "environ.get('FORCE_CUDA') == '1'", "getenv('FORCE_CUDA')"];
        for test in imported {
            let text = with(&format!("from os import environ, getenv\nif {test}:"));
            assert!(makes(&text, "FORCE_CUDA=1") && !makes(&text, "X=1"), "{test}");
        }
        assert!(!makes(&with("if not os.environ.get('USE_CUDA'):"), "USE_CUDA=1"));
        let choice = "CUDA = int(os.environ.get('FORCE_CUDA', 0))\nExt = CUDAExtension if CUDA else \
                      CppExtension\nsetup(ext_modules=[Ext('a', [])])\n";
        assert!(makes(choice, "FORCE_CUDA=1") && !makes(choice, "FORCE_CUDA=0"));
        assert!(makes("setup(ext_modules=[CUDAExtension('a', [])])\n", "X=1"));
        let macros = "setup(ext_modules=[CUDAExtension('a', [], define_macros=[('WITH_CUDA', None)])])\n";
        assert!(makes(macros, "X=1"));
        assert!(!makes("from torch.utils.cpp_extension import CUDAExtension\n", "X=1"));
    }

    #[test]
    fn what_depends_on_the_image() {
        let made = "setup(ext_modules=[CUDAExtension('a', [])])\n";
        assert_eq!(how(made, "X=1"), Some(Makes::Always));
        for choice in ["CUDA_HOME is not None", "os.environ.get('OPS')", "shutil.which('nvcc')"] {
            assert_eq!(how(&format!("if {choice}:\n    {made}"), "X=1"), Some(Makes::WithCuda), "{choice}");
        }
        let seen = "if torch.cuda.is_available() and CUDA_HOME:\n    ";
        assert_eq!(how(&format!("{seen}{made}"), "X=1"), None);
        let forced = "if torch.cuda.is_available() and CUDA_HOME or os.getenv('FORCE_CUDA') == '1':\n    ";
        assert_eq!(how(&format!("{forced}{made}"), "FORCE_CUDA=1"), Some(Makes::Always));
    }
}
