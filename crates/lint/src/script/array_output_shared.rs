//! Tasks of a job array that write the same file.

use std::collections::BTreeMap;

use crate::read::assigned;
use crate::read::dockerfile::command::Command;
use crate::read::sbatch::Batch;
use crate::read::script::{Script, used};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "array-output-shared",
    severity: Severity::Warning,
    summary: "each task of a job array writes files of its own",
    explain: include_str!("array_output_shared.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "sweep.sbatch",
            "#!/bin/bash\n#SBATCH --array=0-5%3\nLRS=(1 2 3 4 5 6)\nLR=${LRS[$SLURM_ARRAY_TASK_ID]}\n\
             RUN=/scratch/$USER/$SLURM_ARRAY_JOB_ID\npython t.py --lr \"$LR\" \
             --checkpoint \"$RUN/best.pt\"\n",
        ),
        named(
            "sweep.sbatch",
            "#!/bin/bash\n#SBATCH -a 1-4\nsrun python t.py --seed=$SLURM_ARRAY_TASK_ID \
             --output=/data/out/preds.parquet\n",
        ),
        named(
            "sweep.sbatch",
            "#!/bin/bash\n#SBATCH -a 1-4\npython t.py --seed $SLURM_ARRAY_TASK_ID > $HOME/metrics.json\n",
        ),
    ],
    silent: &[
        named(
            "sweep.sbatch",
            "#!/bin/bash\n#SBATCH \
             --array=0-5\nRUN=/scratch/$USER/$SLURM_ARRAY_JOB_ID/$SLURM_ARRAY_TASK_ID\npython \
             t.py --lr $SLURM_ARRAY_TASK_ID --checkpoint \"$RUN/best.pt\"\n",
        ),
        named(
            "chain.sbatch",
            "#!/bin/bash\n#SBATCH --array=1-6%1\npython t.py --part $SLURM_ARRAY_TASK_ID --checkpoint \
             /scratch/a/best.pt\n",
        ),
        named(
            "sweep.sbatch",
            "#!/bin/bash\n#SBATCH --array=0-5\nOUT=$(mktemp -d)\ncd /scratch/$SLURM_ARRAY_TASK_ID\npython \
             t.py --lr \
             $SLURM_ARRAY_TASK_ID --checkpoint $OUT/best.pt --metrics metrics.json\n",
        ),
        named(
            "sweep.sbatch",
            "#!/bin/bash\n#SBATCH --array=0-5\npython t.py --lr $SLURM_ARRAY_TASK_ID --init /data/base.pt \
             --out $1/x.pt\n",
        ),
    ],
};

/// Options that name a file to write.
const OUTPUTS: &[&str] = &[
    "out",
    "output",
    "output-file",
    "out-file",
    "save",
    "save-path",
    "save-to",
    "checkpoint",
    "checkpoint-path",
    "ckpt",
    "ckpt-path",
    "metrics",
    "metrics-file",
    "results",
    "result-file",
    "predictions",
];

/// Ends of files that a program writes whole; several tasks may append to others.
const FILES: &[&str] = &[
    ".pt",
    ".pth",
    ".ckpt",
    ".safetensors",
    ".bin",
    ".json",
    ".npz",
    ".npy",
    ".h5",
    ".parquet",
    ".pkl",
    ".onnx",
    ".arrow",
];

/// Variables that are the same in all tasks of an array.
const SHARED: &[&str] =
    &["USER", "LOGNAME", "HOME", "SCRATCH", "WORK", "PROJECT", "SLURM_ARRAY_JOB_ID", "SLURM_SUBMIT_DIR"];

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text) else { return Vec::new() };
    let Some(array) = batch.value("array").filter(|value| has_several(value)) else { return Vec::new() };
    if script.text.contains("--resume") || array.ends_with("%1") {
        return Vec::new();
    }
    let mut values: BTreeMap<String, Option<String>> = BTreeMap::new();
    for one in assigned::of_script(script) {
        let again = values.contains_key(&one.name);
        values.insert(one.name, one.value.filter(|_| !again));
    }
    let found = script.commands.iter().filter(|one| one.certain && one.loops == 0).filter_map(|one| {
        let differs =
            one.words.iter().any(|word| resolved(&word.text, &values).contains("SLURM_ARRAY_TASK_ID"));
        let (option, path) = written(one).find(|(_, path)| is_shared(path, &values))?;
        let shown = if option.is_empty() { "its output".to_owned() } else { option };
        let job = if resolved(&path, &values).contains("SLURM_ARRAY_JOB_ID") {
            ": SLURM_ARRAY_JOB_ID is the number of the whole array"
        } else {
            ""
        };
        let message = format!("all tasks of the array write {shown} to {path}, one over the other{job}",);
        let fix = "Put `$SLURM_ARRAY_TASK_ID` into the path";
        let line = set_in(script, &path).unwrap_or(one.line);
        differs.then(|| Found::warning(line, message, fix))
    });
    found.take(1).collect()
}

/// The line of the variable that a path begins with.
fn set_in(script: &Script, path: &str) -> Option<usize> {
    let name = path.strip_prefix('$')?.trim_start_matches('{');
    let end =
        name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(name.len());
    assigned::of_script(script).into_iter().find(|one| one.name == name[..end]).map(|one| one.line)
}

/// Whether it has more than one task at a time.
fn has_several(value: &str) -> bool {
    let list = value.split('%').next().unwrap_or_default();
    let range = list.split_once('-').is_some_and(|(from, to)| from != to);
    !value.ends_with("%1") && (range || list.contains(','))
}

/// The options and paths that a command writes.
fn written(command: &Command) -> impl Iterator<Item = (String, String)> + '_ {
    let is_output = |name: &str| {
        let bare = name.strip_prefix("--").map(|bare| bare.replace('_', "-"));
        bare.is_some_and(|bare| OUTPUTS.contains(&bare.as_str()))
    };
    let words = command.words.iter().enumerate().filter_map(move |(at, word)| {
        let (name, value) = match word.text.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (word.text.as_str(), command.words.get(at + 1)?.text.clone()),
        };
        is_output(name).then(|| (name.to_owned(), value))
    });
    let program = command.program();
    let runs = program.starts_with("python") || program == "srun";
    words.chain(command.writes.iter().filter(move |_| runs).map(|word| (String::new(), word.text.clone())))
}

/// A text with what the script gives to its variables; those of lists keep their index.
fn resolved(text: &str, values: &BTreeMap<String, Option<String>>) -> String {
    let mut all = text.to_owned();
    for _ in 0..5 {
        let names = used(&all);
        let next: Vec<&String> = names.iter().filter_map(|name| values.get(name)?.as_ref()).collect();
        let more: String = next
            .into_iter()
            .filter(|value| !all.contains(value.as_str()))
            .cloned()
            .collect::<Vec<_>>()
            .join(" ");
        if more.is_empty() {
            break;
        }
        all.push(' ');
        all.push_str(&more);
    }
    all
}

/// Whether a path is certainly the same file in every task.
fn is_shared(path: &str, values: &BTreeMap<String, Option<String>>) -> bool {
    let all = resolved(path, values);
    let known = used(&all)
        .iter()
        .all(|name| SHARED.contains(&name.as_str()) || values.get(name).is_some_and(Option::is_some));
    let absolute = path.starts_with('/') || path.starts_with('$') || path.starts_with("~/");
    let local = ["/tmp", "/local", "/dev/", "TMPDIR"].iter().any(|folder| all.contains(folder));
    let changes = all.contains("$(") || all.contains('`') || all.contains('%');
    known && absolute && !local && !changes && FILES.iter().any(|end| path.ends_with(end))
}
