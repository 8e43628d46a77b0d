//! A job on several hosts whose container is on a bridge network.

use std::net::IpAddr;

use serde_yaml::Value;

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
    ],
    silent: &[
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
    let nodes: Vec<(&Service, Vec<String>)> = file
        .services
        .iter()
        .map(|service| (service, service.command().split_whitespace().map(str::to_owned).collect()))
        .filter(|(_, words): &(_, Vec<String>)| nodes(words).is_some_and(|count| count > 1))
        .collect();
    // Several nodes of one file are on one bridge of one host.
    match &nodes[..] {
        [(service, words)] => fault(file, service, words).into_iter().collect(),
        _ if file.run => {
            nodes.iter().filter_map(|(service, words)| fault(file, service, words)).take(1).collect()
        }
        _ => Vec::new(),
    }
}

/// The value of the first of these options: `--nnodes=2`, `--nnodes 2`.
fn option<'w>(words: &'w [String], names: &[&str]) -> Option<&'w str> {
    words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some((name, value)) => names.contains(&name).then_some(value),
        None => names.contains(&word.as_str()).then(|| words.get(at + 1).map(String::as_str)).flatten(),
    })
}

/// On how many nodes a launcher starts a job, at least.
fn nodes(words: &[String]) -> Option<u64> {
    let launcher = words.iter().any(|word| {
        let base = word.rsplit('/').next().unwrap_or_default();
        matches!(base, "torchrun" | "accelerate" | "torch.distributed.run" | "torch.distributed.launch")
    });
    let value = option(words, &["--nnodes", "--num_machines", "--num-machines"]).filter(|_| launcher)?;
    value.split(':').next()?.parse().ok()
}

fn fault(file: &Compose, service: &Service, words: &[String]) -> Option<Found> {
    const PLACES: &[&str] = &[
        "--master_addr",
        "--master-addr",
        "--rdzv_endpoint",
        "--rdzv-endpoint",
        "--main_process_ip",
        "--main-process-ip",
    ];
    let environment = service.environment();
    let variable = || environment.get("MASTER_ADDR").and_then(Option::as_deref);
    let given = option(words, PLACES).or_else(variable)?.trim_matches(['"', '\'']);
    let (host, port) = given.split_once(':').unwrap_or((given, ""));
    let local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    // The name of a container is one of this bridge.
    let resolved =
        file.services.iter().any(|one| super::peer_unreachable::names(one).iter().any(|name| name == host));
    if local || resolved || host.is_empty() || service.extends_elsewhere || !is_on_bridge(file, service) {
        return None;
    }
    let port = match port {
        "" => {
            option(words, &["--master_port", "--master-port", "--main_process_port", "--main-process-port"])
        }
        port => Some(port),
    };
    let port: u16 = port.unwrap_or("29500").parse().ok()?;
    let published = publishes(service, port);
    let also = if published {
        format!(", and publishes port {port} alone of what the ranks use")
    } else {
        String::new()
    };
    let message = format!(
        "{} is a node of a job on several hosts ({given}), but is on a bridge network{also}: its ranks tell \
         the others addresses of that bridge, which no other host reaches, and NCCL waits until its timeout",
        service.title
    );
    let fix = match file.run {
        true => "Add `--network host`, and leave -p out",
        false => "Set `network_mode: host`, and remove `ports`",
    };
    Some(Found::error(service.line.clone(), message, fix).unless_certain(published))
}

/// Whether all networks of a service are bridges of this host.
fn is_on_bridge(file: &Compose, service: &Service) -> bool {
    if service.at(&["network_mode"]).is_some() {
        return false;
    }
    let names = service.networks();
    let names = if names.is_empty() { vec!["default".to_owned()] } else { names };
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
    super::peer_unreachable::container_ports(service).iter().any(|ports| {
        let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
        let range = first.parse::<u16>().ok().zip(last.parse::<u16>().ok());
        range.is_some_and(|(first, last)| (first..=last).contains(&port))
    })
}
