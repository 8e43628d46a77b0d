//! `envdoc config`.

use super::output::Output;
use std::collections::BTreeMap;
use std::path::PathBuf;

use ::config::{FailOn, Ignore, KEYS, Settings, Sourced};
use clap::ValueEnum;
use diagnostic::error::Error;
use diagnostic::render::json;
use diagnostic::{terminal, visible};
use facts::expected;
use serde::Serialize;

use super::settings::{SettingsFiles, place, shown, today, user_directory};

/// Show the settings and the files that they come from.
///
/// Settings are in `envdoc.toml`, or in `[tool.envdoc]` of a pyproject.toml, in the working directory or the
/// nearest one above; then in envdoc/envdoc.toml of the user's configuration directory (~/.config); then
/// in /etc/envdoc/envdoc.toml. Options beat environment variables, which beat the project's, the user's and
/// the machine's file. docs/settings.md describes the keys.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// List the keys of a settings file.
    #[arg(long)]
    keys: bool,

    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  envdoc config           # what counts here, and which file says so
  envdoc config --keys    # what a settings file may contain";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Plain text.
    Text,
    /// JSON with stable keys; schema in docs/schemas.
    Json,
}

/// What `envdoc config --format json` prints.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct ConfigReport {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: String,
    /// The files that were read, the strongest first.
    pub files: Vec<PathBuf>,
    /// Those that are not trusted: their `check`, `pip-index`, `apt-mirror`, `registry` and a `cluster-file`
    /// in another directory do not count.
    pub untrusted: Vec<PathBuf>,
    /// The values in effect, by key (`fail-on`): one each, but several of `expect` and `ignore`; keys that
    /// no file sets are left out.
    pub settings: BTreeMap<&'static str, Vec<Setting>>,
    /// Environment variables that are set and affect the settings.
    pub environment: Vec<Variable>,
}

/// An environment variable that affects the settings.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Variable {
    /// `ENVDOC_EXPECT`.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// What it does: `adds to ignore of envdoc check`.
    pub effect: &'static str,
}

/// A value of a setting, and where it is written.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Setting {
    /// The value, as an option takes it.
    pub value: String,
    /// Of an ignored check or rule: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Of an ignored check or rule: the last day (`2027-01-31`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Of an ignored rule: the files in which it is ignored; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Absolute path of the file that sets it.
    pub file: PathBuf,
    /// Line in that file, from 1.
    pub line: usize,
    /// The environment variable that overrides this value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overridden_by: Option<&'static str>,
}

/// The variable with the same keys as `expect`.
const EXPECT: &str = "ENVDOC_EXPECT";

/// The variables that have to do with settings, and what each does.
const VARIABLES: &[(&str, &str)] = &[
    (EXPECT, "overrides the same keys of expect, in envdoc check"),
    ("ENVDOC_IGNORE", "adds to ignore, in envdoc check"),
    ("ENVDOC_LINT_IGNORE", "adds to ignore, in envdoc lint"),
    ("ENVDOC_CONFIG", "replaces the project's settings file"),
    ("ENVDOC_NO_CONFIG", "disables all settings files if true"),
];

fn environment() -> Vec<Variable> {
    let set = |(name, effect): &(&'static str, &'static str)| {
        let value = host::variables::text(name).filter(|value| !value.is_empty())?;
        Some(Variable { name, value, effect })
    };
    VARIABLES.iter().filter_map(set).collect()
}

/// Marks the expectations whose key the environment gives another value.
fn mark_overridden(expect: &mut [Setting], environment: &[Variable]) {
    let given = environment.iter().find(|one| one.name == EXPECT);
    let keys: Vec<&str> = given.iter().flat_map(|one| one.value.split(',')).map(expected::key).collect();
    for one in expect.iter_mut().filter(|one| keys.contains(&expected::key(&one.value))) {
        one.overridden_by = Some(EXPECT);
    }
}

impl Args {
    pub(super) fn run(self, files: &SettingsFiles) -> Result<u8, Error> {
        if self.keys {
            let width = KEYS.iter().map(|(key, _)| key.len()).max().unwrap_or_default();
            let lines = KEYS.iter().map(|(key, what)| format!("{key:width$}  {what}\n"));
            return terminal::print(&lines.collect::<String>()).map(|()| 0);
        }
        let settings = files.read()?;
        let text = match self.format {
            Format::Json => json::text(&report(&settings))?,
            Format::Text => text(&settings),
        };
        terminal::print(&text).map(|()| 0)
    }
}

/// The values in files, by key.
fn in_files(settings: &Settings) -> BTreeMap<&'static str, Vec<Setting>> {
    let mut all: BTreeMap<&'static str, Vec<Setting>> = BTreeMap::new();
    let mut one = |key: &'static str, value: Option<Sourced<String>>| {
        all.entry(key).or_default().extend(value.map(|Sourced { value, origin }| Setting {
            value,
            reason: None,
            until: None,
            files: Vec::new(),
            file: origin.file,
            line: origin.line,
            overridden_by: None,
        }));
    };
    one("fail-on", settings.fail_on.as_ref().map(|set| set.as_text(FailOn::to_string)));
    one("strict", settings.strict.as_ref().map(|set| set.as_text(bool::to_string)));
    one(
        "cluster-file",
        settings.cluster_file.as_ref().map(|set| set.shown().as_text(|path| path.display().to_string())),
    );
    one("pip-index", settings.pip_index.as_ref().map(|set| set.shown().clone()));
    one("apt-mirror", settings.apt_mirror.as_ref().map(|set| set.shown().clone()));
    one("registry", settings.registry.as_ref().map(|set| set.shown().clone()));
    for check in &settings.checks {
        let value = format!("{}: {}", check.id(), check.shown_command());
        one("check", Some(Sourced { value, origin: check.origin.clone() }));
    }
    for text in &settings.expect {
        one("expect", Some(text.clone()));
    }
    all.entry("ignore").or_default().extend(settings.ignores.0.iter().map(ignored));
    all.retain(|_, values| !values.is_empty());
    all
}

fn report(settings: &Settings) -> ConfigReport {
    let mut all = in_files(settings);
    let environment = environment();
    mark_overridden(all.get_mut("expect").map_or(&mut [], Vec::as_mut_slice), &environment);
    ConfigReport {
        schema: 1,
        envdoc: env!("CARGO_PKG_VERSION").into(),
        files: settings.files.clone(),
        untrusted: settings.untrusted.iter().map(|one| one.file.clone()).collect(),
        settings: all,
        environment,
    }
}

fn ignored(ignore: &Ignore) -> Setting {
    Setting {
        value: ignore.id.clone(),
        reason: ignore.reason.clone(),
        until: ignore.until.map(|until| until.to_string()),
        files: ignore.files.iter().map(|glob| glob.glob().glob().to_owned()).collect(),
        file: ignore.origin.file.clone(),
        line: ignore.origin.line,
        overridden_by: None,
    }
}

fn text(settings: &Settings) -> String {
    let report = report(settings);
    let mut text = files_text(settings, &report);
    if !report.environment.is_empty() {
        text.push_str("\nEnvironment\n");
    }
    for Variable { name, value, effect } in &report.environment {
        text.push_str(&format!("  {name}={}  ({effect})\n", visible::line(value)));
    }
    text
}

fn files_text(settings: &Settings, report: &ConfigReport) -> String {
    if settings.files.is_empty() {
        let user = user_directory().map(|directory| directory.join("envdoc/envdoc.toml"));
        let user = user.map(|path| format!(", {}", visible::path(&path))).unwrap_or_default();
        return format!(
            "No settings file. Looked for envdoc.toml and [tool.envdoc] in pyproject.toml here and \
             above{user} and /etc/envdoc/envdoc.toml. `envdoc config --keys` lists the keys.\n"
        );
    }
    let mut text = String::from("Files, the strongest first\n");
    for file in &settings.files {
        text.push_str(&format!("  {}\n", shown(file)));
    }
    if report.settings.is_empty() {
        return text + "\nThey contain no settings.\n";
    }
    text.push_str("\nSettings\n");
    let day = today().to_string();
    for (key, values) in &report.settings {
        for one in values {
            let origin = ::config::Origin { file: one.file.clone(), line: one.line };
            text.push_str(&format!("  {key:12}  {}  ({})\n", visible::line(&one.value), place(&origin)));
            let until = one.until.as_ref().map(|until| match *until < day {
                true => format!("ended on {until}"),
                false => format!("until {until}"),
            });
            let files = (!one.files.is_empty()).then(|| format!("only in {}", one.files.join(", ")));
            let overridden = one.overridden_by.map(|name| format!("overridden by {name}"));
            for detail in one.reason.iter().chain(&until).chain(&files).chain(&overridden) {
                text.push_str(&format!("  {:12}  {}\n", "", visible::line(detail)));
            }
        }
    }
    for untrusted in &settings.untrusted {
        let keys = "check, pip-index, apt-mirror, registry, cluster-file elsewhere";
        text.push_str(&format!("\n{untrusted}: what requires trust does not count ({keys}).\n"));
        text.push_str(&format!("Read it, then run: {}\n", untrusted.command()));
    }
    text
}
