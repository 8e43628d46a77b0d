//! `envdoc explain`.

use crate::checks::CHECKS;
use crate::checks::fleet::FLEET_CHECKS;
use crate::error::{Error, Kind};
use crate::inspect::judge::QUESTIONS;
use crate::lint::RULES;
use crate::report::{explain, lint, screen};
use crate::resolve::exists;
use crate::resolve::world::World;

/// Tell what a check looks at or a rule of lint finds, or whether a version exists, what it is and what does instead.
///
/// Offline, from the catalog. Ids of checks (`envdoc checks` lists them), of rules (`envdoc lint --rules`) and of constraints; `torch==2.6.0+cu121`, `torch 2.6`,
/// `numpy 1.26.4`, `deepspeed`, `cuda 12.7`, `driver 550`, `nccl 2.19.3`, `python 3.12`, `h100`, `sm_90`, `ubuntu22.04`,
/// `nvidia/cuda:12.1-base`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id of a check, a rule or a constraint, or a thing with its version.
    #[arg(required = true, value_name = "ID")]
    words: Vec<String>,
}

impl Args {
    /// Prints the explanation.
    pub fn run(self) -> Result<u8, Error> {
        let text = self.words.join(" ");
        let text = text.trim();
        let id = text.to_ascii_lowercase();
        if let Some(check) = CHECKS.iter().find(|check| check.id == id) {
            return screen::print(&explain::check(check)).map(|()| 0);
        }
        if let Some(check) = FLEET_CHECKS.iter().find(|check| check.id == id) {
            return screen::print(&explain::fleet(check)).map(|()| 0);
        }
        if let Some(rule) = RULES.iter().find(|rule| rule.id == id) {
            return screen::print(&lint::rules::rule(rule)).map(|()| 0);
        }
        if let Some(question) = QUESTIONS.iter().find(|question| question.id == id) {
            return screen::print(&explain::question(question)).map(|()| 0);
        }
        if let Some(explanation) = exists::thing(World::get(), text) {
            return screen::print(&explain::thing(&explanation, screen::width())).map(|()| 0);
        }
        let error = Error::new(Kind::Usage, format!("nothing is known of {text:?}"));
        let name = id.split([' ', '=']).next().unwrap_or(&id);
        let names = || {
            CHECKS
                .iter()
                .map(|check| check.id)
                .chain(FLEET_CHECKS.iter().map(|check| check.id))
                .chain(RULES.iter().map(|rule| rule.id))
                .chain(QUESTIONS.iter().map(|question| question.id))
                .chain(exists::names(World::get()))
        };
        let error = match super::nearest(&id, names()).or_else(|| super::nearest(name, names())) {
            Some(near) => error.hint(format!("did you mean {near}?")),
            None => error,
        };
        Err(error
            .hint("`envdoc checks` lists the checks; `envdoc explain --help` shows what else can be asked"))
    }
}
