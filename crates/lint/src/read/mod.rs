//! Parsers of the files that are linted. Nothing here judges.

pub(crate) mod compose;
pub(crate) mod config;
pub(crate) mod dockerfile;
pub(crate) mod dockerignore;
pub(crate) mod hostfile;
pub(crate) mod hostfile_starts;
pub(crate) mod json;
pub(crate) mod launch;
pub(crate) mod launch_options;
pub(crate) mod machine;
pub(crate) mod manifest;
pub(crate) mod of_file;
pub(crate) mod packages;
pub(crate) mod posix;
pub(crate) mod project;
pub(crate) mod python;
pub(crate) mod quotes;
pub(crate) mod requirements;
pub(crate) mod sbatch;
pub(crate) mod sbatch_options;
pub(crate) mod script;
pub(crate) mod settings;
pub(crate) mod sshd;
pub(crate) mod unreadable;
pub(crate) mod values;
pub(crate) mod yaml_lines;
