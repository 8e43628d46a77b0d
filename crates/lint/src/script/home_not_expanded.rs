//! `~` where no shell replaces it.

use crate::programs;
use crate::read::dockerfile::command::Command;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "home-not-expanded",
    severity: Severity::Warning,
    summary: "`~` in the arguments of programs is where the shell replaces it",
    explain: include_str!("home_not_expanded.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "torchrun --nproc_per_node=4 train.py --data \"~/data/train\"\n"),
        named("run.sh", "python train.py --out=~/ckpt\n"),
        named("run.sh", "docker run -v \"~/data:/data\" img\n"),
        named("run.sh", "#!/bin/bash\nmkdir -p '~/logs'\n"),
    ],
    silent: &[
        named("run.sh", "python train.py --out ~/ckpt --data ~/\"my data\"\n"),
        named("run.sh", "export HF_HOME=\"~/hf\"\nPATH=$PATH:~/bin\n"),
        named(
            "run.sh",
            "ssh h \"ls ~/x\"\nrsync -a . h:~/x\nrsync --exclude='~/x' a b\nbash -c \"ls ~/x\"\n",
        ),
        named("run.sh", "#!/bin/zsh\npython train.py --out=~/ckpt\n"),
        named("run.sh", "echo \"~/ckpt\"\npython -c \"open('~/x')\"\n"),
    ],
};

/// Programs that take paths, besides those that many rules know.
const PROGRAMS: &[&str] = &["mkdir", "cd", "ls", "cp", "mv", "tar", "source", "test"];

fn judge(script: &Script) -> Vec<Found> {
    let first = script.text.lines().next().unwrap_or_default();
    if first.starts_with("#!") && first.contains("zsh") {
        return Vec::new();
    }
    let lines: Vec<&str> = script.text.lines().collect();
    script.commands.iter().filter_map(|command| fault(command, &lines)).collect()
}

fn fault(command: &Command, lines: &[&str]) -> Option<Found> {
    let program = command.program();
    let known =
        programs::is_python(program) || programs::is_launcher(program) || programs::is_engine(program);
    if !known && !PROGRAMS.contains(&program) {
        return None;
    }
    let shells = command.words.iter().any(|word| matches!(word.text.as_str(), "bash" | "sh" | "-c"));
    let word = command.words.iter().skip(1).find(|word| {
        let line = lines.get(word.line.saturating_sub(1)).copied().unwrap_or_default();
        let quoted = word.text.starts_with("~/")
            && word.quoted
            && [format!("\"{}", word.text), format!("'{}", word.text)]
                .iter()
                .any(|one| line.contains(one.as_str()));
        let behind = word.text.starts_with("--")
            && word.text.split_once('=').is_some_and(|(_, value)| value.starts_with("~/"));
        quoted || behind && word.known
    })?;
    if shells {
        return None;
    }
    let how = if word.text.starts_with('~') { "in quotes" } else { "after `=`" };
    let message = format!("the shell does not replace ~ {how}: {program} gets the text {}", word.text);
    let fix = "Write `$HOME` in place of `~`";
    Some(Found::warning(word.line.max(command.line), message, fix))
}
