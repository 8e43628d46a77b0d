//! Problems from what the engine reports and from what containers print.

use std::time::Duration;

use super::Work;
use crate::Error;
use crate::fixes;
use crate::plan::Node;
use crate::probe::{self, Probe};
use crate::problem::{Problem, Step};
use crate::program_line::{self, EntrypointFault};
use crate::sshd;
use diagnostic::Fix;
use diagnostic::units::memory;
use docker::engine::Engine;
use docker::{Cause, exec};

const STEP: Step = Step::Container;

/// Why a container could not be made or started.
pub(super) fn container(work: &Work<'_>, node: &Node, why: &Error) -> Problem {
    let (name, cause) = (&node.name, why.cause());
    let of = |message: String| Problem::of(STEP, name, message).closed(why.is_closed());
    if cause == Cause::DiskFull {
        return of(format!("the disk of {name} is full: {why}")).fix(fixes::free_disk());
    }
    if matches!(cause, Cause::NoGpuRuntime | Cause::NoGpu) {
        return of(format!("the container on {name} cannot use its GPUs: {why}"))
            .fix(Fix::run("Diagnose driver and container toolkit on that machine:", "envdoc check"))
            .fix(Fix::manual("Set `gpus: 0` and `slots` in cluster.yaml if the node has no GPU"));
    }
    if let Cause::BindSourceMissing { path } = &cause {
        return of(format!("{path} does not exist on {name}, but cluster.yaml mounts it")).fix(Fix::run(
            "Create it on that node, or remove it from `storage`:",
            format!("mkdir -p {path}"),
        ));
    }
    if cause == Cause::VolumeNotMounted {
        return of(format!("cannot mount an NFS share on {name}: {why}"))
            .fix(Fix::run("Check the server's address and export from that node:", "showmount -e SERVER"))
            .fix(Fix::run("Install the NFS client on that node:", "apt-get install nfs-common"));
    }
    if cause == Cause::NetworkNotAttached {
        return of(format!(
            "cannot attach the container on {name} to the network {}: {why}",
            work.plan.network.name
        ))
        .fix(Fix::safe(
            "Check that 2377/tcp, 7946/tcp and 7946/udp are open between the nodes, then resume:",
            &["envdoc cluster check", "envdoc cluster up"],
        ));
    }
    if cause == Cause::ProgramNotFound {
        return of(format!(
            "the image {} has no /bin/sh, which the entrypoint needs: {why}",
            work.plan.image_name()
        ))
        .fix(Fix::manual("Use an image that contains a shell, such as one built by `envdoc build`"));
    }
    if cause == Cause::NoSuchImage {
        return of(format!(
            "the image {} was removed from {name} during `up`: {why}",
            work.plan.image_name()
        ))
        .fix(Fix::run("Distribute it again:", "envdoc cluster up"));
    }
    of(format!("cannot create or start the container on {name}: {why}"))
}

/// A limit that an engine may not raise: its name, and the shell's letter for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    name: &'static str,
    letter: &'static str,
}

/// Which limit it is that the engine may not raise, by Linux's numbers.
pub(super) fn limit(why: &Error) -> Option<Limit> {
    let Cause::LimitDenied { rlimit } = why.cause() else { return None };
    match rlimit {
        3 => Some(Limit { name: "stack", letter: "s" }),
        7 => Some(Limit { name: "nofile", letter: "n" }),
        8 => Some(Limit { name: "memlock", letter: "l" }),
        _ => None,
    }
}

/// What the engine of a node gives instead.
pub(super) async fn unraised(
    work: &Work<'_>,
    node: &Node,
    engine: &Engine,
    limit: Limit,
    why: &Error,
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
        "memlock" => work.plan.memlock.map_or("unlimited".to_owned(), memory),
        "nofile" => work.plan.nofile.to_string(),
        _ => "64 MiB".to_owned(),
    };
    let problem = Problem::of(
        STEP,
        node_name,
        format!("the Docker engine on {node_name} is not allowed to raise {name} to {wanted}: {why}"),
    );
    let problem = match (has, name) {
        (Some(kib), "memlock") => problem.fix(Fix::manual(format!(
            "Use the current limit in cluster.yaml (enough for NCCL over Ethernet, not for InfiniBand): \
                `limits: {{ memlock: {kib}k }}`"
        ))),
        (Some(files), "nofile") => problem.fix(Fix::manual(format!(
            "Use the current limit in cluster.yaml: `limits: {{ nofile: {files} }}`"
        ))),
        _ => problem,
    };
    let setting = format!("Limit{}=infinity", name.to_uppercase());
    problem.fix(fixes::raise_limits(&setting, "that node"))
}

/// Why a container that was started does not become healthy, from what it printed last.
pub(super) fn unwell(work: &Work<'_>, node: &Node, state: &str, printed: &str) -> Problem {
    let name = &node.name;
    let of = |message: String| Problem::of(Step::Healthy, name, message);
    let port = work.plan.ssh.as_ref().map_or(0, |ssh| ssh.port);
    let last = || {
        printed.lines().rev().take(5).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(" | ")
    };
    let fault = sshd::fault(printed);
    if fault == Some(sshd::Fault::PortInUse) {
        return of(format!("port {port} is already in use on {name}, so sshd cannot listen ({})", last()))
            .fix(Fix::run(
                "Find the process that uses it, on that node:",
                format!("ss -lntp 'sport = :{port}'"),
            ))
            .fix(Fix::manual("Choose a different port in cluster.yaml: `ssh: { port: … }`"));
    }
    if fault == Some(sshd::Fault::KeysReadableByOthers) {
        return of(format!(
            "sshd in the container of {name} rejects its keys because other users can read \
            them: {}",
            last()
        ))
        .fix(fixes::recreate("Write the keys again with correct modes:"));
    }
    if printed.lines().any(|line| program_line::read(line) == Some(EntrypointFault::NoSshd)) {
        return of(format!(
            "the image {} has no SSH server, which the launcher needs",
            work.plan.image_name()
        ))
        .fix(Fix::manual("Install openssh-server in the image, as images/multi-node does"))
        .fix(Fix::manual("Start jobs without SSH: set `launcher: torchrun` in cluster.yaml"));
    }
    let last = last();
    let message = if last.is_empty() { String::new() } else { format!("; last output: {last}") };
    of(format!("the container of {name} is {state}{message}"))
        .fix(Fix::run("Read its log:", format!("envdoc cluster logs {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_rlimit_errors_of_the_engine() {
        let error = |message: &str| Error::Swarm(docker::EngineMessage::new(message));
        let docker_20_10 = "OCI runtime create failed: runc create failed: unable to start container \
            process: \
            error during container init: error setting rlimits for ready process: \
            error setting rlimit type 8: operation not permitted: unknown";
        assert_eq!(limit(&error(docker_20_10)).map(|limit| limit.name), Some("memlock"));
        let nofile = "error setting rlimit type 7: operation not permitted";
        assert_eq!(limit(&error(nofile)).map(|limit| limit.name), Some("nofile"));
        assert_eq!(limit(&error("error setting rlimits for ready process")), None);
    }
}
