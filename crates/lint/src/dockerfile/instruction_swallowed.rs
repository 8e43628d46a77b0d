//! An instruction that is a part of the one before it, which a backslash continues.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::instructions::{INSTRUCTIONS, Instruction};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "instruction-swallowed",
    severity: Severity::Error,
    summary: "no backslash before an instruction makes it a part of the one before",
    explain: include_str!("instruction_swallowed.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y git && \\\n    \
             rm -rf /var/lib/apt/lists/* && \\\nCMD [\"python3\"]\n",
        ),
        dockerfile("FROM python:3.12\nRUN pip install --no-cache-dir einops==0.8.0 \\\nCOPY . /app\n"),
        dockerfile("FROM python:3.12\nENV A=1 \\\n    B=2 \\\nWORKDIR /app\n"),
        dockerfile("FROM python:3.12\nRUN make \\\n\n# copy\nCOPY . /app\n"),
    ],
    silent: &[
        dockerfile("FROM python:3.12\nRUN make \\\n    COPY=1 \\\n    ADD -x\nCOPY . /app\n"),
        dockerfile(
            "FROM python:3.12\nRUN psql -c \"select a \\\nFROM b\"\nRUN <<EOF\nmake \\\nCOPY x\nEOF\n",
        ),
        dockerfile("FROM python:3.12\nRUN make \\\nfrom x\nENV A=1 \\\nUSER=me\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.instructions.iter().filter_map(fault).collect()
}

fn fault(one: &Instruction) -> Option<Found> {
    let text = one.text.text.as_str();
    let (at, line, keyword) = one.text.starts().iter().skip(1).find_map(|(at, line)| {
        let rest = text.get(*at..)?;
        let keyword = INSTRUCTIONS.iter().find(|keyword| {
            rest.strip_prefix(**keyword).is_some_and(|rest| rest.starts_with([' ', '\t', '[']))
        })?;
        Some((*at, *line, *keyword))
    })?;
    if in_quotes(text.get(..at)?) {
        return None;
    }
    let message = format!(
        "{keyword} is a part of {} in line {}: the line before it ends with a backslash; the build does not \
         run it as \
         an instruction",
        one.keyword, one.line
    );
    let fix = "Remove the backslash (and `&&`) at the end of the line before";
    Some(Found::error(line, message, fix))
}

/// Whether a text ends inside of quotes.
fn in_quotes(text: &str) -> bool {
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some('\''), _) if letter != '\'' => {}
            (_, '\\') => {
                letters.next();
            }
            (Some(open), _) if open == letter => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            _ => {}
        }
    }
    quote.is_some()
}
