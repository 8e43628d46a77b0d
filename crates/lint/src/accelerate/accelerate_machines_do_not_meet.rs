//! Machines of a job that all have the same rank, or no address to meet at.

use serde_yaml::Value;

use crate::read::accelerate::AccelerateConfig;
use crate::read::launch::Launch;
use crate::recognize::base_name;
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
        named_with(
            "node1.yaml",
            OF_NODE,
            &[
                ("node0.yaml", OF_NODE),
                ("start.sh", "exec accelerate launch --config_file \"node${1:?0 or 1}.yaml\" t.py\n"),
            ],
        ),
        named_with("accelerate_worker.yaml", OF_NODE, &[("accelerate_main.yaml", OF_NODE)]),
    ],
    silent: &[
        named_with("node0.yaml", OF_NODE, &[("node1.yaml", OF_NODE)]),
        named_with(
            "node1.yaml",
            OF_NODE,
            &[
                ("node0.yaml", OF_NODE),
                ("start.sh", "accelerate launch --config_file node$1.yaml --machine_rank $1 t.py\n"),
            ],
        ),
        named_with("stage2.yaml", OF_NODE, &[("stage1.yaml", OF_NODE)]),
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

/// A configuration of one of two machines, for the examples.
const OF_NODE: &str = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmachine_rank: 0\n\
    main_process_ip: 10.0.0.1\nmain_process_port: 29500\nnum_machines: 2\nnum_processes: 16\n";

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
    let found = rank(config, &known).or_else(|| address(config, &known)).or_else(|| same_rank(config));
    found.into_iter().collect()
}

/// Two files of one job for two machines with one rank: `node0.yaml`, `node1.yaml`.
fn same_rank(config: &AccelerateConfig) -> Option<Found> {
    let own = &config.root;
    let rank = config.number("machine_rank")?;
    let is_same = |other: &Value, key: &str| other.get(key) == own.get(key);
    let keys = ["num_machines", "num_processes", "main_process_ip", "main_process_port"];
    let name = base_name(&config.name);
    let mut files = vec![name.clone()];
    let mut twins = Vec::new();
    for one in &config.others {
        let Ok(root) = serde_yaml::from_str::<Value>(&one.text) else { continue };
        let other = base_name(&one.name);
        if keys.iter().all(|key| is_same(&root, key)) && machine_of(&name, &other).is_some() {
            if is_same(&root, "machine_rank") {
                twins.push(other.clone());
            }
            files.push(other);
        }
    }
    // The first machine has its rank rightly: the finding is of the others.
    let twin = twins.iter().min().filter(|_| own.get("main_process_ip").is_some_and(|ip| !ip.is_null()))?;
    let (mine, theirs) = machine_of(&name, twin)?;
    if !is_behind(&mine, &theirs) {
        return None;
    }
    // The command line goes before the file.
    let names = ["--machine_rank", "--machine-rank"];
    if config.scripts.iter().any(|one| names.iter().any(|name| one.text.contains(name))) {
        return None;
    }
    let fits = config.number("num_machines").is_some_and(|machines| files.len() as u64 <= machines);
    let message = format!(
        "machine_rank is {rank} here and in {twin}, which configures the same job; two machines with the \
         same rank cannot form a group"
    );
    let fix = "Give each machine its own machine_rank, starting at 0";
    Some(Found::error(config.line(&["machine_rank"]), message, fix).unless_certain(fits))
}

/// Words in names of files for one machine of several.
const MACHINES: &[&str] =
    &["main", "master", "head", "leader", "first", "worker", "second", "other", "secondary"];

/// What differs in the names of two files, where that names a machine: a number, or `main` and `worker`.
fn machine_of(one: &str, other: &str) -> Option<(String, String)> {
    let parts = |name: &str| -> Vec<String> {
        let kind = |letter: char| (letter.is_ascii_digit(), letter.is_alphabetic());
        let letters: Vec<char> = name.chars().collect();
        let parts = letters.chunk_by(|one, other| kind(*one) == kind(*other));
        parts.map(|part| part.iter().collect()).collect()
    };
    let (mine, theirs) = (parts(one), parts(other));
    let mut differ = mine.iter().zip(&theirs).filter(|(one, other)| one != other);
    let (first, second) = differ.next()?;
    let names_machine = |part: &String| part.parse::<u64>().is_ok() || MACHINES.contains(&part.as_str());
    let both = first.parse::<u64>().is_ok() == second.parse::<u64>().is_ok();
    let named = ["node", "machine", "rank", "host", "worker"].iter().any(|word| one.contains(word))
        || !first.bytes().all(|byte| byte.is_ascii_digit());
    (differ.next().is_none()
        && mine.len() == theirs.len()
        && both
        && named
        && names_machine(first)
        && names_machine(second))
    .then(|| (first.clone(), second.clone()))
}

/// Whether a machine comes behind another one: `1` and `0`, `worker` and `main`.
fn is_behind(one: &str, other: &str) -> bool {
    match (one.parse::<u64>(), other.parse::<u64>()) {
        (Ok(one), Ok(other)) => one > other,
        _ => {
            let place = |name: &str| MACHINES.iter().position(|one| *one == name).unwrap_or_default();
            place(one) > place(other)
        }
    }
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
