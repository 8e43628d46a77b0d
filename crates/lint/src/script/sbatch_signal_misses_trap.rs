//! A signal that Slurm does not send to the shell that waits for it.

use crate::read::quotes::split;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
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
    ],
    silent: &[
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
    let by_hand = script.text.contains("scancel") || script.text.contains(&format!("-{signal} "));
    if flags.contains('B') || sent_anyway || by_hand {
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
    let message = format!(
        "--signal={value} goes to the steps of the job, not to this shell; its trap in line {trap} does not \
         run"
    );
    vec![Found::warning(option.line, message, format!("Write `--signal=B:{rest}`"))]
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
