//! Whether the scripts that start a program show each of its processes one GPU only.

use catalog::Catalog;

use super::python::Program;
use super::quotes::split;
use super::sbatch::Batch;

/// Whether a script starts the program so that every process sees one GPU, its first.
pub(crate) fn sees_one_gpu(program: &Program) -> bool {
    let base = program.name.rsplit('/').next().unwrap_or_default();
    program.scripts.iter().any(|script| {
        let own_list = script.text.lines().map(str::trim_start).filter(|line| !line.starts_with('#')).any(
            // A list that is known at run time only is its own.
            |line| line.contains("CUDA_VISIBLE_DEVICES=$") || line.contains("CUDA_VISIBLE_DEVICES=\"$"),
        );
        own_list
            || Batch::read(program.catalog, &script.text)
                .is_some_and(|batch| of_job(program.catalog, &batch, base))
    })
}

/// Whether every script that names the program starts it once on its node, with Python itself.
pub(crate) fn one_process_a_node(program: &Program) -> bool {
    const SEVERAL: &[&str] = &[
        "torchrun",
        "torch.distributed",
        "deepspeed",
        "accelerate",
        "mpirun",
        "mpiexec",
        "srun",
        "LOCAL_RANK",
        "SLURM",
        "xargs",
        "parallel",
        "while ",
        "for ",
    ];
    let base = program.name.rsplit('/').next().unwrap_or_default();
    let mut starts = 0;
    for script in &program.scripts {
        let lines = script.text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        let code = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
        if SEVERAL.iter().any(|word| code.contains(word)) {
            return false;
        }
        for line in code.lines().filter(|line| line.contains(base)) {
            let is_python = |word: &str| word.rsplit('/').next().is_some_and(|one| one.starts_with("python"));
            if line.ends_with('&') || !line.split_whitespace().any(is_python) {
                return false;
            }
            starts += 1;
        }
    }
    starts == 1
}

/// Whether srun starts a program in a job so that every task sees one GPU.
fn of_job(catalog: &'static Catalog, batch: &Batch, base: &str) -> bool {
    let steps = batch.commands.iter().filter(|(_, command)| starts(command, base));
    let mut steps = steps.map(|(_, command)| batch.one_gpu_a_task(catalog, command).is_some()).peekable();
    steps.peek().is_some() && steps.all(|one| one)
}

/// Whether a command is a step with a program.
pub(crate) fn starts(command: &str, base: &str) -> bool {
    let words = split(command, true);
    words.first().is_some_and(|word| word == "srun")
        && words.iter().any(|word| word.split_whitespace().any(|part| part.rsplit('/').next() == Some(base)))
}
