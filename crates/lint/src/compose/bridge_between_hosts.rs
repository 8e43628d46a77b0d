//! A job on several hosts whose container is on a bridge network.

use std::net::{IpAddr, Ipv4Addr};

use serde_yaml::Value;

use super::peer_unreachable::{address, container_ports, names, networks};
use crate::programs::{launches, option};
use crate::read::compose::{Compose, IsStack, Service, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose, named, stack};

pub(crate) const RULE: Rule = Rule {
    id: "bridge-between-hosts",
    severity: Severity::Error,
    summary: "containers of a job on several hosts are on the network of their host",
    explain: include_str!("bridge_between_hosts.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  node:\n    image: b\n    ports: [\"29500:29500\"]\n    command: torchrun \
             --nnodes=2 --node_rank=0 --nproc_per_node=8 --master_addr=192.168.4.10 --master_port=29500 \
             train.py\n",
        ),
        named(
            "node1.sh",
            "docker run --rm --gpus all -p 29400-29410:29400-29410 registry.example.org/llm:3 torchrun \
             --nnodes 4 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint gpu01.example.org:29400 \
             pretrain.py\n",
        ),
        compose(
            "services:\n  sft:\n    image: b\n    networks: [jobs]\n    command: accelerate launch \
             --num_machines 2 --machine_rank 1 --main_process_ip 10.4.0.2 --main_process_port 29501 sft.py\n\
             networks:\n  jobs: {driver: bridge}\n",
        ),
        compose(
            "services:\n  node:\n    image: b\n    network_mode: bridge\n    command: torchrun --nnodes=2 \
             --node_rank=0 --master_addr=192.168.4.10 train.py\n",
        ),
        named(
            "node1.sh",
            "docker run --rm --gpus all --network bridge registry.example.org/llm:3 torchrun --nnodes 4 \
             --rdzv-endpoint gpu01:29400 --rdzv-backend c10d pretrain.py\n",
        ),
    ],
    silent: &[
        named(
            "run.sh",
            "docker run -d --name head img torchrun --nnodes 2 --node_rank 0 --master_addr 172.17.0.2 t.py\n\
             docker run -d --name w img torchrun --nnodes 2 --node_rank 1 --master_addr 172.17.0.2 t.py\n",
        ),
        // The address may be that of a container.
        named(
            "node1.sh",
            "docker run --rm --gpus all registry.example.org/llm:3 torchrun --nnodes 4 --rdzv-endpoint \
             $HEAD:29400 --rdzv-backend c10d pretrain.py\n",
        ),
        compose(
            "services:\n  node:\n    image: b\n    command: torchrun --nnodes=2 --node_rank=0 train.py\n    \
             environment: {MASTER_ADDR: \"${HEAD}\"}\n",
        ),
        compose(
            "services:\n  node:\n    image: b\n    network_mode: host\n    command: torchrun --nnodes=2 \
             --node_rank=0 --master_addr=192.168.4.10 --master_port=29500 train.py\n",
        ),
        // Two nodes on one host, for a test.
        compose(
            "services:\n  a:\n    image: b\n    command: torchrun --nnodes=2 --node_rank=0 --master_addr=a \
             t.py\n  c:\n    image: b\n    command: torchrun --nnodes=2 --node_rank=1 --master_addr=a t.py\n",
        ),
        compose(
            "services:\n  node:\n    image: b\n    networks: [fabric]\n    command: torchrun --nnodes=2 \
             --master_addr=10.4.0.2 t.py\nnetworks:\n  fabric: {external: true}\n",
        ),
        stack(
            "services:\n  node:\n    image: b\n    command: torchrun --nnodes=2 --master_addr=10.4.0.2 \
             t.py\n",
        ),
        compose(
            "services:\n  node:\n    image: b\n    command: torchrun --nnodes=1 --nproc_per_node=8 \
             --master_addr=127.0.0.1 t.py\n",
        ),
        named(
            "one.sh",
            "docker run --rm --gpus all --network ib0 registry.example.org/llm:3 torchrun --nnodes 4 \
             --rdzv-endpoint gpu01:29400 --rdzv-backend c10d pretrain.py\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack != IsStack::No {
        return Vec::new();
    }
    let nodes: Vec<(&Service, String)> = file
        .services
        .iter()
        .map(|service| (service, service.command()))
        .filter(|(_, command)| nodes(command).is_some_and(|count| count > 1))
        .collect();
    // Several nodes of one file are on one bridge of one host.
    match &nodes[..] {
        [(service, command)] => fault(file, service, command).into_iter().collect(),
        _ if file.run => {
            nodes.iter().filter_map(|(service, command)| fault(file, service, command)).take(1).collect()
        }
        _ => Vec::new(),
    }
}

/// The value of the first of these options: `--nnodes=2`, `--nnodes 2`.
fn value(command: &str, names: &[&str]) -> Option<String> {
    option(&command.split_whitespace().collect::<Vec<_>>(), names)
}

/// On how many nodes a launcher starts a job, at least.
fn nodes(command: &str) -> Option<u64> {
    let value = value(command, &["nnodes", "num_machines"]).filter(|_| launches(command))?;
    value.split(':').next()?.parse().ok()
}

fn fault(file: &Compose, service: &Service, command: &str) -> Option<Found> {
    let environment = service.environment();
    let variable = || environment.get("MASTER_ADDR").cloned().flatten();
    let given = value(command, &["master_addr", "rdzv_endpoint", "main_process_ip"]).or_else(variable)?;
    let given = given.trim_matches(['"', '\'']);
    let (host, port) = address(given, true).filter(|_| !given.contains('$'))?;
    let local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    // The name of a container is one of this bridge, and so is an address of docker0.
    let resolved = file.services.iter().any(|one| names(one).contains(&host));
    let local = local || host.parse().is_ok_and(|address: Ipv4Addr| address.octets()[..2] == [172, 17]);
    if local || resolved || service.extends_elsewhere || !is_on_bridge(file, service) {
        return None;
    }
    let port = port.or_else(|| value(command, &["master_port", "main_process_port"]));
    let port: u16 = port.as_deref().unwrap_or("29500").parse().ok()?;
    let published = publishes(service, port);
    let also = if published {
        format!(", publishing only port {port} of the ports that the ranks use")
    } else {
        String::new()
    };
    let message = format!(
        "{} is one of several nodes that meet at {given} but uses a bridge network{also}; its ranks \
         advertise container addresses that other hosts cannot reach, and NCCL hangs until its timeout",
        service.title
    );
    let fix = match (file.run, service.at(&["network_mode"])) {
        (true, Some(_)) => "Use `--network host` in place of the bridge network",
        (true, None) => "Add `--network host`",
        (false, _) => "Set `network_mode: host`",
    };
    // Compose refuses `networks` next to `network_mode`; on the network of the host no port is published.
    let has = |key: &str| service.at(&[key]).is_some();
    let extra = match (file.run, has("networks"), has("ports")) {
        (true, _, true) => " and remove `-p`",
        (false, true, true) => " and remove `networks` and `ports`",
        (false, true, false) => " and remove `networks`",
        (false, false, true) => " and remove `ports`",
        _ => "",
    };
    Some(Found::error(service.line.clone(), message, format!("{fix}{extra}")).unless_certain(published))
}

/// Whether all networks of a service are bridges of this host.
fn is_on_bridge(file: &Compose, service: &Service) -> bool {
    let Some(names) = networks(service) else {
        return service.text("network_mode").as_deref() == Some("bridge");
    };
    names.iter().all(|name| {
        let Some((_, network)) = file.networks().find(|(known, _)| known == name) else {
            return name == "default";
        };
        let is = |key: &str| below(network, &[key]).and_then(text);
        let plain = matches!(network, Value::Null) || network.as_mapping().is_some();
        plain
            && below(network, &["external"]).is_none()
            && is("driver").is_none_or(|driver| driver == "bridge")
    })
}

/// Whether a service publishes a port, alone or in a range.
fn publishes(service: &Service, port: u16) -> bool {
    container_ports(service).iter().any(|ports| {
        let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
        let range = first.parse::<u16>().ok().zip(last.parse::<u16>().ok());
        range.is_some_and(|(first, last)| (first..=last).contains(&port))
    })
}
