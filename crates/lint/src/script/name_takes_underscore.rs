//! `$NAME_x` reads a variable NAME_x.

use std::collections::BTreeSet;

use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "name-takes-underscore",
    severity: Severity::Warning,
    summary: "names of variables before letters, digits or `_` are in braces",
    explain: include_str!("name_takes_underscore.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "RUN=a\nfor SEED in 1 2; do\n  python train.py --out runs/$RUN_$SEED\ndone\n"),
        named("run.sh", "MODEL=llama\npython train.py --log $MODEL_log.txt\n"),
    ],
    silent: &[
        named("run.sh", "RUN=a\nRUN_=b\necho $RUN_ ${RUN}_x '$RUN_y'\n"),
        named("run.sh", "SLURM=a\necho $SLURM_JOB_ID $MASTER_ADDR\n"),
        named("run.sh", "MODEL=a\nread MODEL_log\necho $MODEL_log\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let own: BTreeSet<&str> = script
        .text
        .split(|letter: char| letter.is_whitespace() || ";(){}\"'".contains(letter))
        .flat_map(|word| [word, word.split('=').next().unwrap_or_default()])
        .collect();
    let sets =
        |name: &str| own.contains(name) && script.text.contains(&format!("{name}=")) || loops(script, name);
    let mut found = Vec::new();
    for (index, line) in
        script.text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'))
    {
        let mut single = false;
        for (offset, letter) in line.char_indices() {
            single ^= letter == '\'';
            if letter != '$' || single {
                continue;
            }
            let rest = &line[offset + 1..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (name, behind) = rest.split_at(end);
            let Some(short) = meant(name, behind)
                .filter(|short| sets(short) && !own.contains(name) && !loops(script, name))
            else {
                continue;
            };
            let message =
                format!("${name} reads the variable {name}, which nothing sets here, and not {short}");
            found.push(
                Found::warning(index + 1, message, format!("Write `${{{short}}}{}`", &name[short.len()..]))
                    .about(name),
            );
        }
    }
    found
}

/// The name that somebody may have meant: without `_` at the end before another variable, or without a part
/// in small letters behind capitals.
fn meant<'t>(name: &'t str, behind: &str) -> Option<&'t str> {
    let bare = name.trim_end_matches('_');
    if bare.len() < name.len() && !bare.is_empty() && behind.starts_with('$') {
        return Some(bare);
    }
    let (short, rest) = name.split_once('_').map(|_| {
        let at = name.find("_").unwrap_or(name.len());
        let split = name
            .char_indices()
            .skip(at)
            .find(|(_, c)| c.is_ascii_lowercase())
            .map_or(name.len(), |(at, _)| at);
        name.split_at(split)
    })?;
    let short = short.trim_end_matches('_');
    let capitals = !short.is_empty() && short.bytes().all(|byte| !byte.is_ascii_lowercase());
    (capitals && rest.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase())).then_some(short)
}

/// Whether a loop or `read` sets a name.
fn loops(script: &Script, name: &str) -> bool {
    ["for", "read", "-r", "local", "export", "declare"].iter().any(|word| {
        let text = format!("{word} {name}");
        script.text.match_indices(&text).any(|(at, _)| {
            script.text[at + text.len()..]
                .chars()
                .next()
                .is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_')
        })
    })
}
