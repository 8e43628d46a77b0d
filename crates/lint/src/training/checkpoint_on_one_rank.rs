//! DeepSpeed's save_checkpoint on one rank.

use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "checkpoint-on-one-rank",
    severity: Severity::Warning,
    summary: "every rank calls save_checkpoint of a DeepSpeed engine",
    explain: include_str!("checkpoint_on_one_rank.md"),
    judge: Judge::Training(judge),
    fires: &[named(
        "train.py",
        "import deepspeed\nengine, optimizer, _, _ = deepspeed.initialize(model=model)\nif rank == 0:\n    \
         engine.save_checkpoint(\"out\")\n",
    )],
    silent: &[
        named(
            "train.py",
            "import deepspeed\nengine, optimizer, _, _ = deepspeed.initialize(model=model)\n\
             engine.save_checkpoint(\"out\")\n",
        ),
        named("train.py", "import deepspeed\nif rank == 0:\n    trainer.save_checkpoint(\"out\")\n"),
        named(
            "train.py",
            "import deepspeed\nengine, _, _, _ = deepspeed.initialize(model=model)\nif rank == 0:\n    \
             engine.save_checkpoint(\"out\")\nelse:\n    engine.save_checkpoint(\"out\")\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let made = program
        .assignments
        .iter()
        .filter(|one| program.call_at(&one.at).is_some_and(|call| call.name == "deepspeed.initialize"));
    // The engine is the first of the tuple.
    let engines = made.filter_map(|one| one.name.trim_matches(['(', ')']).split(',').next());
    let names: Vec<String> = engines.map(|name| format!("{}.save_checkpoint", name.trim())).collect();
    let guarded = program.branches.iter().filter(|branch| branch.alone && branch.is_first_rank());
    let found = guarded.flat_map(|branch| {
        let calls = program.calls.iter().filter(|call| names.contains(&call.name) && branch.guards(call));
        calls.map(|call| {
            let message = format!(
                "only one rank calls {} (`if {}`), which waits for all ranks; the job hangs",
                call.name, branch.condition
            );
            Found::warning(call.line, message, "Call it on every rank; DeepSpeed decides who writes what")
        })
    });
    found.collect()
}
