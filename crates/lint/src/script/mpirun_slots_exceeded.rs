//! More ranks than slots.

use crate::read::dockerfile::command::Word;
use crate::read::launch::{Launch, Launches};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "mpirun-slots-exceeded",
    severity: Severity::Error,
    summary: "mpirun starts at most as many ranks as its hosts have slots",
    explain: include_str!("mpirun_slots_exceeded.md"),
    judge: Judge::Launch(judge),
    fires: &[
        named("run.sh", "mpirun -np 16 -H n1:4,n2:4 ./all_reduce_perf -g 1\n"),
        named("run.sh", "mpirun --host n1,n2 -n 4 ./test\n"),
    ],
    silent: &[
        named("run.sh", "mpirun -np 8 -H n1:4,n2:4 ./all_reduce_perf -g 1\n"),
        named("run.sh", "mpirun -np 16 -H n1:4,n2:4 --oversubscribe ./test\n"),
        named(
            "run.sh",
            "mpirun -np $N -H n1,n2 ./test\nmpirun -np 4 --hostfile h ./test\nmpirun -np 4 -ppn 2 -hosts \
             n1,n2 ./test\n",
        ),
        named("run.sh", "mpirun -np 4 --hostfile h -H n1,n2 ./test\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --nodes=2\nmpirun -np 4 -H n1,n2 ./test\n"),
        named("job.sh", "#!/bin/bash\n#PBS -l nodes=2:ppn=4\nmpirun -np 8 -H n1,n2 ./test\n"),
        named(
            "run.sh",
            "mpirun -np 4 -H n1,n2 --map-by node:OVERSUBSCRIBE ./test\nmpirun -np 4 -H $HOSTS ./test\n",
        ),
    ],
};

fn judge(launches: &Launches) -> Vec<Found> {
    // The scheduler gives the slots; -H only selects from its hosts.
    if launches.scheduled {
        return Vec::new();
    }
    launches.launches.iter().filter_map(fault).collect()
}

fn fault(launch: &Launch) -> Option<Found> {
    let words = &launch.words;
    let mpi = matches!(words.first()?.text.rsplit('/').next()?, "mpirun" | "mpiexec");
    let text = |word: &Word| word.text.to_ascii_lowercase();
    // Other implementations of MPI count otherwise.
    let other =
        words.iter().any(|word| ["-ppn", "-genv", "-hosts", "-perhost"].contains(&word.text.as_str()));
    let allowed = words.iter().any(|word| text(word).contains("oversubscribe"));
    // -H only selects from the hosts of a hostfile.
    let hostfile = words.iter().any(|word| {
        let name = word.text.trim_start_matches('-');
        word.text.starts_with('-') && matches!(name, "hostfile" | "machinefile" | "default-hostfile")
    });
    if !mpi || other || allowed || hostfile {
        return None;
    }
    let value = |names: &[&str]| {
        let pair = words.windows(2).find(|pair| names.contains(&pair[0].text.as_str()))?;
        Some(&pair[1]).filter(|word| word.known)
    };
    let ranks = value(&["-np", "-n", "--np", "-c", "--n"])?;
    let number: u64 = ranks.text.parse().ok()?;
    let hosts = value(&["-H", "--host", "-host"])?;
    let mut slots = hosts.text.split(',').map(|host| match host.split_once(':') {
        Some((_, slots)) => slots.parse::<u64>().ok(),
        None => Some(1),
    });
    let slots = slots.try_fold(0_u64, |sum, slots| sum.checked_add(slots?))?;
    let message = format!(
        "mpirun starts {number} ranks, but -H {} has {slots} slots; `There are not enough slots available`",
        hosts.text
    );
    (number > slots).then(|| {
        Found::error(ranks.line, message, "Add the slots, `-H host:8`, or --oversubscribe")
            .unless_certain(launch.certain)
    })
}
