//! Lines that match no signature and report an error.

use std::sync::LazyLock;

use regex::Regex;

use crate::expression::constant;
use crate::log_prefix::{Level, LogPrefix};
use crate::read::Found;

/// Whether a line reports a failed program: not that errors were counted, expected, or are possible.
pub(super) fn sure(found: &Found, rest: &str, prefix: &LogPrefix) -> bool {
    static SURE: LazyLock<Regex> = LazyLock::new(|| {
        constant(
            r"(?x)^\s*(?:ERROR|Error|error|FATAL|Fatal|fatal|FAILED|panic|PANIC|CRITICAL)(?:\ ?:|\ \[)
            |^\s*[Ee]rror\ (?:\w+ing|while|when|in|from|on|at)\b[^:]{0,80}:\ 
            |^\s*[\w.+/-]+:\ (?:[Ff]atal\ )?[Ee]rror(?::|\ -)\ 
            |\b(?:fatal\ error|panic):
            |(?:^|[]|>]\ )\s*(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)(?::\ |:?$)
            |^(?:[a-z_]\w*\.)+(?:exceptions|errors|exc|error)\.[A-Z]\w+:\ 
            |\bexit(?:ed|s|ing)?\ (?:with\ )?(?:non-zero\ )?
            (?:exit\ |return\ |error\ )?(?:code|status)[:\ =]*-?[1-9]
            |^terminate\ called|\bcore\ dumped\b|\bcommand\ not\ found$|^make(?:\[\d+\])?:\ \*\*\*
            |Error\ response\ from\ daemon|^E:\ |:\ cannot\ open\ shared\ object|:\ fatal\ error:",
        )
    });
    found.error_like
        && !matches!(prefix.level, Some(Level::Info | Level::Warning))
        && (SURE.is_match(rest) || SURE.is_match(&found.text))
}
