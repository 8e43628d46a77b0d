//! Which checks `envdoc check` and the tool of `envdoc mcp` run: what the options leave, then what the
//! settings leave of it.

use ::config::{Ignore, OwnCheck, Settings};
use checks::{CHECKS, Check};
use diagnostic::error::{Error, Kind};
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
    /// The entries of the settings that left something out.
    pub(super) ignored: Vec<&'s Ignore>,
}

/// The checks that options and settings leave; notes on standard error what the settings leave out.
/// `elsewhere`: something else than this machine is checked, of which own checks know nothing; with the hint
/// for those who name one.
///
/// # Errors
/// A name that is none, or nothing is left because of the settings.
pub(super) fn select<'s>(
    settings: &'s Settings,
    only: &[String],
    ignore: &[String],
    elsewhere: Option<&'static str>,
) -> Result<Selection<'s>, Error> {
    let Selected { checks: mut own, only, ignore } = own_checks::select(settings, only, ignore)?;
    let mut checks = match &only {
        Some(only) => select_rules(CHECKS, only, &ignore, WHAT, LIST)?,
        None => Vec::new(),
    };
    if let Some(hint) = elsewhere {
        own.clear();
        if only.is_none() {
            return Err(Error::new(Kind::Usage, "own checks run on this machine only").hint(hint));
        }
    }
    let is_own = |ignore: &Ignore| own.iter().any(|check| check.is_ignored_by(ignore));
    let is_built_in = |ignore: &Ignore| settings::is_of(&ignore.id, &checks);
    let ignored = settings::left_out(settings, |ignore| is_own(ignore) || is_built_in(ignore));
    let built_in: Vec<String> =
        ignored.iter().filter(|ignore| is_built_in(ignore)).map(|ignore| ignore.id.clone()).collect();
    own.retain(|check| !ignored.iter().any(|ignore| check.is_ignored_by(ignore)));
    note_ineffective(settings, &own);
    checks = select_rules(&checks, &[], &built_in, WHAT, LIST)?;
    if checks.is_empty() && own.is_empty() && !ignored.is_empty() {
        return Err(Error::new(Kind::Usage, nothing_left(&ignored))
            .hint("name other checks with --only, or pass --no-config"));
    }
    Ok(Selection { checks, own, ignored })
}

/// `no checks left: driver, own:x are ignored by envdoc.toml`
fn nothing_left(ignored: &[&Ignore]) -> String {
    let (ids, files) = settings::ids_and_files(&settings::entries(ignored));
    let verb = if ignored.len() == 1 { "is" } else { "are" };
    format!("no checks left: {ids} {verb} ignored by {files}")
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
