//! `--write`: the smallest change of a project's files.

use ::build::{PlanRequest, SmallestChange};
use ::project::write_all;
use diagnostic::error::{Error, Kind};
use diagnostic::words::and;
use diagnostic::{terminal, visible};

/// A usage error where --write has no project.
pub(super) fn check(write: bool, asked: &PlanRequest) -> Result<(), Error> {
    if write && asked.project.is_none() {
        let error = Error::new(Kind::Usage, "--write requires --project or --requirements");
        return Err(error.hint("for example: --project ."));
    }
    Ok(())
}

/// Writes the change, if there is one; the exit code.
pub(super) fn write(change: Option<&SmallestChange>, code: u8) -> Result<u8, Error> {
    let files = change.map_or(&[][..], |change| &change.files);
    if files.is_empty() {
        terminal::note("nothing was written: no change could be applied automatically");
        return Ok(code);
    }
    let backups = write_all(files)?;
    let names: Vec<String> = files.iter().map(|file| visible::line(&file.name).into_owned()).collect();
    let backups: Vec<String> = backups.iter().map(|path| visible::path(path).to_string()).collect();
    terminal::note(&format!("wrote {}; the old text is in {}", and(&names), backups.join(", ")));
    Ok(0)
}
