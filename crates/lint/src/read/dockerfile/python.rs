//! Which Python a program name means at some place of a Dockerfile.

use rpds::Vector;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Interpreter {
    /// Where it comes from.
    pub kind: Kind,
    /// Its series (`3.12`), where it is known.
    pub series: Option<String>,
}

/// Where a Python comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nobody knows: something was done that cannot be seen into.
    #[default]
    Unknown,
    /// There is none yet.
    Absent,
    /// The distribution's packages.
    System,
    /// Docker's Python images: built from source in /usr/local.
    Image,
    /// Conda in the base image.
    Conda,
    /// A virtual environment.
    Environment,
    /// One in addition to the distribution's: deadsnakes, uv.
    Additional,
}

impl Interpreter {
    /// One of a kind, of a series that may be known.
    pub(crate) fn new(kind: Kind, series: Option<&str>) -> Interpreter {
        Interpreter { kind, series: series.map(str::to_owned) }
    }

    /// What it is, for people: `Python 3.10 of the distribution`.
    pub(crate) fn message(&self) -> String {
        let python = self.series.as_ref().map_or("Python".to_owned(), |series| format!("Python {series}"));
        match self.kind {
            Kind::System => format!("the distribution's {python}"),
            Kind::Image => format!("{python} of the base image"),
            Kind::Conda => format!("conda's {python} in the base image"),
            Kind::Environment => format!("{python} of the virtual environment"),
            Kind::Additional | Kind::Unknown | Kind::Absent => python,
        }
    }
}

/// The Pythons at some place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pythons {
    /// What `python3` (and `python`) means.
    pub default: Interpreter,
    /// What `pip` and `pip3` install into.
    pub pip: Interpreter,
    /// Virtual environments that were made, and with what.
    pub environments: Vector<(String, Interpreter)>,
}

impl Pythons {
    /// One Python for everything.
    pub(crate) fn all(interpreter: Interpreter) -> Pythons {
        Pythons { pip: interpreter.clone(), default: interpreter, environments: Vector::new() }
    }

    /// Unknown from here on.
    pub(crate) fn forget(&mut self) {
        self.default = Interpreter::default();
        self.pip = Interpreter::default();
    }

    /// The environment with this directory.
    pub(crate) fn environment(&self, path: &str) -> Option<&Interpreter> {
        let path = path.trim_end_matches('/');
        self.environments.iter().rev().find(|(known, _)| known == path).map(|(_, interpreter)| interpreter)
    }

    /// What a word means as a Python: `python3`, `python3.12`, `/opt/venv/bin/python`.
    pub(crate) fn of_python(&self, word: &str) -> Option<Interpreter> {
        self.of(word, "python", &self.default)
    }

    /// What a word means as a pip: `pip`, `pip3.12`, `/opt/venv/bin/pip`.
    pub(crate) fn of_pip(&self, word: &str) -> Option<Interpreter> {
        self.of(word, "pip", &self.pip)
    }

    fn of(&self, word: &str, program: &str, default: &Interpreter) -> Option<Interpreter> {
        let (directory, name) = word.rsplit_once('/').unwrap_or(("", word));
        let suffix = name.strip_prefix(program)?;
        let series = series(suffix)?;
        if let Some(prefix) = directory.strip_suffix("/bin")
            && !matches!(prefix, "/usr" | "/usr/local" | "")
        {
            return Some(self.environment(prefix).cloned().unwrap_or_default());
        }
        Some(match series {
            Some(series) if default.series.as_deref() != Some(series) => {
                Interpreter::new(Kind::Additional, Some(series))
            }
            _ => default.clone(),
        })
    }
}

/// The series at the end of a program's name: none (`python`, `python3`) or one (`python3.12`); `None` for
/// another program.
fn series(suffix: &str) -> Option<Option<&str>> {
    match suffix {
        "" | "3" => Some(None),
        _ => is_series(suffix).then_some(Some(suffix)),
    }
}

/// Whether a text is the series of a Python 3: `3.12`.
pub(crate) fn is_series(text: &str) -> bool {
    text.strip_prefix("3.")
        .is_some_and(|minor| !minor.is_empty() && minor.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs() {
        let system = Interpreter::new(Kind::System, Some("3.10"));
        let mut pythons = Pythons::all(system.clone());
        pythons
            .environments
            .push_back_mut(("/opt/venv".into(), Interpreter::new(Kind::Environment, Some("3.12"))));
        assert_eq!(pythons.of_python("python3"), Some(system.clone()));
        assert_eq!(pythons.of_pip("/usr/bin/pip3"), Some(system.clone()));
        assert_eq!(pythons.of_pip("pip3.10"), Some(system));
        assert_eq!(pythons.of_pip("pip3.12").unwrap().kind, Kind::Additional);
        assert_eq!(pythons.of_pip("/opt/venv/bin/pip").unwrap().kind, Kind::Environment);
        assert_eq!(pythons.of_pip("/opt/other/bin/pip").unwrap().kind, Kind::Unknown);
        assert_eq!(pythons.of_python("python2"), None);
        assert_eq!(pythons.of_pip("pipx"), None);
    }
}
