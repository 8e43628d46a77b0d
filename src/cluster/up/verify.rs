//! The step `verify`: what the cluster is for, tried from inside every container to every other.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};

use super::{Work, on_all};
use crate::cluster::plan::Node;
use crate::cluster::probe::{self, Probe};
use crate::cluster::problem::Problem;
use crate::cluster::request::NetworkKind;
use crate::engine::container;
use crate::engine::docker::Engine;
use crate::engine::exec::{self, Command};
use crate::report::cluster::progress::Outcome;
use crate::worker::session::Session;
use crate::worker::{Answer, Failure, Task, Why};

const STEP: &str = "verify";
/// The longest that a search for the largest packet may take.
const SIZING: Duration = Duration::from_secs(20);
/// The longest that a listener for it stays open.
const LISTENING: Duration = Duration::from_secs(60);
/// The longest that an ssh from one container to another may take.
const SSH: Duration = Duration::from_secs(20);
/// How long the engines of a swarm may take until each knows of every container: what the gossip lost comes with the next exchange of whole
/// tables, which is every 30 s (moby:libnetwork/networkdb, bulkSyncTables).
const SPREADING: Duration = Duration::from_secs(40);
/// The pause before what did not answer is tried again.
const AGAIN: Duration = Duration::from_secs(3);
/// Pairs that are tried at once.
const AT_ONCE: usize = 32;
/// The port over which a swarm's members gossip.
const GOSSIP: u16 = 7946;

/// A container that was looked into.
struct Inside<'w> {
    node: &'w Node,
    engine: &'w Engine,
    session: Session,
    /// Its address in the cluster's network.
    address: IpAddr,
    /// The interface that has it, and its MTU in bytes.
    interface: String,
    mtu: Option<u32>,
    /// Where it waits for datagrams.
    port: u16,
}

/// What came of one container trying another.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tried {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Whether the name gives the other's address.
    pub(super) name: Result<(), String>,
    /// Whether a connection stands.
    pub(super) connects: Result<(), Failure>,
    /// The largest packet that arrived, in bytes.
    pub(super) packet: Option<u32>,
    /// Whether ssh gets in without a prompt; `None` where there is no SSH server.
    pub(super) ssh: Option<Result<(), String>>,
}

/// Tries everything.
pub(super) async fn all(work: &Work<'_>) -> Result<(), Vec<Problem>> {
    let inside = on_all(work.nodes.iter().copied(), |node, engine| enter(work, node, engine)).await;
    let result = match &inside {
        Ok(inside) => pairs(work, inside).await,
        Err(problems) => Err(problems.clone()),
    };
    join_all(work.nodes.iter().map(|(node, engine)| exec::forget_worker(engine, &node.name))).await;
    result
}

async fn enter<'w>(work: &Work<'_>, node: &'w Node, engine: &'w Engine) -> Result<Inside<'w>, Problem> {
    work.progress.doing(STEP, &node.name, "looking from inside its container");
    let failed = |why: String| {
        work.done(STEP, &node.name, "could not be looked at from inside", Outcome::Failed);
        Problem::of(
            STEP,
            &node.name,
            format!("envdoc could not look from inside the container of {}: {why}", node.name),
        )
    };
    let bundle = work.bundle()?;
    exec::bring(engine, &node.name, bundle).await.map_err(failed)?;
    let session = exec::session(engine, &node.name, bundle).await.map_err(failed)?;
    let interfaces = probe::interfaces(&session).await.map_err(|failure| failed(failure.says))?;
    let address = match work.plan.network.kind {
        NetworkKind::Host => node.address.parse::<IpAddr>().ok(),
        NetworkKind::Overlay | NetworkKind::Existing => {
            let found = container::look(engine, &node.name).await.map_err(failed)?;
            found.and_then(|found| found.addresses.get(&work.plan.network.name)?.parse::<IpAddr>().ok())
        }
    };
    let address =
        address.ok_or_else(|| failed(format!("it has no address in {}", work.plan.network.name)))?;
    let interface = probe::with_address(&interfaces, address);
    let interface = interface.ok_or_else(|| failed(format!("no interface of it has {address}")))?;
    let port = match session.ask(Task::ListenUdp { port: 0 }, LISTENING).await {
        Ok(Answer::Listening { port }) => port,
        Ok(other) => return Err(failed(probe::unexpected(&other).says)),
        Err(failure) => return Err(failed(failure.says)),
    };
    Ok(Inside { node, engine, address, interface: interface.name.clone(), mtu: interface.mtu, port, session })
}

async fn pairs(work: &Work<'_>, inside: &[Inside<'_>]) -> Result<(), Vec<Problem>> {
    let ordered = (0..inside.len()).flat_map(|from| (0..inside.len()).map(move |to| (from, to)));
    let ordered: Vec<_> = ordered.filter(|(from, to)| from != to).collect();
    let start = Instant::now();
    let mut tried = of_pairs(work, inside, ordered).await;
    while work.plan.network.kind == NetworkKind::Overlay && start.elapsed() < SPREADING {
        let (dead, alive): (Vec<Tried>, Vec<Tried>) = tried.into_iter().partition(dead);
        tried = alive;
        if dead.is_empty() {
            break;
        }
        work.progress.doing(STEP, &work.plan.name, "waiting until every engine knows of every container");
        tokio::time::sleep(AGAIN).await;
        tried.extend(of_pairs(work, inside, dead.iter().map(|one| (one.from, one.to)).collect()).await);
    }
    let problems = if tried.iter().all(|tried| well(tried, inside[tried.from].mtu)) {
        Vec::new()
    } else {
        causes(work, inside, &tried).await
    };
    for (place, one) in inside.iter().enumerate() {
        let pinned = pinned(one).await;
        let own: Vec<_> = tried.iter().filter(|tried| tried.from == place).collect();
        let bad = own.iter().any(|tried| !well(tried, one.mtu));
        let outcome = if bad { Outcome::Failed } else { Outcome::Unchanged };
        work.done(STEP, &one.node.name, says(one, &own, pinned.as_deref()), outcome);
        if let Some(pinned) =
            pinned.filter(|pinned| *pinned != one.interface && work.plan.network.interface.is_none())
        {
            work.note(format!(
                "{}: NCCL is pinned to {pinned}, but {} has its address {}",
                one.node.name, one.interface, one.address
            ));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

async fn of_pairs(work: &Work<'_>, inside: &[Inside<'_>], pairs: Vec<(usize, usize)>) -> Vec<Tried> {
    stream::iter(pairs)
        .map(|(from, to)| pair(work, inside, from, to))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await
}

/// Whether one does not find the other at all.
fn dead(tried: &Tried) -> bool {
    tried.name.is_err() || tried.connects.is_err()
}

async fn pair(work: &Work<'_>, inside: &[Inside<'_>], from: usize, to: usize) -> Tried {
    let (one, other) = (&inside[from], &inside[to]);
    let name = async {
        let found = probe::resolve(&one.session, &other.node.name).await.map_err(|failure| failure.says)?;
        match found.contains(&other.address) {
            true => Ok(()),
            false => {
                Err(format!("{} resolves to {found:?} there, not to {}", other.node.name, other.address))
            }
        }
    };
    let connects = async {
        match &work.plan.ssh {
            Some(ssh) => {
                probe::connects(&one.session, &other.address.to_string(), ssh.port, true).await.map(drop)
            }
            None => listened(one, other).await,
        }
    };
    let (name, connects) = tokio::join!(name, connects);
    let packet = async {
        connects.as_ref().ok()?;
        let task = Task::PathMtu {
            address: other.address.to_string(),
            port: other.port,
            largest: one.mtu.unwrap_or(1500),
        };
        match one.session.ask(task, SIZING).await {
            Ok(Answer::PathMtu { bytes, .. }) => Some(bytes),
            _ => None,
        }
    };
    let ssh = async {
        match &work.plan.ssh {
            Some(ssh) if connects.is_ok() => Some(logs_in(one, &other.node.name, &ssh.user).await),
            _ => None,
        }
    };
    let (packet, ssh) = tokio::join!(packet, ssh);
    Tried { from, to, name, connects, packet, ssh }
}

/// A connection to a listener of the other's worker, where there is no SSH server.
async fn listened(one: &Inside<'_>, other: &Inside<'_>) -> Result<(), Failure> {
    let port = match other.session.ask(Task::ListenTcp { port: 0 }, probe::CONNECTING * 2).await? {
        Answer::Listening { port } => port,
        answer => return Err(probe::unexpected(&answer)),
    };
    probe::connects(&one.session, &other.address.to_string(), port, true).await.map(drop)
}

async fn logs_in(one: &Inside<'_>, other: &str, user: &str) -> Result<(), String> {
    let argv =
        ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", other, "true"].map(str::to_owned).to_vec();
    let command = Command { argv, user: Some(user.to_owned()), ..Command::default() };
    let ran = exec::whole(one.engine, &one.node.name, &command, SSH).await?;
    match ran.status {
        0 => Ok(()),
        _ => Err(said(&ran.stderr)),
    }
}

/// What the entrypoint pinned NCCL to.
async fn pinned(one: &Inside<'_>) -> Option<String> {
    let ran = exec::run(one.engine, &one.node.name, &["cat", "/etc/nccl.conf"], SSH).await.ok()?;
    let line =
        ran.stdout.lines().find_map(|line| line.strip_prefix("NCCL_SOCKET_IFNAME=").map(str::to_owned))?;
    Some(line.trim_start_matches('=').to_owned())
}

fn well(tried: &Tried, mtu: Option<u32>) -> bool {
    let whole = tried.packet.is_some_and(|bytes| mtu.is_none_or(|mtu| bytes >= mtu));
    tried.name.is_ok() && tried.connects.is_ok() && whole && tried.ssh.as_ref().is_none_or(Result::is_ok)
}

fn says(one: &Inside<'_>, tried: &[&Tried], pinned: Option<&str>) -> String {
    let count = tried.len();
    let all = |what: &str, good: usize| {
        if good == count {
            format!("{what} {good} of {count}")
        } else {
            format!("{what} ONLY {good} of {count}")
        }
    };
    let mut parts = vec![
        all("names", tried.iter().filter(|tried| tried.name.is_ok()).count()),
        all("TCP", tried.iter().filter(|tried| tried.connects.is_ok()).count()),
    ];
    if tried.iter().any(|tried| tried.ssh.is_some()) {
        parts.push(all("ssh", tried.iter().filter(|tried| matches!(tried.ssh, Some(Ok(())))).count()));
    }
    if let Some(packet) = tried.iter().filter_map(|tried| tried.packet).min() {
        parts.push(format!("packets of {packet} bytes"));
    }
    let pinned = pinned.map_or(String::new(), |pinned| format!("; NCCL and Gloo use {pinned}"));
    format!("{} is {}; to the others: {}{pinned}", one.interface, one.address, parts.join(", "))
}

/// Why pairs do not reach each other: what their machines see of each other decides.
async fn causes(work: &Work<'_>, inside: &[Inside<'_>], tried: &[Tried]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let dead: Vec<&Tried> = tried.iter().filter(|tried| dead(tried)).collect();
    if !dead.is_empty() {
        problems.extend(underlay(work, inside, &dead).await);
    }
    for tried in tried.iter().filter(|tried| tried.connects.is_ok()) {
        let (one, other) = (&inside[tried.from], &inside[tried.to]);
        let (a, b) = (&one.node.name, &other.node.name);
        match (tried.packet, one.mtu) {
            (Some(bytes), Some(mtu)) if bytes < mtu => problems.push(small(work, a, b, bytes, mtu)),
            (None, _) => problems.push(Problem::of(STEP, a, format!("no datagram of {a} is answered by {b}, though TCP connects: UDP is blocked between the containers"))),
            _ => {}
        }
        if let Some(Err(why)) = &tried.ssh {
            problems.push(unlogged(a, b, why));
        }
    }
    problems
}

fn small(work: &Work<'_>, a: &str, b: &str, bytes: u32, mtu: u32) -> Problem {
    let says = match work.plan.network.kind {
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

/// What ssh said, in one line; of a key that it does not take for its mode it says so before the last line.
fn said(stderr: &str) -> String {
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let cause = lines
        .iter()
        .find(|line| line.contains("bad permissions") || line.contains("Host key verification failed"));
    cause.or(lines.last()).map_or("it ended without a word", |line| *line).to_owned()
}

fn unlogged(a: &str, b: &str, why: &str) -> Problem {
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
async fn underlay(work: &Work<'_>, inside: &[Inside<'_>], dead: &[&Tried]) -> Vec<Problem> {
    let Ok(bundle) = work.bundle() else { return Vec::new() };
    let probes =
        join_all(inside.iter().map(|one| Probe::start(work.plan, one.node, one.engine, "host", bundle)))
            .await;
    let mut found: Vec<((usize, usize), Cause)> = Vec::new();
    for tried in dead {
        let (one, other) = (&inside[tried.from], &inside[tried.to]);
        let cause = match (&probes[tried.from], &probes[tried.to]) {
            (Ok(a), Ok(b)) => between(work, one, other, tried, a, b).await,
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
    work: &Work<'_>,
    one: &Inside<'_>,
    other: &Inside<'_>,
    tried: &Tried,
    from: &Probe<'_>,
    to: &Probe<'_>,
) -> Cause {
    let (a, b, address) = (&one.node.name, &other.node.name, &other.node.address);
    let firewall =
        format!("`iptables -L -n -v` and `nft list ruleset` on {a} and {b}, the provider's security group");
    if work.plan.network.kind != NetworkKind::Overlay {
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
