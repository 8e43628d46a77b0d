//! What an image is, and whether it runs on machines.

mod text;

use diagnostic::render::message_keys;
use schemars::JsonSchema;
use serde::Serialize;

use crate::inspect::existence::ExistenceRule;
use crate::inspect::{Image, Judged};
use catalog::Catalog;
use diagnostic::Subject;
use diagnostic::layout::Layout;
use diagnostic::render::json::{FixEntry, OldFixEntry, evidence, fixes, old_fix};
use diagnostic::report::{self as results, Outcome, Summary};
use diagnostic::rule::Rule;

use judge::{Fix, Verdict};

pub use text::text;

/// Version of the JSON format.
pub const SCHEMA: u32 = 2;

/// The answers about one machine.
pub struct Machine {
    /// `this machine`, or the name of the snapshot's file.
    pub name: String,
    /// The answers.
    pub judged: Vec<Judged>,
}

/// What `envdoc inspect --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Report<'i> {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: &'static str,
    /// The image; null where the registry does not have it.
    pub image: Option<&'i Image>,
    /// Why there is no image: `nginx:0 does not exist in …`; null where there is one.
    pub not_found: Option<String>,
    /// What its labels and variables say of what is in it.
    pub contents: Vec<Content>,
    /// How many answers have each status, over all machines.
    pub summary: Summary,
    /// The machines on which it is to run.
    pub machines: Vec<MachineEntry>,
}

/// A program or library that the image says it contains.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Content {
    /// Its name: `torch`, `CUDA`, `NCCL`.
    pub what: &'static str,
    /// Its version, as written there.
    pub version: String,
    /// The label or variable that says so.
    pub said_by: &'static str,
}

/// The answers about one machine that may run the image.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MachineEntry {
    /// `this machine`, or the name of the snapshot's file.
    pub name: String,
    /// One answer for each question, in a fixed order.
    pub results: Vec<Entry>,
}

/// The answer to one question.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct Entry {
    /// Id of the question: `envdoc explain ID`.
    pub question: &'static str,
    /// `pass`, `warning`, `error`, `unknown` or `not-applicable`.
    pub status: &'static str,
    /// What is wrong and what was expected; the reason for `unknown` and `not-applicable`; empty for `pass`.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// The readings that a finding rests on.
    pub evidence: Vec<String>,
    /// What to do about a finding, the best first.
    pub fixes: Vec<FixEntry>,
    /// The first of `fixes`, as schema 1 named it; null where there is none.
    pub fix: Option<OldFixEntry>,
}

/// How many answers have each status.
pub fn summary(machines: &[Machine]) -> Summary {
    Summary::of(machines.iter().flat_map(|machine| &machine.judged).map(|judged| &judged.verdict))
}

/// The answers about every machine, for every renderer.
pub fn report(image: &Image, machines: &[Machine]) -> results::Report {
    let of_machine = |machine: &Machine| -> Vec<Outcome> {
        let subject = || Subject::node(&machine.name);
        let outcome = |judged: &Judged| Outcome::new(judged.rule, judged.verdict.clone()).on(subject());
        machine.judged.iter().map(outcome).collect()
    };
    results::Report {
        command: "envdoc inspect",
        about: vec![image.name.clone()],
        properties: [("image", Some(image.name.clone())), ("digest", image.digest.clone())]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect(),
        overview: Vec::new(),
        results: machines.iter().flat_map(of_machine).collect(),
        sections: Vec::new(),
    }
}

/// The finding about an image that its registry does not have.
fn absent(why: &str) -> Verdict {
    let fix = Fix::safe("Correct the name or the tag; for a private image, log in with `docker login`.", &[]);
    Verdict::error(why, fix)
}

/// The report about an image that its registry does not have, for every renderer.
pub fn not_found(name: &str, why: &str) -> results::Report {
    results::Report {
        command: "envdoc inspect",
        about: vec![name.to_owned()],
        properties: vec![("image", name.to_owned())],
        overview: Vec::new(),
        results: vec![Outcome::new(&ExistenceRule as &dyn Rule, absent(why))],
        sections: Vec::new(),
    }
}

/// [`not_found`], as `envdoc inspect --format json` prints it.
pub fn not_found_json(why: &str) -> Report<'static> {
    Report {
        schema: SCHEMA,
        envdoc: env!("CARGO_PKG_VERSION"),
        image: None,
        not_found: Some(why.to_owned()),
        contents: Vec::new(),
        summary: Summary::of([&absent(why)]),
        machines: Vec::new(),
    }
}

/// [`not_found`] as text.
pub fn not_found_text(why: &str, layout: Layout) -> String {
    let sign = if layout.unicode { "✗" } else { "x" };
    let verdict = absent(why);
    let fixes = verdict.found().into_iter().flat_map(|found| &found.fixes);
    let fixes: String = fixes.map(|fix| format!("    fix: {}\n", fix.title)).collect();
    format!("{sign} error: {}\n    {why}\n{fixes}", ExistenceRule.id())
}

/// What `envdoc inspect --format json` prints.
pub fn json<'i>(catalog: &'static Catalog, image: &'i Image, machines: &[Machine]) -> Report<'i> {
    let contents = image.contents(catalog).into_iter();
    let machine = |machine: &Machine| MachineEntry {
        name: machine.name.clone(),
        results: machine.judged.iter().map(entry).collect(),
    };
    Report {
        schema: SCHEMA,
        envdoc: env!("CARGO_PKG_VERSION"),
        image: Some(image),
        not_found: None,
        contents: contents.map(|(what, version, said_by)| Content { what, version, said_by }).collect(),
        summary: summary(machines),
        machines: machines.iter().map(machine).collect(),
    }
}

fn entry(judged: &Judged) -> Entry {
    let verdict = &judged.verdict;
    Entry {
        question: judged.rule.id,
        status: verdict.status(),
        message: verdict.message().to_owned(),
        evidence: evidence(verdict),
        fixes: fixes(verdict),
        fix: old_fix(verdict),
    }
}
