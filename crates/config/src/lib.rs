//! Settings files: what users of a project, an account or a machine want of every run.
//!
//! In: `envdoc.toml`, or `[tool.envdoc]` of a `pyproject.toml`, in the working directory or the nearest one
//! above; the user's and the machine's file. Out: one [`Settings`]; every value has its file and line.
//! Options and environment variables beat whatever is in a file: the program asks them first.

mod error;
mod fail_on;
mod find;
mod ignores;
mod load;
mod origin;
mod read;
mod settings;

pub use error::{ConfigError, ConfigErrorKind};
pub use fail_on::FailOn;
pub use find::{Origins, origins};
pub use ignores::{Ignore, Ignores};
pub use load::load;
pub use origin::{Origin, Sourced};
pub use read::KEYS;
pub use settings::Settings;
