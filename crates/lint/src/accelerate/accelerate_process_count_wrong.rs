//! A number of processes that is not the total of all machines.

use crate::read::accelerate::AccelerateConfig;
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};
use crate::script::accelerate_launch_contradicts::counts_each;

pub(crate) const RULE: Rule = Rule {
    id: "accelerate-process-count-wrong",
    severity: Severity::Error,
    summary: "num_processes of accelerate's configuration is the total of all machines",
    explain: include_str!("accelerate_process_count_wrong.md"),
    judge: Judge::Accelerate(judge),
    fires: &[
        named_with(
            "fsdp.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_machines: 2\nnum_processes: 8\n\
             main_process_ip: 10.0.4.11\n",
            &[(
                "launch.sh",
                "# usage: launch.sh RANK (8 x H100 in each, all 16 for this run)\nexec accelerate launch \
                 --config_file \
                 /cfg/fsdp.yaml --machine_rank $1 t.py\n",
            )],
        ),
        named(
            "c.yaml",
            "# two nodes, 8 GPUs each\ncompute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\n\
             num_machines: 2\nnum_processes: 8\n",
        ),
        named(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: \
             4\nnum_processes: 2\n",
        ),
        named_with(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_machines: 2\nnum_processes: 8\n",
            &[(
                "job.sbatch",
                "#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-node=8\nsrun bash -c 'accelerate launch \
                 --config_file c.yaml \
                 --machine_rank $SLURM_NODEID --main_process_ip a t.py'\n",
            )],
        ),
    ],
    silent: &[
        named_with(
            "fsdp.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_machines: 2\nnum_processes: 16\n\
             main_process_ip: 10.0.4.11\n",
            &[(
                "launch.sh",
                "# 8 x H100 in each\nexec accelerate launch --config_file fsdp.yaml --machine_rank $1 t.py\n",
            )],
        ),
        named_with(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmain_process_ip: a\nnum_machines: \
             2\nnum_processes: 8\n",
            &[("run.sh", "# 8 GPUs each\naccelerate launch --config_file c.yaml --num_processes 16 t.py\n")],
        ),
        named(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_machines: 2\nnum_processes: 8\n",
        ),
        named(
            "c.yaml",
            "# 8 GPUs each\ncompute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_machines: \
             1\nnum_processes: 8\n",
        ),
    ],
};

fn judge(config: &AccelerateConfig) -> Vec<Found> {
    fault(config).into_iter().collect()
}

fn fault(config: &AccelerateConfig) -> Option<Found> {
    let machines = config.number("num_machines").filter(|machines| *machines > 1)?;
    let processes = config.number("num_processes").filter(|processes| *processes > 0)?;
    let starts = config.starts();
    let replaced = |name: &str| starts.iter().any(|(_, launch)| launch.options.has(name));
    if replaced("num_processes") || replaced("num_machines") {
        return None;
    }
    let line = config.line(&["num_processes"]);
    let all = format!("num_processes is the total of all machines: {processes} over {machines}");
    if processes % machines != 0 {
        let message = format!("{all} is not a whole number for each");
        let found = Found::error(line, message, "Multiply the processes of one machine by the machines");
        return Some(found.unless_certain(processes < machines));
    }
    let each = processes / machines;
    let scripts = starts.iter().map(|(script, _)| &*script.text);
    let texts = || std::iter::once(config.text.as_str()).chain(scripts.clone());
    let comment = texts().flat_map(str::lines).map(str::trim).any(|line| {
        line.starts_with('#') && !line.starts_with("#SBATCH") && counts_each(line, processes, machines)
    });
    let of_job = texts().find_map(|text| {
        let batch = crate::read::sbatch::Batch::read(config.catalog, text)?;
        let nodes = batch.number("nodes").filter(|nodes| *nodes == machines)?;
        batch.gpus_per_node().filter(|gpus| *gpus > each && gpus * nodes != processes)
    });
    let (said, gpus) = match of_job {
        Some(gpus) => (format!("the job requests {gpus} GPUs on each"), gpus),
        None if comment => (format!("a comment has {processes} GPUs on each"), processes),
        None => return None,
    };
    let message = format!("{all} starts {each} on each, but {said}");
    Some(Found::warning(line, message, format!("Set `num_processes: {}`", gpus * machines)))
}
