//! A variable of Slurm that sbatch sets only for an option which the job does not have.

use crate::read::assigned;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "slurm-variable-unset",
    severity: Severity::Error,
    summary: "batch scripts use the variables that Slurm sets for their options",
    explain: include_str!("slurm_variable_unset.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gres=gpu:4\nsrun torchrun --nnodes=$SLURM_NNODES \
             --nproc_per_node=$SLURM_GPUS_PER_NODE --rdzv_backend=c10d --rdzv_id=1 --rdzv_endpoint=$H:1 \
             t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N2 --gres=gpu:4\nexport WORLD_SIZE=$((SLURM_NNODES * \
             SLURM_GPUS_PER_NODE))\nsrun \
             python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:1\nexport \
             OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\nsrun \
             python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gpus-per-node=a100:4\ntorchrun --standalone \
             --nproc_per_node=$SLURM_GPUS_PER_NODE t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:1\npython t.py --seed \"${SLURM_ARRAY_TASK_ID}\"\n",
        ),
    ],
    silent: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:4\ntorchrun --nproc_per_node=${SLURM_GPUS_PER_NODE:-4} t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gpus-per-node=4 -c 8\nexport \
             OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\ntorchrun \
             --nproc_per_node=$SLURM_GPUS_PER_NODE t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:4\nSLURM_GPUS_PER_NODE=4\ntorchrun \
             --nproc_per_node=$SLURM_GPUS_PER_NODE t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:4\n# sbatch --array=0-7 job.sbatch\npython t.py --seed \
             $SLURM_ARRAY_TASK_ID\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:4\nif [ -n \"$SLURM_ARRAY_TASK_ID\" ]; then echo \
             $SLURM_ARRAY_TASK_ID; fi\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nsrun --ntasks-per-node=4 bash -c 'echo \
             $SLURM_NTASKS_PER_NODE'\n",
        ),
        named("run.sh", "torchrun --nproc_per_node=$SLURM_GPUS_PER_NODE t.py\n"),
    ],
};

/// Variables with the options for which sbatch sets them, by their long names: sbatch.1, output environment
/// variables.
const VARIABLES: &[(&str, &[&str])] = &[
    ("SLURM_GPUS", &["gpus"]),
    ("SLURM_GPUS_PER_NODE", &["gpus-per-node"]),
    ("SLURM_GPUS_PER_TASK", &["gpus-per-task"]),
    ("SLURM_GPUS_PER_SOCKET", &["gpus-per-socket"]),
    ("SLURM_CPUS_PER_TASK", &["cpus-per-task", "tres-per-task"]),
    ("SLURM_CPUS_PER_GPU", &["cpus-per-gpu"]),
    ("SLURM_MEM_PER_GPU", &["mem-per-gpu"]),
    ("SLURM_NTASKS_PER_NODE", &["ntasks-per-node"]),
    ("SLURM_NTASKS_PER_GPU", &["ntasks-per-gpu"]),
    ("SLURM_ARRAY_TASK_ID", &["array"]),
    ("SLURM_ARRAY_JOB_ID", &["array"]),
    ("SLURM_ARRAY_TASK_COUNT", &["array"]),
];

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text).filter(|batch| !batch.is_heterogeneous())
    else {
        return Vec::new();
    };
    let sets = assigned::of_script(script);
    let mut found: Vec<Found> = Vec::new();
    for (name, options) in VARIABLES {
        let own = sets.iter().any(|one| one.name == *name);
        let asked = is_asked(&script.text, name) || is_given_elsewhere(&script.text, name, options);
        if own || asked {
            continue;
        }
        let prints =
            |command: &str| ["echo", "printf"].iter().any(|word| command.trim_start().starts_with(word));
        let place = batch.commands.iter().find(|(_, command)| uses(command, name) && !prints(command));
        let Some((line, command)) = place else { continue };
        let line = line_of(script, *line, name);
        match options.iter().find_map(|option| batch.option(option)) {
            None => found.push(unset(line, command, name, options[0], &batch)),
            Some(option) => {
                let typed = option.value.as_deref().filter(|value| value.contains(':'));
                let Some(value) = typed.filter(|_| name.contains("GPUS") && is_count(command, name)) else {
                    continue;
                };
                let message = format!("${name} is `{value}` here, with the GPU type, not a number");
                found.push(Found::error(line, message, "Use $SLURM_GPUS_ON_NODE").about(*name));
            }
        }
    }
    found
}

fn unset(line: usize, command: &str, name: &str, option: &str, batch: &Batch) -> Found {
    let message = format!("Slurm sets {name} only with --{option}, which the job does not have; it is empty");
    let fix = match batch.gpus_per_node().filter(|_| name.contains("GPUS_PER_NODE") || name == "SLURM_GPUS") {
        Some(gpus) => format!("Use $SLURM_GPUS_ON_NODE, or add `#SBATCH --{option}={gpus}`"),
        None => format!("Add `#SBATCH --{option}=…`, or write `${{{name}:-1}}`"),
    };
    // Arrays are usually submitted with the option on the command line.
    if option == "array" {
        let message =
            format!("Slurm sets {name} only with --array, which the script does not have: sbatch needs it");
        return Found::note(line, message, "Add `#SBATCH --array=…`, or submit with `sbatch --array=…`")
            .about(name);
    }
    // Without a request for GPUs in the script, the options may be on the command line.
    Found::error(line, message, fix).about(name).unless_certain(is_count(command, name) && batch.has_gpus())
}

/// Whether a command uses a variable as the batch script's shell does, also in arithmetic.
fn uses(command: &str, name: &str) -> bool {
    assigned::used(command).contains(name) || in_arithmetic(command, name)
}

fn in_arithmetic(command: &str, name: &str) -> bool {
    command.match_indices("$((").any(|(at, _)| {
        let inner = &command[at + 3..];
        let inner = &inner[..inner.find("))").unwrap_or(inner.len())];
        inner.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').any(|word| word == name)
    })
}

/// Whether the value is a number of processes.
fn is_count(command: &str, name: &str) -> bool {
    const COUNTS: &[&str] = &[
        "--nproc_per_node",
        "--nproc-per-node",
        "--num_processes",
        "--num-processes",
        "--num_gpus",
        "-np",
        "WORLD_SIZE",
        "--ntasks",
        "--ntasks-per-node",
        "--tensor-parallel-size",
    ];
    let plain = command.replace(['"', '\'', '='], " ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    let of = |word: &str| word.contains(name);
    words.windows(2).any(|pair| COUNTS.contains(&pair[0]) && of(pair[1]))
        || words
            .iter()
            .position(|word| *word == "WORLD_SIZE")
            .is_some_and(|at| words[at..].iter().any(|word| of(word)))
}

/// Whether the script asks first whether the variable is set, or gives it a value.
fn is_asked(text: &str, name: &str) -> bool {
    let forms = [
        format!("-n \"${name}\""),
        format!("-n \"${{{name}}}\""),
        format!("-n ${name}"),
        format!("-z \"${name}\""),
        format!("-z \"${{{name}"),
        format!("-n \"${{{name}"),
        format!("-z ${name}"),
        format!("-v {name}"),
        format!("-z ${{{name}"),
        format!("-n ${{{name}"),
        format!("${{{name}:="),
        format!("${{{name}="),
        format!("${{{name}:+"),
        format!("${{{name}+"),
        format!("${{{name}:?"),
    ];
    forms.iter().any(|form| text.contains(form.as_str()))
}

/// Whether a comment has the command that submits the script with the option.
fn is_given_elsewhere(text: &str, name: &str, options: &[&str]) -> bool {
    let short: &[&str] = match name {
        "SLURM_GPUS" => &["-G"],
        "SLURM_CPUS_PER_TASK" => &["-c"],
        _ if name.contains("ARRAY") => &["-a"],
        _ => &[],
    };
    text.lines().filter(|line| line.contains("sbatch ")).any(|line| {
        options.iter().any(|option| line.contains(&format!("--{option}")))
            || line.split_whitespace().any(|word| short.iter().any(|one| word.starts_with(one)))
    })
}

/// The line of a command on which a variable is.
fn line_of(script: &Script, line: usize, name: &str) -> usize {
    let mut rest = script.text.lines().enumerate().skip(line - 1);
    rest.find(|(_, text)| text.contains(name)).map_or(line, |(at, _)| at + 1)
}
