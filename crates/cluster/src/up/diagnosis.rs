//! The engine's and the containers' words, read for their cause.

use std::time::Duration;

use super::Work;
use crate::plan::Node;
use crate::probe::{self, Probe};
use crate::problem::Problem;
use docker::docker::Engine;
use docker::exec;

const STEP: &str = "container";

/// Why a container could not be made or started.
pub(super) fn container(work: &Work<'_>, node: &Node, why: &str) -> Problem {
    let name = &node.name;
    let of = |says: String| Problem::of(STEP, name, says);
    if why.contains("no space left on device") {
        return of(format!("the disk of {name} is full: {why}"))
            .fix("docker system df shows what takes the room, docker system prune -a removes images that no container uses");
    }
    if why.contains("could not select device driver")
        || why.contains("nvidia-container-cli")
        || why.contains("unresolvable CDI devices")
    {
        return of(format!("the container on {name} does not get its GPUs: {why}"))
            .fix("envdoc check, on that machine, says what is wrong with driver and container toolkit")
            .fix("a node without GPUs: `gpus: 0` and `slots` in cluster.yaml");
    }
    if why.contains("bind source path does not exist") {
        let path = why.rsplit("does not exist:").next().unwrap_or_default().trim();
        return of(format!("{name} does not have {path}, which cluster.yaml mounts"))
            .fix(format!("make it there (mkdir -p {path}), or take it out of `storage`"));
    }
    if why.contains("error while mounting volume") || why.contains("failed to mount local volume") {
        return of(format!("a share of cluster.yaml cannot be mounted on {name}: {why}"))
            .fix("the server's address and export right? on that node: showmount -e SERVER")
            .fix("the client installed? apt-get install nfs-common");
    }
    if why.contains("attaching to network failed")
        || why.contains("Could not attach to network")
        || why.contains("could not find network")
        || (why.contains("network") && why.contains("not found"))
    {
        return of(format!(
            "the container on {name} does not get into the network {}: {why}",
            work.plan.network.name
        ))
        .fix(
            "2377/tcp and 7946/tcp+udp open between the nodes? `envdoc cluster up` again goes on from here",
        );
    }
    if why.contains("executable file not found")
        || why.contains("no such file or directory") && why.contains("exec")
    {
        return of(format!(
            "the image {} has no shell (/bin/sh), which the entrypoint needs: {why}",
            work.plan.image_name()
        ))
        .fix("use an image of a system, such as `envdoc build` makes");
    }
    if why.contains("No such image") {
        return of(format!("the image {} went away from {name} meanwhile: {why}", work.plan.image_name()))
            .fix("`envdoc cluster up` again brings it back");
    }
    of(format!("the container on {name} could not be made or started: {why}"))
}

/// A limit that an engine may not raise: its name, and the shell's letter for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    name: &'static str,
    letter: &'static str,
}

/// Which limit it is that the engine may not raise, by Linux's numbers.
pub(super) fn limit(why: &str) -> Option<Limit> {
    let (_, rest) = why.split_once("error setting rlimit type ")?;
    match rest.split(':').next()?.trim() {
        "3" => Some(Limit { name: "stack", letter: "s" }),
        "7" => Some(Limit { name: "nofile", letter: "n" }),
        "8" => Some(Limit { name: "memlock", letter: "l" }),
        _ => None,
    }
}

/// What the engine of a node gives instead.
pub(super) async fn unraised(
    work: &Work<'_>,
    node: &Node,
    engine: &Engine,
    limit: Limit,
    why: &str,
) -> Problem {
    let (node_name, name) = (&node.name, limit.name);
    let mut has = None;
    if let Ok(bundle) = work.bundle()
        && let Ok(probe) = Probe::start(work.plan, node, engine, "host", bundle).await
    {
        let ask = format!("ulimit -H -{}", limit.letter);
        let probe_name = probe::name(work.plan, node);
        let ran = exec::run(engine, &probe_name, &["sh", "-c", &ask], Duration::from_secs(10)).await;
        has = ran.ok().and_then(|ran| ran.stdout.trim().parse::<u64>().ok());
        probe.end().await;
    }
    let wanted = match name {
        "memlock" => work.plan.memlock.map_or("unlimited".to_owned(), |bytes| format!("{} KiB", bytes >> 10)),
        "nofile" => work.plan.nofile.to_string(),
        _ => "64 MiB".to_owned(),
    };
    let problem = Problem::of(
        STEP,
        node_name,
        format!("the engine of {node_name} may not raise {name} to {wanted}: {why}"),
    );
    let problem = match (has, name) {
        (Some(kib), "memlock") => problem.fix(format!("take what it has: limits: {{ memlock: {kib}k }} in cluster.yaml (over Ethernet NCCL needs no more; InfiniBand does)")),
        (Some(files), "nofile") => problem.fix(format!("take what it has: limits: {{ nofile: {files} }} in cluster.yaml")),
        _ => problem,
    };
    problem.fix(format!("or give the engine the right: Limit{}=infinity in `systemctl edit docker`, and CAP_SYS_RESOURCE where it runs in a container itself", name.to_uppercase()))
}

/// Why a container that was started does not become healthy, from what it printed last.
pub(super) fn unwell(work: &Work<'_>, node: &Node, state: &str, printed: &str) -> Problem {
    let name = &node.name;
    let of = |says: String| Problem::of("healthy", name, says);
    let port = work.plan.ssh.as_ref().map_or(0, |ssh| ssh.port);
    let last = || {
        printed.lines().rev().take(5).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(" | ")
    };
    if printed.contains("Address already in use") {
        return of(format!("port {port} is taken on {name}: sshd could not listen ({})", last()))
            .fix(format!("`ss -lntp 'sport = :{port}'`, on that node, says by what"))
            .fix("or choose another one: ssh: { port: … } in cluster.yaml");
    }
    if printed.contains("UNPROTECTED PRIVATE KEY FILE")
        || printed.contains("bad permissions")
        || printed.contains("bad ownership or modes")
    {
        return of(format!("the keys in the container of {name} may be read by others than their owner, so sshd refuses them: {}", last()))
            .fix("`envdoc cluster down` and `up` write them anew with the right modes");
    }
    if printed.contains("the image has no sshd") {
        return of(format!(
            "the image {} has no SSH server, which the launcher needs",
            work.plan.image_name()
        ))
        .fix("install openssh-server in it, as images/multi-node does")
        .fix("or start jobs without SSH: `launcher: torchrun` in cluster.yaml");
    }
    let last = last();
    let says = if last.is_empty() { String::new() } else { format!("; it printed last: {last}") };
    of(format!("the container of {name} is {state}{says}"))
        .fix(format!("envdoc cluster logs {name}, says more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engines_words_on_limits() {
        let docker_20_10 = "OCI runtime create failed: runc create failed: unable to start container process: error during container init: error setting rlimits for ready process: error setting rlimit type 8: operation not permitted: unknown";
        assert_eq!(limit(docker_20_10).map(|limit| limit.name), Some("memlock"));
        assert_eq!(
            limit("error setting rlimit type 7: operation not permitted").map(|limit| limit.name),
            Some("nofile")
        );
        assert_eq!(limit("error setting rlimits for ready process"), None);
    }
}
