//! Reads the files of all levels.

use std::path::Path;

use diagnostic::Position;
use host::file;

use crate::error::{ConfigError, ConfigErrorKind};
use crate::find::{LIMIT_BYTES, Origins, is_pyproject};
use crate::read;
use crate::settings::Settings;

/// Reads the files.
///
/// # Errors
/// A file that cannot be read, is no TOML, or has a key or a value that envdoc does not know.
pub fn load(origins: &Origins) -> Result<Settings, diagnostic::error::Error> {
    let mut settings = Settings::default();
    for path in [&origins.project, &origins.user, &origins.machine].into_iter().flatten() {
        let text = file::text_up_to(path, LIMIT_BYTES).map_err(|error| file::unreadable(path, &error))?;
        settings = settings.or(parse(path, &text)?);
    }
    Ok(settings)
}

/// Reads the text of one file.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Settings, ConfigError> {
    let document = toml::de::DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let why = error.message().to_owned();
        ConfigError::at(path, Position::of(text, at).line, ConfigErrorKind::Syntax(why))
    })?;
    let mut settings = read::settings(&read::Source { path, text }, document.get_ref(), is_pyproject(path))?;
    settings.files.push(path.to_owned());
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FailOn;
    use std::path::PathBuf;

    fn of(name: &str, text: &str) -> Result<Settings, String> {
        parse(Path::new(name), text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_stronger_file_wins_and_expectations_are_merged_by_key() {
        let project = of("/p/envdoc.toml", "fail-on = 'warning'\nexpect = {gpus = 8}\n").unwrap();
        let user =
            of("/u/envdoc.toml", "fail-on = 'note'\nstrict = true\nexpect = {gpus = 4, driver = '>=550'}\n");
        let both = project.or(user.unwrap());
        assert_eq!(both.fail_on.as_ref().unwrap().value, FailOn::Warning);
        assert!(both.strict.as_ref().unwrap().value);
        let expected = both.expected();
        assert_eq!(expected.gpus, Some(8));
        assert!(expected.driver.is_some());
        assert_eq!(both.files, [PathBuf::from("/p/envdoc.toml"), PathBuf::from("/u/envdoc.toml")]);
    }

    #[test]
    fn settings_are_in_a_table_of_pyproject() {
        let text = "[project]\nname = 'x'\n\n[tool.envdoc]\nfail-on = 'never'\n";
        let settings = of("/p/pyproject.toml", text).unwrap();
        assert_eq!(settings.fail_on.unwrap().origin.line, 5);
    }

    #[test]
    fn a_cluster_file_is_relative_to_the_settings() {
        let settings = of("/p/envdoc.toml", "cluster-file = 'ops/cluster.yaml'\n").unwrap();
        assert_eq!(settings.cluster_file.unwrap().value, Path::new("/p/ops/cluster.yaml"));
    }

    #[test]
    fn faults_are_named_with_their_line() {
        for (text, message) in [
            ("fail-on = \n", "line 1: not valid TOML"),
            ("\nfail_on = 'error'\n", "line 2: unknown key \"fail_on\""),
            ("[expect]\ngpu = 8\n", "line 2: unknown key \"expect.gpu\""),
            ("fail-on = 'warn'\n", "line 1: fail-on: \"warn\" is none of error, warning, note, never"),
            ("strict = 1\n", "line 1: strict must be true or false"),
            ("expect = {driver = 'new'}\n", "line 1: expect: driver: \"==new.*\" is not a version range"),
            ("[[ignore]]\nreason = 'x'\n", "line 1: an entry of ignore needs an id"),
            ("[[ignore]]\nid = 'x'\nuntil = 'soon'\n", "line 3: until: \"soon\" is not a date"),
            ("[[ignore]]\nid = 'x'\nuntil = 2026-02-31\n", "line 3: not valid TOML"),
            ("[[ignore]]\nid = 'x'\nfiles = ['a[']\n", "line 3: files: \"a[\": unclosed character class"),
            ("ignore = 'x'\n", "line 1: ignore must be a list"),
        ] {
            let error = of("/p/envdoc.toml", text).unwrap_err();
            assert!(error.starts_with(&format!("/p/envdoc.toml, {message}")), "{text}: {error}");
        }
    }

    #[test]
    fn ignores_have_reasons_ends_and_files() {
        let text = "ignore = ['thp', {id = 'cache-left-in-layer', reason = 'old images', until = 2027-01-31, \
            files = ['legacy/**']}]\n";
        let ignores = of("/p/envdoc.toml", text).unwrap().ignores;
        let (before, after) = (jiff::civil::date(2027, 1, 31), jiff::civil::date(2027, 2, 1));
        let ids = |list: Vec<&crate::Ignore>| list.iter().map(|ignore| ignore.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(ignores.everywhere(before).collect()), ["thp"]);
        assert_eq!(ids(ignores.in_files(before).collect()), ["cache-left-in-layer"]);
        assert_eq!(ids(ignores.expired(after).collect()), ["cache-left-in-layer"]);
        let limited = ignores.in_files(before).next().unwrap();
        assert!(limited.covers(Path::new("/p/legacy/a/Dockerfile")));
        assert!(!limited.covers(Path::new("/p/new/Dockerfile")));
        assert!(!limited.covers(Path::new("/other/legacy/Dockerfile")));
    }
}
