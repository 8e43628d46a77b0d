//! Tests whose answer does not depend on the variable in them.

use crate::read::dockerfile::command::{Command, Word};
use crate::read::handed::all_commands;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "test-always-true",
    severity: Severity::Warning,
    summary: "a test of a variable depends on its value",
    explain: include_str!("test_always_true.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "ckpt=$(ls -t ckpt/*.pt | head -1)\nif [ -n $ckpt ]; then\n  ARGS=\"--resume $ckpt\"\nfi\npython \
             train.py $ARGS\n",
        ),
        named("run.sh", "if test -n ${RESUME}; then echo a; fi\n"),
        named("run.sh", "if [ ! -n $(pgrep torchrun) ]; then python train.py; fi\n"),
        named("run.sh", "if [ \"$BACKEND\"=\"nccl\" ]; then export NCCL_DEBUG=INFO; fi\n"),
        named("run.sh", "[ $NNODES=1 ] && export NCCL_IB_DISABLE=1\n"),
    ],
    silent: &[
        named(
            "run.sh",
            "if [ -n \"$ckpt\" ]; then a; fi\nif [[ -n $ckpt ]]; then a; fi\n[ -z $ckpt ] && b\n",
        ),
        named("run.sh", "if [ \"$BACKEND\" = \"nccl\" ]; then a; fi\n[ -n \"$(pgrep torchrun)\" ] || b\n"),
        named("run.sh", "[ -n ${#files[@]} ]; [ $x ] && a\n[ -n $a -a -n $b ] && c\n[ -n \"$A\"x ]\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    all_commands(script).iter().filter_map(fault).collect()
}

fn fault(command: &Command) -> Option<Found> {
    let words = &command.words;
    let inner = match words.first()?.text.as_str() {
        "[" if words.last()?.text == "]" => words.get(1..words.len() - 1)?,
        "test" => words.get(1..)?,
        _ => return None,
    };
    let (negated, inner) = match inner.split_first() {
        Some((first, rest)) if first.text == "!" => (true, rest),
        _ => (false, inner),
    };
    match inner {
        [option, value] if option.text == "-n" && is_unquoted(value) => {
            let answer = if negated { "false" } else { "true" };
            let message = format!(
                "where {} is empty, the shell removes the word, and `[ -n ]` is true: this test is always \
                 {answer}",
                value.text
            );
            let fix = format!("Write `[ -n \"{}\" ]`", value.text);
            Some(Found::warning(command.line, message, fix))
        }
        [only] if is_comparison(only) => {
            let message = format!(
                "no spaces around `=`: `{}` is one word, which is not empty, and the test is always true",
                only.text
            );
            let (left, right) = only.text.split_once('=')?;
            let right = right.trim_start_matches('=');
            Some(Found::warning(command.line, message, format!("Write `[ \"{left}\" = \"{right}\" ]`")))
        }
        _ => None,
    }
}

/// Whether a word is one expansion alone, which becomes nothing where it is empty.
fn is_unquoted(word: &Word) -> bool {
    let text = word.text.as_str();
    if word.quoted || word.known {
        return false;
    }
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let braces = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let plain = text.strip_prefix('$').is_some_and(is_name) || braces.is_some_and(is_name);
    let substitution = text.starts_with("$(") && !text.starts_with("$((") && text.ends_with(')');
    plain || substitution
}

/// `$A=b` as one word.
fn is_comparison(word: &Word) -> bool {
    let Some((left, right)) = word.text.split_once('=') else { return false };
    let name = left.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).or(left.strip_prefix('$'));
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    name.is_some_and(is_name) && !right.is_empty()
}
