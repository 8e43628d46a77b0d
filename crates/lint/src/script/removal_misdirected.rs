//! `rm -rf` of a path that depends on what may have failed, or on a variable that may be empty.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use super::pipe_status_lost::ends_at_failure;
use crate::read::assigned;
use crate::read::dockerfile::command::Command;
use crate::read::script::{Script, in_functions};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "removal-misdirected",
    severity: Severity::Warning,
    summary: "what a script removes does not depend on an unchecked `cd` or an unset variable",
    explain: include_str!("removal_misdirected.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("clean.sh", "#!/bin/bash\ncd /scratch/run1\nrm -rf *\n"),
        named("clean.sh", "#!/bin/bash\ncd \"$SCRATCH/$RUN\";\nfind . -name '*.pt' -delete\n"),
        named("clean.sh", "#!/bin/bash\nrm -rf $CKPT_ROOT/*\n"),
        named("clean.sh", "#!/bin/bash\nDIR=$1\nrm -rf \"$DIR\"/*\n"),
        named("clean.sh", "#!/bin/bash\nrm -rf /$1\n"),
    ],
    silent: &[
        named("clean.sh", "#!/bin/bash\ncd /scratch/run1 || exit 1\nrm -rf *\n"),
        named("clean.sh", "#!/bin/bash\nset -e\ncd /scratch/run1\nrm -rf *\n"),
        named("clean.sh", "#!/bin/bash\ncd /scratch/run1 && rm -rf *\nmkdir -p /s/b\ncd /s/b\nrm -rf *\n"),
        named(
            "clean.sh",
            "#!/bin/bash\nrm -rf \"${CKPT_ROOT:?}\"/*\nrm -rf $TMPDIR/*\nrm -rf \"$X/cache\"\n",
        ),
        named("clean.sh", "#!/bin/bash\nset -u\nrm -rf $CKPT_ROOT/*\n"),
        named("clean.sh", "#!/bin/bash\n[ -n \"$1\" ] || exit 1\nDIR=$1\nrm -rf \"$DIR\"/*\n"),
        named("clean.sh", "#!/bin/bash\nif [ $# -ne 1 ]; then exit 1; fi\nrm -rf \"$1\"/*\n"),
        named("clean.sh", "#!/bin/bash\nsource env.sh\nrm -rf $CKPT_ROOT/*\n"),
        named(
            "clean.sh",
            "#!/bin/bash\nfor d in a b; do rm -rf $d/*; done\nwhile read x; do rm -rf $x/*; done\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let mut found = after_cd(script);
    found.extend(of_variable(script));
    found
}

/// What is removed in the folder in which a script was started, where `cd` fails.
fn after_cd(script: &Script) -> Vec<Found> {
    let mut found = Vec::new();
    let commands = &script.commands;
    for (at, cd) in commands.iter().enumerate() {
        let Some(to) = cd.words.get(1).filter(|_| cd.program() == "cd" && cd.words.len() == 2) else {
            continue;
        };
        let unchecked = cd.after == ";" && !cd.condition && !cd.piped;
        if !unchecked || to.text == "-" || to.text.starts_with("..") || ends_at_failure(script, cd.line) {
            continue;
        }
        let made = commands[..at].iter().any(|one| {
            let makes = matches!(one.program(), "mkdir" | "[" | "[[" | "test");
            makes && one.words.iter().any(|word| word.text == to.text)
        });
        // The script may ask where it is.
        let mut rest = commands[at + 1..].iter().take_while(|one| {
            !matches!(one.program(), "cd" | "pushd" | "popd" | "[" | "[[" | "test")
                && !one.words.iter().any(|word| word.text.contains("$PWD") || word.text.contains("$?"))
        });
        let Some(removal) = rest.find(|one| removes_all(one)).filter(|_| !made) else { continue };
        let message = format!(
            "where `cd {}` (line {}) fails, the script goes on in the folder in which it was started, and \
             `{}` removes what is there",
            to.text,
            cd.line,
            removal.program()
        );
        let fix = format!("Write `cd \"{}\" || exit 1`", to.text);
        found.push(Found::warning(removal.line, message, fix));
    }
    found
}

/// Whether a command removes everything, or everything of a kind, in the working directory.
fn removes_all(command: &Command) -> bool {
    let has = |text: &str| command.words.iter().any(|word| word.text == text && !word.quoted);
    match command.program() {
        "rm" => recursive(command) && ["*", "./*", ".", "./"].iter().any(|one| has(one)),
        "find" => command.word(1) == "." && command.has("-delete"),
        _ => false,
    }
}

fn recursive(command: &Command) -> bool {
    command.words.iter().skip(1).any(|word| {
        word.text == "--recursive"
            || word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(['r', 'R'])
    })
}

/// Variables that every login or every job has.
const OF_SYSTEM: &[&str] = &[
    "HOME",
    "PWD",
    "OLDPWD",
    "TMPDIR",
    "TMP",
    "TEMP",
    "USER",
    "LOGNAME",
    "SLURM_TMPDIR",
    "SCRATCH",
    "WORK",
    "LOCALSCRATCH",
    "XDG_CACHE_HOME",
    "SLURM_JOB_ID",
    "SLURM_JOBID",
    "RUNNER_TEMP",
    "GITHUB_WORKSPACE",
    "WORKSPACE",
    "PBS_JOBFS",
];

/// `rm -rf $X/*` with a variable that nothing sets or asks for.
fn of_variable(script: &Script) -> Vec<Found> {
    let others = script.commands.iter().any(|one| {
        let set_u = one.program() == "set"
            && one.words.iter().any(|word| {
                word.text == "nounset"
                    || word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('u')
            });
        matches!(one.program(), "source" | "." | "eval" | "module" | "getopts") || set_u
    });
    let first = script.text.lines().next().unwrap_or_default();
    let in_head = first.split_whitespace().skip(1).any(|word| word.starts_with('-') && word.contains('u'));
    if others || in_head || !first.starts_with("#!") {
        return Vec::new();
    }
    let sets = assigned::of_script(script);
    let asked = asked(script);
    let in_function = LazyCell::new(|| in_functions(&script.text));
    let mut found = Vec::new();
    for command in script.commands.iter().filter(|one| one.program() == "rm" && recursive(one)) {
        for word in command.words.iter().skip(1).filter(|word| !word.known) {
            let Some((name, behind)) = whole_folder(&word.text) else { continue };
            let mut own = sets.iter().filter(|one| one.name == name);
            let source = match (own.next(), own.next()) {
                (None, _) => name,
                (Some(one), None) => {
                    let value = one.value.as_deref().and_then(|value| value.strip_prefix('$'));
                    match value.filter(|value| is_position(value)) {
                        Some(position) => position,
                        None => continue,
                    }
                }
                _ => continue,
            };
            let given = is_position(source);
            let positions = asked.contains("#") || asked.contains("@") || asked.contains("*");
            // A name that is nearly one of the script's is misspelled: another rule says so.
            let slip = sets.iter().any(|one| diagnostic::suggest::is_typo(name, &one.name));
            let safe = slip && !given
                || OF_SYSTEM.contains(&source)
                || asked.contains(name)
                || asked.contains(source)
                || given && positions
                || given && (*in_function)(command.line);
            if safe {
                continue;
            }
            let what = match given {
                true => format!("where the script gets no argument {source}"),
                false => format!("nothing in the script sets {name}; where it is empty"),
            };
            let message = format!("{what}, `rm` removes {behind}");
            let fix = format!("Write `${{{name}:?}}`, which ends the script where it is empty");
            found.push(Found::warning(command.line, message, fix));
        }
    }
    found
}

fn is_position(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) && name != "0"
}

/// The variable of a path that becomes everything below the root where it is empty, and what that is.
fn whole_folder(text: &str) -> Option<(&str, &'static str)> {
    let (rest, root) = match text.strip_prefix('/') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let rest = rest.strip_prefix('$')?;
    let (name, behind) = match rest.strip_prefix('{') {
        Some(inner) => inner.split_once('}')?,
        None => {
            let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            rest.split_at(end.unwrap_or(rest.len()))
        }
    };
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let all = match root {
        true => matches!(behind, "" | "/" | "/*"),
        false => matches!(behind, "/*" | "/"),
    };
    let what = if behind.ends_with('*') { "`/*`" } else { "`/`" };
    (plain && all).then_some((name, what))
}

/// The variables whose values the script looks at, or that have a value of their own where they are empty.
fn asked(script: &Script) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for command in &script.commands {
        let tests = command.condition
            || matches!(
                command.words.first().map(|word| word.text.as_str()),
                Some("[" | "[[" | "test" | "case")
            );
        for word in &command.words {
            for (at, _) in word.text.match_indices('$') {
                let rest = &word.text[at + 1..];
                let inner = rest.strip_prefix('{').unwrap_or(rest);
                let letters = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
                let end = inner.find(letters).unwrap_or(inner.len());
                let special = end == 0 && inner.starts_with(['#', '@', '*']);
                let name = if special { &inner[..1] } else { &inner[..end] };
                let behind = &inner[name.len()..];
                if tests || rest.starts_with('{') && behind.starts_with([':', '?']) {
                    found.insert(name.to_owned());
                }
            }
        }
        for (name, word) in &command.sets {
            if word.text.contains(":?") || word.text.contains(":-") {
                found.insert(name.clone());
            }
        }
    }
    found
}
