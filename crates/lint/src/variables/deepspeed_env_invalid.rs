//! A line of .deepspeed_env that DeepSpeed cannot take.

use std::str::FromStr;

use pep440_rs::Version;

use crate::read::settings::{Setting, Settings};
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};
use facts::Facts;

pub(crate) const RULE: Rule = Rule {
    id: "deepspeed-env-invalid",
    severity: Severity::Error,
    summary: "every line of .deepspeed_env is NAME=value",
    explain: include_str!("deepspeed_env_invalid.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named(".deepspeed_env", "NCCL_IB_DISABLE=1\n\nNCCL_DEBUG=WARN\n"),
        named(".deepspeed_env", "# interfaces\nNCCL_SOCKET_IFNAME=eth0\n"),
        named(".deepspeed_env", "# NCCL_DEBUG=INFO\nNCCL_SOCKET_IFNAME=eth0\n"),
        named(".deepspeed_env", "NCCL DEBUG=INFO\n"),
        named(".deepspeed_env", "NCCL-DEBUG=INFO\n"),
        named(".deepspeed_env", "A=\"x y\"\n"),
        named(".deepspeed_env", "A='x y'\n"),
        named(".deepspeed_env", "A=x\"\n"),
    ],
    silent: &[
        named(
            ".deepspeed_env",
            "NCCL_SOCKET_IFNAME=eth0\nTORCH_NCCL_ASYNC_ERROR_HANDLING=1\nPYTHONPATH=/a b\nB=\"x\"\n",
        ),
        named(".deepspeed_env", "export NCCL_SOCKET_IFNAME=eth0\n"),
        named("train.env", "# interfaces\n\nNCCL_SOCKET_IFNAME=eth0\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    if settings.kind != Some(Kind::DeepspeedEnvironment) {
        return Vec::new();
    }
    let quotes = quotes_itself(settings.facts.as_deref());
    let lines = settings.others.iter().filter_map(|(line, text)| refused(*line, text.trim()));
    let values = settings.known().filter_map(|(_, one, value)| quoted(one, value.trim(), quotes));
    lines.chain(values).collect()
}

/// A line that sets no variable, or not the one that it names.
fn refused(line: usize, text: &str) -> Option<Found> {
    let Some((name, value)) = text.split_once('=') else {
        let what = if text.is_empty() { "an empty line".to_owned() } else { format!("{text:?}") };
        let message = format!("{what} has no `=`; the launcher fails with ValueError");
        return Some(Found::error(line, message, "Write NAME=value"));
    };
    let words: Vec<&str> = name.split_whitespace().collect();
    if words.iter().any(|word| word.starts_with('#')) {
        let message = "the nodes' shell treats everything after `#` as a comment, including the command that \
                       starts the ranks; nothing starts";
        return Some(Found::error(line, message, "Delete the line"));
    }
    // `export export NAME=value` sets NAME.
    if let ["export", name] = words[..]
        && is_name(name)
    {
        return None;
    }
    let message = match words.last() {
        Some(last) if words.iter().all(|word| is_name(word)) => {
            format!("the shell on the nodes sets {last}={value}, not {name:?}")
        }
        _ => format!("{text:?} becomes `export {text}` on every node, which has no valid variable name"),
    };
    Some(Found::warning(line, message, "Write NAME=value").about(words.last().copied().unwrap_or(name)))
}

fn is_name(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// Whether the launcher puts quotes around values itself: since 0.15.2, and the newest release where nothing
/// shows which one it is.
fn quotes_itself(facts: Option<&Facts>) -> bool {
    let environments = facts.and_then(|facts| facts.python.environments.known()).into_iter().flatten();
    let known = environments.filter_map(|one| Version::from_str(one.package("deepspeed").known()?).ok());
    known.max().is_none_or(|version| version >= Version::new([0, 15, 2]))
}

/// What the quotes of a value do.
fn quoted(one: &Setting, value: &str, quotes_itself: bool) -> Option<Found> {
    let name = &one.name;
    let warning = |message: String, fix: &str| Some(Found::warning(one.location.clone(), message, fix));
    let parts: Vec<&str> = value.split('"').collect();
    if parts.len().is_multiple_of(2) && !value.contains('\\') {
        let message = format!("the value of {name} has one `\"` too many; the nodes' shell starts nothing");
        return warning(message, "Write the value without quotes");
    }
    if !quotes_itself {
        let bare = value.contains(' ') && !value.starts_with(['"', '\'']);
        let message =
            format!("the value of {name} contains an unquoted space; the shell on the nodes drops the rest");
        return bare.then(|| Found::warning(one.location.clone(), message, "Quote the value"));
    }
    // Within DeepSpeed's own quotes, those of the file end and begin the quoted parts.
    if parts.iter().skip(1).step_by(2).any(|part| part.contains(char::is_whitespace)) {
        let message = format!(
            "DeepSpeed quotes the value of {name} itself; with the quotes of this file it ends at its first \
             space"
        );
        return warning(message, "Write it without quotes");
    }
    let single = value.len() > 1 && value.starts_with('\'') && value.ends_with('\'');
    let message =
        format!("DeepSpeed quotes the value of {name} itself; the single quotes become part of the value");
    single.then(|| Found::warning(one.location.clone(), message, "Write it without quotes"))
}
