//! GPUs that are counted with the header of a table.

use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "gpus-counted-with-header",
    severity: Severity::Error,
    summary: "the number of GPUs is counted without a header",
    explain: include_str!("gpus_counted_with_header.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "NGPU=$(nvidia-smi --query-gpu=name --format=csv | wc -l)\ntorchrun --standalone \
             --nproc_per_node=$NGPU train.py\n",
        ),
        named(
            "run.sh",
            "torchrun --nproc_per_node=$(nvidia-smi --format=csv,nounits --query-gpu=index|wc -l) train.py\n",
        ),
    ],
    silent: &[
        named("run.sh", "NGPU=$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)\n"),
        named("run.sh", "NGPU=$(nvidia-smi -L | wc -l)\n"),
        named("run.sh", "NGPU=$(nvidia-smi --query-gpu=name --format=csv | tail -n +2 | wc -l)\n"),
        named("run.sh", "# nvidia-smi --query-gpu=name --format=csv | wc -l\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let lines = script.text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'));
    let found = lines.filter_map(|(index, line)| {
        let (_, rest) = line.split_once("nvidia-smi")?;
        let (query, counter) = rest.split_once('|')?;
        let counts = counter.split_whitespace().collect::<Vec<_>>();
        let lines = counts.first() == Some(&"wc") && counts.get(1).is_some_and(|one| one.starts_with("-l"));
        let header = query.contains("--format=csv") && !query.contains("noheader");
        let message = "nvidia-smi prints a header line with --format=csv, so that the count is one more than \
                       the number of GPUs";
        let fix = "Write `--format=csv,noheader`, or `nvidia-smi -L | wc -l`";
        (lines && header).then(|| Found::error(index + 1, message, fix))
    });
    found.collect()
}
