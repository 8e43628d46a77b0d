//! A test of NCCL that tests no communication.

use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "nccl-test-alone",
    severity: Severity::Warning,
    summary: "NCCL tests run on more than one GPU",
    explain: include_str!("nccl_test_alone.md"),
    judge: Judge::Script(judge),
    fires: &[named("test.sh", "./build/all_reduce_perf -b 8 -e 1G -f 2 -g 1\n")],
    silent: &[named(
        "test.sh",
        "./build/all_reduce_perf -b 8 -e 1G -f 2 -g 8\n\
         mpirun -np 8 ./build/all_reduce_perf -b 8 -e 1G -f 2 -g 1\n",
    )],
};

fn judge(script: &Script) -> Vec<Found> {
    let alone = script.commands.iter().filter(|command| {
        let program = command.program();
        program.ends_with("_perf")
            && ["all_reduce", "all_gather", "broadcast", "reduce", "alltoall", "sendrecv"]
                .iter()
                .any(|start| program.starts_with(start))
    });
    let found = alone.filter(|command| {
        let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        let gpus = words.windows(2).find(|pair| matches!(pair[0], "-g" | "--ngpus")).map(|pair| pair[1]);
        let threads = words.windows(2).any(|pair| matches!(pair[0], "-t" | "--nthreads") && pair[1] != "1");
        matches!(gpus, None | Some("1")) && !threads && !words.contains(&"--help")
    });
    found
        .map(|command| {
            let message = format!(
                "{} runs on one GPU in one process, so it measures no \
                 communication",
                command.program()
            );
            Found::warning(
                command.line,
                message,
                "Pass `-g` with the number of GPUs, or use mpirun with one \
                 process per GPU",
            )
        })
        .collect()
}
