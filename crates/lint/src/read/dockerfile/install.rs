//! `pip install` and `uv pip install`: what is installed into which Python, from which index.

use std::rc::Rc;

use catalog::Catalog;
use catalog::packages::Row;
use pep440_rs::{Version, VersionSpecifiers};

use super::command::{Command, Word};
use super::python::{Interpreter, Kind, Pythons};
use crate::location::{Location, OtherFile};

/// One installation of Python packages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Install {
    /// The line of the file on which the command begins.
    pub line: usize,
    /// Whether uv does it.
    pub uv: bool,
    pub python: Interpreter,
    pub requirements: Vec<Requirement>,
    /// Requirements files that are not read yet.
    pub files: Vec<Word>,
    /// True where more is installed than is named here: files that cannot be read, wheels, paths, unknown
    /// words.
    pub more: bool,
    /// True where a file of constraints is given.
    pub constrained: bool,
    /// `--index-url`: in place of PyPI.
    pub index: Option<Word>,
    /// `--extra-index-url`, `--find-links`, uv's `--index`: in addition to it.
    pub extra: Vec<Word>,
    /// The options that were given, without their values.
    pub options: Vec<String>,
    /// uv's `--torch-backend`.
    pub torch_backend: Option<Word>,
    /// Whether it certainly runs, and ends the build where it fails.
    pub certain: bool,
}

/// One package that is to be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Requirement {
    /// The normalised name.
    pub name: String,
    /// As written: `torch==2.6.0+cu121`.
    pub text: String,
    /// The versions that are allowed, where they can be read.
    pub versions: Option<VersionSpecifiers>,
    /// The version of `==`, without a local part.
    pub pin: Option<Version>,
    /// That version as written, without a local part: `2.6.0`.
    pub pin_text: String,
    /// The local part of that version: `cu121`.
    pub local: Option<String>,
    /// The requirements file that contains it, if it is not in the command itself.
    pub file: Option<Rc<OtherFile>>,
    /// The line of that file.
    pub line: usize,
    /// True where the default of an ARG is in it.
    pub default: bool,
}

impl Requirement {
    /// Its extras, normalised: `and-cuda`.
    pub(crate) fn extras(&self) -> impl Iterator<Item = String> {
        let inner = self.text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        let all = inner.map_or("", |(inner, _)| inner).split(',');
        let all = all.map(|one| one.trim().to_ascii_lowercase().replace('_', "-"));
        all.filter(|one| !one.is_empty())
    }

    /// The catalog's row of a pinned release.
    pub(crate) fn row(&self, catalog: &'static Catalog) -> Option<&'static Row> {
        catalog.package(&self.name)?.rows.iter().find(|row| row.releases.contains_key(&self.pin_text))
    }

    /// Where it stands, for people: `line 3`, `line 3 of requirements.txt`.
    pub(crate) fn location(&self) -> String {
        match &self.file {
            Some(file) => format!("line {} of {}", self.line, file.path),
            None => format!("line {}", self.line),
        }
    }
}

impl Install {
    /// What a release requires of a package on the Python of this installation. No Dockerfile names its
    /// processor.
    pub(crate) fn required<'r>(&self, row: &'r Row, package: &str) -> Option<&'r str> {
        row.requirement(package, self.python.series.as_deref(), None)
    }

    /// The requirement of a package, if it is named.
    pub(crate) fn requirement(&self, name: &str) -> Option<&Requirement> {
        self.requirements.iter().find(|one| one.name == name)
    }

    pub(crate) fn option(&self, name: &str) -> bool {
        self.options.iter().any(|option| option == name)
    }

    /// Whether it goes somewhere else than into the Python's own packages.
    pub(crate) fn elsewhere(&self) -> bool {
        ["-t", "--target", "--root", "--prefix", "--dry-run"].iter().any(|name| self.option(name))
    }
}

/// Reads a command as an installation of Python packages; `None` where it is none.
pub(crate) fn install(catalog: &Catalog, command: &Command, pythons: &Pythons) -> Option<Install> {
    let (python, uv, words) = installer(catalog, command, pythons)?;
    let mut install =
        Install { line: command.line, uv, python, certain: command.certain, ..Install::default() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word.text == "-" {
            // Broken words: what options there would be is not known.
            install.extra.push(Word { known: false, ..word.clone() });
            install.more = true;
        } else if !word.known && !word.text.starts_with('-') {
            match requirement(word) {
                // `torch==${X}`: the name is known.
                Some(requirement) if !requirement.name.contains('$') => {
                    install.requirements.push(requirement)
                }
                _ => install.more = true,
            }
        } else if word.text.starts_with('-') && word.text.len() > 1 {
            let (name, attached) = match word.text.split_once('=') {
                Some((name, value)) => {
                    (name.to_owned(), Some(Word { text: value.to_owned(), ..word.clone() }))
                }
                None => short(catalog, word),
            };
            let valued = catalog.pip_options().takes_value(&name);
            let value = attached.or_else(|| valued.then(|| words.next().cloned()).flatten());
            install.option_given(name, value, pythons);
        } else if let Some(requirement) = requirement(word) {
            install.requirements.push(requirement);
        } else {
            install.more = true;
        }
    }
    Some(install)
}

/// `-rrequirements.txt`: a short option with its value.
fn short(catalog: &Catalog, word: &Word) -> (String, Option<Word>) {
    let text = &word.text;
    let glued = !text.starts_with("--") && text.len() > 2 && text.is_char_boundary(2);
    match glued && catalog.pip_options().takes_value(&text[..2]) {
        true => (text[..2].to_owned(), Some(Word { text: text[2..].to_owned(), ..word.clone() })),
        false => (text.clone(), None),
    }
}

impl Install {
    pub(super) fn option_given(&mut self, name: String, value: Option<Word>, pythons: &Pythons) {
        match (name.as_str(), value) {
            ("-r" | "--requirement" | "--requirements", Some(file)) => self.files.push(file),
            ("-r" | "--requirement" | "--requirements" | "-e" | "--editable" | "--group", _) => {
                self.more = true
            }
            ("-c" | "--constraint" | "--constraints" | "--override" | "--overrides", _) => {
                self.constrained = true
            }
            ("-i" | "--index-url" | "--default-index", value) => self.index = value,
            ("--extra-index-url" | "-f" | "--find-links" | "--index", Some(value)) => self.extra.push(value),
            ("--torch-backend", value) => self.torch_backend = value,
            ("-p" | "--python", Some(value)) => {
                let series = super::python::is_series(&value.text)
                    .then(|| Interpreter::new(Kind::Additional, Some(&value.text)));
                self.python = series
                    .or_else(|| pythons.of_python(&value.text))
                    .or_else(|| pythons.environment(&value.text).cloned())
                    .filter(|_| value.known)
                    .unwrap_or_default();
            }
            _ => {}
        }
        // pip's other name for it.
        let name = if name == "--no-dependencies" { "--no-deps".to_owned() } else { name };
        self.options.push(name);
    }
}

/// Who installs into what, and the words after `install`.
fn installer<'c>(
    catalog: &Catalog,
    command: &'c Command,
    pythons: &Pythons,
) -> Option<(Interpreter, bool, &'c [Word])> {
    let words = &command.words;
    let first = words.first().filter(|word| word.known)?;
    // `python3 -m pip`, `python3 -m uv pip`.
    let (python, tool) = match pythons.of_python(&first.text) {
        Some(python) => {
            let module = words.iter().position(|word| word.text == "-m")?;
            (Some(python), module + 1)
        }
        None => (None, 0),
    };
    let name = words.get(tool)?.text.rsplit('/').next()?;
    if name == "uv" {
        let pip = words[tool + 1..].iter().position(|word| word.text == "pip")? + tool + 1;
        let install = verb(catalog, words, pip + 1)?;
        let system = words.iter().any(|word| word.text == "--system");
        let python = if system { pythons.default.clone() } else { environment_of_uv(pythons) };
        return Some((python, true, &words[install + 1..]));
    }
    let python = match python {
        Some(python) if name == "pip" || name == "pip3" => python,
        Some(_) => return None,
        None => pythons.of_pip(&first.text)?,
    };
    let install = verb(catalog, words, tool + 1)?;
    Some((python, false, &words[install + 1..]))
}

/// uv without `--system` installs into the active environment, or into one in the working directory.
fn environment_of_uv(pythons: &Pythons) -> Interpreter {
    match pythons.default.kind {
        Kind::Environment => pythons.default.clone(),
        _ => Interpreter::default(),
    }
}

/// Where `install` stands, options before it skipped.
fn verb(catalog: &Catalog, words: &[Word], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(word) = words.get(at) {
        match word.text.as_str() {
            "install" => return Some(at),
            text if text.starts_with('-') => {
                at += if catalog.pip_options().takes_value(text) { 2 } else { 1 }
            }
            _ => return None,
        }
    }
    None
}

/// Reads a word as a requirement; `None` for paths, addresses, and whatever else.
pub(crate) fn requirement(word: &Word) -> Option<Requirement> {
    let text = word.text.split(';').next().unwrap_or_default().trim();
    let end = text
        .find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_.".contains(letter))
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let fits = name.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && name.ends_with(|letter: char| letter.is_ascii_alphanumeric())
        && !name.ends_with(".whl")
        && !name.ends_with(".gz");
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(extras) => extras.split_once(']')?.1.trim_start(),
        None => rest,
    };
    if !fits || (!rest.is_empty() && !rest.starts_with(['=', '<', '>', '!', '~'])) {
        return None;
    }
    let name = name.to_ascii_lowercase().replace(['_', '.'], "-");
    let exact = rest.strip_prefix("===").or_else(|| rest.strip_prefix("==")).map(str::trim);
    let exact = exact.filter(|version| !version.contains(['*', ',', '$']));
    let (pin_text, local) = match exact.and_then(|version| version.split_once('+')) {
        Some((version, local)) => (version, Some(local.to_owned())),
        None => (exact.unwrap_or_default(), None),
    };
    Some(Requirement {
        name,
        text: word.text.clone(),
        versions: if word.known { rest.parse().ok() } else { None },
        pin: pin_text.parse().ok().filter(|_| word.known),
        pin_text: pin_text.to_owned(),
        local: local.filter(|_| word.known),
        file: None,
        line: word.line,
        default: word.default,
    })
}

impl From<&Requirement> for Location {
    fn from(one: &Requirement) -> Location {
        Location::new(one.file.clone(), one.line).named(&one.name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::expand::Variables;
    use super::super::shell::commands;
    use super::super::text::Text;
    use super::*;

    fn read(script: &str) -> Option<Install> {
        let pythons = Pythons::all(Interpreter::new(Kind::System, Some("3.10")));
        install(
            catalog::testing::catalog(),
            &commands(&Text::lines(script, 1), &Variables::default())[0],
            &pythons,
        )
    }

    fn names(script: &str) -> Vec<String> {
        let install = read(script).unwrap();
        install.requirements.into_iter().map(|one| format!("{} {}", one.name, one.pin_text)).collect()
    }

    #[test]
    fn what_is_installed() {
        assert_eq!(
            names("pip3 install -U torch==2.6.0+cu121 Flash_Attn 'numpy<2'"),
            ["torch 2.6.0", "flash-attn ", "numpy "]
        );
        assert_eq!(names("python3 -m pip --no-cache-dir install -r a.txt 'x[y]==1.0'"), ["x 1.0"]);
        assert_eq!(names("uv pip install --system torch==2.6.0 --index-url https://h/x"), ["torch 2.6.0"]);
        assert_eq!(names("pip install torch==2.6.*"), ["torch "]);
        assert_eq!(names("pip install --root-user-action ignore torch==2.6.0"), ["torch 2.6.0"]);
        for other in [
            "pip download x",
            "pip --version",
            "pip3 list",
            "python3 setup.py install",
            "uv sync",
            "pipx install x",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn indexes_and_the_rest() {
        let install =
            read("pip install a -i https://h/simple --extra-index-url=https://e -f https://f ./b -rc.txt")
                .unwrap();
        assert_eq!(install.index.unwrap().text, "https://h/simple");
        assert_eq!(
            install.extra.iter().map(|word| word.text.as_str()).collect::<Vec<_>>(),
            ["https://e", "https://f"]
        );
        assert!(install.more && install.requirements.len() == 1);
        assert_eq!(install.files.iter().map(|word| word.text.as_str()).collect::<Vec<_>>(), ["c.txt"]);
        let unknown = read("pip install torch==$X $PACKAGES").unwrap();
        assert!(
            unknown.more
                && unknown.requirements[0].pin.is_none()
                && unknown.requirements[0].versions.is_none()
        );
    }

    #[test]
    fn which_python() {
        let of = |script: &str| read(script).unwrap().python;
        assert_eq!(of("pip install x").kind, Kind::System);
        assert_eq!(of("pip3.12 install x").series.as_deref(), Some("3.12"));
        assert_eq!(of("uv pip install --python 3.11 x").series.as_deref(), Some("3.11"));
        assert_eq!(of("uv pip install x").kind, Kind::Unknown);
    }
}
