//! A batch script that looks for its files next to itself.

use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "batch-script-directory",
    severity: Severity::Warning,
    summary: "batch scripts look for their files in the directory of the submission",
    explain: include_str!("batch_script_directory.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:1\ncd \"$(dirname \"$0\")\"\npython train.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:1\nDIR=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\n\
             srun python $DIR/train.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:1\nHERE=$(dirname $(realpath $0))\nsource $HERE/env.sh\n",
        ),
    ],
    silent: &[
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:1\ncd \"$SLURM_SUBMIT_DIR\"\npython train.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:1\necho \"usage: $(basename \"$0\")\"\npython train.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:1\nif [ -n \"$SLURM_JOB_ID\" ]; then cd $SLURM_SUBMIT_DIR; \
             else cd $(dirname $0); fi\npython train.py\n",
        ),
        named("run.sh", "cd \"$(dirname \"$0\")\"\npython train.py\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text) else { return Vec::new() };
    // Somebody who knows where the script runs from asks Slurm.
    let knows = [
        "SLURM_SUBMIT_DIR",
        "scontrol show job",
        "SLURM_JOB_ID\" ]",
        "-n \"$SLURM",
        "-z \"$SLURM",
        "-v SLURM",
    ];
    if knows.iter().any(|word| script.text.contains(word)) || batch.option("chdir").is_some() {
        return Vec::new();
    }
    let place = batch.commands.iter().find_map(|(line, command)| {
        let own = ["$0", "${0}", "$BASH_SOURCE", "${BASH_SOURCE"].iter().any(|name| command.contains(name));
        let folder =
            ["dirname", "${0%/*}", "realpath", "readlink -f"].iter().any(|word| command.contains(word));
        let shows = ["echo", "printf"].iter().any(|word| command.trim_start().starts_with(word));
        (own && folder && !shows && !command.contains("basename")).then_some(*line)
    });
    let message = "slurmd runs a copy of the batch script below its spool directory; `$0` is that copy, and \
                   the files next to the script are not there";
    let fix =
        "Use $SLURM_SUBMIT_DIR, the directory in which sbatch was called and in which the script starts";
    place.map(|line| Found::warning(line, message, fix)).into_iter().collect()
}
