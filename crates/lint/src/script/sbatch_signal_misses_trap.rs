//! A signal that does not reach the shell that waits for it, or comes while the shell waits for a program.

use crate::programs;
use crate::read::dockerfile::command::Command;
use crate::read::posix::masked;
use crate::read::quotes::split;
use crate::read::sbatch::Batch;
use crate::read::script::{Script, in_functions};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sbatch-signal-misses-trap",
    severity: Severity::Warning,
    summary: "the signal of --signal reaches the shell that traps it",
    explain: include_str!("sbatch_signal_misses_trap.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --signal=USR1@300\ntrap requeue USR1\nsrun python train.py &\nwait\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --signal=12@60\ntrap 'touch STOP' SIGUSR2\nsrun python train.py &\nwait\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --signal=B:USR1@300\nrequeue() {\n  scontrol requeue $SLURM_JOB_ID\n}\n\
             trap requeue USR1\nsrun python train.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --signal=B:USR2@120\nhandler() {\n  touch STOP\n  wait \"$PID\"\n}\n\
             trap handler USR2\nsrun python train.py > log 2>&1\nPID=$!\nwait \"$PID\"\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --signal B:TERM@60\ntrap 'touch STOP; sleep 30' SIGTERM\n\
             torchrun --standalone train.py 2>&1 | tee log\n",
        ),
    ],
    silent: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --signal=B:USR1@300\ntrap 'touch STOP; wait' USR1\n(\n  srun python \
             train.py\n) &\nwait\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --signal=B:USR1@300\nsave() {\n  srun touch STOP\n}\ntrap save USR1\n\
             srun hostname\nsrun python train.py &\nwait $!\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --signal=B:USR1@300\ntrap save USR1\nexec srun python train.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --signal=B:USR1@300\nsrun python prepare.py\ntrap save USR1\n\
             ./loop.sh\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --signal=B:USR1@300\ntrap requeue USR1\nsrun python train.py &\nwait\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --signal=USR1@300\ntrap cleanup EXIT\nsrun python train.py\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --signal=USR1@300\ntrap '' USR1\nsrun python train.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --signal=USR1@300\nsrun bash -c 'trap save USR1; python train.py & wait'\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text) else { return Vec::new() };
    let Some(option) = batch.option("signal") else { return Vec::new() };
    let value = option.value.as_deref().unwrap_or_default();
    let (flags, rest) = value.split_once(':').unwrap_or(("", value));
    let signal = name(rest.split('@').next().unwrap_or_default());
    // Slurm sends SIGTERM to everything when the time is over.
    let sent_anyway = matches!(signal.as_str(), "TERM" | "CONT" | "KILL" | "");
    let to_shell = flags.contains('B');
    let by_hand = script.text.contains("scancel") || script.text.contains(&format!("-{signal} "));
    if !to_shell && (sent_anyway || by_hand) {
        return Vec::new();
    }
    let trap = batch.commands.iter().find_map(|(line, command)| {
        let words = split(command, true);
        let (first, rest) = words.split_first()?;
        let (handler, signals) = rest.split_first()?;
        let caught = first == "trap" && !matches!(handler.as_str(), "" | "-" | "-p" | "-l");
        (caught && signals.iter().any(|one| name(one.trim_end_matches(';')) == signal)).then_some(*line)
    });
    let Some(trap) = trap else { return Vec::new() };
    if to_shell {
        return foreground(script, trap, &signal, value).into_iter().collect();
    }
    let message = format!(
        "--signal={value} goes to the steps of the job, not to this shell; its trap in line {trap} does not \
         run"
    );
    vec![Found::warning(option.line, message, format!("Write `--signal=B:{rest}`"))]
}

/// Whether a script starts anything in the background: `a &`, `( … ) &`, `coproc a`.
fn has_background(script: &Script) -> bool {
    let mask = masked(&script.text);
    let bytes = mask.as_bytes();
    let alone = |at: usize| {
        let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
        let behind = bytes.get(at + 1).copied().unwrap_or(b' ');
        bytes[at] == b'&' && !b"&<>|".contains(&before) && !b"&>".contains(&behind)
    };
    mask.contains("coproc") || (0..bytes.len()).any(alone)
}

/// What the shell waits for, instead of running its trap. `wait` ends for a signal, but it waits only for
/// what runs in the background; a function may start that.
fn foreground(script: &Script, trap: usize, signal: &str, value: &str) -> Option<Found> {
    let waits_later = script.commands.iter().any(|one| one.program() == "wait");
    if waits_later && has_background(script) {
        return None;
    }
    let in_function = in_functions(&script.text);
    let short = ["hostname", "nvidia-smi", "mkdir", "cp", "rsync", "echo", "date", "env", "ls", "touch"];
    let lines: Vec<&str> = script.text.lines().collect();
    let replaces = |one: &Command| {
        lines.get(one.line - 1).is_some_and(|line| line.split_whitespace().any(|word| word == "exec"))
    };
    let is_run = |one: &Command| programs::is_job(one) && !short.iter().any(|word| one.has(word));
    let mut later = script.commands.iter().enumerate().filter(|(_, one)| one.line > trap && !replaces(one));
    let (at, run) = later.find(|(_, one)| is_run(one) && !in_function(one.line))?;
    // `srun … | tee log &`, `(srun …) &`
    let last = script.commands[at..].iter().find(|one| one.after != "|")?;
    let waits = !matches!(last.after, "&" | ")");
    let message = format!(
        "bash waits for {} and runs the trap for {signal} (line {trap}) only when it has ended; \
         --signal={value} comes earlier than that{}",
        run.program(),
        if waits_later {
            "; `wait` does not help because the script starts nothing in the background"
        } else {
            ""
        }
    );
    let fix = format!(
        "Start `{}` in the background: put `&` behind it, and `wait` in the next line",
        run.program()
    );
    waits.then(|| Found::warning(run.line, message, fix))
}

/// The name of a signal without `SIG`.
fn name(text: &str) -> String {
    let upper = text.trim().to_ascii_uppercase();
    let numbers =
        [("1", "HUP"), ("2", "INT"), ("10", "USR1"), ("12", "USR2"), ("15", "TERM"), ("18", "CONT")];
    match numbers.iter().find(|(number, _)| *number == upper) {
        Some((_, name)) => (*name).to_owned(),
        None => upper.strip_prefix("SIG").unwrap_or(&upper).to_owned(),
    }
}
