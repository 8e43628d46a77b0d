//! What settings files left out, as a part of every report.

use crate::ignored::IgnoredEntry;
use crate::report::{Body, Report, Section};

impl Report {
    /// With what settings files left out of its results.
    #[must_use]
    pub fn without(mut self, ignored: Vec<IgnoredEntry>) -> Report {
        self.overview.extend(Section::new("Ignored by settings files", Body::Ignored(ignored)));
        self
    }

    /// What settings files left out of its results.
    pub fn ignored(&self) -> &[IgnoredEntry] {
        let entries = self.overview.iter().find_map(|section| match &section.body {
            Body::Ignored(entries) => Some(entries.as_slice()),
            _ => None,
        });
        entries.unwrap_or_default()
    }
}
