//! Settings files: which ones a run reads, and what they leave out.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ::config::{Guarded, Ignore, Origins, Settings, TrustStore};
use checks::CHECKS;
use checks::fleet::FLEET_CHECKS;
use clap::builder::{FalseyValueParser, TypedValueParser as _};
use diagnostic::error::{Error, Kind};
use diagnostic::render::json::IgnoredEntry;
use diagnostic::rule::Rule;
use diagnostic::suggest::nearest;
use diagnostic::{terminal, visible};
use host::file;
use host::variables::path as variable;
use jiff::Zoned;
use jiff::civil::Date;
use lint::RULES;

use super::headings::SETTINGS;
use super::own_checks;

/// Options about settings files.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct SettingsFiles {
    /// Settings file [default: envdoc.toml, or [tool.envdoc] in pyproject.toml, here or above].
    ///
    /// Replaces the project's file; the user's and the machine's files still count. `envdoc config` shows the
    /// settings.
    #[arg(
        long,
        value_name = "FILE",
        global = true,
        env = "ENVDOC_CONFIG",
        hide_env_values = true,
        help_heading = SETTINGS,
        hide_short_help = true
    )]
    config: Option<PathBuf>,

    /// Read no settings files.
    #[arg(
        long,
        global = true,
        env = "ENVDOC_NO_CONFIG",
        hide_env_values = true,
        value_parser = FalseyValueParser::new(),
        help_heading = SETTINGS,
        hide_short_help = true
    )]
    no_config: bool,
}

impl SettingsFiles {
    /// Those of a command line without options, for the completion of one.
    pub(super) fn of_environment() -> SettingsFiles {
        let no_config = variable("ENVDOC_NO_CONFIG").is_some_and(|value| is_on(value.as_os_str()));
        SettingsFiles { config: variable("ENVDOC_CONFIG"), no_config }
    }

    /// The settings of this run.
    pub(super) fn read(&self) -> Result<Settings, Error> {
        let settings = ::config::load(&self.origins()?, &trust_store())?;
        known_ids(&settings)?;
        Ok(settings)
    }

    /// The files that exist.
    pub(super) fn origins(&self) -> Result<Origins, Error> {
        if self.no_config {
            // `--config` next to it is a mistake, but the variables of both may come from different places.
            return Ok(Origins::default());
        }
        let here = std::path::absolute(".").unwrap_or_default();
        let mut origins = ::config::origins(&here, user_directory().as_deref(), Path::new("/etc"));
        if let Some(file) = &self.config {
            if !file::is_file(file) {
                let error = ::config::load_one(file).err().unwrap_or_else(|| file::missing(file));
                return Err(error.hint("--config requires a settings file"));
            }
            origins.project = Some(std::path::absolute(file).unwrap_or_else(|_| file.clone()));
        }
        Ok(origins)
    }
}

/// An error where an entry of `ignore` names neither a check nor a rule.
pub(super) fn known_ids(settings: &Settings) -> Result<(), Error> {
    let unknown = |ignore: &&Ignore| !own_checks::is_known(settings, &ignore.id);
    settings.ignores.0.iter().filter(unknown).try_for_each(only_known)
}

/// Whether the value of a variable switches its option on, by the rule that clap applies to it.
fn is_on(value: &OsStr) -> bool {
    FalseyValueParser::new().parse_ref(&clap::Command::default(), None, value).unwrap_or(true)
}

/// A value that counts only if its file is trusted. `what`: `registry of the settings`; `instead`: the option
/// that makes it unnecessary.
pub(super) fn usable<'s, T>(set: &'s Guarded<T>, what: &str, instead: &str) -> Result<&'s T, Error> {
    set.trusted().map_err(|untrusted| {
        let error = Error::from(untrusted);
        Error { message: format!("{what} cannot be used: {}", error.message), ..error }.hint(instead)
    })
}

/// The user's directory of configuration files.
pub(super) fn user_directory() -> Option<PathBuf> {
    let given = variable("XDG_CONFIG_HOME").filter(|directory| directory.is_absolute());
    given.or_else(|| Some(variable("HOME").filter(|directory| directory.is_absolute())?.join(".config")))
}

/// What this user has trusted.
pub(super) fn trust_store() -> TrustStore {
    let given = variable("XDG_STATE_HOME").filter(|directory| directory.is_absolute());
    let home = || variable("HOME").filter(|directory| directory.is_absolute());
    let state = given.or_else(|| Some(home()?.join(".local/state")));
    TrustStore::new(state.as_deref())
}

/// Today, by which entries of `ignore` end.
pub(super) fn today() -> Date {
    Zoned::now().date()
}

/// What can be ignored: ids and groups of checks and lint rules.
fn ids() -> impl Iterator<Item = &'static str> {
    fn of(rule: &'static dyn Rule) -> [&'static str; 2] {
        [rule.id(), rule.group().id]
    }
    let checks = CHECKS.iter().flat_map(|&check| of(check));
    let fleet = FLEET_CHECKS.iter().flat_map(|&check| of(check));
    checks.chain(fleet).chain(RULES.iter().flat_map(|&rule| of(rule)))
}

/// # Errors
/// An entry of `ignore` that names nothing.
fn only_known(ignore: &Ignore) -> Result<(), Error> {
    if ids().any(|id| id == ignore.id) {
        return Ok(());
    }
    let place = place(&ignore.origin);
    let message = format!("{place}: ignore: unknown check, rule or group {:?}", ignore.id);
    let error = Error::new(Kind::Usage, message).did_you_mean(nearest(&ignore.id, ids()));
    Err(error.hint("`envdoc checks` and `envdoc lint --rules` list them"))
}

/// A place as messages show it: `envdoc.toml, line 3`.
pub(super) fn place(origin: &::config::Origin) -> String {
    format!("{}, line {}", shown(&origin.file), origin.line)
}

/// A file as messages show it: relative to the working directory where it is below, else to the user's
/// directories. Reports and answers to agents then do not name the user.
pub(super) fn shown(file: &Path) -> String {
    let here = std::path::absolute(".").unwrap_or_default();
    let of_user = [("~", variable("HOME")), ("$XDG_CONFIG_HOME", variable("XDG_CONFIG_HOME"))];
    let below = |(name, directory): (&str, Option<PathBuf>)| {
        let directory = directory.filter(|path| path.is_absolute() && path.parent().is_some())?;
        let real = file::canonical(&directory).unwrap_or_else(|_| directory.clone());
        let inner = file.strip_prefix(real).or_else(|_| file.strip_prefix(directory)).ok()?;
        Some(Path::new(name).join(inner))
    };
    match file.strip_prefix(&here) {
        Ok(inner) => visible::path(inner),
        Err(_) => visible::path(&of_user.into_iter().find_map(below).unwrap_or_else(|| file.to_owned())),
    }
}

/// Whether an id is that of one of these rules, or of its group.
pub(super) fn is_of<'r, R: Rule + 'static>(
    id: &str,
    rules: impl IntoIterator<Item = &'r &'static R>,
) -> bool {
    rules.into_iter().any(|rule| rule.id() == id || rule.group().id == id)
}

/// The entries about something that leave it out everywhere. Notes ended ones on standard error.
pub(super) fn left_out(settings: &Settings, concerns: impl Fn(&Ignore) -> bool) -> Vec<&Ignore> {
    let day = today();
    let concerns = |ignore: &&Ignore| concerns(ignore);
    for ignore in settings.ignores.expired(day).filter(&concerns) {
        let until = ignore.until.map(|until| until.to_string()).unwrap_or_default();
        terminal::note(&format!(
            "warning: {}: {} is no longer ignored: its time ended on {until}",
            place(&ignore.origin),
            ignore.id
        ));
    }
    settings.ignores.everywhere(day).filter(&concerns).collect()
}

/// The entries in reports.
pub(super) fn entries(ignored: &[&Ignore]) -> Vec<IgnoredEntry> {
    let entry = |ignore: &&Ignore| IgnoredEntry { id: ignore.id.clone(), file: shown(&ignore.origin.file) };
    ignored.iter().map(entry).collect()
}

/// The error where nothing is left to run: `no checks left: driver, own:x are ignored by envdoc.toml`.
/// `what`: `checks`; `skipped`: what `--ignore` names.
pub(super) fn nothing_left(what: &str, skipped: &[String], ignored: &[IgnoredEntry]) -> Error {
    let named = skipped.iter().filter(|id| !id.is_empty());
    let mut all: Vec<IgnoredEntry> =
        named.map(|id| IgnoredEntry { id: id.clone(), file: "--ignore".to_owned() }).collect();
    all.extend_from_slice(ignored);
    let (ids, files) = IgnoredEntry::ids_and_files(&all);
    let verb = if all.len() == 1 { "is" } else { "are" };
    let no_config = if ignored.is_empty() { "" } else { ", or pass --no-config" };
    Error::new(Kind::Usage, format!("no {what} left: {ids} {verb} ignored by {files}"))
        .hint(format!("name other {what} with --only{no_config}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::config::Origin;

    #[test]
    fn variables_switch_options_on_as_clap_reads_them() {
        for (value, on) in [("", false), ("0", false), ("false", false), ("off", false), ("1", true)] {
            assert_eq!(is_on(OsStr::new(value)), on, "{value}");
        }
    }

    #[test]
    fn an_entry_that_names_nothing_is_an_error_with_the_nearest_name() {
        let origin = Origin { file: "/p/envdoc.toml".into(), line: 3 };
        let entry = |id: &str| Ignore {
            id: id.into(),
            reason: None,
            until: None,
            files: Vec::new(),
            origin: origin.clone(),
            trusted: true,
        };
        assert!(only_known(&entry("driver")).is_ok());
        assert!(only_known(&entry("base-image-missing")).is_ok());
        let error = only_known(&entry("base-image-mising")).unwrap_err();
        assert!(error.message.starts_with("/p/envdoc.toml, line 3: ignore: unknown"), "{}", error.message);
        assert_eq!(error.hints[0], "did you mean base-image-missing?");
    }
}
