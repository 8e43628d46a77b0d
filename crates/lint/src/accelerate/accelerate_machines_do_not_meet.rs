//! Machines of a job that all have the same rank, or no address to meet at.

use crate::read::accelerate::AccelerateConfig;
use crate::read::launch::Launch;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "accelerate-machines-do-not-meet",
    severity: Severity::Error,
    summary: "accelerate's machines have ranks of their own and the address of the first",
    explain: include_str!("accelerate_machines_do_not_meet.md"),
    judge: Judge::Accelerate(judge),
    fires: &[
        named_with(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmachine_rank: 0\nmain_process_ip: \
             a\n\
             num_machines: 2\nnum_processes: 16\n",
            &[(
                "job.sbatch",
                "#!/bin/bash\n#SBATCH --nodes=2\nsrun accelerate launch --config_file c.yaml t.py\n",
            )],
        ),
        named_with(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmain_process_ip: \
             a\nnum_machines: 2\n\
             num_processes: 16\n",
            &[("run.sh", "pdsh -w a,b 'cd /x && accelerate launch --config_file conf/c.yaml t.py'\n")],
        ),
        named_with(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: \
             2\nnum_processes: 16\n",
            &[("run.sh", "accelerate launch --config_file c.yaml --machine_rank $1 t.py\n")],
        ),
    ],
    silent: &[
        named_with(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmachine_rank: 0\nmain_process_ip: \
             a\n\
             num_machines: 2\nnum_processes: 16\n",
            &[(
                "job.sbatch",
                "#!/bin/bash\n#SBATCH --nodes=2\nsrun bash -c 'accelerate launch --config_file c.yaml \
                 --machine_rank \
                 $SLURM_NODEID t.py'\n",
            )],
        ),
        named_with(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmain_process_ip: \
             a\nnum_machines: 2\n\
             num_processes: 16\nmachine_rank: 0\n",
            &[("run.sh", "accelerate launch --config_file c.yaml t.py\n")],
        ),
        named_with(
            "ds.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  \
             deepspeed_hostfile: \
             hosts\n  deepspeed_multinode_launcher: pdsh\nnum_machines: 2\nnum_processes: 16\n",
            &[("run.sh", "accelerate launch --config_file ds.yaml t.py\n")],
        ),
        named_with(
            "c.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: \
             2\nnum_processes: 16\n",
            &[("run.sh", "accelerate launch --config_file c.yaml $ARGS t.py\n")],
        ),
    ],
};

fn judge(config: &AccelerateConfig) -> Vec<Found> {
    let several = config.number("num_machines").is_some_and(|machines| machines > 1);
    // DeepSpeed's own launchers start the other machines themselves.
    let section = config.root.get("deepspeed_config");
    let launcher = section.and_then(|section| section.get("deepspeed_multinode_launcher")?.as_str());
    let by_deepspeed = config.string("distributed_type") == Some("DEEPSPEED") && launcher != Some("standard");
    if !several || by_deepspeed {
        return Vec::new();
    }
    let starts = config.starts();
    let open = |launch: &&Launch| launch.options.complete && !launch.options.has("num_machines");
    let known: Vec<&Launch> = starts.iter().map(|(_, launch)| launch).filter(open).collect();
    rank(config, &known).or_else(|| address(config, &known)).into_iter().collect()
}

/// A start on each machine without a rank.
fn rank(config: &AccelerateConfig, starts: &[&Launch]) -> Option<Found> {
    let each =
        |launch: &&&Launch| matches!(launch.by.as_str(), "srun" | "pdsh" | "clush" | "pssh" | "parallel-ssh");
    let launch = starts.iter().filter(each).find(|launch| !launch.options.has("machine_rank"))?;
    let rank = config.number("machine_rank").unwrap_or(0);
    let message = format!(
        "{} starts accelerate on each machine with this file: all have machine_rank {rank}, and the machines \
         do not meet",
        launch.by
    );
    let line = config.line(&[if config.root.get("machine_rank").is_some() {
        "machine_rank"
    } else {
        "num_machines"
    }]);
    let fix = "Pass `--machine_rank` on each machine: `srun bash -c 'accelerate launch --machine_rank \
        $SLURM_NODEID …'`";
    Some(Found::error(line, message, fix))
}

/// No address of the first machine.
fn address(config: &AccelerateConfig, starts: &[&Launch]) -> Option<Found> {
    let given = config.root.get("main_process_ip").is_some_and(|value| !value.is_null());
    let lacks = starts.iter().any(|launch| !launch.options.has("main_process_ip"));
    let line = config.line(&["num_machines"]);
    let message = format!(
        "num_machines {} without main_process_ip: the address of the first machine is `None`, and the \
         machines \
         do not meet",
        config.number("num_machines")?
    );
    (!given && lacks && !config.text.contains("mpirun_config"))
        .then(|| Found::error(line, message, "Add main_process_ip, or pass `--main_process_ip`"))
}
