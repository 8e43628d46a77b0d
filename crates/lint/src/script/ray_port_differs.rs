//! Nodes of Ray that join another port than the head's.

use crate::ray::{RayStart, differ, resolved, starts};
use crate::read::assigned;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "ray-port-differs",
    severity: Severity::Error,
    summary: "the nodes of a Ray cluster join the port of its head",
    explain: include_str!("ray_port_differs.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "ray_up.sh",
            "#!/bin/bash\nHEAD_IP=192.168.80.11\nray start --head --node-ip-address=$HEAD_IP \
             --port=6380\nfor w in \
             node2 node3; do\n  ssh \"$w\" \"source venv/bin/activate && ray start \
             --address=$HEAD_IP:6379\"\ndone\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nPORT=6399\nsrun -N1 -w \"$head\" ray start --head --port \
             \"$PORT\" --block \
             &\nsrun -N1 -x \"$head\" ray start --address \"$head:6379\" --block &\nwait\n",
        ),
        named("up.sh", "ray start --head\nssh node2 ray start --address=10.0.0.1:6380\n"),
    ],
    silent: &[
        named(
            "ray_up.sh",
            "#!/bin/bash\nPORT=6380\nray start --head --port=$PORT\nssh node2 \"ray start \
             --address=$HEAD:$PORT\"\nssh \
             node3 \"ray start --address=$HEAD:6380\"\n",
        ),
        named(
            "up.sh",
            "ray start --head --port=6379\nray start --address=auto\nray start --address=10.0.0.1:6379\n",
        ),
        named("up.sh", "ray start --head --port=$1\nssh b ray start --address=$2:6379\n"),
        named(
            "up.sh",
            "ssh a ray start --head --port=6380\nssh b ray start --head --port=6381\nssh c ray start \
             --address=a:6380\n",
        ),
        named("up.sh", "ray start --address=$OTHER:6399\necho ray start --head\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let sets = assigned::of_script(script);
    let all = starts(script);
    let heads = all.iter().filter_map(|one| match one {
        RayStart::Head { port, line } => Some((resolved(port, &sets), *line)),
        RayStart::Worker { .. } => None,
    });
    let heads: Vec<(String, usize)> = heads.collect();
    let [(head, head_line)] = &heads[..] else { return Vec::new() };
    let found = all.iter().filter_map(|one| {
        let RayStart::Worker { port, line, .. } = one else { return None };
        let port = resolved(port, &sets);
        let message = format!(
            "the node joins port {port}, but the head in line {head_line} listens on {head}; it never joins \
             the \
             cluster"
        );
        let fix = format!("Join port {head}");
        differ(&port, head).then(|| Found::error(*line, message, fix))
    });
    found.collect()
}
