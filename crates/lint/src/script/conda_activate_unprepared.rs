//! `conda activate` in a script whose shell does not know it.

use crate::read::dockerfile::command::Command;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "conda-activate-unprepared",
    severity: Severity::Warning,
    summary: "scripts prepare their shell before `conda activate`",
    explain: include_str!("conda_activate_unprepared.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:1\nconda activate train\npython train.py\n"),
        named("run.sh", "#!/usr/bin/env bash\nset -e\nmamba activate /envs/x && torchrun train.py\n"),
        named("run.sh", "#!/bin/bash\nmicromamba activate x\npython train.py\n"),
    ],
    silent: &[
        named("run.sh", "#!/bin/bash\nsource ~/miniconda3/etc/profile.d/conda.sh\nconda activate x\n"),
        named("run.sh", "#!/bin/bash\neval \"$(conda shell.bash hook)\"\nconda activate x\npython t.py\n"),
        named("run.sh", "#!/bin/bash -l\nconda activate x\npython t.py\n"),
        named("run.sh", "#!/bin/bash\nmodule load anaconda\nconda activate x\npython t.py\n"),
        named("run.sh", "#!/bin/bash\n. /opt/conda/bin/activate\nconda activate x\npython t.py\n"),
        named("run.sh", "conda activate x\npython t.py\n"),
        named("env.sh", "#!/bin/bash\nconda activate x\n"),
        named("run.sh", "#!/bin/bash\nconda run -n x python t.py\nbash -lc 'conda activate x'\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let first = script.text.lines().next().unwrap_or_default();
    let shell =
        first.strip_prefix("#!").filter(|shell| ["bash", "sh", "zsh"].iter().any(|one| shell.contains(one)));
    let job = script.text.lines().any(|line| line.starts_with("#SBATCH"));
    let login = shell.is_some_and(|shell| {
        shell.split_whitespace().skip(1).any(|word| word.starts_with('-') && word.contains(['l', 'i']))
    });
    if login || shell.is_none() && !job {
        return Vec::new();
    }
    let activates = |command: &Command| {
        matches!(command.program(), "conda" | "mamba" | "micromamba") && command.word(1) == "activate"
    };
    let Some(at) = script.commands.iter().position(activates) else { return Vec::new() };
    let (before, rest) = script.commands.split_at(at);
    let reads = |command: &Command| {
        let word = command.words.first().map_or("", |word| word.text.as_str());
        matches!(word, "source" | "." | "eval" | "module" | "ml" | "spack" | "load" | "conda_init")
            || command.has("init") && matches!(command.program(), "conda" | "mamba" | "micromamba")
    };
    let hook = script.text.contains("shell.bash")
        || script.text.contains("shell hook")
        || script.text.contains("conda()");
    // A file that only activates is one to be read by others.
    let does = rest.iter().skip(1).any(|command| !command.words.is_empty());
    if before.iter().any(reads) || hook || !does {
        return Vec::new();
    }
    let (program, command) = (rest[0].program(), &rest[0]);
    let message = format!(
        "`{program} activate` is a shell function that scripts do not have: it ends with `Your shell has not \
         been \
         properly configured`, unless the shell that starts the script exports it; the rest runs with \
         another Python"
    );
    let fix = match program {
        "micromamba" => "Write `eval \"$(micromamba shell hook --shell bash)\"` before it",
        _ => "Write `eval \"$(conda shell.bash hook)\"` before it, or use `conda run -n ENV`",
    };
    vec![Found::warning(command.line, message, fix)]
}
