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
    /// Reads requirements.txt, pyproject.toml, setup.cfg and .python-version. An option, or a key of
    /// --request, replaces the project's requirement of the same package. The first line of the report lists
    /// the files read.
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
    /// Extra of the project to install; repeatable.
    ///
    /// An extra of pyproject.toml or setup.cfg. Without --project, the project is the current directory.
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = STACK, hide_short_help = true)]
    pub extra: Vec<String>,

    /// Dependency group of the project to install; repeatable.
    ///
    /// A group of [dependency-groups] or of Poetry. The groups that uv and Poetry install by default are
    /// included, except those for development.
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = STACK, hide_short_help = true)]
    pub group: Vec<String>,
}

impl ProjectArgs {
    pub(super) fn is_named(&self) -> bool {
        self.project.is_some() || !self.requirements.is_empty()
    }

    fn lock_use(&self) -> LockUse {
        match self.without_lock {
            true => LockUse::Ignored,
            false => LockUse::Used,
        }
    }

    /// Whether the project is named, or a part of it.
    pub(super) fn is_given(&self) -> bool {
        self.is_named() || !self.extra.is_empty() || !self.group.is_empty()
    }

    /// The project that is given; `None`: none is.
    pub(super) fn request(&self) -> Option<ProjectRequest> {
        let directory = || self.project.clone().unwrap_or_else(|| PathBuf::from("."));
        self.is_given().then(|| self.request_in(directory()))
    }

    /// The project in a directory.
    pub(super) fn request_in(&self, directory: PathBuf) -> ProjectRequest {
        let selection = Selection {
            directory,
            requirements: self.requirements.clone(),
            extras: self.extra.clone(),
            groups: self.group.clone(),
            lock: self.lock_use(),
        };
        ProjectRequest { selection, ..ProjectRequest::default() }
    }
}
