//! Why containers do not reach each other: what their machines see of each other decides.

use diagnostic::Fix;
use docker::fan_out;

use super::container_probe::{self, ContainerProbe, Tried};
use super::plan::{ClusterPlan, Node};
use super::probe::{self, Probe};
use super::problem::{Problem, Step};
use super::request::NetworkKind;
use super::stale_entries::{self, StaleEntry};
use crate::flow::measure::{self, Peer};
use crate::flow::rate;
use crate::flow::trace::{self, Stop, Trace};
use crate::flow::{Counters, PORT_OF_GOSSIP};
use crate::ssh::unlogged;
use crate::worker::bundle::Bundle;
use crate::worker::{Answer, Failure, Task, Why};
use crate::{blocked, fixes, gossip, resolver};

const STEP: Step = Step::Verify;
const GOSSIP: u16 = PORT_OF_GOSSIP;

/// Why containers do not reach each other, and what may be repaired.
#[derive(Debug, Default)]
pub struct Causes {
    /// The faults by their causes.
    pub problems: Vec<Problem>,
    /// Pairs of containers (from, to) where an engine has no entry of the other one's container, or may have
    /// none; reattaching either announces it to all engines.
    pub stale: Vec<(usize, usize)>,
    /// Containers whose own resolver does not ask the engine; a restart sets it up again.
    pub resolvers: Vec<usize>,
}

impl Causes {
    /// Whether a restart of a container may help.
    pub fn repairable(&self) -> bool {
        !self.stale.is_empty() || !self.resolvers.is_empty()
    }
}

/// What is known before the causes are looked for.
#[derive(Debug, Default)]
pub struct Before {
    /// Containers were reattached.
    pub reattached: bool,
    /// Directions in which the engines' gossip was seen to be blocked.
    pub gossip: Vec<Problem>,
    /// Pairs (from, to) where the engine of the first learned the name of the second only while the causes
    /// were looked for.
    pub late: Vec<(usize, usize)>,
}

/// Why pairs do not reach each other, and faults of the pairs that do.
pub async fn causes(
    plan: &ClusterPlan,
    bundle: &Bundle,
    containers: &[ContainerProbe<'_>],
    tried: &[Tried],
    before: Before,
) -> Causes {
    let mut causes = unreached(plan, bundle, containers, tried, usize::MAX, before).await;
    let problems = &mut causes.problems;
    for tried in tried.iter().filter(|tried| tried.connects.is_ok()) {
        let (one, other) = (&containers[tried.from], &containers[tried.to]);
        let (a, b) = (&one.node.name, &other.node.name);
        match (tried.packet, one.mtu) {
            (Some(bytes), Some(mtu)) if bytes < mtu => problems.push(small(plan, a, b, bytes, mtu)),
            (None, _) => problems.push(Problem::of(
                STEP,
                a,
                format!(
                    "UDP is blocked from the container of {a} to that of {b}: no datagram is answered, but \
                        TCP connects"
                ),
            )),
            _ => {}
        }
        if let Some(Err(why)) = &tried.ssh {
            problems.push(unlogged(a, b, why));
        }
    }
    causes
}

/// Why pairs do not reach each other at all, judged by what their machines see of each other and whether the
/// reverse direction works. At most `most` pairs are examined.
pub async fn unreached(
    plan: &ClusterPlan,
    bundle: &Bundle,
    containers: &[ContainerProbe<'_>],
    tried: &[Tried],
    most: usize,
    before: Before,
) -> Causes {
    let dead: Vec<&Tried> = tried.iter().filter(|tried| tried.dead()).take(most).collect();
    if dead.is_empty() {
        return Causes::default();
    }
    let probes =
        fan_out(containers.iter().map(|one| Probe::start(plan, one.node, one.engine, "host", bundle))).await;
    let hosts: Vec<Option<&Probe<'_>>> = probes.iter().map(|probe| probe.as_ref().ok()).collect();
    let traces = traced(plan, containers, &hosts, &dead).await;
    let mut problems = surely(containers, &hosts, &traces).await;
    let mut causes = Causes::default();
    if problems.is_empty() {
        let around = Around { tried, traces: &traces, hosts: &hosts };
        (causes, problems) = examined(plan, containers, &dead, &around, before).await;
    }
    for probe in probes.into_iter().flatten() {
        probe.end().await;
    }
    Causes { problems, ..causes }
}

/// What is known of all pairs.
struct Around<'s> {
    tried: &'s [Tried],
    traces: &'s [Trace],
    hosts: &'s [Option<&'s Probe<'s>>],
}

/// The causes of each pair that fails, and what may be repaired.
async fn examined(
    plan: &ClusterPlan,
    containers: &[ContainerProbe<'_>],
    dead: &[&Tried],
    around: &Around<'_>,
    before: Before,
) -> (Causes, Vec<Problem>) {
    let hosts = around.hosts;
    let found = dead.iter().map(|one| {
        let back = around.tried.iter().find(|back| (back.from, back.to) == (one.to, one.from));
        let observed = Observed {
            back,
            traces: around.traces,
            reattached: before.reattached,
            late: before.late.contains(&(one.from, one.to)),
        };
        let (from, to) = (hosts[one.from], hosts[one.to]);
        async move {
            let cause = match from.zip(to) {
                Some(hosts) => between(plan, containers, one, &observed, hosts).await,
                None => Cause::Guessed(unexplained(&containers[one.from], &containers[one.to], one)),
            };
            ((one.from, one.to), cause)
        }
    });
    let found = fan_out(found).await;
    let mut causes = Causes { stale: stale(&found), resolvers: resolvers(&found), ..Causes::default() };
    // Engines that do not know a container are the effect where their gossip does not pass.
    let nodes: Vec<&Node> = containers.iter().map(|one| one.node).collect();
    let gossip = match causes.stale.is_empty() {
        true => Vec::new(),
        false if !before.gossip.is_empty() => before.gossip,
        false => gossip::blocked(&nodes, hosts).await,
    };
    if gossip.is_empty() {
        return (causes, best(found));
    }
    causes.stale.clear();
    (causes, gossip)
}

/// What is known of a pair in addition to its own attempt.
struct Observed<'s> {
    back: Option<&'s Tried>,
    traces: &'s [Trace],
    reattached: bool,
    late: bool,
}

impl Observed<'_> {
    fn trace(&self, from: usize, to: usize) -> Option<&Trace> {
        self.traces.iter().find(|trace| (trace.way.from, trace.way.to) == (from, to))
    }
}

/// How far packets get, both ways of every pair that fails.
async fn traced(
    plan: &ClusterPlan,
    containers: &[ContainerProbe<'_>],
    hosts: &[Option<&Probe<'_>>],
    dead: &[&Tried],
) -> Vec<Trace> {
    let unconnected = dead.iter().filter(|one| one.connects.is_err() && blocked::no_port(one).is_none());
    let mut directions: Vec<(usize, usize)> =
        unconnected.flat_map(|one| [(one.from, one.to), (one.to, one.from)]).collect();
    if directions.is_empty() {
        return Vec::new();
    }
    directions.sort_unstable();
    directions.dedup();
    let peers: Vec<Peer<'_>> = containers.iter().map(Peer::from).collect();
    // IPsec hides what a packet carries.
    let watched = plan.network.kind == NetworkKind::Overlay && !plan.network.encrypted;
    trace::traces(&peers, hosts, &directions, watched).await
}

/// What explains everything else: a machine that can keep no more connections, a network that loses packets.
async fn surely(
    containers: &[ContainerProbe<'_>],
    hosts: &[Option<&Probe<'_>>],
    traces: &[Trace],
) -> Vec<Problem> {
    let machines = hosts.iter().zip(containers).filter_map(|(host, one)| Some(((*host)?, one)));
    let machines: Vec<(&Probe<'_>, &ContainerProbe<'_>)> = machines.collect();
    let peers: Vec<Peer<'_>> =
        machines.iter().map(|(host, one)| Peer { address: one.address, session: host.session() }).collect();
    let counters: Vec<Option<Counters>> = measure::counters(&peers).await;
    let full = machines.iter().zip(counters).filter_map(|((_, one), counters)| {
        let counters = counters?;
        let full = counters.full_conntrack()?;
        Some(blocked::conntrack(STEP, &one.node.name, full, counters.conntrack_dropped))
    });
    let full: Vec<Problem> = full.collect();
    if !full.is_empty() {
        return full;
    }
    let names: Vec<String> = containers.iter().map(|one| one.node.name.clone()).collect();
    let ways: Vec<_> = traces.iter().map(|trace| trace.way.clone()).collect();
    rate::heavy(STEP, &ways, &names)
}

/// Containers that were seen not to ask the engine for names.
fn resolvers(found: &[((usize, usize), Cause)]) -> Vec<usize> {
    let own = found.iter().filter(|(_, cause)| matches!(cause, Cause::Resolver(_)));
    let mut places: Vec<usize> = own.map(|((from, _), _)| *from).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// The pairs that reattaching may repair.
fn stale(found: &[((usize, usize), Cause)]) -> Vec<(usize, usize)> {
    let pairs = found.iter().filter(|((from, to), cause)| match cause {
        // Where something was seen the other way round, reattaching repairs nothing.
        Cause::StaleEntry(_) | Cause::Left(_) if has_observed_cause(found, (*to, *from)) => false,
        Cause::StaleEntry(_) => true,
        // What one engine lost shows both ways.
        Cause::Left(_) => {
            !found.iter().any(|(pair, cause)| *pair == (*to, *from) && matches!(cause, Cause::StaleEntry(_)))
        }
        Cause::Observed(_) | Cause::Resolver(_) | Cause::Guessed(_) => false,
    });
    pairs.map(|(pair, _)| *pair).collect()
}

/// Whether it was seen why the first of a pair does not reach the second.
fn has_observed_cause(found: &[((usize, usize), Cause)], pair: (usize, usize)) -> bool {
    found.iter().any(|(of, cause)| *of == pair && matches!(cause, Cause::Observed(_) | Cause::Resolver(_)))
}

/// A path whose MTU is smaller than that of the interfaces.
pub fn small(plan: &ClusterPlan, a: &str, b: &str, bytes: u32, mtu: u32) -> Problem {
    let message = match plan.network.kind {
        NetworkKind::Host => format!(
            "packets above {bytes} bytes are lost between {a} and {b}, but the interface MTU is {mtu}: a \
                link between the machines has a smaller MTU"
        ),
        _ => format!(
            "packets above {bytes} bytes are lost between {a} and {b}, but the overlay MTU is {mtu}: the \
                network between the machines carries only {} bytes",
            bytes + 50
        ),
    };
    Problem::of(STEP, a, format!("{message}. Small messages pass, large ones hang"))
        .fix(fixes::recreate(format!(
            "Set `network: {{ mtu: {bytes} }}` in cluster.yaml and recreate the network:"
        )))
        .fix(Fix::run(
            "Raise the MTU on the path between the machines; show the interfaces on both:",
            "ip link",
        ))
}

/// How well a cause is known.
enum Cause {
    Observed(Problem),
    /// It was seen that the first container does not ask the engine for names.
    Resolver(Problem),
    /// An engine was seen to have lost an entry.
    StaleEntry(Problem),
    /// Everything else was tried, and works.
    Left(Problem),
    /// It is not known.
    Guessed(Problem),
}

/// For each pair of nodes what was seen, else what an engine lost, else what is left: what blocks one way
/// makes the other way fail as well, and an engine lacks the entries that a blocked port kept from it.
fn best(found: Vec<((usize, usize), Cause)>) -> Vec<Problem> {
    let rank = |cause: &Cause| match cause {
        Cause::Observed(_) | Cause::Resolver(_) => 0,
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
            let (Cause::Observed(problem)
            | Cause::Resolver(problem)
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
        (_, Err(failure)) => failure.message.clone(),
        (Err(why), _) => why.message.clone(),
        _ => String::new(),
    };
    Problem::of(
        STEP,
        a,
        format!("the container of {a} cannot reach the container of {b} ({}): {why}", other.address),
    )
    .fix(Fix::run(
        "Check that 2377/tcp, 7946/tcp, 7946/udp and 4789/udp are open between the machines:",
        "envdoc cluster check",
    ))
}

/// The entry that the sender's engine lacks, where packets stop at the receiver and that engine cannot name
/// the other container either, or could not at first: no firewall takes a name away, and where the engines
/// disagree about a container VXLAN drops what arrives. Docker 20.10 stays in that state (seen twice in lab
/// runs under load).
fn entry_before_firewall(tried: &Tried, back: Option<&Tried>, stop: Stop, late: bool) -> Option<StaleEntry> {
    if stop != Stop::AtReceiver || back.is_none_or(|back| back.name.is_err()) {
        return None;
    }
    match &tried.name {
        Err(name) => Some(StaleEntry::Name(name.instead.clone())),
        Ok(()) => late.then_some(StaleEntry::Late),
    }
}

/// `from` and `to` look from the machines' own networks.
async fn between(
    plan: &ClusterPlan,
    containers: &[ContainerProbe<'_>],
    tried: &Tried,
    observed: &Observed<'_>,
    (from, to): (&Probe<'_>, &Probe<'_>),
) -> Cause {
    let (back, reattached) = (observed.back, observed.reattached);
    let (one, other) = (&containers[tried.from], &containers[tried.to]);
    let (a, b, address) = (&one.node.name, &other.node.name, &other.node.address);
    let open = |ports: &str| fixes::open_ports(ports, &format!("{a} and {b}"));
    // Names alone: what the container's resolver and the engine say of the same name differs, or not.
    let named: Tried;
    let tried = match resolver::fault(plan, one, other, tried).await {
        Some((problem, _)) if tried.connects.is_ok() => return Cause::Resolver(problem),
        Some((_, true)) => {
            named = Tried { name: Ok(()), ..tried.clone() };
            &named
        }
        Some((_, false)) | None => tried,
    };
    if let Some(failure) = blocked::no_port(tried) {
        return Cause::Observed(blocked::ports(STEP, one, failure).await);
    }
    if plan.network.kind != NetworkKind::Overlay {
        return Cause::Guessed(unexplained(one, other, tried));
    }
    if let Err(failure) = from.connects(address, GOSSIP).await {
        let word = if failure.why == Why::Refused { "is refused" } else { "is blocked" };
        return Cause::Observed(
            Problem::of(
                STEP,
                a,
                format!(
                    "{GOSSIP}/tcp {word} from {a} to {b} ({address}: {failure}); the Docker engines cannot \
                        exchange container addresses, so the containers cannot find each other"
                ),
            )
            .fix(open("7946/tcp, 7946/udp and 4789/udp between all nodes"))
            .fix(fixes::resume()),
        );
    }
    let back_connects = back.is_some_and(|back| back.connects.is_ok());
    let (trace, reverse) = (observed.trace(tried.from, tried.to), observed.trace(tried.to, tried.from));
    let stop = trace.and_then(|trace| Some((trace, trace.stop()?)));
    if let Some(stop) = stop.filter(|(_, stop)| !matches!(stop, Stop::NotSent | Stop::NotResolved(_))) {
        let problem = blocked::overlay(STEP, one, other, stop, reverse, back_connects);
        if stop.0.may_follow_from(reverse) && !back_connects {
            // The other direction names that engine.
            return Cause::Guessed(unexplained(one, other, tried));
        }
        let entry = entry_before_firewall(tried, back, stop.1, observed.late);
        if let Some(entry) = entry.filter(|_| !reattached) {
            return Cause::StaleEntry(entry.problem(STEP, one, other, tried, reattached));
        }
        return match stop.1 {
            Stop::Elsewhere(_) => Cause::StaleEntry(problem),
            _ => Cause::Observed(problem),
        };
    }
    if let (Some(trace), Some(reverse), Err(_)) = (trace, reverse, &tried.connects)
        && trace.arrives()
        && tried.name.is_ok()
    {
        // Its answers do not come back: the other direction names that.
        if !reverse.arrives() {
            return Cause::Guessed(unexplained(one, other, tried));
        }
        // What engines tell each other late works by now, and is judged by what was seen before.
        if let Err(failure) = container_probe::connects(plan, one, other).await {
            let problem = blocked::tcp(STEP, one, other, &failure).await;
            return problem.map_or_else(|| Cause::Guessed(unexplained(one, other, tried)), Cause::Observed);
        }
    }
    // Only where it tells something: it waits for what does not come.
    let within = match back_connects && tried.connects.is_err() {
        true => Some(container_probe::datagram(one, other).await),
        false => None,
    };
    if let Some(stale_entry) = stale_entries::stale_entry(tried, back, within.as_ref()) {
        return Cause::StaleEntry(stale_entry.problem(STEP, one, other, tried, reattached));
    }
    if let Some(stop) = stop {
        return Cause::Left(blocked::overlay(STEP, one, other, stop, reverse, back_connects));
    }
    if let (Some(Ok(())), Err(failure)) = (&within, &tried.connects) {
        return Cause::Observed(
            Problem::of(
                STEP,
                a,
                format!(
                    "the container of {b} accepts no connection from {a} ({}: {failure}); datagrams arrive \
                        and the reverse direction connects, so the network is not the cause",
                    other.address
                ),
            )
            .fix(fixes::read_sshd_log(b))
            .fix(fixes::restart_container(format!("Restart the container on {b}:"), b)),
        );
    }
    let alternative = match reattached {
        true => String::new(),
        false => {
            ", or both Docker engines lack each other's overlay entries (`envdoc cluster up` reattaches \
            their containers)"
                .to_owned()
        }
    };
    let udp = datagram(from, to, address).await;
    match (&tried.name, &tried.connects, udp) {
        (_, _, Err(failure)) => Cause::Observed(
            Problem::of(
                STEP,
                a,
                format!(
                    "UDP is blocked from {a} to {b} ({address}: {failure}) while TCP passes; the overlay \
                        needs 7946/udp (gossip) and 4789/udp (VXLAN data)"
                ),
            )
            .fix(open("7946/udp and 4789/udp between all nodes")),
        ),
        // Where the other way round works, no port is blocked.
        (Ok(()), Err(failure), Ok(())) if failure.why == Why::TimedOut && within.is_none() => Cause::Left(
            Problem::of(
                STEP,
                a,
                format!(
                    "overlay data does not pass between {a} and {b}, although its control plane works: names \
                        resolve, 2377/tcp and 7946/tcp are open, UDP on another port passes between {} and \
                        {address}. Likely cause: 4789/udp (VXLAN) is blocked in one direction or \
                        both{alternative}",
                    one.node.address
                ),
            )
            .fix(open("4789/udp between all nodes in both directions"))
            .fix(Fix::run(
                format!(
                    "Check whether VXLAN packets arrive on {b} while `envdoc cluster exec {a} -- ssh {b} \
                        true` runs, then in the other direction:"
                ),
                "tcpdump -ni any udp port 4789",
            ))
            .fix(Fix::run(
                "Check whether another VXLAN user (flannel, Calico, VMware NSX) holds the port:",
                "ss -lnup 'sport = :4789'",
            )),
        ),
        (Err(why), _, Ok(())) => Cause::Left(
            Problem::of(
                STEP,
                a,
                format!(
                    "the container of {a} cannot resolve {b} ({why}), although 7946/tcp is open and UDP on \
                        another port passes. Likely cause: 7946/udp between {a} and {b} is blocked in one \
                        direction or both{alternative}"
                ),
            )
            .fix(open("7946/udp between all nodes in both directions")),
        ),
        _ => Cause::Guessed(unexplained(one, other, tried)),
    }
}

/// A datagram from machine to machine, on a port that is nobody's.
async fn datagram(from: &Probe<'_>, to: &Probe<'_>, address: &str) -> Result<(), Failure> {
    let listen = Task::ListenUdp { address: address.parse().ok(), port: 0 };
    let port = match to.ask(listen, probe::CONNECT_TIMEOUT * 2).await? {
        Answer::Listening { port } => port,
        other => return Err(crate::worker::unexpected(&other)),
    };
    let task = Task::SendUdp { address: address.to_owned(), port, size: 200, dont_fragment: false };
    from.ask(task, probe::CONNECT_TIMEOUT).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container_probe::Unresolved;
    use crate::stale_entries::to_reattach;

    fn problem(message: &str) -> Problem {
        Problem::new(STEP, message)
    }

    #[test]
    fn observed_cause_outranks_cause_by_elimination() {
        let found = vec![
            ((0, 1), Cause::Left(problem("7946/udp is left"))),
            ((1, 0), Cause::Observed(problem("7946/tcp is blocked"))),
            ((0, 2), Cause::Left(problem("4789/udp is left"))),
            ((2, 0), Cause::Left(problem("4789/udp is left, the other way"))),
            ((2, 1), Cause::StaleEntry(problem("the engine of 2 lost 1"))),
            ((1, 2), Cause::Left(problem("4789/udp is left"))),
            ((2, 3), Cause::StaleEntry(problem("the engine of 2 lost 3"))),
            ((3, 2), Cause::Observed(problem("7946/tcp is blocked"))),
        ];
        let message: Vec<_> = best(found).into_iter().map(|problem| problem.message).collect();
        assert_eq!(
            message,
            ["7946/tcp is blocked", "4789/udp is left", "the engine of 2 lost 1", "7946/tcp is blocked"]
        );
    }

    #[test]
    fn a_lost_name_is_the_cause_before_a_firewall() {
        let tried = |named: bool| Tried {
            from: 0,
            to: 1,
            name: match named {
                true => Ok(()),
                false => Err(Unresolved { message: "no such name".to_owned(), instead: Vec::new() }),
            },
            connects: Err(Failure { why: Why::TimedOut, message: String::new() }),
            neighbour: Some(true),
            packet: None,
            ssh: None,
        };
        let cause = |name, back, stop| entry_before_firewall(&tried(name), Some(&tried(back)), stop, false);
        assert_eq!(cause(false, true, Stop::AtReceiver), Some(StaleEntry::Name(Vec::new())));
        // A firewall leaves the names alone; without any names the gossip may be blocked.
        assert_eq!(cause(true, true, Stop::AtReceiver), None);
        assert_eq!(cause(false, false, Stop::AtReceiver), None);
        assert_eq!(cause(false, true, Stop::OnTheWay), None);
        // Learned too late to say that nothing was lost.
        let late = |back, stop| entry_before_firewall(&tried(true), Some(&tried(back)), stop, true);
        assert_eq!(late(true, Stop::AtReceiver), Some(StaleEntry::Late));
        assert_eq!(late(false, Stop::AtReceiver), None);
        assert_eq!(late(true, Stop::OnTheWay), None);
    }

    #[test]
    fn reattaches_the_fewest_containers() {
        let stale_entry = |from, to| ((from, to), Cause::StaleEntry(problem("")));
        let left = |from, to| ((from, to), Cause::Left(problem("")));
        let untold = |found: &[((usize, usize), Cause)]| to_reattach(&stale(found), |_| false);
        assert_eq!(untold(&[stale_entry(0, 1)]), [1]);
        assert_eq!(untold(&[stale_entry(1, 0)]), [0]);
        assert_eq!(untold(&[stale_entry(0, 1), left(1, 0)]), [1]);
        assert_eq!(untold(&[left(0, 1), left(1, 0)]).len(), 1);
        // One of five that nobody reaches and that reaches nobody.
        let alone: Vec<_> =
            [0, 1, 3, 4].iter().flat_map(|other| [left(*other, 2), left(2, *other)]).collect();
        assert_eq!(untold(&alone), [2]);
        assert_eq!(untold(&[stale_entry(0, 1), stale_entry(2, 3)]), [1, 3]);
        // Nothing to be gained where a port was seen to be blocked.
        let observed = |from, to| ((from, to), Cause::Observed(problem("")));
        assert_eq!(untold(&[observed(0, 1)]), [0; 0]);
        assert_eq!(untold(&[observed(0, 1), stale_entry(1, 0)]), [0; 0]);
        assert_eq!(untold(&[left(0, 1), observed(1, 0), stale_entry(2, 1)]), [1]);
        let resolver = |from, to| ((from, to), Cause::Resolver(problem("")));
        assert_eq!(untold(&[resolver(1, 0), left(0, 1)]), [0; 0]);
        assert_eq!(resolvers(&[resolver(1, 0), resolver(1, 2), stale_entry(0, 2)]), [1]);
    }

    #[test]
    fn an_idle_container_is_reattached_rather_than_a_busy_one() {
        assert_eq!(to_reattach(&[(0, 1)], |index| index == 1), [0]);
        assert_eq!(to_reattach(&[(0, 1)], |index| index == 0), [1]);
        assert_eq!(to_reattach(&[(0, 1)], |_| true), [1]);
        let alone = [(0, 2), (2, 0), (1, 2), (2, 1), (3, 2), (2, 3)];
        assert_eq!(to_reattach(&alone, |_| false), [2]);
        assert_eq!(to_reattach(&alone, |index| index == 2), [0, 1, 3]);
    }
}
