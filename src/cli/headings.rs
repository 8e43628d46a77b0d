//! The headings under which `--help` groups options.

pub(super) const BUILD: &str = "Build";
pub(super) const CACHE: &str = "Cache";
pub(super) const CONNECTION: &str = "Connection";
pub(super) const EXIT_CODE: &str = "Exit code";
pub(super) const IMAGE: &str = "Image";
pub(super) const LOCK: &str = "Lock file";
pub(super) const MACHINES: &str = "Target machines";
pub(super) const MIRRORS: &str = "Mirrors and proxies";
pub(super) const OUTPUT: &str = "Output";
pub(super) const SELECTION: &str = "Selection";
pub(super) const SETTINGS: &str = "Settings";
pub(super) const STACK: &str = "Stack";
