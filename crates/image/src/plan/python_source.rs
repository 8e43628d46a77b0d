//! The Python of an image, as it was chosen.

/// Who provides the Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The base image; packages go into it.
    Image,
    Apt,
    /// The system's repositories, through dnf.
    Dnf,
    Uv,
    Deadsnakes,
}

/// The Python of an image.
#[derive(Debug)]
pub(super) struct Python {
    pub source: Source,
    pub environment: Option<&'static str>,
    /// The program to ask: `/opt/venv/bin/python`.
    pub interpreter: String,
    /// Whether pip refuses to install into it without --break-system-packages (PEP 668).
    pub externally_managed: bool,
}
