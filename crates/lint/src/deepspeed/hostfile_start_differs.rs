//! A start that asks for more than the hostfile has.

use std::rc::Rc;

use crate::read::hostfile::{Hostfile, Start};
use crate::rule::{Found, Judge, Location, OtherFile, Rule, Severity, named_with};
use facts::Facts;

pub(crate) const RULE: Rule = Rule {
    id: "hostfile-start-differs",
    severity: Severity::Error,
    summary: "launchers ask for hosts and slots that the hostfile has",
    explain: include_str!("hostfile_start_differs.md"),
    judge: Judge::Hostfile(judge),
    fires: &[
        named_with(
            "hostfile",
            "node1 slots=4\nnode2 slots=4\n",
            &[("run.sh", "mpirun -np 16 --hostfile hostfile ./train\n")],
        ),
        named_with(
            "hostfile",
            "node1 slots=4\nnode2 slots=4\n",
            &[("run.sh", "deepspeed --hostfile=hostfile --include=node1:0,1@node3:0 train.py\n")],
        ),
        named_with(
            "hostfile",
            "node1 slots=4\n",
            &[("run.sh", "deepspeed --hostfile=hostfile --include=node1:4 train.py\n")],
        ),
        named_with(
            "hostfile.mpi",
            "# four GPUs each\n172.31.4.21 slots=4\n172.31.4.22 slots=4\n",
            &[(
                "launch.sh",
                "#!/bin/sh\nNP=16\nHOSTFILE=./hostfile.mpi\nmpirun -np $NP \\\n    --hostfile $HOSTFILE \
                 \\\n    \
                 --bind-to none python train.py\n",
            )],
        ),
        named_with(
            "conf/hostfile",
            "node1 slots=4\nnode2 slots=4\n",
            &[(
                "run.sh",
                "HOSTS=${HOSTS:-conf/hostfile}\nhorovodrun -np 16 --hostfile \"$HOSTS\" python train.py\n",
            )],
        ),
    ],
    silent: &[
        named_with(
            "hostfile",
            "node1 slots=4\nnode2 slots=4\n",
            &[
                (
                    "run.sh",
                    "mpirun -np 8 --hostfile hostfile ./train\nmpirun -np 16 --hostfile other ./train\n",
                ),
                ("more.sh", "mpirun -np 16 --hostfile hostfile --oversubscribe ./train\n"),
                ("ds.sh", "deepspeed --hostfile hostfile --include \"node1@node2:0,3\" train.py\n"),
            ],
        ),
        named_with(
            "hostfile",
            "node1\nnode2\n",
            &[("run.sh", "mpirun -np 16 --hostfile hostfile ./train\n")],
        ),
        // Another hostfile of the same name, and one of a job that Slurm gives its hosts.
        named_with(
            "conf/hostfile",
            "node1 slots=4\n",
            &[
                ("run.sh", "NP=16\nmpirun -np $NP --hostfile big/hostfile ./train\n"),
                ("job.sh", "#SBATCH --nodes=4\nmpirun -np 16 --hostfile conf/hostfile ./train\n"),
                ("more.sh", "N=$(wc -l < x)\nmpirun -np $N --hostfile conf/hostfile ./train\n"),
            ],
        ),
    ],
};

fn judge((file, _): (&Hostfile, Option<&Facts>)) -> Vec<Found> {
    file.starts.iter().filter_map(|start| ranks(file, start).or_else(|| included(file, start))).collect()
}

fn place(start: &Start) -> Location {
    let file = OtherFile { path: start.script.clone(), by: None };
    Location::new(Some(Rc::new(file)), start.line)
}

/// More ranks than slots.
fn ranks(file: &Hostfile, start: &Start) -> Option<Found> {
    let (ranks, slots) = (start.ranks?, file.slots()?);
    let (stops, fix) = match start.program.as_str() {
        "horovodrun" => (
            "Requested more processes than there are available slots",
            "Raise the slots, or start fewer ranks",
        ),
        _ => ("There are not enough slots available", "Raise the slots, or add --oversubscribe"),
    };
    let message =
        format!("{} starts {ranks} ranks, but the hostfile has {slots} slots; `{stops}`", start.program);
    (ranks > slots).then(|| Found::error(place(start), message, fix).unless_certain(start.certain))
}

/// A host or a GPU of `--include` that is not there.
fn included(file: &Hostfile, start: &Start) -> Option<Found> {
    let hosts: Vec<&(String, u64)> = file.lines.iter().filter_map(|line| line.host.as_ref()).collect();
    if hosts.is_empty() || hosts.len() != file.lines.len() {
        return None;
    }
    for (name, gpus) in &start.include {
        let Some((_, slots)) = hosts.iter().find(|(known, _)| known == name) else {
            let message = format!(
                "--include names {name}, which is not in the hostfile; deepspeed: `Hostname '{name}' not \
                 found in \
                 hostfile`"
            );
            return Some(Found::error(place(start), message, "Use a name of the hostfile"));
        };
        if let Some(gpu) = gpus.iter().find(|gpu| *gpu >= slots) {
            let message = format!(
                "--include names GPU {gpu} of {name}, which has {slots} slots in the hostfile, counted \
                 from 0; deepspeed: `No slot '{gpu}' specified on host '{name}'` (0.15.2 to 0.19.6 start \
                 a process on that GPU)"
            );
            return Some(Found::warning(place(start), message, "Use a slot of the hostfile"));
        }
    }
    None
}
