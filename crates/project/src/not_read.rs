//! What a project says and envdoc does not use, with the reason.

/// A file, or a line of one, that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRead {
    /// Relative to the working directory.
    pub file: String,
    /// From 1; `None`: the whole file.
    pub line: Option<usize>,
    pub reason: Reason,
}

/// Why it is not used. The text is short: it is shown in brackets behind the name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Reason {
    /// `pypy3.10` in `.python-version`.
    #[error("names {name:?}, not a version of CPython")]
    OtherInterpreter { name: String },
    /// A build backend computes it.
    #[error("{key} is dynamic")]
    DynamicMetadata { key: &'static str },
    #[error("editable")]
    Editable,
    #[error("version control")]
    Vcs,
    #[error("URL")]
    Address,
    #[error("control characters")]
    ControlCharacters,
    #[error("local path")]
    Path,
    /// `${TOKEN}`: pip replaces it by the environment variable.
    #[error("environment variable {name}")]
    Variable { name: String },
    #[error("outside the project")]
    OutsideDirectory,
    #[error("larger than {limit}")]
    TooLarge { limit: String },
    /// Another file of the same kind is used.
    #[error("{}", .kind.unwrap_or("not chosen"))]
    NotChosen { kind: Option<&'static str> },
    /// `[project]` of pyproject.toml has what it declares too.
    #[error("pyproject.toml declares the project")]
    Metadata,
    /// Only running it gives its content.
    #[error("runs code")]
    RunsCode,
    #[error("not supported")]
    NotSupported,
    /// Another lock of the directory is used.
    #[error("{used} is used")]
    OtherLock { used: &'static str },
    /// A lock in a directory above, of a workspace with this project.
    #[error("of the workspace; to use it: --project {directory}")]
    OfWorkspace { directory: String },
    /// The user said so: `--without-lock`, or other files by their names.
    #[error("not requested")]
    LeftOut,
    /// `poetry.lock` before 2.1 does not say what the project itself requires.
    #[error("does not list the project's own dependencies, and no other file does")]
    NothingDeclared,
    /// A table of a TOML file.
    #[error("{name} is not supported")]
    Table { name: String },
    /// They are not chosen.
    #[error("extra {name}: add --extra {name}")]
    Extra { name: String },
    #[error("extras {names}: add --extra NAME")]
    Extras { names: String },
    #[error("group {name}: add --group {name}")]
    Group { name: String },
    #[error("groups {names}: add --group NAME")]
    Groups { names: String },
    /// A source of packages that holds with an extra or group only, and none is chosen.
    #[error("the index of {packages} depends on the {what}: add {options}")]
    ChooseSource { packages: String, what: &'static str, options: String },
    /// `environments` of uv.
    #[error("environments leave out Linux")]
    OtherSystems,
    #[error("replaced by override-dependencies")]
    Overridden,
    /// `^2.4 || ^3.0` of Poetry.
    #[error("{text:?} cannot be expressed as a range")]
    NoRange { text: String },
    #[error("option {name} is unknown")]
    UnknownOption { name: String },
}
