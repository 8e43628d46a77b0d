//! Why containers do not reach each other: what their machines see of each other decides.

use futures_util::future::join_all;

use super::container_probe::{self, ContainerProbe, Tried};
use super::plan::ClusterPlan;
use super::probe::{self, Probe};
use super::problem::Problem;
use super::request::NetworkKind;
use super::stale_entries;
use crate::worker::bundle::Bundle;
use crate::worker::{Answer, Failure, Task, Why};

const STEP: &str = "verify";
/// The port over which a swarm's members gossip.
const GOSSIP: u16 = 7946;

/// Why pairs do not reach each other.
#[derive(Debug, Default)]
pub struct Causes {
    /// The faults by their causes.
    pub problems: Vec<Problem>,
    /// The places of the containers of which some engine has no entry, or may have none: attached anew, they are told to all.
    pub untold: Vec<usize>,
}

/// What is wrong with the pairs that do not reach each other, and with the others. `anew`: containers were attached anew before.
pub async fn causes(
    plan: &ClusterPlan,
    bundle: &Bundle,
    containers: &[ContainerProbe<'_>],
    tried: &[Tried],
    anew: bool,
) -> Causes {
    let mut causes = unreached(plan, bundle, containers, tried, usize::MAX, anew).await;
    let problems = &mut causes.problems;
    for tried in tried.iter().filter(|tried| tried.connects.is_ok()) {
        let (one, other) = (&containers[tried.from], &containers[tried.to]);
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
    causes
}

/// Why pairs do not find each other at all: what their machines see of each other decides, and whether the other way round works. Only
/// so many pairs are looked at.
pub async fn unreached(
    plan: &ClusterPlan,
    bundle: &Bundle,
    containers: &[ContainerProbe<'_>],
    tried: &[Tried],
    most: usize,
    anew: bool,
) -> Causes {
    let mut dead = tried.iter().filter(|tried| tried.dead()).take(most).peekable();
    if dead.peek().is_none() {
        return Causes::default();
    }
    let probes =
        join_all(containers.iter().map(|one| Probe::start(plan, one.node, one.engine, "host", bundle))).await;
    let found = dead.map(|one| {
        let back = tried.iter().find(|back| (back.from, back.to) == (one.to, one.from));
        let probes = &probes;
        async move {
            let cause = match (&probes[one.from], &probes[one.to]) {
                (Ok(from), Ok(to)) => between(plan, containers, one, back, (from, to), anew).await,
                _ => Cause::Guessed(unexplained(&containers[one.from], &containers[one.to], one)),
            };
            ((one.from, one.to), cause)
        }
    });
    let found = join_all(found).await;
    for probe in probes.into_iter().flatten() {
        probe.end().await;
    }
    Causes { untold: untold(&found), problems: best(found) }
}

/// The fewest containers that, attached anew, may mend all pairs for which that may help: to be told of, and to ask the others anew, each
/// of a pair serves.
fn untold(found: &[((usize, usize), Cause)]) -> Vec<usize> {
    let mut left: Vec<(usize, usize)> = found
        .iter()
        .filter(|((from, to), cause)| match cause {
            // Where something was seen the other way round, attaching anew mends nothing.
            Cause::StaleEntry(_) | Cause::Left(_) if seen(found, (*to, *from)) => false,
            Cause::StaleEntry(_) => true,
            // What one engine lost shows both ways.
            Cause::Left(_) => !found
                .iter()
                .any(|(pair, cause)| *pair == (*to, *from) && matches!(cause, Cause::StaleEntry(_))),
            Cause::Seen(_) | Cause::Guessed(_) => false,
        })
        .map(|(pair, _)| *pair)
        .collect();
    let mut chosen = Vec::new();
    while let Some((_, last)) = left.last().copied() {
        let count = |place: usize| left.iter().filter(|(from, to)| *from == place || *to == place).count();
        let most = left.iter().flat_map(|(from, to)| [*from, *to]).map(|place| (count(place), place)).max();
        // Of two nodes alone it is the one that the other lost.
        let place = most.filter(|(most, _)| *most > count(last)).map_or(last, |(_, place)| place);
        chosen.push(place);
        left.retain(|(from, to)| *from != place && *to != place);
    }
    chosen.sort_unstable();
    chosen
}

/// Whether it was seen why the first of a pair does not reach the second.
fn seen(found: &[((usize, usize), Cause)], wanted: (usize, usize)) -> bool {
    found.iter().any(|(pair, cause)| *pair == wanted && matches!(cause, Cause::Seen(_)))
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
    /// An engine was seen to have lost an entry.
    StaleEntry(Problem),
    /// Everything else was tried, and works.
    Left(Problem),
    /// It is not known.
    Guessed(Problem),
}

/// For each pair of nodes what was seen, else what an engine lost, else what is left: what blocks one way makes the other way fail as well,
/// and an engine lacks the entries that a blocked port kept from it.
fn best(found: Vec<((usize, usize), Cause)>) -> Vec<Problem> {
    let rank = |cause: &Cause| match cause {
        Cause::Seen(_) => 0,
        Cause::StaleEntry(_) => 1,
        Cause::Left(_) => 2,
        Cause::Guessed(_) => 3,
    };
    let found = found.into_iter().map(|((from, to), cause)| ((from.min(to), from.max(to)), cause));
    let found: Vec<((usize, usize), Cause)> = found.collect();
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
        let kept = if top <= 1 { of_pair.len() } else { 1 };
        for cause in of_pair.into_iter().filter(|cause| rank(cause) == top).take(kept) {
            let (Cause::Seen(problem)
            | Cause::StaleEntry(problem)
            | Cause::Left(problem)
            | Cause::Guessed(problem)) = cause;
            problems.push(problem);
        }
    }
    problems
}

fn unexplained(one: &ContainerProbe<'_>, other: &ContainerProbe<'_>, tried: &Tried) -> Problem {
    let (a, b) = (&one.node.name, &other.node.name);
    let why = match (&tried.name, &tried.connects) {
        (_, Err(failure)) => failure.says.clone(),
        (Err(why), _) => why.says.clone(),
        _ => String::new(),
    };
    Problem::of(
        STEP,
        a,
        format!("the container of {a} does not reach that of {b} ({}): {why}", other.address),
    )
    .fix("2377/tcp, 7946/tcp+udp and 4789/udp open between the machines?")
}

/// `from` and `to` look from the machines' own networks.
async fn between(
    plan: &ClusterPlan,
    containers: &[ContainerProbe<'_>],
    tried: &Tried,
    back: Option<&Tried>,
    (from, to): (&Probe<'_>, &Probe<'_>),
    anew: bool,
) -> Cause {
    let (one, other) = (&containers[tried.from], &containers[tried.to]);
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
    // Only where it tells something: it waits for what does not come.
    let within = match back.is_some_and(|back| back.connects.is_ok()) && tried.connects.is_err() {
        true => Some(container_probe::datagram(one, other).await),
        false => None,
    };
    if let Some(lost) = stale_entries::stale_entry(tried, back, within.as_ref()) {
        return Cause::StaleEntry(lost.problem(STEP, one, other, tried, anew));
    }
    if let (Some(Ok(())), Err(failure)) = (&within, &tried.connects) {
        return Cause::Seen(Problem::of(STEP, a, format!("the container of {b} takes no connection from that of {a} ({}: {failure}), though datagrams arrive, and a connection stands the other way round: it is not the network", other.address))
            .fix(format!("envdoc cluster logs {b}: what its sshd says"))
            .fix(format!("docker restart {b}, on that node")));
    }
    let lost = match anew {
        true => String::new(),
        false => ", or both engines lost the overlay's entries of each other: `envdoc cluster up` would attach their containers anew".to_owned(),
    };
    let udp = datagram(from, to, address).await;
    match (&tried.name, &tried.connects, udp) {
        (_, _, Err(failure)) => Cause::Seen(Problem::of(STEP, a, format!("no UDP gets from {a} to {b} ({address}: {failure}), TCP does: so neither the gossip (7946/udp) nor the data (4789/udp) of the overlay"))
            .fix(format!("open 7946/udp and 4789/udp between all nodes: {firewall}"))),
        // Where the other way round works, no port is blocked.
        (Ok(()), Err(failure), Ok(())) if failure.why == Why::TimedOut && within.is_none() => Cause::Left(Problem::of(STEP, a, format!("the overlay's data does not pass between {a} and {b}, while its control does: names resolve, 2377/tcp and 7946/tcp are open, UDP on another port passes between {} and {address}. What is left is 4789/udp (VXLAN): it is blocked in one direction or both{lost}", one.node.address))
            .fix(format!("open 4789/udp between all nodes, both ways: {firewall}"))
            .fix(format!("`tcpdump -ni any udp port 4789` on {b}, while `envdoc cluster exec {a} -- ssh {b} true` runs, shows whether it arrives; the other way round too"))
            .fix("another program may use the port for VXLAN of its own (flannel, Calico, VMware NSX): ss -lnup 'sport = :4789'")),
        (Err(why), _, Ok(())) => Cause::Left(Problem::of(STEP, a, format!("{b} is not known to the container of {a} ({why}), though 7946/tcp is open and UDP on another port passes. What is left is 7946/udp between {a} and {b}: it is blocked in one direction or both{lost}"))
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

    fn problem(says: &str) -> Problem {
        Problem::new(STEP, says)
    }

    #[test]
    fn what_was_seen_one_way_counts_before_what_is_left_the_other_way() {
        let found = vec![
            ((0, 1), Cause::Left(problem("7946/udp is left"))),
            ((1, 0), Cause::Seen(problem("7946/tcp is blocked"))),
            ((0, 2), Cause::Left(problem("4789/udp is left"))),
            ((2, 0), Cause::Left(problem("4789/udp is left, the other way"))),
            ((2, 1), Cause::StaleEntry(problem("the engine of 2 lost 1"))),
            ((1, 2), Cause::Left(problem("4789/udp is left"))),
            ((2, 3), Cause::StaleEntry(problem("the engine of 2 lost 3"))),
            ((3, 2), Cause::Seen(problem("7946/tcp is blocked"))),
        ];
        let says: Vec<_> = best(found).into_iter().map(|problem| problem.says).collect();
        assert_eq!(
            says,
            ["7946/tcp is blocked", "4789/udp is left", "the engine of 2 lost 1", "7946/tcp is blocked"]
        );
    }

    #[test]
    fn the_fewest_containers_are_attached_anew() {
        let lost = |from, to| ((from, to), Cause::StaleEntry(problem("")));
        let left = |from, to| ((from, to), Cause::Left(problem("")));
        assert_eq!(untold(&[lost(0, 1)]), [1]);
        assert_eq!(untold(&[lost(1, 0)]), [0]);
        assert_eq!(untold(&[lost(0, 1), left(1, 0)]), [1]);
        assert_eq!(untold(&[left(0, 1), left(1, 0)]).len(), 1);
        // One of five that nobody reaches and that reaches nobody.
        let alone: Vec<_> =
            [0, 1, 3, 4].iter().flat_map(|other| [left(*other, 2), left(2, *other)]).collect();
        assert_eq!(untold(&alone), [2]);
        assert_eq!(untold(&[lost(0, 1), lost(2, 3)]), [1, 3]);
        // Nothing to be gained where a port was seen to be blocked.
        let seen = |from, to| ((from, to), Cause::Seen(problem("")));
        assert_eq!(untold(&[seen(0, 1)]), [0; 0]);
        assert_eq!(untold(&[seen(0, 1), lost(1, 0)]), [0; 0]);
        assert_eq!(untold(&[left(0, 1), seen(1, 0), lost(2, 1)]), [1]);
    }
}
