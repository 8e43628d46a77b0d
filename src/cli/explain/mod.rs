//! `envdoc explain`.

mod failure;
pub mod text;

pub(super) use self::failure::signature_page;
use self::failure::{failure, unmatched};
use self::text as explain;
use super::output::Output;
use super::own_checks;
use super::settings::SettingsFiles;
use ::config::{OwnCheck, own};
use ::lint::RULES;
use ::lint::report as lint_report;
use catalog::Catalog;
use checks::CHECKS;
use checks::fleet::FLEET_CHECKS;
use clap::ValueEnum;
use diagnostic::error::{Error, Kind};
use diagnostic::page::wrapped;
use diagnostic::render::json;
use diagnostic::suggest::nearest;
use diagnostic::terminal;
use resolve::lookup;
use resolve::universe::Universe;
use serde::Serialize;

/// Explain a check, a lint rule, an error message or a version
///
/// Works offline, from the catalog. Accepts:
///
/// - an error line of a log, in quotes
/// - error codes: `xid 79`, `sxid 12028`, `ncclSystemError`, `CUDA error 803`, `803`
/// - ids of signatures (docs/signatures.md), checks (`envdoc checks`) and lint rules (`envdoc lint --rules`)
/// - names with or without a version: `torch==2.6.0+cu121`, `torch 2.6`, `cu121`, `numpy 1.26.4`,
///   `deepspeed`, `cuda 12.7`, `driver 550`, `nccl 2.19.3`, `python 3.12`, `h100`, `sm_90`,
///   `ubuntu22.04`, `jammy`, `nvidia/cuda:12.1-base`
/// - environment variables: `NCCL_SOCKET_IFNAME`
/// - own checks of settings files: `own:NAME`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, verbatim_doc_comment)]
pub struct Args {
    /// Id, name with version, or error line.
    #[arg(required = true, value_name = "ID")]
    words: Vec<String>,

    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Markdown, or plain text.
    Text,
    /// JSON with stable keys; schema in docs/schemas/explain.json.
    Json,
}

/// The longest text that is looked up, in bytes.
const LIMIT_BYTES: usize = 16 << 10;

const EXAMPLES: &str = "\
Examples:
  envdoc explain driver-library-mismatch
  envdoc explain xid 79
  envdoc explain torch==2.6.0+cu121
  envdoc explain jammy --format json
  envdoc explain 'RuntimeError: CUDA error: no kernel image is available for execution'";

/// What `envdoc explain --format json` prints, and what the tool `explain` of `envdoc mcp` answers.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct ExplainReport {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: &'static str,
    /// What the text is about.
    pub topic: Topic,
    /// The explanation as `envdoc explain` prints it: Markdown, or text of at most 100 columns.
    pub explanation: String,
}

impl ExplainReport {
    pub(in crate::cli) fn new(topic: Topic, shown: &str) -> ExplainReport {
        let explanation = terminal::plain(shown);
        ExplainReport { schema: 1, envdoc: env!("CARGO_PKG_VERSION"), topic, explanation }
    }
}

/// What a text is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Topic {
    /// A check of one machine or of several.
    Check,
    /// A lint rule, or an answer about an image.
    Rule,
    /// A signature, an error code or a line of a log.
    Failure,
    /// A package, a version, a GPU, an image, a variable.
    Name,
}

impl Args {
    pub(in crate::cli) fn run(
        self,
        catalog: &'static Catalog,
        settings: &SettingsFiles,
    ) -> Result<u8, Error> {
        let text = self.words.join(" ");
        let id = text.trim().to_ascii_lowercase();
        let width = match self.format {
            Format::Text => terminal::width(),
            Format::Json => terminal::WIDTH_MAX,
        };
        if own::name_of(&id).is_some() {
            return self.print(Topic::Check, &fitted(own_check(&id, settings)?, width));
        }
        if let Some(name) = id.strip_prefix("own:").filter(|name| !name.contains(char::is_whitespace)) {
            let error = Error::new(Kind::Usage, format!("{name:?} is not the name of an own check"));
            return Err(error.hint("an own check is own:NAME; `envdoc config` lists the own checks"));
        }
        let (topic, shown) = explained(catalog, &text, width)?;
        self.print(topic, &shown)
    }

    fn print(&self, topic: Topic, shown: &str) -> Result<u8, Error> {
        match self.format {
            Format::Text => terminal::print(shown),
            Format::Json => terminal::print(&json::text(&ExplainReport::new(topic, shown))?),
        }
        .map(|()| 0)
    }
}

/// Markdown, whose lines have up to 110 columns, for a terminal that is narrow.
fn fitted(markdown: String, width: usize) -> String {
    if width < terminal::WIDTH_MAX { wrapped(&markdown, width) } else { markdown }
}

/// The explanation of an own check; its command does not run.
fn own_check(id: &str, settings: &SettingsFiles) -> Result<String, Error> {
    let settings = settings.read()?;
    let named: Vec<&OwnCheck> = settings.checks.iter().filter(|check| check.id() == id).collect();
    if named.is_empty() {
        return Err(own_checks::unknown(&settings, id));
    }
    let texts = named.into_iter().map(explain::own).collect::<Vec<_>>();
    Ok(texts.join("\n"))
}

/// The explanation of a text, wrapped to `width` columns where it is not Markdown.
pub(super) fn explained(
    catalog: &'static Catalog,
    text: &str,
    width: usize,
) -> Result<(Topic, String), Error> {
    let text = text.trim();
    if text.len() > LIMIT_BYTES {
        let message = format!("{} bytes are no name and no line of a log", text.len());
        return Err(Error::new(Kind::Usage, message).hint("for a whole log: envdoc diagnose FILE"));
    }
    let id = text.to_ascii_lowercase();
    if let Some(page) = check_page(&id) {
        return Ok((Topic::Check, fitted(page, width)));
    }
    if let Some(page) = rule_page(&id) {
        return Ok((Topic::Rule, fitted(page, width)));
    }
    if let Some(shown) = failure(catalog, text, &id, width) {
        return shown.map(|shown| (Topic::Failure, shown));
    }
    // Names have few words; the nearest name to a sentence would be a guess.
    if text.split_whitespace().count() > 4 || text.contains('\n') || text.contains(": ") {
        return Err(unmatched(catalog));
    }
    let universe = &Universe::new(catalog);
    match lookup::explain(universe, text) {
        Some(explanation) => Ok((Topic::Name, explain::lookup(&explanation, width))),
        None => Err(unknown(universe, text, &id)),
    }
}

/// The page of a check, by its id.
pub(super) fn check_page(id: &str) -> Option<String> {
    let check = CHECKS.iter().find(|check| check.id == id).map(|check| explain::check(check));
    check.or_else(|| FLEET_CHECKS.iter().find(|check| check.id == id).map(|check| explain::fleet(check)))
}

/// The page of a lint rule or of an answer about an image, by its id.
pub(super) fn rule_page(id: &str) -> Option<String> {
    let rule = RULES.iter().find(|rule| rule.id == id).map(|rule| lint_report::rules::rule(rule));
    rule.or_else(|| ::image::rules().find(|rule| rule.id() == id).map(explain::image))
}

/// The error for a name that nothing has, with the nearest one.
fn unknown(universe: &Universe, text: &str, id: &str) -> Error {
    let catalog = universe.catalog;
    if let Some(maker) = catalog.other_gpus().maker(text) {
        let message = format!("{text:?} is a GPU of {maker}; the catalog covers NVIDIA GPUs only");
        return Error::new(Kind::Usage, message);
    }
    let error = Error::new(Kind::Usage, format!("{text:?} is not in the catalog"));
    let name = id.split([' ', '=']).next().unwrap_or(id);
    let names = || {
        CHECKS
            .iter()
            .map(|check| check.id)
            .chain(FLEET_CHECKS.iter().map(|check| check.id))
            .chain(RULES.iter().map(|rule| rule.id))
            .chain(::image::rules().map(|rule| rule.id()))
            .chain(lookup::names(universe))
    };
    let branch = lookup::driver_branch(universe, id);
    let variable = || {
        let form = text.contains('_') && !text.contains(|letter: char| letter.is_ascii_lowercase());
        form.then(|| catalog.variables().nearest(text)).flatten().map(|row| row.name.as_str())
    };
    let near = || variable().or_else(|| nearest(id, names())).or_else(|| nearest(name, names()));
    let error = error.did_you_mean(branch.as_deref().or_else(near));
    error.hint("`envdoc checks` lists the checks; `envdoc explain --help` shows what else it accepts")
}
