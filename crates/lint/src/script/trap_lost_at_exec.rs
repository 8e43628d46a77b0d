//! A trap of a shell that replaces itself with a program.

use crate::read::dockerfile::command::Command;
use crate::read::script::{Script, in_functions};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "trap-lost-at-exec",
    severity: Severity::Warning,
    summary: "a shell with a trap does not replace itself with `exec`",
    explain: include_str!("trap_lost_at_exec.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gpus=8\ntrap 'cp -r $TMPDIR/out $HOME' EXIT\nexec srun python train.py\n",
        ),
        named(
            "entrypoint.sh",
            "#!/bin/sh\nset -e\ncleanup() {\n  rm -f /shared/lock\n}\ntrap cleanup TERM INT\nexec \"$@\"\n",
        ),
    ],
    silent: &[
        named("run.sh", "trap cleanup EXIT\nexec > >(tee log) 2>&1\nexec 3< hosts\npython train.py\n"),
        named("run.sh", "trap cleanup EXIT\ncleanup\ntrap - EXIT\nexec python train.py\n"),
        named(
            "run.sh",
            "trap cleanup EXIT\npython train.py\n(exec python b.py)\nf() {\n  exec python c.py\n}\n",
        ),
        named("run.sh", "if [ \"$1\" = setup ]; then\n  trap cleanup EXIT\nfi\nexec \"$@\"\n"),
        named("run.sh", "trap '' HUP\nexec python train.py\n"),
        named("run.sh", "trap 'echo line $LINENO' ERR\nexec python train.py\n"),
        // A here-document without a command is on no line.
        named("run.sh", "trap cleanup EXIT\n<<E\na\nE\nexec 3>&1\n"),
        named("run.sh", "trap cleanup EXIT\nif [ -n \"$X\" ]; then\n  exec python t.py\nfi\npython b.py\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let in_function = in_functions(&script.text);
    let lines: Vec<&str> = script.text.lines().collect();
    let traps = script.commands.iter().filter(|one| {
        one.program() == "trap" && !signals(one).is_empty() && one.certain && !in_function(one.line)
    });
    // `trap - EXIT` and `trap '' HUP` run nothing.
    let set: Vec<_> = traps.filter(|one| !matches!(one.words[1].text.as_str(), "-" | "")).collect();
    let Some(trap) = set.last() else { return Vec::new() };
    let reset = script.commands.iter().any(|one| {
        one.program() == "trap" && one.line > trap.line && (one.word(1) == "-" || one.words.len() < 3)
    });
    let replaces = script.commands.iter().find(|one| {
        let written = lines.get(one.line.saturating_sub(1)).map_or("", |line| line.trim_start());
        let program = written.strip_prefix("exec ").map(str::trim_start);
        let runs = program.is_some_and(|rest| !rest.starts_with(['<', '>', '&']) && !is_descriptor(rest));
        one.line > trap.line && one.certain && runs && !one.words.is_empty() && !in_function(one.line)
    });
    let Some(command) = replaces.filter(|_| !reset) else { return Vec::new() };
    let message = format!(
        "exec replaces the shell, and with it the trap for {} (line {}): what it does at the end never runs",
        signals(trap).join(", "),
        trap.line
    );
    let fix = "Start the program without `exec`; for signals, in the background, and wait for it";
    vec![Found::warning(command.line, message, fix)]
}

/// The signals of a trap, without those that end with the shell's own commands.
fn signals(trap: &Command) -> Vec<&str> {
    let words = trap.words.iter().skip(2).map(|word| word.text.as_str());
    words.filter(|signal| !matches!(*signal, "ERR" | "DEBUG" | "RETURN")).collect()
}

/// `3< file`, `2>&1`: a redirection of the shell itself.
fn is_descriptor(rest: &str) -> bool {
    let rest = rest.strip_prefix('{').and_then(|inner| inner.split_once('}')).map_or(rest, |(_, rest)| rest);
    rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).starts_with(['<', '>'])
}
