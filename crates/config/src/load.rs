//! Reads the files of all levels.

use std::io;
use std::path::{Path, PathBuf};

use diagnostic::error::{Error, Kind};
use diagnostic::{Position, visible};
use host::{file, link};

use crate::error::{ConfigError, ConfigErrorKind};
use crate::find::{LIMIT_BYTES, Origins, is_pyproject};
use crate::read;
use crate::settings::Settings;
use crate::source::Source;
use crate::trust::{Distrust, TrustStore, Untrusted};

/// Reads the files, each once: the user's own file is the user's, also where a project links to it.
///
/// # Errors
/// A file that cannot be read, is no TOML, or has a key or a value that envdoc does not know.
pub fn load(origins: &Origins, store: &TrustStore) -> Result<Settings, Error> {
    type Judge = fn(&TrustStore, &Path, &str) -> Result<(), Distrust>;
    let levels: [(&Option<PathBuf>, Judge); 3] = [
        (&origins.project, TrustStore::judge),
        (&origins.user, TrustStore::judge_own),
        (&origins.machine, TrustStore::judge_own),
    ];
    let mut files = Vec::new();
    for (found, judge) in levels {
        let Some(found) = found else { continue };
        let path = real(found).map_err(|error| error.hint("--no-config leaves all settings files out"))?;
        files.push((found, path, judge));
    }
    let mut settings = Settings::default();
    for (index, (found, path, judge)) in files.iter().enumerate() {
        if files[index + 1..].iter().any(|(_, other, _)| other == path) {
            continue;
        }
        // What is judged is what is used. The text is read once; commands run in the directory of the file
        // that a link leads to, and relative paths begin there: that path with this text is trusted, not the
        // link, whatever either leads to by now.
        let text = text(path)?;
        let judged = judge(store, path, &text);
        let untrusted =
            judged.err().map(|why| Untrusted { file: path.clone(), found: (*found).clone(), why });
        settings = settings.or(parse_as(path, &text, untrusted, is_pyproject(found))?);
    }
    Ok(settings)
}

/// One file with everything in it, as if it were trusted: to show a person what trusting it means. With its
/// text, which is what is trusted then.
pub fn load_one(path: &Path) -> Result<(Settings, String), Error> {
    let in_table = is_pyproject(path);
    let path = real(path)?;
    let text = text(&path)?;
    Ok((parse_as(&path, &text, None, in_table)?, text))
}

/// The path with links followed.
fn real(path: &Path) -> Result<PathBuf, Error> {
    file::canonical(path).map_err(|error| {
        match error.kind() == io::ErrorKind::NotFound && link::is_there(path) {
            true => {
                let shown = visible::path(path);
                Error::new(
                    Kind::File,
                    format!("cannot read {shown}: the link leads to a file that does not exist"),
                )
            }
            false => file::unreadable(path, &error),
        }
    })
}

fn text(path: &Path) -> Result<String, Error> {
    file::text_up_to(path, LIMIT_BYTES).map_err(|error| file::unreadable(path, &error))
}

/// Reads the text of one file. `untrusted`: why the values that require trust do not count. `in_table`:
/// whether a link to the file is called pyproject.toml.
pub(crate) fn parse_as(
    path: &Path,
    text: &str,
    untrusted: Option<Untrusted>,
    in_table: bool,
) -> Result<Settings, ConfigError> {
    let document = toml::de::DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let why = error.message().to_owned();
        ConfigError::at(path, Position::of(text, at).line, ConfigErrorKind::Syntax(why))
    })?;
    let source = Source { path, text, untrusted };
    let mut settings = read::settings(&source, document.get_ref(), in_table || is_pyproject(path))?;
    settings.files.push(path.to_owned());
    if settings.needs_trust() {
        settings.untrusted.extend(source.untrusted);
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FailOn;

    fn parse(path: &Path, text: &str, untrusted: Option<Untrusted>) -> Result<Settings, ConfigError> {
        parse_as(path, text, untrusted, false)
    }

    fn of(name: &str, text: &str) -> Result<Settings, String> {
        parse(Path::new(name), text, None).map_err(|error| error.to_string())
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
        assert_eq!(settings.cluster_file.unwrap().trusted().unwrap(), Path::new("/p/ops/cluster.yaml"));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test writes files")]
    fn of_an_untrusted_file_only_what_is_harmless_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("envdoc.toml");
        let of = |text: &str| {
            let untrusted = Untrusted { file: path.clone(), found: path.clone(), why: Distrust::Never };
            parse(&path, text, Some(untrusted)).unwrap()
        };
        let harmless = of("fail-on = 'note'\nignore = ['thp']\ncluster-file = './ops/c.yaml'\n");
        assert!(harmless.untrusted.is_empty());
        assert!(harmless.cluster_file.unwrap().trusted().is_ok());
        for (text, refused) in [
            ("pip-index = 'https://a.example'\n", true),
            ("apt-mirror = 'https://a.example'\n", true),
            ("registry = 'a.example'\n", true),
            ("[[check]]\nname = 'x'\ncommand = 'true'\n", true),
            ("cluster-file = '../c.yaml'\n", true),
            ("cluster-file = '/srv/c.yaml'\n", true),
            ("cluster-file = 'link/c.yaml'\n", false),
        ] {
            let settings = of(text);
            assert_eq!(settings.untrusted.len(), usize::from(refused), "{text}");
        }
        let other = tempfile::tempdir().unwrap();
        std::fs::write(other.path().join("c.yaml"), "").unwrap();
        std::os::unix::fs::symlink(other.path(), folder.path().join("link")).unwrap();
        let settings = of("cluster-file = 'link/c.yaml'\n");
        assert!(settings.cluster_file.unwrap().trusted().is_err(), "a link leads elsewhere");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test writes files")]
    fn a_link_stands_for_the_file_that_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (real, link) = (root.join("infra/envdoc.toml"), root.join("project/envdoc.toml"));
        for path in [&real, &link] {
            std::fs::create_dir(path.parent().unwrap()).unwrap();
        }
        let text = "cluster-file = 'c.yaml'\n[[check]]\nname = 'x'\ncommand = './x.sh'\n";
        std::fs::write(&real, text).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let store = TrustStore::new(Some(&root.join("state")));
        store.add(&real, text, "2027-01-31".into()).unwrap();
        let origins = Origins { project: Some(link.clone()), ..Origins::default() };
        for settings in [load(&origins, &store).unwrap(), load_one(&link).unwrap().0] {
            assert_eq!((&settings.files, settings.untrusted.len()), (&vec![real.clone()], 0));
            assert_eq!(settings.checks[0].directory(), root.join("infra"));
            assert_eq!(settings.cluster_file.unwrap().trusted().unwrap(), &root.join("infra/c.yaml"));
        }
        // Settings of a pyproject.toml are in its table, whether the link or the file is called so.
        for (file, link) in [("pyproject.toml", "envdoc.toml"), ("common.toml", "pyproject.toml")] {
            let (file, link) = (root.join("infra").join(file), root.join("project").join(link));
            std::fs::write(&file, "[project]\nname = 'x'\n[tool.envdoc]\nstrict = true\n").unwrap();
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(&file, &link).unwrap();
            let origins = Origins { project: Some(link), ..Origins::default() };
            assert!(load(&origins, &store).unwrap().strict(false));
        }
    }

    /// The name of the link says whether the settings are in a table: the command must have it.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test writes files")]
    fn the_command_that_trusts_names_the_file_as_it_was_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (real, link) = (root.join("common.toml"), root.join("pyproject.toml"));
        std::fs::write(&real, "[project]\nname = 'x'\n[tool.envdoc]\nregistry = 'a.example'\n").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let origins = Origins { project: Some(link.clone()), ..Origins::default() };
        let settings = load(&origins, &TrustStore::new(None)).unwrap();
        assert_eq!(settings.untrusted[0].file, real);
        assert_eq!(settings.untrusted[0].command(), format!("envdoc trust {}", link.display()));
        assert!(load_one(&link).is_ok() && load_one(&real).is_err());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test writes files")]
    fn a_file_on_two_levels_counts_once_as_the_users() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (user, link) = (root.join("user.toml"), root.join("envdoc.toml"));
        std::fs::write(&user, "ignore = ['thp']\n[[check]]\nname = 'x'\ncommand = 'true'\n").unwrap();
        std::os::unix::fs::symlink(&user, &link).unwrap();
        let origins = Origins { project: Some(link), user: Some(user.clone()), machine: None };
        let settings = load(&origins, &TrustStore::new(None)).unwrap();
        assert_eq!((&settings.files, settings.ignores.0.len(), settings.checks.len()), (&vec![user], 1, 1));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes links")]
    fn a_file_that_cannot_be_read_is_an_error_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let (dangling, looping) = (folder.path().join("a.toml"), folder.path().join("b.toml"));
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
        std::os::unix::fs::symlink("b.toml", &looping).unwrap();
        let why = |path: &Path| load_one(path).unwrap_err().message;
        assert!(
            why(&dangling).ends_with("the link leads to a file that does not exist"),
            "{}",
            why(&dangling)
        );
        assert!(why(&looping).contains("symbolic links"), "{}", why(&looping));
        assert!(why(&folder.path().join("c.toml")).ends_with("no such file"));
        let origins = Origins { user: Some(dangling), ..Origins::default() };
        assert!(load(&origins, &TrustStore::new(None)).is_err());
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
            ("check = 'x'\n", "line 1: check must be a list of tables"),
            ("[[check]]\ncommand = 'x'\n", "line 1: an entry of check needs name"),
            ("[[check]]\nname = 'x'\n", "line 1: an entry of check needs command"),
            ("[[check]]\nname = 'X y'\ncommand = 'x'\n", "line 2: name: \"X y\" is not"),
            ("[[check]]\nname = 'x'\ncommand = []\n", "line 3: command must be a list of arguments"),
            ("[[check]]\nname = 'x'\ncommand = ['a', 1]\n", "line 3: command must be a list of arguments"),
            ("[[check]]\nname = 'x'\ncommand = ' '\n", "line 3: command must be a list of arguments"),
            ("[[check]]\nname = 'x'\ncommand = 'x'\ntimeout = 0\n", "line 4: timeout must be seconds"),
            ("[[check]]\nname = 'x'\ncommand = 'x'\ntimeout = 1e9\n", "line 4: timeout must be seconds"),
            (
                "[[check]]\nname = 'x'\ncommand = 'x'\nseverity = 'bad'\n",
                "line 4: severity: \"bad\" is none of",
            ),
            ("[[check]]\nname = 'x'\ncommand = 'x'\nrun = 1\n", "line 4: unknown key \"check.run\""),
            (
                "check = [{name = 'x', command = 'a'},\n{name = 'x', command = 'b'}]\n",
                "line 2: check \"x\" is defined twice",
            ),
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
