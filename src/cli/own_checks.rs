//! Own checks of settings files in `envdoc check`: which ones run.

use ::cluster::waiting::Waiting;
use ::config::{OwnCheck, Settings, own};
use diagnostic::error::{Error, Kind};
use diagnostic::report::Outcome;
use diagnostic::suggest::nearest;

/// The own checks that `--only` and `--ignore` leave, and what these options say of built-in checks.
pub(super) struct Selected<'s> {
    pub(super) checks: Vec<&'s OwnCheck>,
    /// Whether `--only` names own checks or their group.
    pub(super) named: bool,
    /// `--only` without own checks; `None`: nothing but own checks is asked for.
    pub(super) only: Option<Vec<String>>,
    /// `--ignore` without own checks.
    pub(super) ignore: Vec<String>,
}

/// # Errors
/// An option names an own check that no file defines.
pub(super) fn select<'s>(
    settings: &'s Settings,
    only: &[String],
    ignore: &[String],
) -> Result<Selected<'s>, Error> {
    let (own_only, other_only) = split(only);
    let (own_ignore, other_ignore) = split(ignore);
    for (option, names) in [("--only", &own_only), ("--ignore", &own_ignore)] {
        if let Some(name) = names.iter().find(|name| !is_known(settings, name)) {
            let error = unknown(settings, name);
            return Err(Error { message: format!("{option}: {}", error.message), ..error });
        }
    }
    let all = only.iter().all(String::is_empty);
    let called = |names: &[String], check: &OwnCheck| names.iter().any(|name| check.is_called(name));
    let mut checks: Vec<&OwnCheck> = settings.checks.iter().collect();
    checks.retain(|check| (all || called(&own_only, check)) && !called(&own_ignore, check));
    let named = !own_only.is_empty();
    let nothing_else = named && other_only.iter().all(String::is_empty);
    Ok(Selected { checks, named, only: (!nothing_else).then_some(other_only), ignore: other_ignore })
}

/// Runs the command, if its file is trusted, and shows that it is waited for.
pub(super) fn outcome(check: &OwnCheck) -> Outcome {
    let _waiting = Waiting::new(format!("running {}", check.id()));
    check.outcome()
}

/// Whether a name is that of an own check or of their group.
pub(super) fn is_known(settings: &Settings, name: &str) -> bool {
    name == own::GROUP.id || settings.checks.iter().any(|check| check.is_called(name))
}

/// The names of own checks, and the others.
fn split(names: &[String]) -> (Vec<String>, Vec<String>) {
    names.iter().cloned().partition(|name| name == own::GROUP.id || own::name_of(name).is_some())
}

/// The error about an own check that no file defines.
pub(super) fn unknown(settings: &Settings, name: &str) -> Error {
    let ids: Vec<String> = settings.checks.iter().map(OwnCheck::id).collect();
    let near = nearest(name, ids.iter().map(String::as_str));
    Error::new(Kind::Usage, format!("no settings file defines the check {name:?}"))
        .did_you_mean(near)
        .hint("`envdoc config` lists the own checks")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_own_checks_and_their_group() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("envdoc.toml");
        let text = "[[check]]\nname = 'a'\ncommand = 'true'\n[[check]]\nname = 'b'\ncommand = 'true'\n";
        host::file::write(&path, text, false).unwrap();
        let (settings, _) = ::config::load_one(&path).unwrap();
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let of = |only: &[&str], ignore: &[&str]| {
            let selected = select(&settings, &owned(only), &owned(ignore)).map_err(|error| error.message)?;
            let names = selected.checks.iter().map(|check| check.name.clone()).collect::<Vec<_>>();
            Ok::<_, String>((names.join(" "), selected.only.map(|only| only.join(" ")), selected.ignore))
        };
        assert_eq!(of(&[], &[]).unwrap(), ("a b".into(), Some(String::new()), Vec::new()));
        assert_eq!(of(&["own"], &["own:b"]).unwrap(), ("a".into(), None, Vec::new()));
        assert_eq!(
            of(&["own:a", "gpu"], &["pci"]).unwrap(),
            ("a".into(), Some("gpu".into()), owned(&["pci"]))
        );
        assert_eq!(of(&["gpu"], &[]).unwrap().0, "");
        let error = of(&["own:c"], &[]).unwrap_err();
        assert_eq!(error, "--only: no settings file defines the check \"own:c\"");
    }
}
