//! A variable that a loop behind a pipe sets in a shell of its own.

use crate::read::dockerfile::command::Command;
use crate::read::script::{Script, used};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "loop-variable-lost",
    severity: Severity::Error,
    summary: "values that a loop sets are used in the same shell",
    explain: include_str!("loop_variable_lost.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "N=0\ncat hosts.txt | while read h; do\n  N=$((N+1))\ndone\ntorchrun --nnodes=$N train.py\n",
        ),
        named(
            "run.sh",
            "#!/bin/bash\nHOSTS=\"\"\nscontrol show hostnames | while read -r h; do HOSTS=\"$HOSTS,$h\"; \
             done\nmpirun -H \"${HOSTS}\" ./a\n",
        ),
    ],
    silent: &[
        named("run.sh", "N=0\nwhile read h; do N=$((N+1)); done < hosts.txt\necho $N\n"),
        named(
            "run.sh",
            "shopt -s lastpipe\nN=0\ncat hosts.txt | while read h; do N=$((N+1)); done\necho $N\n",
        ),
        named("run.sh", "N=0\ncat hosts.txt | while read h; do N=$((N+1)); echo $N; done\nN=4\necho $N\n"),
        named("run.sh", "cat hosts.txt | { while read h; do N=$((N+1)); done; echo $N; }\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let first = script.text.lines().next().unwrap_or_default();
    if script.text.contains("lastpipe") || ["zsh", "ksh"].iter().any(|shell| first.contains(shell)) {
        return Vec::new();
    }
    let commands = &script.commands;
    let lines: Vec<&str> = script.text.lines().collect();
    let mut found = Vec::new();
    for (at, command) in commands.iter().enumerate().filter(|(_, one)| one.piped && one.condition) {
        let before = at.checked_sub(1).map_or(0, |before| commands[before].loops);
        let line = lines.get(command.line - 1).map_or("", |line| line.trim());
        let direct = line.contains("| while ") || line.contains("|while ") || line.starts_with("while ");
        if command.loops <= before || !direct {
            continue;
        }
        let length = commands[at..].iter().take_while(|one| one.loops > before).count();
        let (body, behind) = (&commands[at..at + length], &commands[at + length..]);
        let sets = body.iter().filter(|one| one.words.is_empty()).flat_map(|one| &one.sets);
        let lost = sets.into_iter().find_map(|(name, word)| {
            let initial = commands[..at].iter().any(|one| sets_name(one, name));
            let user = behind.iter().take_while(|one| !sets_name(one, name)).find(|one| uses(one, name))?;
            // A value that is read again in each turn may be meant for the turn alone.
            let kept = word.text.contains(name.as_str()) || !word.text.contains(['$', '`']);
            (initial && kept).then_some((name, word.line, user))
        });
        found.extend(lost.map(|(name, line, user)| {
            let message = format!(
                "the loop runs in a shell of its own, because it is behind a pipe; {name} still has its old \
                 value in line {}",
                user.line
            );
            let fix = "Write `while read …; do …; done < <(COMMAND)` (bash), or read from a file";
            Found::error(line, message, fix).about(name)
        }));
    }
    found
}

fn sets_name(command: &Command, name: &str) -> bool {
    command.words.is_empty() && command.sets.iter().any(|(set, _)| set == name)
        || matches!(command.program(), "read" | "mapfile") && command.has(name)
}

fn uses(command: &Command, name: &str) -> bool {
    let words = command.words.iter().chain(command.sets.iter().map(|(_, word)| word)).chain(&command.writes);
    words.into_iter().any(|word| used(&word.text).contains(name))
}
