//! `--write`: the smallest change of a project's files.

use ::build::{PlanRequest, ReadMachine, SmallestChange, smallest_change};
use ::project::write_all;
use diagnostic::error::{Error, Kind};
use diagnostic::words::and;
use diagnostic::{terminal, visible};
use resolve::outcome::Outcome;
use resolve::request::Request;
use resolve::universe::Universe;

/// What to change in the project's files, where a conflict is certain. The requirements behind the first
/// `own` ones come from a lock.
pub(super) fn of(
    universe: &Universe,
    asked: &PlanRequest,
    whole: &Request,
    own: usize,
    outcome: &Outcome,
    read_here: ReadMachine<'_>,
) -> Result<Option<SmallestChange>, Error> {
    match outcome {
        Outcome::Conflict(conflict) if !conflict.undecided => {
            smallest_change(universe, asked, (whole, &whole.requirements[own..]), read_here)
        }
        _ => Ok(None),
    }
}

/// Says that nothing is to be written; an error without a project.
pub(super) fn check(write: bool, asked: &PlanRequest, outcome: &Outcome) -> Result<(), Error> {
    if write && asked.project.is_none() {
        let error = Error::new(Kind::Usage, "--write changes the files of a project, and none is named");
        return Err(error.hint("name it: --project DIR"));
    }
    if write && matches!(outcome, Outcome::Resolved(_)) {
        terminal::note("nothing was written: the project runs as it is");
    }
    Ok(())
}

/// Writes the change, if there is one; the exit code.
pub(super) fn write(change: Option<&SmallestChange>, code: u8) -> Result<u8, Error> {
    let files = change.map_or(&[][..], |change| &change.files);
    if files.is_empty() {
        terminal::note("nothing was written");
        return Ok(code);
    }
    let backups = write_all(files)?;
    let names: Vec<String> = files.iter().map(|file| visible::line(&file.name).into_owned()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let backups: Vec<String> = backups.iter().map(|path| visible::path(path).to_string()).collect();
    terminal::note(&format!("wrote {}; the old text is in {}", and(&names), backups.join(", ")));
    Ok(0)
}
