//! A container that does not get from its own resolver what the engine's DNS server knows.

use crate::container_probe::{self, ContainerProbe, Tried};
use crate::fixes;
use crate::plan::ClusterPlan;
use crate::problem::{Problem, Step};
use crate::request::NetworkKind;
use crate::worker::Failure;
use diagnostic::Fix;

const STEP: Step = Step::Verify;

/// The problem of a container that does not get from its resolver what the engine knows, and whether the
/// engine was seen to know it.
pub(crate) async fn fault(
    plan: &ClusterPlan,
    one: &ContainerProbe<'_>,
    other: &ContainerProbe<'_>,
    tried: &Tried,
) -> Option<(Problem, bool)> {
    let why = tried.name.as_ref().err().filter(|_| plan.network.kind != NetworkKind::Host)?;
    let engine = container_probe::engine_knows(one, other).await;
    if engine == Ok(false) {
        return None;
    }
    let (a, b, server) = (&one.node.name, &other.node.name, container_probe::ENGINE_DNS);
    let servers = container_probe::nameservers(one).await;
    let own = server.to_string();
    if engine.is_ok() && servers.contains(&own) && container_probe::resolves(one, other).await.is_ok() {
        // The engine has learned it since.
        return None;
    }
    let answer = match servers.contains(&own) {
        true => None,
        false => container_probe::own_server(one, b, &servers).await,
    };
    let why = answer.map_or_else(|| why.to_string(), |failure| failure.message);
    let message = message(one, other, &engine, &servers, &why);
    let problem = Problem::of(STEP, a, message)
        .fix(Fix::run(
            format!("Show the DNS servers of that container, on {a}:"),
            format!("docker exec {a} cat /etc/resolv.conf"),
        ))
        .fix(Fix::run("Point it at the engine's server without a restart:", rewrite(a)))
        .fix(fixes::restart_container("Restart that container, which stops everything that runs in it:", a));
    Some((problem, engine.is_ok()))
}

/// What is wrong with the resolver, from what the engine says and the servers that the container asks.
fn message(
    one: &ContainerProbe<'_>,
    other: &ContainerProbe<'_>,
    engine: &Result<bool, Failure>,
    servers: &[String],
    why: &str,
) -> String {
    let (a, b, server) = (&one.node.name, &other.node.name, container_probe::ENGINE_DNS);
    match (engine, servers.contains(&server.to_string())) {
        (Err(failure), _) => format!(
            "the DNS server of the engine ({server}) does not answer in the container of {a} ({failure}), so \
                {b} cannot be resolved there"
        ),
        (Ok(_), false) => format!(
            "/etc/resolv.conf in the container of {a} names {} instead of {server}, so {b} cannot be \
                resolved there ({why}); the engine knows {b}",
            if servers.is_empty() { "no server".to_owned() } else { servers.join(", ") }
        ),
        (Ok(_), true) => format!(
            "the container of {a} resolves {b} wrongly ({why}), but the engine knows its address \
                {}: /etc/hosts or /etc/nsswitch.conf of that container is wrong",
            other.address
        ),
    }
}

/// The command that points a container at the engine's DNS server.
fn rewrite(node: &str) -> String {
    format!(
        "envdoc cluster exec {node} -- sh -c 'printf \"nameserver {}\\noptions ndots:0\\n\" \
            >/etc/resolv.conf'",
        container_probe::ENGINE_DNS
    )
}
