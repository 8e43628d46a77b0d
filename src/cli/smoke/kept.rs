//! `--baseline` and `--save-baseline`.

use std::path::Path;

use ::cluster::smoke::baseline::{self, Baseline};
use ::cluster::smoke::outcome::{Outcome, Verdict};
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use host::file;

/// A baseline and its file name.
pub(super) struct Kept {
    path: String,
    baseline: Baseline,
}

impl Kept {
    pub(super) fn read(path: &Path) -> Result<Kept, Error> {
        let name = path.display().to_string();
        let text =
            file::read(path)?.ok_or_else(|| file::missing(path).hint("`--save-baseline FILE` writes one"))?;
        let baseline = baseline::parse(&text)
            .map_err(|why| Error::new(Kind::File, format!("{name} is not an envdoc baseline: {why}")))?;
        Ok(Kept { path: name, baseline })
    }

    /// Holds a run against it that was measured.
    pub(super) fn compare(&self, outcome: &mut Outcome) -> Result<(), Error> {
        if matches!(outcome.verdict, Verdict::Failed | Verdict::Unknown) {
            return Ok(());
        }
        baseline::compare(outcome, &self.baseline).map_err(|why| {
            Error::new(Kind::Usage, format!("cannot compare with the baseline {}: {why}", self.path))
        })
    }
}

/// Saves a run as a baseline, if it passed.
pub(super) fn save(outcome: &Outcome, path: &Path, force: bool) -> Result<(), Error> {
    match baseline::keep(outcome, &jiff::Timestamp::now().strftime("%FT%TZ").to_string()) {
        Ok(text) => file::write(path, &text, force),
        // About the command, not about the measurement: no report has it.
        Err(why) => {
            terminal::note(&format!("warning: {} was not written: {why}", path.display()));
            Ok(())
        }
    }
}
