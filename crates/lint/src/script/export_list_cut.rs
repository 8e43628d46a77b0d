//! A value with commas in the list of `srun --export`.

use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::read::script_values;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "export-list-cut",
    severity: Severity::Error,
    summary: "values in the list of `srun --export` have no commas",
    explain: include_str!("export_list_cut.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=1\nsrun \
             --export=ALL,WANDB_MODE=offline,CUDA_VISIBLE_DEVICES=0,1,2,3 \\\n  \
             python t.py\n",
        ),
        named("submit.sh", "IDS=4,5\nsbatch --export \"ALL,CUDA_VISIBLE_DEVICES=$IDS\" job.sbatch\n"),
        named("run.sh", "srun -n 4 --gres gpu:4 --export=ALL,CUDA_VISIBLE_DEVICES=0,1 python t.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N 1 --export ALL,CUDA_VISIBLE_DEVICES=0,1\nsrun python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --export=ALL,NCCL_IB_HCA=mlx5_0,mlx5_1\nsrun python t.py\n",
        ),
    ],
    silent: &[
        named("submit.sh", "sbatch --export=ALL,SEED=1,CUDA_VISIBLE_DEVICES=0 job.sbatch\n"),
        named("submit.sh", "sbatch --export=NCCL_DEBUG=INFO,HOME,PATH,A100=1 job.sbatch\n"),
        named("job.sbatch", "export CUDA_VISIBLE_DEVICES=0,1,2,3\nsrun --export=ALL python t.py\n"),
        // sbatch keeps a value in quotes together.
        named("submit.sh", "sbatch --export=\"ALL,CUDA_VISIBLE_DEVICES='0,1,2,3'\" job.sbatch\n"),
        named("submit.sh", "sbatch --export=ALL,CUDA_VISIBLE_DEVICES=$IDS,RUN=2 job.sbatch\n"),
        named("submit.sh", "sbatch job.sbatch --export=ALL,IDS=0,1\n"),
        named("submit.sh", "srun -n 4 job.sh --export=ALL,IDS=0,1\n"),
    ],
};

/// Variables that hold lists of names with numbers: `mlx5_0,mlx5_1`.
const LISTS: &[&str] = &["NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "UCX_NET_DEVICES"];

fn judge(script: &Script) -> Vec<Found> {
    let mut found = Vec::new();
    let known = script.catalog.sbatch_options();
    let takes_value = |word: &str| match word.strip_prefix("--") {
        Some(long) => !long.contains('=') && known.long(long).is_some_and(|option| option.value),
        None => word.len() == 2 && known.short(&word[1..]).is_some_and(|option| option.value),
    };
    for command in script_values::commands(script) {
        let program = command.program();
        if !matches!(program, "srun" | "sbatch" | "salloc") {
            continue;
        }
        let mut words = command.words.iter().skip(1);
        while let Some(word) = words.next() {
            // Behind the program the options are its own.
            if !word.text.starts_with('-') {
                break;
            }
            let list = match word.text.as_str() {
                "--export" => words.next(),
                text if text.starts_with("--export=") => Some(word),
                text => {
                    if takes_value(text) {
                        words.next();
                    }
                    None
                }
            };
            let Some(list) = list else { continue };
            let text = list.text.strip_prefix("--export=").unwrap_or(&list.text);
            found.extend(cut(text).map(|cut| fault(word.line, program, &cut)));
        }
    }
    let batch = Batch::read(script.catalog, &script.text).unwrap_or_default();
    let quoted = |line: usize| {
        script.text.lines().nth(line.saturating_sub(1)).is_some_and(|line| line.contains(['\'', '"']))
    };
    for one in batch.options.iter().filter(|one| one.name == "export" && !quoted(one.line)) {
        found.extend(one.value.as_deref().and_then(cut).map(|cut| fault(one.line, "sbatch", &cut)));
    }
    found
}

/// What a list is cut into.
struct Cut {
    name: String,
    value: String,
    /// What follows the first comma of the value.
    rest: Vec<String>,
}

fn fault(line: usize, program: &str, cut: &Cut) -> Found {
    let Cut { name, value, rest } = cut;
    let message = format!(
        "{program} splits the list of --export at commas: {name} is only `{value}`, and `{}` is taken for {}",
        rest.join(","),
        if rest.len() == 1 { "the name of a variable" } else { "names of variables" }
    );
    let fix =
        format!("Write `export {name}={value},{}` before the command, and `--export=ALL`", rest.join(","));
    Found::error(line, message, fix).about(name)
}

/// The first value that is cut: behind it come words that name no variable.
fn cut(list: &str) -> Option<Cut> {
    // Slurm keeps what is in quotes together.
    if list.contains(['\'', '"']) {
        return None;
    }
    let parts: Vec<&str> = list.split(',').collect();
    (0..parts.len()).find_map(|at| {
        let (name, value) = parts[at].split_once('=').filter(|(_, value)| !value.contains('$'))?;
        let is_rest = |part: &&&str| {
            let number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            number || LISTS.contains(&name) && !part.contains(['=', '$']) && stem(part) == stem(value)
        };
        let rest: Vec<String> =
            parts[at + 1..].iter().take_while(is_rest).map(|part| (*part).to_owned()).collect();
        (!rest.is_empty()).then(|| Cut { name: name.to_owned(), value: value.to_owned(), rest })
    })
}

/// A name without its number: `mlx5_` of `mlx5_0` and `mlx5_1:1`.
fn stem(name: &str) -> &str {
    name.split(':').next().unwrap_or_default().trim_end_matches(|letter: char| letter.is_ascii_digit())
}
