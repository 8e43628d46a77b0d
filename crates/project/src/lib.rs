//! What the files of a project declare: packages, Python and package indexes, each with its file and line.
//!
//! In: a directory, or the text of a file. Out: a [`Project`], and the requirements that it makes for the
//! resolver ([`declare`]); or, for other versions, the changes of the files ([`patch`]). [`find`] reads the
//! files; [`changed_file`] proves that they are as they were, and writes them.

mod changed_file;
mod choice;
mod declare;
mod declared;
mod error;
mod find;
mod index;
mod lock;
mod not_read;
pub mod patch;
mod poetry;
pub mod poetry_constraint;
mod project;
mod purpose;
mod pyproject;
mod python_version;
mod read_text;
mod requirement;
pub mod requirements;
mod requires_python;
mod selection;
mod setup_cfg;
mod texts;
mod toml_text;
mod url;

pub use changed_file::{ChangedFile, write_all};
pub use declare::{Declarations, Environment, Others, declare, is_of_torch, selected};
pub use declared::{
    Declared, DeclaredBy, Dependency, Index, IndexRole, Notation, Origin, PackageSource, PythonRange,
};
pub use error::ProjectError;
pub use find::{has_project_files, read, read_texts};
pub use lock::{Edge, Lock, LockFormat, Locked, LockedSource, Target, read_lock};
pub use not_read::{NotRead, Reason};
pub use project::{Project, ReadFile};
pub use read_text::read_text;
pub use selection::{LockUse, Selection};
pub use texts::Texts;
