//! The list of a job's nodes in place of one host name.

use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sbatch-nodelist-as-address",
    severity: Severity::Error,
    summary: "the master address of a Slurm job is one host name",
    explain: include_str!("sbatch_nodelist_as_address.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nexport MASTER_ADDR=$SLURM_JOB_NODELIST\nsrun python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N 4\nsrun torchrun --nnodes=4 --rdzv_endpoint=\"${SLURM_NODELIST}:29500\" \
             --rdzv_backend=c10d --rdzv_id=1 t.py\n",
        ),
    ],
    silent: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=1\nexport MASTER_ADDR=$SLURM_JOB_NODELIST\nsrun python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nexport MASTER_ADDR=$(scontrol show hostnames \
             \"$SLURM_JOB_NODELIST\" | head -n1)\nsrun python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nNODES=$SLURM_JOB_NODELIST\nexport \
             MASTER_ADDR=${SLURM_JOB_NODELIST%%,*}\nsrun python t.py\n",
        ),
    ],
};

/// Variables with the list: `node[01-02]`.
const LISTS: &[&str] = &["SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_STEP_NODELIST"];

/// What takes one host name.
const ADDRESSES: &[&str] = &[
    "MASTER_ADDR=",
    "MAIN_PROCESS_IP=",
    "--master_addr=",
    "--master_addr ",
    "--master-addr=",
    "--master-addr ",
    "--rdzv_endpoint=",
    "--rdzv_endpoint ",
    "--rdzv-endpoint=",
    "--rdzv-endpoint ",
    "--main_process_ip=",
    "--main_process_ip ",
];

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text) else { return Vec::new() };
    let nodes = batch.options.iter().rev().find(|one| one.name == "nodes");
    let least = nodes.and_then(|one| one.value.as_deref()?.split('-').next()?.parse::<u64>().ok());
    // The list of one node is its name.
    if least.is_none_or(|nodes| nodes < 2) {
        return Vec::new();
    }
    batch.commands.iter().filter_map(|(line, command)| wrong(*line, command)).collect()
}

fn wrong(line: usize, command: &str) -> Option<Found> {
    let given = |name: &str, list: &str| {
        command.match_indices(name).any(|(at, _)| is_list(&command[at + name.len()..], list))
    };
    let list = LISTS.iter().find(|list| ADDRESSES.iter().any(|name| given(name, list)))?;
    let message = format!(
        "${list} is the list of all nodes, such as node[01-02], not a host name; it does not resolve"
    );
    let fix = "Use the first node: $(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n1)";
    Some(Found::error(line, message, fix))
}

/// Whether a value is the list itself, with a port at most.
fn is_list(value: &str, list: &str) -> bool {
    let value = value.trim_start_matches(['"', '\'']);
    let Some(name) = value.strip_prefix('$') else { return false };
    let rest = match name.strip_prefix('{') {
        Some(braced) => braced.strip_prefix(list).and_then(|rest| rest.strip_prefix('}')),
        None => name.strip_prefix(list),
    };
    rest.is_some_and(|rest| {
        rest.chars().next().is_none_or(|next| next.is_whitespace() || matches!(next, '"' | '\'' | ':' | ';'))
    })
}
