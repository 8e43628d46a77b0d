//! The run that made a report.

/// When, where and with which arguments envdoc ran; a page shows it, because pages are kept and sent on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// In UTC: `2026-11-27 10:45:12 UTC`.
    pub time: String,
    /// Name of the machine that envdoc ran on.
    pub host: String,
    /// As typed, without credentials: `envdoc check --from server.json --format html`.
    pub command_line: String,
}
