//! `envdoc explain`.

pub mod text;

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
use diagnose::code::{Code, code};
use diagnose::report::signature;
use diagnose::scan::{Hit, Scanner};
use diagnostic::error::{Error, Kind};
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
/// - error codes: `xid 79`, `sxid 12028`, `ncclSystemError`, `CUDA error 803`
/// - ids of signatures (docs/signatures.md), checks (`envdoc checks`) and lint rules (`envdoc lint --rules`)
/// - names with or without a version: `torch==2.6.0+cu121`, `torch 2.6`, `cu121`, `numpy 1.26.4`,
///   `deepspeed`, `cuda 12.7`, `driver 550`, `nccl 2.19.3`, `python 3.12`, `h100`, `sm_90`,
///   `ubuntu22.04`, `nvidia/cuda:12.1-base`
/// - environment variables: `NCCL_SOCKET_IFNAME`
/// - own checks of settings files: `own:NAME`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, verbatim_doc_comment)]
pub struct Args {
    /// Id, name with version, or error line.
    #[arg(required = true, value_name = "ID")]
    words: Vec<String>,

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

/// The longest text that is looked up, in bytes.
const LIMIT_BYTES: usize = 16 << 10;

const EXAMPLES: &str = "\
Examples:
  envdoc explain driver-library-mismatch
  envdoc explain xid 79
  envdoc explain torch==2.6.0+cu121
  envdoc explain 'RuntimeError: CUDA error: no kernel image is available for execution'";

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
        if own::name_of(&id).is_some() {
            return own_check(&id, settings);
        }
        if let Some(name) = id.strip_prefix("own:").filter(|name| !name.contains(char::is_whitespace)) {
            let error = Error::new(Kind::Usage, format!("{name:?} is not the name of an own check"));
            return Err(error.hint("an own check is own:NAME; `envdoc config` lists the own checks"));
        }
        let (_, shown) = explained(catalog, &text, terminal::width())?;
        terminal::print(&shown).map(|()| 0)
    }
}

/// The explanation of an own check; its command does not run.
fn own_check(id: &str, settings: &SettingsFiles) -> Result<u8, Error> {
    let settings = settings.read()?;
    let named: Vec<&OwnCheck> = settings.checks.iter().filter(|check| check.id() == id).collect();
    if named.is_empty() {
        return Err(own_checks::unknown(&settings, id));
    }
    let texts = named.into_iter().map(explain::own).collect::<Vec<_>>();
    terminal::print(&texts.join("\n")).map(|()| 0)
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
        return Ok((Topic::Check, page));
    }
    if let Some(page) = rule_page(&id) {
        return Ok((Topic::Rule, page));
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

/// The page of a signature, by its id.
pub(super) fn signature_page(catalog: &'static Catalog, id: &str, width: usize) -> Option<String> {
    catalog.signatures().signature(id).map(|one| signature::signature(one, width))
}

/// The error for a name that nothing has, with the nearest one.
fn unknown(universe: &Universe, text: &str, id: &str) -> Error {
    let catalog = universe.catalog;
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

/// The explanation of a signature id, an error code or a log line; `None` if it is none of them.
fn failure(catalog: &'static Catalog, text: &str, id: &str, width: usize) -> Option<Result<String, Error>> {
    if let Some(page) = signature_page(catalog, id, width) {
        return Some(Ok(page));
    }
    match code(catalog, text) {
        Some(Code::Xid(row)) => return Some(Ok(signature::of_xid(row, width))),
        Some(Code::Sxid(row)) => return Some(Ok(signature::of_sxid(row, width))),
        Some(Code::Cuda(row)) => {
            let lines = format!("CUDA error: {}\n{}", row.text, row.name);
            return Some(Ok(signature::of_cuda(catalog, row, &found(catalog, &lines), width)));
        }
        Some(Code::Unknown(kind, number)) => {
            let error = Error::new(Kind::Usage, format!("the catalog has no {kind} {number}"));
            return Some(Err(match kind {
                "CUDA error" => {
                    error.hint("it has the codes of CUDA 12 and 13; older releases may use other numbers")
                }
                _ => error,
            }));
        }
        None => {}
    }
    let hits = found(catalog, text);
    (!hits.is_empty()).then(|| Ok(signature::hits(catalog, &hits, width)))
}

/// The matching signatures, each once, root causes first.
fn found(catalog: &'static Catalog, lines: &str) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    for hit in lines.lines().flat_map(|line| Scanner::new(catalog).scan(line)) {
        if !hits.iter().any(|known| known.signature.id == hit.signature.id) {
            hits.push(hit);
        }
    }
    hits.sort_by_key(|hit| hit.signature.role);
    hits
}

fn unmatched(catalog: &Catalog) -> Error {
    let count = catalog.signatures().all().len();
    Error::new(Kind::Usage, "no signature matches this line; its meaning is unknown").hint(format!(
        "{count} failure messages are known (docs/signatures.md); try the first error of the log"
    ))
}
