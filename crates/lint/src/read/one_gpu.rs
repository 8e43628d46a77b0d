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
            // A list that only the running process knows is its own.
            |line| line.contains("CUDA_VISIBLE_DEVICES=$") || line.contains("CUDA_VISIBLE_DEVICES=\"$"),
        );
        own_list
            || Batch::read(program.catalog, &script.text)
                .is_some_and(|batch| of_job(program.catalog, &batch, base))
    })
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
