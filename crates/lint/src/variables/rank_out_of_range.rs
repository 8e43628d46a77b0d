//! Ranks that do not exist, ports that are none, and addresses that are not reachable from other nodes.

use std::collections::BTreeSet;

use crate::read::settings::{Scope, Setting, Settings};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "rank-out-of-range",
    severity: Severity::Error,
    summary: "ranks are below the world size, and master address and port are an address and a port",
    explain: include_str!("rank_out_of_range.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("node.env", "WORLD_SIZE=8\nRANK=8\n"),
        named("node.env", "NNODES=2\nNODE_RANK=2\n"),
        named("node.env", "MASTER_PORT=295000\n"),
        named("node.env", "MASTER_ADDR=10.0.0.1:29500\n"),
        named("node.env", "MASTER_ADDR=tcp://10.0.0.1\n"),
        named("node.env", "WORLD_SIZE=two\n"),
        named("run.sh", "export WORLD_SIZE=$NODES*${GPUS}\npython train.py\n"),
    ],
    silent: &[
        named(
            "node.env",
            "WORLD_SIZE=8\nRANK=7\nLOCAL_RANK=0\nMASTER_ADDR=node-1.example\nMASTER_PORT=29500\n",
        ),
        named("node.env", "MASTER_ADDR=fd00::1\nRANK=$SLURM_PROCID\n"),
        named("node.env", "export WORLD_SIZE=1 RANK=0\n"),
        named("run.sh", "export WORLD_SIZE=${NODE_COUNT:-\"1\"}\npython train.py\n"),
        named("run.sh", "declare -i WORLD_SIZE\nWORLD_SIZE=NODES*GPUS\nexport WORLD_SIZE\npython train.py\n"),
        named("run.sh", "typeset -xi WORLD_SIZE=$NODES*$GPUS\npython train.py\n"),
        named("run.sh", "export WORLD_SIZE=$((NODES * GPUS)) RANK=${R:-0}\npython train.py\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    settings.scopes.iter().flat_map(|scope| of_scope(scope, &settings.integers)).collect()
}

/// Ranks and what they are below.
const RANKS: &[(&str, &str)] = &[
    ("RANK", "WORLD_SIZE"),
    ("NODE_RANK", "NNODES"),
    ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    ("LOCAL_RANK", "WORLD_SIZE"),
];
const NUMBERS: &[&str] =
    &["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "NNODES", "MASTER_PORT"];

fn value<'s>(scope: &'s Scope, name: &str) -> Option<(&'s Setting, &'s str)> {
    let setting = scope.setting(name)?;
    Some((setting, setting.value.as_deref().filter(|value| is_plain(value))?))
}

/// Whether a value is one that a reader gets as it is: a line for a shell may set several variables.
fn is_plain(value: &str) -> bool {
    !value.is_empty() && !value.contains(['$', ' '])
}

fn of_scope(scope: &Scope, integers: &BTreeSet<String>) -> Vec<Found> {
    // The shell calculates what is assigned to an integer.
    let texts = NUMBERS.iter().filter(|name| !integers.contains(**name));
    let mut found: Vec<Found> =
        texts.filter_map(|name| number(scope, name).or_else(|| product(scope, name))).collect();
    let ranks = RANKS.iter().filter_map(|(rank, size)| {
        let (setting, text) = value(scope, rank)?;
        let (number, all): (u64, u64) = (text.parse().ok()?, value(scope, size)?.1.parse().ok()?);
        let message = format!(
            "{rank}={number}, but with {size}={all} the ranks go from 0 to {}",
            all.saturating_sub(1)
        );
        (number >= all && all > 0).then(|| Found::error(setting.location.clone(), message, "Count from 0"))
    });
    found.extend(ranks);
    found.dedup_by(|one, other| one.line == other.line);
    found.extend(address(scope));
    found
}

fn number(scope: &Scope, name: &str) -> Option<Found> {
    let (setting, text) = value(scope, name)?;
    let port = name == "MASTER_PORT";
    let parsed = text.parse::<u64>();
    let fits = match &parsed {
        // 0 lets PyTorch choose a port.
        Ok(number) => !port || *number <= 65_535,
        // A range of nodes is elastic.
        Err(_) => name == "NNODES" && text.split(':').all(|part| part.parse::<u64>().is_ok()),
    };
    let what = if port { "a port from 1 to 65535" } else { "a whole number" };
    let message = format!("{name}={text} is not {what}; the ranks fail to start");
    (!fits).then(|| Found::error(setting.location.clone(), message, format!("Write {what}")))
}

/// A calculation that the shell does not make: `$NODES*$GPUS` is a text with a `*` in it, whatever the two
/// variables are.
fn product(scope: &Scope, name: &str) -> Option<Found> {
    let setting = scope.setting(name)?;
    let text = setting.written.as_str();
    let is_operand = |part: &str| {
        let bare = part.strip_prefix("${").and_then(|part| part.strip_suffix('}'));
        let bare = bare.or(part.strip_prefix('$')).unwrap_or(part);
        !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let operator = text.find(['*', '+'])?;
    if !text.contains('$') || !text.split(['*', '+']).all(is_operand) {
        return None;
    }
    let message = format!(
        "{name}={text} is a text with a `{}`, not a number: the value is not calculated; the ranks fail to \
         start",
        &text[operator..=operator]
    );
    let fix = format!("Write `{name}=$(({}))`", text.replace(['$', '{', '}'], ""));
    Some(Found::error(setting.location.clone(), message, fix))
}

fn address(scope: &Scope) -> Option<Found> {
    let (setting, text) = value(scope, "MASTER_ADDR")?;
    let scheme = text.contains("://");
    let port = text.matches(':').count() == 1;
    let message = format!(
        "MASTER_ADDR={text} must be a name or an address alone; it is looked up as a \
        name"
    );
    (scheme || port).then(|| {
        Found::error(
            setting.location.clone(),
            message,
            "Put the port into \
        MASTER_PORT",
        )
    })
}
