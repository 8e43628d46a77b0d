//! Settings files: what users of a project, an account or a machine want of every run.
//!
//! In: `envdoc.toml`, or `[tool.envdoc]` of a `pyproject.toml`, in the working directory or the nearest one
//! above; the user's and the machine's file. Out: one [`Settings`]; every value has its file and line.
//! Options and environment variables beat whatever is in a file: the program asks them first.
//!
//! A project's file comes with its checkout. What it could do harm with counts only after the user has
//! trusted the file ([`TrustStore`]): such values are [`Guarded`], and an [`OwnCheck`] does not run without.

mod error;
mod fail_on;
mod find;
mod guarded;
mod ignores;
mod load;
mod origin;
pub mod own;
mod read;
mod settings;
mod source;
mod trust;

pub use error::{ConfigError, ConfigErrorKind};
pub use fail_on::FailOn;
pub use find::{Origins, origins};
pub use guarded::Guarded;
pub use ignores::{Ignore, Ignores};
pub use load::{load, load_one};
pub use origin::{Origin, Sourced};
pub use own::OwnCheck;
pub use read::KEYS;
pub use settings::Settings;
pub use trust::{Distrust, Entry, TrustStore, Untrusted};
