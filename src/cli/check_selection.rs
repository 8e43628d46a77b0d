//! Which checks `envdoc check` and the tool of `envdoc mcp` run: what the options leave, then what the
//! settings leave of it.

use ::config::{Ignore, OwnCheck, Settings};
use checks::{CHECKS, Check};
use diagnostic::error::{Error, Kind};
use diagnostic::render::json::IgnoredEntry;
use diagnostic::rule::select as select_rules;
use diagnostic::terminal;

use super::own_checks::{self, Selected};
use super::settings;

const WHAT: &str = "check or group";
const LIST: &str = "`envdoc checks` lists all checks and groups";

/// The checks of a run.
pub(super) struct Selection<'s> {
    pub(super) checks: Vec<&'static Check>,
    pub(super) own: Vec<&'s OwnCheck>,
    /// What the settings leave out.
    pub(super) ignored: Vec<IgnoredEntry>,
}

/// The checks that options and settings leave.
/// `elsewhere`: something else than this machine is checked, of which own checks know nothing; with the hint
/// for those who name one.
///
/// # Errors
/// A name that is none, an own check is named that cannot run there, or nothing is left.
pub(super) fn select<'s>(
    settings: &'s Settings,
    only: &[String],
    ignore: &[String],
    elsewhere: Option<&'static str>,
) -> Result<Selection<'s>, Error> {
    let Selected { checks: mut own, named, only, ignore: others } =
        own_checks::select(settings, only, ignore)?;
    let mut checks = match &only {
        Some(only) => select_rules(CHECKS, only, &others, WHAT, LIST)?,
        None => Vec::new(),
    };
    if let Some(hint) = elsewhere {
        if named {
            return Err(Error::new(Kind::Usage, "own checks run on this machine only").hint(hint));
        }
        own.clear();
    }
    let is_own = |ignore: &Ignore| own.iter().any(|check| check.is_ignored_by(ignore));
    let is_built_in = |ignore: &Ignore| settings::is_of(&ignore.id, &checks);
    let ignored = settings::left_out(settings, |ignore| is_own(ignore) || is_built_in(ignore));
    let built_in: Vec<String> =
        ignored.iter().filter(|ignore| is_built_in(ignore)).map(|ignore| ignore.id.clone()).collect();
    own.retain(|check| !ignored.iter().any(|ignore| check.is_ignored_by(ignore)));
    note_ineffective(settings, &own);
    checks = select_rules(&checks, &[], &built_in, WHAT, LIST)?;
    let ignored = settings::entries(&ignored);
    if checks.is_empty() && own.is_empty() {
        return Err(match only.is_none() && settings.checks.is_empty() {
            true => Error::new(Kind::Usage, "no settings file defines own checks")
                .hint("`envdoc config` lists the settings files"),
            false => settings::nothing_left("checks", ignore, &ignored),
        });
    }
    Ok(Selection { checks, own, ignored })
}

/// Notes entries of untrusted files that name an own check of another file, which runs nevertheless.
fn note_ineffective(settings: &Settings, own: &[&OwnCheck]) {
    for ignore in settings.ignores.everywhere(settings::today()).filter(|ignore| !ignore.trusted) {
        let kept = |check: &&&OwnCheck| check.is_called(&ignore.id) && !check.is_ignored_by(ignore);
        for check in own.iter().filter(kept) {
            let place = settings::place(&ignore.origin);
            terminal::note(&format!("{} is not ignored: the file is not trusted ({place})", check.id()));
        }
    }
}
