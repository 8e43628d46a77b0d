//! Values of a task that the batch script expands on the first node, and addresses that differ by node.

use crate::programs;
use crate::read::quotes::expanded;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sbatch-rank-expanded-early",
    severity: Severity::Error,
    summary: "ranks are expanded in each task, and the master address once",
    explain: include_str!("sbatch_rank_expanded_early.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=4\nsrun torchrun --nnodes=4 --master_addr=$HEAD \
             --node_rank=\"$SLURM_NODEID\" t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=4\nexport RANK=$SLURM_PROCID\nsrun python \
            t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nsrun bash -c 'MASTER_ADDR=$(hostname) torchrun --nnodes=2 \
             --master_addr=$MASTER_ADDR t.py'\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nexport MASTER_ADDR=localhost\nsrun python t.py\n",
        ),
    ],
    silent: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=4\nexport MASTER_ADDR=$(hostname)\nsrun bash -c 'torchrun \
             --nnodes=4 --master_addr=$MASTER_ADDR --node_rank=$SLURM_NODEID t.py'\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=1\nexport MASTER_ADDR=localhost\nsrun python t.py --rank \
                $SLURM_PROCID\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nsrun bash -c \"torchrun --node_rank=\\$SLURM_NODEID t.py\"\n",
        ),
    ],
};

/// Variables that srun sets for each task.
const OF_TASK: &[&str] = &["SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID"];

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text) else { return Vec::new() };
    let several =
        |name: &str| batch.options.iter().any(|one| one.name == name && one.value.as_deref() != Some("1"));
    let nodes = several("nodes");
    if !nodes && !several("ntasks") && !several("ntasks-per-node") {
        return Vec::new();
    }
    let steps: Vec<usize> =
        batch.commands.iter().filter(|(_, one)| is_step(one)).map(|(line, _)| *line).collect();
    let mut found = Vec::new();
    for (line, command) in &batch.commands {
        found.extend(early(*line, command, steps.iter().any(|step| step > line)));
        if nodes {
            found.extend(own_address(*line, command, &steps));
        }
    }
    found
}

fn is_step(command: &str) -> bool {
    command.split_whitespace().next() == Some("srun")
}

fn uses(text: &str, name: &str) -> bool {
    let plain = text.match_indices(&format!("${name}")).any(|(at, found)| {
        let next = text[at + found.len()..].chars().next();
        next.is_none_or(|letter| !letter.is_ascii_alphanumeric() && letter != '_')
    });
    plain || text.contains(&format!("${{{name}"))
}

fn early(line: usize, command: &str, before_step: bool) -> Option<Found> {
    let text = expanded(command);
    let name = OF_TASK.iter().find(|name| uses(&text, name))?;
    let fix = format!("Write `srun bash -c '… ${name} …'` in single quotes");
    if is_step(command) {
        let message =
            format!("the batch script expands ${name} on the first node, before srun; every task gets 0");
        // What a node prints about itself is no rank.
        let printed = text.contains("echo") && !programs::launches(command) && !command.contains("rank");
        return (!printed).then(|| Found::error(line, message, fix));
    }
    let assigned =
        text.trim_start().trim_start_matches("export ").split_once('=').is_some_and(|(variable, value)| {
            variable.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && uses(value, name)
                && (variable.contains("RANK") || variable.contains("ID"))
        });
    let message = format!(
        "the batch script runs on the first node only: ${name} is 0 here, for every \
        task"
    );
    (assigned && before_step).then(|| Found::error(line, message, fix))
}

/// The command that a text begins with, to its end: `$(hostname -I)`.
fn whole<'t>(text: &'t str, start: &'t str) -> &'t str {
    let end = match start.chars().next() {
        Some('$') if start.starts_with("$(") => text.find(')'),
        Some('`') => text[1..].find('`').map(|end| end + 1),
        _ => None,
    };
    end.map_or(start, |end| &text[..=end])
}

/// `MASTER_ADDR` of the node itself, in every task.
fn own_address(line: usize, command: &str, steps: &[usize]) -> Option<Found> {
    let fix =
        "Set it in the batch script: MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)";
    let own =
        ["$(hostname", "`hostname", "$HOSTNAME", "$SLURMD_NODENAME", "127.0.0.1", "localhost", "0.0.0.0"];
    let names = [
        "MASTER_ADDR=",
        "--master_addr=",
        "--master-addr=",
        "--master_addr ",
        "--rdzv_endpoint=",
        "--rdzv-endpoint=",
    ];
    let value = |text: &str| {
        names.iter().find_map(|name| {
            let (_, rest) = text.split_once(name)?;
            let rest = rest.trim_start_matches(['"', '\'', ' ']);
            own.iter().find(|one| rest.starts_with(**one)).map(|one| whole(rest, one).to_owned())
        })
    };
    if is_step(command) {
        let inner = value(command)?;
        let outside = value(&expanded(command)).is_some() && inner.starts_with(['$', '`']);
        let message = format!(
            "each node uses {inner} as the master address, its own; the ranks never \
            meet"
        );
        return (!outside).then(|| Found::error(line, message, fix));
    }
    let loopback = value(command).filter(|value| !value.starts_with(['$', '`']))?;
    let message =
        format!("the master address {loopback} is another machine on each node; the ranks never meet");
    steps.iter().any(|step| *step > line).then(|| Found::error(line, message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_whole() {
        assert_eq!(whole("$(hostname -I) torchrun", "$(hostname"), "$(hostname -I)");
        assert_eq!(whole("`hostname` torchrun", "`hostname"), "`hostname`");
        assert_eq!(whole("$(hostname", "$(hostname"), "$(hostname");
        assert_eq!(whole("127.0.0.1:29500", "127.0.0.1"), "127.0.0.1");
    }
}
