//! A configuration of DeepSpeed, and what is known of the run that it is for.

use catalog::Catalog;
use std::rc::Rc;

use super::json::Json;
use crate::file::World;
use facts::Facts;

/// A ds_config.json.
#[derive(Debug)]
pub(crate) struct Config {
    /// What it is compared with.
    pub catalog: &'static Catalog,
    pub json: Json,
    /// Whether it looks like a template that somebody still fills in.
    pub template: bool,
    /// The number of ranks and its source.
    pub world: Option<World>,
    /// The facts of the target machine, if known.
    pub facts: Option<Rc<Facts>>,
}

impl Config {
    /// The stage of ZeRO; nothing where it is left to somebody else ("auto") or is a plain switch.
    pub(crate) fn stage(&self) -> Option<u64> {
        match self.json.get("zero_optimization") {
            None => Some(0),
            Some(_) => match self.json.get("zero_optimization.stage") {
                None => Some(0),
                Some(_) => whole(self.json.number("zero_optimization.stage")?),
            },
        }
    }

    pub(crate) fn whole(&self, path: &str) -> Option<u64> {
        whole(self.json.number(path)?)
    }
}

fn whole(number: f64) -> Option<u64> {
    // Sizes and counts; larger ones would lose digits.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be whole, positive and small"
    )]
    (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64)
}
