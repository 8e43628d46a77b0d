//! The options that name the project whose requirements count.

use std::path::PathBuf;

use super::headings::STACK;
use ::build::ProjectRequest;
use ::project::Selection;

/// A project.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ProjectArgs {
    /// Directory of a project whose pins count.
    ///
    /// Read are requirements.txt, pyproject.toml and .python-version. Their requirements count as if they
    /// were given as options; an option, and a key of --request, replaces that of the same package. The first
    /// line of the report says which files were read.
    #[arg(long, value_name = "DIR", help_heading = STACK)]
    pub project: Option<PathBuf>,

    /// Requirements file of the project, instead of requirements.txt; repeatable.
    ///
    /// Without --project, the project is the current directory.
    #[arg(long, value_name = "FILE", help_heading = STACK, hide_short_help = true)]
    pub requirements: Vec<PathBuf>,
}

impl ProjectArgs {
    /// The project that is named; `None`: none is.
    pub(super) fn request(&self) -> Option<ProjectRequest> {
        let named = self.project.is_some() || !self.requirements.is_empty();
        named.then(|| ProjectRequest {
            selection: Selection {
                directory: self.project.clone().unwrap_or_else(|| PathBuf::from(".")),
                requirements: self.requirements.clone(),
            },
            ..ProjectRequest::default()
        })
    }
}
