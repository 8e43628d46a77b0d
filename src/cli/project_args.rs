//! The options that name the project whose requirements count.

use std::path::PathBuf;

use super::headings::STACK;
use ::build::ProjectRequest;
use ::project::{LockUse, Selection};

/// A project.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ProjectArgs {
    /// Use the requirements of the project in DIR.
    ///
    /// Reads requirements.txt, pyproject.toml and .python-version. An option, or a key of --request, replaces
    /// the project's requirement of the same package. The first line of the report lists the files read.
    #[arg(long, value_name = "DIR", help_heading = STACK)]
    pub project: Option<PathBuf>,

    /// Requirements file to read instead of requirements.txt; repeatable.
    ///
    /// Without --project, the project is the current directory.
    #[arg(long, value_name = "FILE", help_heading = STACK, hide_short_help = true)]
    pub requirements: Vec<PathBuf>,

    /// Use the ranges of the project's files instead of the versions of its lock.
    ///
    /// Without it, uv.lock, poetry.lock or pylock.toml decides every version, and an option that contradicts
    /// it is a conflict.
    #[arg(long, help_heading = STACK, hide_short_help = true)]
    pub without_lock: bool,
}

impl ProjectArgs {
    pub(super) fn is_named(&self) -> bool {
        self.project.is_some() || !self.requirements.is_empty()
    }

    pub(super) fn lock_use(&self) -> LockUse {
        match self.without_lock {
            true => LockUse::Ignored,
            false => LockUse::Obeyed,
        }
    }

    /// The project that is named; `None`: none is.
    pub(super) fn request(&self) -> Option<ProjectRequest> {
        self.is_named().then(|| ProjectRequest {
            selection: Selection {
                directory: self.project.clone().unwrap_or_else(|| PathBuf::from(".")),
                requirements: self.requirements.clone(),
                lock: self.lock_use(),
            },
            ..ProjectRequest::default()
        })
    }
}
