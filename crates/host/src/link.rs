//! Links themselves, not what they lead to.
#![expect(clippy::disallowed_methods, reason = "the one place that reads links of the user")]

use std::path::{Path, PathBuf};

/// Whether there is anything but a directory at a path: also a link that leads nowhere.
pub fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok() && !path.is_dir()
}

/// Where a link leads, as it says: relative to its directory; `None` where there is no link.
pub fn target(path: &Path) -> Option<PathBuf> {
    path.read_link().ok()
}
