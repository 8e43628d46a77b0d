//! Findings of a direction between two containers in which packets, or only TCP, do not arrive: which way,
//! where it stops, and the command that shows it on the right machine.

use crate::container_probe::{self, ContainerProbe, Tried};
use crate::fixes;
use crate::flow::measure::{self, Peer};
use crate::flow::trace::{Stop, Trace};
use crate::problem::{Problem, Step};
use crate::worker::{Failure, Why};
use diagnostic::Fix;
use docker::exec;
use std::time::Duration;

/// The port of VXLAN in a swarm.
const VXLAN: u16 = 4789;
/// The longest that reading a file of a container may take.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Packets of the overlay stop between `one` and `other`. `back`: the same the other way round;
/// `back_connects`: whether a connection stands that way.
pub(crate) fn overlay(
    step: Step,
    one: &ContainerProbe<'_>,
    other: &ContainerProbe<'_>,
    (trace, stop): (&Trace, Stop),
    back: Option<&Trace>,
    back_connects: bool,
) -> Problem {
    let (a, b) = (&one.node.name, &other.node.name);
    let port = trace.port.unwrap_or(VXLAN);
    let reverse = match back {
        Some(back) if back.arrives() => format!("; from {b} to {a} packets arrive"),
        Some(_) => format!("; packets from {b} to {a} are lost too"),
        None => String::new(),
    };
    let watch = |node: &str| {
        Fix::run(
            format!("Confirm on {node} while `envdoc cluster exec {a} -- ssh {b} true` runs:"),
            format!("tcpdump -ni any udp port {port} and src {}", one.node.address),
        )
    };
    match stop {
        // A connection the other way round takes the overlay's packets both ways.
        Stop::AtReceiver if back_connects => Problem::of(
            step,
            b,
            format!(
                "the network of the container of {b} drops packets from {a}: they reach the machine {b}, \
                    and not \
                    the container ({}), although a connection from {b} to {a} works, for which {port}/udp \
                    (VXLAN) must pass both ways: a firewall in that container's network",
                other.address
            ),
        )
        .fix(rules_in(b)),
        Stop::AtReceiver => Problem::of(
            step,
            b,
            format!(
                "{b} drops incoming {port}/udp (VXLAN) from {a}: the packets reach its network interface, \
                    and none reaches its container{reverse}"
            ),
        )
        .fix(fixes::show_rules(format!("Find the rule that drops it, on {b}:"), "INPUT"))
        .fix(watch(b))
        .fix(fixes::restart_engine(format!(
            "If no rule drops it, restart the Docker engine on {b}, which sets up its overlay again and \
                restarts its containers:"
        ))),
        Stop::Rejected(by) => Problem::of(
            step,
            b,
            format!(
                "{port}/udp (VXLAN) from {a} to {b} is rejected: {by} answers with an ICMP \
                error{reverse}"
            ),
        )
        .fix(fixes::show_rules(format!("Find the rule that rejects it, on {b}:"), "INPUT"))
        .fix(Fix::run(format!("Confirm on {b}:"), format!("tcpdump -ni any icmp or udp port {port}"))),
        Stop::OnTheWay => Problem::of(
            step,
            b,
            format!(
                "{port}/udp (VXLAN) from {a} to {b} is dropped between the machines: the packets leave \
                    {a}, and none reaches the network interface of {b}{reverse}"
            ),
        )
        .fix(Fix::manual(format!(
            "Open {port}/udp from {} to {} in the provider's security group and in the firewalls between \
                them",
            one.node.address, other.node.address
        )))
        .fix(watch(b)),
        Stop::Elsewhere(machine) => Problem::of(
            step,
            a,
            format!(
                "the Docker engine on {a} has a wrong overlay entry for the container of {b}: it sends the \
                    packets to {machine}, which is not an address of {b}"
            ),
        )
        .fix(fixes::reattach())
        .fix(fixes::restart_container(format!("Restart the container by hand, on {b}:"), b)),
        Stop::OutsideOverlay => Problem::of(
            step,
            a,
            format!(
                "the container of {a} sends packets to {b} ({}) over its default route instead of the \
                    overlay network: its overlay interface is down, or has no address or no route{reverse}",
                other.address
            ),
        )
        .fix(Fix::safe(
            format!("Show the route and the interfaces, on {a}:"),
            &[
                &format!("{} ip route get {}", nsenter(a), other.address),
                &format!("{} ip address", nsenter(a)),
            ],
        ))
        .fix(fixes::restart_container(
            format!(
                "Restart the container on {a}, which sets up its interfaces again and stops what runs in it:"
            ),
            a,
        )),
        Stop::NotResolved(machine) => Problem::of(
            step,
            a,
            format!(
                "{a} sends no {port}/udp (VXLAN) packet to {b}, although its container sends to {}; \
                    meanwhile it asks for the hardware address of {machine} (ARP), which is no address of \
                    a node, and gets no answer{reverse}. Likely cause: the Docker engine on {a} has a \
                    wrong overlay entry for the container of {b}",
                other.address
            ),
        )
        .fix(fixes::reattach())
        .fix(Fix::run(format!("Show the ARP entry on {a}:"), format!("ip neighbour show {machine}"))),
        Stop::NotSent => Problem::of(
            step,
            a,
            format!(
                "{a} sends no {port}/udp (VXLAN) packet to {b}, although its container sends to \
                    {}{reverse}. Possible \
                    causes: a firewall on {a} drops outgoing {port}/udp, or its Docker engine has no or a \
                    wrong \
                    overlay entry for the container of {b} (`envdoc cluster up` reattaches the container)",
                other.address
            ),
        )
        .fix(fixes::show_rules(format!("Check the rules for outgoing packets, on {a}:"), "OUTPUT"))
        .fix(watch(a)),
    }
}

/// The beginning of a command that a machine runs in the network of its container.
pub(crate) fn nsenter(node: &str) -> String {
    format!("nsenter --net --target $(docker inspect --format '{{{{.State.Pid}}}}' {node})")
}

/// Shows the rules of a container's network.
fn rules_in(node: &str) -> Fix {
    let command = |rules: &str| format!("{} {rules}", nsenter(node));
    Fix::safe(
        format!("Show the rules of that container's network, on {node}:"),
        &[&command("iptables -L -n -v"), &command("nft list ruleset")],
    )
}

/// A connection from `one` to `other` fails, while datagrams arrive both ways: whether it is the SSH server,
/// or TCP as such. `None` where it is the answer that gets lost: the other direction names that.
pub(crate) async fn tcp(
    step: Step,
    one: &ContainerProbe<'_>,
    other: &ContainerProbe<'_>,
    failed: &Failure,
) -> Option<Problem> {
    let (a, b) = (&one.node.name, &other.node.name);
    let receiver = [Peer::from(other)];
    let before = measure::counters(&receiver).await;
    let listened = container_probe::listened(one, other).await;
    let after = measure::counters(&receiver).await;
    let rules = |message: String| Some(Problem::of(step, b, message).fix(rules_in(b)));
    let failure = match listened {
        Ok(()) => {
            return Some(
                Problem::of(
                    step,
                    b,
                    format!(
                        "the SSH server in the container of {b} accepts no connection from {a} ({}: \
                            {failed}); connections to another port of that container work",
                        other.address
                    ),
                )
                .fix(fixes::read_sshd_log(b))
                .fix(fixes::restart_container(format!("Restart the container on {b}:"), b)),
            );
        }
        Err(failure) => failure,
    };
    if failure.why == Why::NoFreePort {
        return Some(ports(step, one, &failure).await);
    }
    let arrived = before[0].zip(after[0]).and_then(|(before, after)| after.since(&before).tcp_in);
    let (address, to) = (other.address, format!("TCP from {a} to the container of {b}"));
    match (failure.why, arrived) {
        (Why::Refused, _) => rules(format!(
            "{to} ({address}) is rejected, although a program of envdoc listens there and datagrams \
                    arrive: a firewall in the network of that container rejects TCP"
        )),
        (_, Some(0)) => rules(format!(
            "{to} ({address}) is dropped ({failure}), although datagrams arrive: none of its segments \
                    reached the container's TCP, so a firewall in the network of that container drops them"
        )),
        (_, Some(_)) => None,
        (_, None) => rules(format!(
            "{to} ({address}) fails ({failure}), although datagrams arrive: a firewall drops TCP"
        )),
    }
}

/// A container that has no local port left.
pub(crate) async fn ports(step: Step, one: &ContainerProbe<'_>, failure: &Failure) -> Problem {
    let name = &one.node.name;
    let argv = ["cat", "/proc/sys/net/ipv4/ip_local_port_range"];
    let ran = exec::run(one.engine, name, &argv, READ_TIMEOUT).await;
    let range: Vec<String> =
        ran.map(|ran| ran.stdout.split_whitespace().map(str::to_owned).collect()).unwrap_or_default();
    let range = match &range[..] {
        [first, last] => format!("; net.ipv4.ip_local_port_range is {first} to {last}"),
        _ => String::new(),
    };
    Problem::of(
        step,
        name,
        format!("the container of {name} has no free local port for a connection ({failure}){range}"),
    )
    .fix(Fix::safe(
        "Show the range and what uses the ports:",
        &[
            &format!("docker exec {name} sysctl net.ipv4.ip_local_port_range"),
            &format!("{} ss -s", nsenter(name)),
        ],
    ))
    .fix(Fix::run(
        format!("End the programs that hold them, or widen the range, on {name}:"),
        format!("{} sysctl -w net.ipv4.ip_local_port_range=\"32768 60999\"", nsenter(name)),
    ))
}

/// A machine whose table of connections is full.
pub(crate) fn conntrack(step: Step, node: &str, (count, most): (u64, u64), dropped: Option<u64>) -> Problem {
    let dropped = dropped
        .filter(|count| *count > 0)
        .map_or(String::new(), |count| format!(" and has dropped {count} packets"));
    Problem::of(
        step,
        node,
        format!(
            "the connection tracking table of {node} is full ({count} of {most}){dropped}; the kernel \
                drops new connections"
        ),
    )
    .fix(Fix::safe(
        format!("Confirm on {node}:"),
        &[
            "sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max",
            "dmesg | grep 'table full'",
        ],
    ))
    .fix(Fix::run(
        format!("Raise the limit on {node}:"),
        format!("sysctl -w net.netfilter.nf_conntrack_max={}", most * 4),
    ))
}

/// Whether a connection failed because its own side had no port for it.
pub(crate) fn no_port(tried: &Tried) -> Option<&Failure> {
    tried.connects.as_ref().err().filter(|failure| failure.why == Why::NoFreePort)
}
