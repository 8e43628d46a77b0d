//! Lines for sbatch that it does not read.

use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sbatch-directive-ignored",
    severity: Severity::Error,
    summary: "sbatch reads every #SBATCH line of a script",
    explain: include_str!("sbatch_directive_ignored.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N 1\nmodule load cuda\n#SBATCH --gres=gpu:4\nsrun python t.py\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH -N 1\n# SBATCH --gres=gpu:4\nsrun python t.py\n"),
        named("job.sbatch", "#SBATCH -N 1\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\r\n#SBATCH -N 1\r\nsrun python t.py\r\n"),
    ],
    silent: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n\n# resources\n#SBATCH -N 1\n##SBATCH --gres=gpu:4\nsrun python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N 1\ncat > sub.sh <<'EOF'\n#SBATCH -N 2\nEOF\nsrun python t.py\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text) else { return Vec::new() };
    let mut found: Vec<Found> =
        batch.ignored.iter().map(|(line, text)| ignored(&batch, *line, text)).collect();
    if !script.text.starts_with("#!") {
        let message = "the first line is not a `#!` line; sbatch refuses the script";
        found.push(Found::error(1, message, "Begin the file with `#!/bin/bash`"));
    }
    if script.text.contains("\r\n") {
        let message = "the script has DOS line breaks; sbatch refuses it";
        found.push(Found::error(1, message, "Convert it with `dos2unix`"));
    }
    found
}

fn ignored(batch: &Batch, line: usize, text: &str) -> Found {
    let text = text.trim();
    match batch.first_command.filter(|first| *first < line && text.starts_with("#SBATCH")) {
        Some(first) => {
            let message = format!("sbatch ignores {text:?}: it comes after the first command (line {first})");
            Found::error(line, message, "Move it above the first command")
        }
        None => {
            let message =
                format!("sbatch ignores {text:?}: a directive begins with `#SBATCH` in the first column");
            Found::warning(line, message, "Write `#SBATCH` in capitals, without spaces")
        }
    }
}
