//! Why containers do not reach each other: what their machines see of each other decides.

use futures_util::future::join_all;

use super::inside::{Inside, Tried};
use super::plan::ClusterPlan;
use super::probe::{self, Probe};
use super::problem::Problem;
use super::request::NetworkKind;
use crate::worker::bundle::Bundle;
use crate::worker::{Answer, Failure, Task, Why};

const STEP: &str = "verify";
/// The port over which a swarm's members gossip.
const GOSSIP: u16 = 7946;

/// Why pairs do not reach each other: what their machines see of each other decides.
pub async fn causes(
    plan: &ClusterPlan,
    bundle: &Bundle,
    inside: &[Inside<'_>],
    tried: &[Tried],
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let dead: Vec<&Tried> = tried.iter().filter(|tried| tried.dead()).collect();
    if !dead.is_empty() {
        problems.extend(underlay(plan, bundle, inside, &dead).await);
    }
    for tried in tried.iter().filter(|tried| tried.connects.is_ok()) {
        let (one, other) = (&inside[tried.from], &inside[tried.to]);
        let (a, b) = (&one.node.name, &other.node.name);
        match (tried.packet, one.mtu) {
            (Some(bytes), Some(mtu)) if bytes < mtu => problems.push(small(plan, a, b, bytes, mtu)),
            (None, _) => problems.push(Problem::of(STEP, a, format!("no datagram of {a} is answered by {b}, though TCP connects: UDP is blocked between the containers"))),
            _ => {}
        }
        if let Some(Err(why)) = &tried.ssh {
            problems.push(unlogged(a, b, why));
        }
    }
    problems
}

/// The problem of a path that takes smaller packets than the interfaces send.
pub fn small(plan: &ClusterPlan, a: &str, b: &str, bytes: u32, mtu: u32) -> Problem {
    let says = match plan.network.kind {
        NetworkKind::Host => format!(
            "packets of at most {bytes} bytes arrive from {a} at {b}, their interface sends {mtu}: something between the machines carries less"
        ),
        _ => format!(
            "packets of at most {bytes} bytes arrive from {a} at {b}, the overlay sends {mtu}: between the machines only {} bytes pass",
            bytes + 50
        ),
    };
    Problem::of(STEP, a, format!("{says}. Small messages get through, large ones hang"))
        .fix(format!("network: {{ mtu: {bytes} }} in cluster.yaml, then `envdoc cluster down` and `up`"))
        .fix("or mend the way between the machines: ip link, on both, and what is between them")
}

/// The problem of an ssh that does not get in.
pub fn unlogged(a: &str, b: &str, why: &str) -> Problem {
    let problem = Problem::of(STEP, a, format!("ssh from {a} to {b} is refused: {why}"));
    if why.contains("Host key verification failed") || why.contains("REMOTE HOST IDENTIFICATION") {
        return problem.fix("the host keys in the containers are not those of known_hosts: `envdoc cluster up` after `down` writes both anew");
    }
    if why.contains("bad permissions") {
        let says = format!(
            "ssh in the container of {a} does not take its key, which others than its owner may read: {why}"
        );
        return Problem::of(STEP, a, says)
            .fix(format!(
                "docker restart {a}, on that node: its entrypoint writes the key anew, with mode 0600"
            ))
            .fix("and look what in the image or in `command` changes modes below /run/envdoc");
    }
    problem
        .fix(format!("envdoc cluster exec {a} -- ssh -v {b} true"))
        .fix(format!("envdoc cluster logs {b}: what its sshd says"))
}

/// How well a cause is known.
enum Cause {
    /// It was seen.
    Seen(Problem),
    /// Everything else was tried, and works.
    Left(Problem),
    /// It is not known.
    Guessed(Problem),
}

/// For each pair of nodes what was seen, else what is left: what blocks one way makes the other way fail as well.
fn best(found: Vec<((usize, usize), Cause)>) -> Vec<Problem> {
    let rank = |cause: &Cause| match cause {
        Cause::Seen(_) => 0,
        Cause::Left(_) => 1,
        Cause::Guessed(_) => 2,
    };
    let mut problems: Vec<Problem> = Vec::new();
    let mut pairs: Vec<_> = found.iter().map(|(pair, _)| *pair).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(pair, cause)| (*pair, rank(cause)));
    for pair in pairs {
        let mut of_pair = Vec::new();
        while found.first().is_some_and(|(other, _)| *other == pair) {
            of_pair.push(found.remove(0).1);
        }
        let top = of_pair.first().map_or(0, rank);
        // What is seen may differ from one way to the other; what is left is the same both ways.
        let kept = if top == 0 { of_pair.len() } else { 1 };
        for cause in of_pair.into_iter().filter(|cause| rank(cause) == top).take(kept) {
            let (Cause::Seen(problem) | Cause::Left(problem) | Cause::Guessed(problem)) = cause;
            problems.push(problem);
        }
    }
    problems
}

/// What the machines see of each other, where their containers do not.
async fn underlay(
    plan: &ClusterPlan,
    bundle: &Bundle,
    inside: &[Inside<'_>],
    dead: &[&Tried],
) -> Vec<Problem> {
    let probes =
        join_all(inside.iter().map(|one| Probe::start(plan, one.node, one.engine, "host", bundle))).await;
    let mut found: Vec<((usize, usize), Cause)> = Vec::new();
    for tried in dead {
        let (one, other) = (&inside[tried.from], &inside[tried.to]);
        let cause = match (&probes[tried.from], &probes[tried.to]) {
            (Ok(a), Ok(b)) => between(plan, one, other, tried, a, b).await,
            _ => Cause::Guessed(unexplained(one, other, tried)),
        };
        found.push(((tried.from.min(tried.to), tried.from.max(tried.to)), cause));
    }
    let problems = best(found);
    for probe in probes.into_iter().flatten() {
        probe.end().await;
    }
    problems
}

fn unexplained(one: &Inside<'_>, other: &Inside<'_>, tried: &Tried) -> Problem {
    let (a, b) = (&one.node.name, &other.node.name);
    let why = match (&tried.name, &tried.connects) {
        (_, Err(failure)) => failure.says.clone(),
        (Err(why), _) => why.clone(),
        _ => String::new(),
    };
    Problem::of(
        STEP,
        a,
        format!("the container of {a} does not reach that of {b} ({}): {why}", other.address),
    )
    .fix("2377/tcp, 7946/tcp+udp and 4789/udp open between the machines?")
}

async fn between(
    plan: &ClusterPlan,
    one: &Inside<'_>,
    other: &Inside<'_>,
    tried: &Tried,
    from: &Probe<'_>,
    to: &Probe<'_>,
) -> Cause {
    let (a, b, address) = (&one.node.name, &other.node.name, &other.node.address);
    let firewall =
        format!("`iptables -L -n -v` and `nft list ruleset` on {a} and {b}, the provider's security group");
    if plan.network.kind != NetworkKind::Overlay {
        return Cause::Guessed(unexplained(one, other, tried));
    }
    if let Err(failure) = from.connects(address, GOSSIP).await {
        let word = if failure.why == Why::Refused { "is refused" } else { "is blocked" };
        return Cause::Seen(Problem::of(STEP, a, format!("{GOSSIP}/tcp {word} from {a} to {b} ({address}: {failure}): the machines cannot tell each other of their containers, so these do not find each other"))
            .fix(format!("open 7946/tcp, 7946/udp and 4789/udp between all nodes: {firewall}"))
            .fix("then `envdoc cluster up` again"));
    }
    let udp = datagram(from, to, address).await;
    match (&tried.name, &tried.connects, udp) {
        (_, _, Err(failure)) => Cause::Seen(Problem::of(STEP, a, format!("no UDP gets from {a} to {b} ({address}: {failure}), TCP does: so neither the gossip (7946/udp) nor the data (4789/udp) of the overlay"))
            .fix(format!("open 7946/udp and 4789/udp between all nodes: {firewall}"))),
        (Ok(()), Err(failure), Ok(())) if failure.why != Why::Refused => Cause::Left(Problem::of(STEP, a, format!("the overlay's data does not pass between {a} and {b}, while its control does: names resolve, 2377/tcp and 7946/tcp are open, UDP on another port passes between {} and {address}. What is left is 4789/udp (VXLAN): it is blocked in one direction or both", one.node.address))
            .fix(format!("open 4789/udp between all nodes, both ways: {firewall}"))
            .fix(format!("`tcpdump -ni any udp port 4789` on {b}, while `envdoc cluster exec {a} -- ssh {b} true` runs, shows whether it arrives; the other way round too"))
            .fix("another program may use the port for VXLAN of its own (flannel, Calico, VMware NSX): ss -lnup 'sport = :4789'")),
        (Err(why), _, Ok(())) => Cause::Left(Problem::of(STEP, a, format!("{b} is not known to the container of {a} ({why}), though 7946/tcp is open and UDP on another port passes. What is left is 7946/udp between {a} and {b}: it is blocked in one direction or both"))
            .fix(format!("open 7946/udp between all nodes, both ways: {firewall}"))),
        _ => Cause::Guessed(unexplained(one, other, tried)),
    }
}

/// A datagram from machine to machine, on a port that is nobody's.
async fn datagram(from: &Probe<'_>, to: &Probe<'_>, address: &str) -> Result<(), Failure> {
    let port = match to.ask(Task::ListenUdp { port: 0 }, probe::CONNECTING * 2).await? {
        Answer::Listening { port } => port,
        other => return Err(probe::unexpected(&other)),
    };
    let task = Task::SendUdp { address: address.to_owned(), port, size: 200, dont_fragment: false };
    from.ask(task, probe::CONNECTING).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_one_way_counts_before_what_is_left_the_other_way() {
        let problem = |says: &str| Problem::new(STEP, says);
        let found = vec![
            ((0, 1), Cause::Left(problem("7946/udp is left"))),
            ((0, 1), Cause::Seen(problem("7946/tcp is blocked"))),
            ((0, 2), Cause::Left(problem("4789/udp is left"))),
            ((0, 2), Cause::Left(problem("4789/udp is left, the other way"))),
        ];
        let says: Vec<_> = best(found).into_iter().map(|problem| problem.says).collect();
        assert_eq!(says, ["7946/tcp is blocked", "4789/udp is left"]);
    }
}
