//! What holds at some place of a Dockerfile: variables, Pythons, archives, packages.

use catalog::Catalog;
use rpds::RedBlackTreeMap;

use super::apt;
use super::command::Command;
use super::copied::Copied;
use super::expand::{Value, Variables};
use super::install::{Install, Requirement};
use super::python::{Interpreter, Kind, Pythons, is_series};
use catalog::images::{Flavour, Image};
use catalog::systems::System;

/// What holds at some place of a stage.
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// What is installed is compared with it.
    pub catalog: &'static Catalog,
    /// ARG and ENV; inside of a RUN also what it exported.
    pub variables: Variables,
    /// The image that everything began with, where the catalog knows it.
    pub image: Option<&'static Image>,
    /// Whether the base certainly brings no Python packages, also where its tag is not known: nvidia/cuda,
    /// python, ubuntu, debian.
    pub bare: bool,
    pub system: Option<&'static System>,
    pub pythons: Pythons,
    /// Whether pip refuses to install into the distribution's Python; `None`: not known.
    pub managed: Option<bool>,
    /// Whether the deadsnakes archive was added.
    pub deadsnakes: bool,
    /// Whether other archives of packages were added, or may have been.
    pub archives: bool,
    /// Whether indexes of Python packages may be configured in a file.
    pub indexes: bool,
    /// Whether something ran that cannot be seen into: a script.
    pub opaque: bool,
    /// Whether CUDA's toolkit may have been installed on top of the base.
    pub toolkit: bool,
    /// The packages that pip installed by name, the last one of each.
    pub packages: RedBlackTreeMap<String, Requirement>,
    /// Whether packages were installed that are not named here.
    pub more_packages: bool,
    /// Which files of the build context stand where.
    pub files: Copied,
}

impl State {
    /// The state of nothing.
    pub(crate) fn empty(catalog: &'static Catalog) -> State {
        State {
            catalog,
            variables: Default::default(),
            image: Default::default(),
            bare: Default::default(),
            system: Default::default(),
            pythons: Default::default(),
            managed: Default::default(),
            deadsnakes: Default::default(),
            archives: Default::default(),
            indexes: Default::default(),
            opaque: Default::default(),
            toolkit: Default::default(),
            packages: Default::default(),
            more_packages: Default::default(),
            files: Default::default(),
        }
    }

    /// The state of an image, or of one that the catalog does not know.
    pub(crate) fn of(catalog: &'static Catalog, image: Option<&'static Image>) -> State {
        let system =
            image.and_then(|image| image.system.as_deref()).and_then(|it| catalog.systems().system(it));
        let mut state = State { image, system, ..State::empty(catalog) };
        let Some(image) = image else { return state };
        let python = image.python.as_deref();
        let interpreter = match (image.repository, image.flavour) {
            ("python", _) => Interpreter::new(Kind::Image, python),
            ("pytorch/pytorch", _) if image.externally_managed == Some(false) => {
                Interpreter::new(Kind::Conda, python)
            }
            ("pytorch/pytorch", _) if image.externally_managed == Some(true) => {
                Interpreter::new(Kind::System, python)
            }
            ("nvidia/cuda" | "ubuntu" | "debian", _) => Interpreter::new(Kind::Absent, None),
            _ => Interpreter::default(),
        };
        state.managed = match interpreter.kind {
            Kind::Absent => system.and_then(|system| system.externally_managed),
            Kind::System => image.externally_managed,
            _ => None,
        };
        state.pythons = Pythons::all(interpreter);
        state
    }

    /// The CUDA toolkit of the base, where it is one that the catalog knows: `12.1.1`.
    pub(crate) fn cuda(&self) -> Option<&'static str> {
        self.image.and_then(|image| image.cuda.as_deref())
    }

    /// Whether nvcc is certainly not there.
    pub(crate) fn lacks_nvcc(&self) -> bool {
        let without = self.image.is_some_and(|image| image.flavour != Flavour::Devel);
        without && !self.opaque && !self.toolkit
    }

    /// An instruction ENV or ARG, or an export.
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        if name == "PATH" {
            self.path(value.text.as_deref());
        }
        if name == "VIRTUAL_ENV" {
            let made = value.text.as_deref().and_then(|path| self.pythons.environment(path).cloned());
            if let Some(interpreter) = made {
                self.pythons.default = interpreter.clone();
                self.pythons.pip = interpreter;
            }
        }
        self.variables.set(name, value);
    }

    /// PATH was set: what comes first decides which Python is meant.
    fn path(&mut self, path: Option<&str>) {
        let Some(path) = path else { return self.pythons.forget() };
        for directory in path.split(':') {
            if directory.starts_with('$') || matches!(directory, "/usr/local/bin" | "/usr/bin") {
                return;
            }
            let prefix = directory.strip_suffix("/bin").unwrap_or(directory);
            if let Some(interpreter) = self.pythons.environment(prefix).cloned() {
                self.pythons.default = interpreter.clone();
                self.pythons.pip = interpreter;
                return;
            }
            let harmless =
                ["/cuda", "nvidia", "cargo", "/.local", "nodejs", "/go", "ninja", "cmake", "mpi", "/sbin"];
            if directory.contains("conda") && self.pythons.default.kind == Kind::Conda {
                return;
            }
            if !harmless.iter().any(|word| directory.contains(word)) {
                return self.pythons.forget();
            }
        }
    }

    /// Something that cannot be seen into ran.
    pub(crate) fn forget(&mut self) {
        self.opaque = true;
        self.archives = true;
        self.indexes = true;
        self.more_packages = true;
        self.managed = None;
        self.pythons.forget();
    }

    /// A command ran, which may be an installation.
    pub(crate) fn ran(&mut self, command: &Command, install: Option<&Install>) {
        self.files_of(command, install.is_some());
        if command.words.is_empty() {
            for (name, word) in &command.sets {
                let text = word.known.then(|| word.text.clone());
                self.set(name, Value { text, default: word.default });
            }
            return;
        }
        if let Some(install) = install {
            return self.installed(install);
        }
        self.apt(command);
        self.archives_of(command);
        self.pythons_of(command);
        let program = command.program();
        let first = command.word(0);
        let script = matches!(program, "bash" | "sh" | "." | "source")
            && command.words.len() > 1
            && !command.word(1).ends_with("activate")
            && !command.has("-c");
        let runs_file = first.starts_with("./") || first.ends_with(".sh") || first.ends_with(".run");
        let piped_shell = command.piped && matches!(program, "bash" | "sh");
        if command.words.first().is_some_and(|word| !word.known) || script || runs_file || piped_shell {
            // uv's installer only puts a program where it is looked for.
            self.forget();
        }
        if command.text().contains("EXTERNALLY-MANAGED") {
            self.managed = None;
        }
        if command.text().contains("pip") && command.text().contains("config") {
            self.indexes = true;
            self.managed = self.managed.filter(|_| !command.text().contains("break-system-packages"));
        }
        let configures =
            |word: &super::command::Word| word.text.contains("pip.conf") || word.text.contains("uv.toml");
        if command.writes.iter().chain(&command.words).any(configures) {
            self.indexes = true;
            self.managed = None;
        }
    }

    /// `cd`, and commands that may change files whose names they have.
    fn files_of(&mut self, command: &Command, installs: bool) {
        for word in &command.writes {
            self.files.changed(&word.text);
        }
        let harmless = [
            "cat", "ls", "echo", "test", "[", "mkdir", "chmod", "chown", "head", "wc", "grep", "pip", "pip3",
        ];
        match command.program() {
            "cd" | "pushd" => {
                self.files.enter(command.words.get(1).map_or("/root", |word| word.text.as_str()));
            }
            program if installs || harmless.contains(&program) => {}
            _ => self.files.changed(&command.text()),
        }
    }

    fn installed(&mut self, install: &Install) {
        if install.elsewhere() {
            return;
        }
        self.more_packages |= install.more;
        for requirement in &install.requirements {
            let mut requirement = requirement.clone();
            if !install.certain {
                requirement.pin = None;
                requirement.versions = None;
            }
            self.packages.insert_mut(requirement.name.clone(), requirement);
        }
        if install.requirements.iter().any(|one| one.name.starts_with("nvidia-cuda-nvcc")) {
            self.toolkit = true;
        }
    }

    fn apt(&mut self, command: &Command) {
        for word in apt::packages(self.catalog, command) {
            let name = apt::name(word);
            if !word.known {
                self.toolkit = true;
                continue;
            }
            let cuda = name.starts_with("cuda") || name.starts_with("nvidia-cuda");
            self.toolkit |= cuda;
            let python = matches!(
                name,
                "python3"
                    | "python3-pip"
                    | "python3-dev"
                    | "python3-full"
                    | "python3-venv"
                    | "python-is-python3"
                    | "python3-minimal"
            );
            if python && self.pythons.default.kind == Kind::Absent {
                let series = self.system.and_then(|system| system.python.as_deref());
                self.pythons.default = Interpreter::new(Kind::System, series);
                self.pythons.pip = self.pythons.default.clone();
            }
        }
        if matches!(
            command.program(),
            "dnf" | "yum" | "microdnf" | "apk" | "zypper" | "pacman" | "nix" | "spack"
        ) {
            self.toolkit = true;
            self.pythons.forget();
        }
    }

    fn archives_of(&mut self, command: &Command) {
        let text = command.text();
        let written = command.writes.iter().any(|word| !word.known || word.text.contains("/etc/apt"));
        if command.program() == "add-apt-repository" || text.contains("add-apt-repository") {
            match text.contains("deadsnakes") {
                true => self.deadsnakes = true,
                false => self.archives |= !text.contains("universe") && !text.contains("multiverse"),
            }
        } else if text.contains("deadsnakes") {
            self.deadsnakes = true;
        } else if written
            || text.contains("/etc/apt/sources")
            || text.contains("cuda-keyring")
            || command.program() == "dpkg"
        {
            self.archives = true;
        }
    }

    fn pythons_of(&mut self, command: &Command) {
        let program = command.program();
        let words: Vec<&str> = (0..command.words.len()).map(|index| command.word(index)).collect();
        let last = words.last().copied().unwrap_or_default();
        match program {
            "update-alternatives" if command.text().contains("python") => {
                let target = words.iter().find_map(|word| word.strip_prefix("/usr/bin/python"));
                self.redirect(target.filter(|series| is_series(series)).or_else(|| {
                    words
                        .iter()
                        .filter_map(|word| word.strip_prefix("/usr/bin/python"))
                        .find(|word| is_series(word))
                }));
            }
            "ln" if last.contains("python")
                || last.contains("pip")
                || last == "/usr/bin"
                || last == "/usr/local/bin" =>
            {
                let target = words.iter().find_map(|word| word.rsplit('/').next()?.strip_prefix("python"));
                match target.filter(|series| is_series(series)) {
                    Some(series) if !last.contains("pip") => self.redirect(Some(series)),
                    _ if last.ends_with("/python") && words.iter().any(|word| word.ends_with("python3")) => {}
                    _ => self.pythons.forget(),
                }
            }
            "uv" if words.get(1) == Some(&"venv") => self.made(command, &words[2..]),
            "uv" if words.get(1) == Some(&"python") => {
                if command.has("--default") {
                    self.pythons.forget();
                }
            }
            "uv" if matches!(words.get(1), Some(&("sync" | "run" | "add" | "tool"))) => {
                self.more_packages = true
            }
            "conda" | "mamba" | "micromamba" | "pyenv" | "pixi" | "poetry" | "pdm" | "pipenv" | "rye"
            | "hatch" => {
                self.more_packages = true;
                self.toolkit |= command.text().contains("cuda");
                self.indexes = true;
                self.pythons.forget();
            }
            "make" | "ninja" | "cmake" if command.has("install") || command.has("altinstall") => {
                self.pythons.forget()
            }
            "source" | "." if last.ends_with("/bin/activate") => {
                let made = self.pythons.environment(last.trim_end_matches("/bin/activate")).cloned();
                self.pythons.default = made.unwrap_or_default();
                self.pythons.pip = self.pythons.default.clone();
            }
            "tar" | "unzip" | "rsync" | "cp" | "mv"
                if words.iter().any(|word| *word == "/usr/local" || *word == "/") =>
            {
                self.pythons.forget();
            }
            _ => self.python_ran(command, &words),
        }
    }

    /// `python3 -m venv`, `python3.12 get-pip.py`, `python3 setup.py install`.
    fn python_ran(&mut self, command: &Command, words: &[&str]) {
        let Some(python) = words.first().and_then(|word| self.pythons.of_python(word)) else {
            if matches!(command.program(), "virtualenv") {
                self.made(command, &words[1..]);
            }
            return;
        };
        let rest = &words[1..];
        if rest.first() == Some(&"-m") && matches!(rest.get(1), Some(&("venv" | "virtualenv"))) {
            let interpreter = Interpreter { kind: Kind::Environment, ..python };
            if let Some(path) = rest[2..].iter().find(|word| !word.starts_with('-')) {
                self.pythons.environments.push_back_mut((path.trim_end_matches('/').to_owned(), interpreter));
            }
        } else if rest.iter().any(|word| word.contains("get-pip.py")) || (command.piped && rest.is_empty()) {
            self.pythons.pip = python;
        } else if rest.first() == Some(&"-m") && rest.get(1) == Some(&"ensurepip") {
            if python.kind != Kind::Additional {
                self.pythons.pip = python;
            }
        } else if rest.iter().any(|word| word.ends_with(".py")) {
            self.more_packages = true;
        }
    }

    /// A virtual environment was made by uv or virtualenv.
    fn made(&mut self, command: &Command, words: &[&str]) {
        let mut interpreter = self.pythons.default.clone();
        let mut path = None;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "-p" | "--python" => {
                    let value = words.next().copied().unwrap_or_default();
                    interpreter = match is_series(value) {
                        true => Interpreter::new(Kind::Environment, Some(value)),
                        false => self.pythons.of_python(value).unwrap_or_default(),
                    };
                }
                "--prompt" | "--link-mode" | "--index-url" => {
                    words.next();
                }
                _ => match word.strip_prefix("--python=") {
                    Some(value) => {
                        interpreter =
                            Interpreter::new(Kind::Environment, Some(value).filter(|v| is_series(v)));
                    }
                    None if word.starts_with('-') => {}
                    None => path = Some((*word).to_owned()),
                },
            }
        }
        if command.words.iter().any(|word| !word.known) {
            interpreter = Interpreter::default();
        }
        let path = path.unwrap_or_else(|| ".venv".to_owned());
        let interpreter = Interpreter { kind: Kind::Environment, ..interpreter };
        self.pythons.environments.push_back_mut((path.trim_end_matches('/').to_owned(), interpreter));
    }

    /// `python3` (and with it the distribution's pip) now means another one.
    fn redirect(&mut self, series: Option<&str>) {
        match series {
            Some(series) if self.pythons.default.series.as_deref() == Some(series) => {}
            Some(series) => {
                let companions = Interpreter::new(Kind::Additional, Some(series));
                if matches!(self.pythons.pip.kind, Kind::System | Kind::Absent) {
                    self.pythons.pip = companions.clone();
                } else {
                    self.pythons.pip = Interpreter::default();
                }
                self.pythons.default = companions;
            }
            None => self.pythons.forget(),
        }
    }

    /// Files were copied from another stage or image to a place.
    pub(crate) fn copied(&mut self, from: &str, sources: &[String], target: &str) {
        let names: Vec<&str> = sources.iter().filter_map(|source| source.rsplit('/').next()).collect();
        if from.contains("astral-sh/uv")
            || (!names.is_empty() && names.iter().all(|name| matches!(*name, "uv" | "uvx")))
        {
            return;
        }
        if from.is_empty() {
            let configures = |text: &str| {
                text.contains("pip.conf")
                    || text.contains("uv.toml")
                    || text.contains(".pip")
                    || text.contains("/pip")
            };
            if configures(target) || sources.iter().any(|source| configures(source)) {
                self.indexes = true;
                self.managed = None;
            }
            if target.contains("/etc/apt") {
                self.archives = true;
            }
            if matches!(
                target,
                "/" | "/etc" | "/etc/" | "/usr" | "/usr/" | "/usr/local" | "/usr/local/" | "/opt/venv"
            ) {
                self.forget();
            }
            return;
        }
        let parts = ["/usr", "/opt", "/bin", "/root", "/home", "/conda", "/venv", "/lib"];
        if target == "/" || target.starts_with('$') || parts.iter().any(|part| target.starts_with(part)) {
            self.more_packages = true;
            self.toolkit |= target.contains("cuda")
                || matches!(target, "/" | "/usr" | "/usr/" | "/usr/local" | "/usr/local/");
            self.pythons.forget();
        }
    }
}
