//! What NCCL says of itself with `NCCL_DEBUG=INFO`: which version, which network, which transport each
//! connection took. Lines of all releases since 2.4 are understood: `Ring 00 : 0 -> 1 [send] via …` became
//! `Channel 00/0 : 0[0] -> 1[0] [send] via …`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    /// `2.21.5+cuda12.4`.
    pub version: Option<String>,
    /// The network that was chosen: `IB`, `Socket`, `AWS Libfabric`; never two, unless ranks differ.
    pub networks: BTreeSet<String>,
    /// What the network found: `[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE`, `[0]eth0:10.0.0.1<0>`.
    pub devices: BTreeSet<String>,
    /// Whether it said that there is no InfiniBand device.
    pub no_infiniband: bool,
    /// How many connections use each transport.
    pub connections: BTreeMap<Connection, usize>,
    /// Whether NVLink SHARP carries.
    pub nvls: bool,
    /// Rings of the largest communicator.
    pub rings: usize,
    /// In which orders they go through the ranks, each order once: `0 1 3 2`.
    pub orders: BTreeSet<String>,
    /// What lies between the GPUs of a node, in NCCL's words (NVIDIA/nccl:src/graph/topo.h): `NVL`, `PHB`,
    /// `SYS`.
    pub paths: BTreeSet<String>,
    /// What it warns of, each once, at most 20.
    pub warnings: Vec<String>,
}

/// What carries a connection between two GPUs; its text is NCCL's, without the numbers of cards.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Connection {
    /// Another one, as NCCL names it: `COLLNET/SHARP`.
    Other(String),
    /// A network: `NET/Socket`, `NET/IB/GDRDMA`.
    Net {
        /// `IB`, `Socket`, or the name of a plugin.
        name: String,
        /// Whether the card reads and writes the GPU's memory (GPUDirect RDMA).
        direct: bool,
    },
    /// One GPU accesses the memory of another, and how: `P2P/IPC`, `P2P/CUMEM`.
    P2p(Option<String>),
    /// Shared memory of the node.
    Shm,
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Connection::Other(name) => f.write_str(name),
            Connection::Net { name, direct: true } => write!(f, "NET/{name}/GDRDMA"),
            Connection::Net { name, direct: false } => write!(f, "NET/{name}"),
            Connection::P2p(Some(how)) => write!(f, "P2P/{how}"),
            Connection::P2p(None) => f.write_str("P2P"),
            Connection::Shm => f.write_str("SHM"),
        }
    }
}

impl Read {
    /// The transports of its connections, as a report names them.
    pub fn transports(&self) -> String {
        self.connections.keys().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// Warnings that are kept.
const WARNING_LIMIT: usize = 20;

/// Reads the lines of all ranks.
pub fn read<'l>(lines: impl IntoIterator<Item = &'l str>) -> Read {
    let mut read = Read::default();
    for line in lines {
        if let Some((_, version)) = line.split_once("NCCL version ") {
            let end = version.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(version.len());
            read.version.get_or_insert_with(|| version[..end].to_owned());
        }
        if let Some((_, message)) = line.split_once("NCCL WARN ") {
            let message = message.trim().to_owned();
            if read.warnings.len() < WARNING_LIMIT && !read.warnings.contains(&message) {
                read.warnings.push(message);
            }
        }
        if let Some((_, message)) = line.split_once("NCCL INFO ") {
            info(message.trim(), &mut read);
        }
    }
    read
}

fn info(message: &str, read: &mut Read) {
    if let Some(network) = message.strip_prefix("Using network ") {
        read.networks.insert(network.trim().to_owned());
    } else if message.contains("NET/IB : No device found") {
        read.no_infiniband = true;
    } else if let Some((_, devices)) =
        message.split_once(" : Using [").filter(|(net, _)| net.starts_with("NET/"))
    {
        let devices = devices.split([';', '\n']).next().unwrap_or_default();
        read.devices.insert(format!("[{}", devices.trim()));
    } else if message.starts_with("Connected NVLS tree") || message.starts_with("NVLS comm ") {
        read.nvls = true;
    } else if let Some((_, via)) = message
        .split_once(" via ")
        .filter(|_| message.starts_with("Channel ") || message.starts_with("Ring "))
    {
        *read.connections.entry(transport(via)).or_default() += 1;
    } else if let Some((number, order)) =
        message.strip_prefix("Channel ").and_then(|rest| rest.split_once(" : "))
    {
        ring(number, order, read);
    } else {
        read.paths.extend(between(message));
    }
}

/// `Channel 01/02 :    0   1`: a ring, and how many there are; before NCCL 2.5 only which it is.
fn ring(number: &str, order: &str, read: &mut Read) {
    let count = match number.split_once('/') {
        Some((_, of)) => of.trim().parse().unwrap_or(0),
        None => number.trim().parse::<usize>().map_or(0, |number| number + 1),
    };
    read.rings = read.rings.max(count);
    let order: Vec<&str> = order.split_whitespace().collect();
    if !order.is_empty() && order.iter().all(|rank| rank.parse::<usize>().is_ok()) {
        read.orders.insert(order.join(" "));
    }
}

/// Between GPUs: `GPU/E000 :GPU/E000 (0/5000.0/LOC) GPU/13000 (2/252.0/NVL) CPU/0 (4/24.0/PHB)`, hops,
/// bandwidth, and of which kind the way is; else what the rings use within a node: `Pattern 4, … type
/// NVL/PIX, …`.
fn between(message: &str) -> Vec<String> {
    if let Some(rest) = message.strip_prefix("Pattern 4, ") {
        let kind = rest.split_once(" type ").and_then(|(_, kinds)| kinds.split_once('/'));
        return kind
            .filter(|(kind, _)| *kind != "LOC")
            .map(|(kind, _)| kind.to_owned())
            .into_iter()
            .collect();
    }
    let Some((_, others)) = message.strip_prefix("GPU/").and_then(|rest| rest.split_once(" :")) else {
        return Vec::new();
    };
    let words: Vec<&str> = others.split_whitespace().collect();
    let kind = |pair: &[&str]| {
        let kind = pair[1].strip_suffix(')')?.rsplit('/').next()?;
        (pair[0].starts_with("GPU/") && kind != "LOC").then(|| kind.to_owned())
    };
    words.chunks_exact(2).filter_map(kind).collect()
}

/// `NET/IB/0(3)/GDRDMA` is `NET/IB/GDRDMA`: which of the cards it is, is left out.
fn transport(via: &str) -> Connection {
    let via = via.split(" comm ").next().unwrap_or(via).trim();
    let mut parts = via.split('/');
    let (kind, second) = (parts.next().unwrap_or_default(), parts.next());
    match (kind, second) {
        ("NET", Some(name)) => {
            Connection::Net { name: name.to_owned(), direct: parts.any(|part| part.starts_with("GDRDMA")) }
        }
        ("P2P", how) => Connection::P2p(how.map(str::to_owned)),
        // `SHM/direct/direct` copies in one of several ways.
        (kind, _) if kind.starts_with("SHM") => Connection::Shm,
        (kind, Some(second)) => Connection::Other(format!("{kind}/{second}")),
        (kind, None) => Connection::Other(kind.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of tests/nccl_logs, each of which names its source in its first line.
    fn log(name: &str) -> Read {
        #[expect(clippy::disallowed_methods, reason = "a test reads its data")]
        let text = std::fs::read_to_string(format!("../../tests/nccl_logs/{name}.log")).unwrap();
        let (source, lines) = text.split_once('\n').unwrap();
        assert!(source.starts_with("# https://github.com/"), "{name}: {source}");
        read(lines.lines())
    }

    fn kinds(read: &Read) -> String {
        read.connections.iter().map(|(kind, count)| format!("{kind} {count}")).collect::<Vec<_>>().join(", ")
    }

    fn words(words: &BTreeSet<String>) -> Vec<&str> {
        words.iter().map(String::as_str).collect()
    }

    #[test]
    fn two_nodes_over_infiniband() {
        let own = log("ib-two-nodes");
        assert_eq!(kinds(&own), "NET/IB/GDRDMA 4, P2P/CUMEM 3");
        assert_eq!(words(&own.paths), ["NVL"]);
        let plugin = log("ib-nvls-two-nodes");
        assert_eq!(kinds(&plugin), "NET/IBext_v8/GDRDMA 5");
        assert!(plugin.nvls);
    }

    #[test]
    fn parses_logs_of_two_nodes_over_efa() {
        assert_eq!(kinds(&log("efa-two-nodes")), "NET/AWS Libfabric 2, P2P/IPC 1");
        let old = log("efa-old-two-nodes");
        assert_eq!(kinds(&old), "NET/AWS Libfabric 2, P2P/IPC 2");
        assert_eq!((old.rings, words(&old.orders)), (2, vec!["0 1 3 2 6 4 5 7 8 9 11 10 14 12 13 15"]));
        assert_eq!(words(&log("efa-p5en").networks), ["Libfabric"]);
    }

    #[test]
    fn two_nodes_over_sockets() {
        assert_eq!(kinds(&log("socket-two-nodes")), "NET/Socket 2, P2P/IPC 4");
        let shared = log("socket-shm-two-nodes");
        assert_eq!(kinds(&shared), "NET/Socket 3, SHM 2");
        assert!(!shared.nvls, "0 nvls channels are none");
        let blocked = log("infiniband-not-opened");
        assert!(blocked.no_infiniband && blocked.devices.contains("[0]bond0:200.1.93.2<0>"));
        assert_eq!(words(&blocked.networks), ["Socket"]);
        assert_eq!(
            blocked.warnings,
            ["Call to ibv_open_device failed", "NET/IB : Unable to open device mlx5_bond_0"]
        );
        let different = log("one-node-without-infiniband");
        assert_eq!(words(&different.networks), ["IB", "Socket"]);
    }

    #[test]
    fn parses_gpu_topology_within_a_node() {
        assert_eq!(words(&log("libibverbs-missing-nvlink").paths), ["NVL"]);
        assert_eq!(words(&log("pcie-without-nvlink").paths), ["PHB", "SYS"]);
        let roce = log("roce-p2p-without-nvlink");
        assert_eq!((roce.rings, words(&roce.orders)), (6, vec!["0 1"]));
        assert!(
            roce.paths.is_empty() && roce.devices.iter().any(|devices| devices.contains("mlx5_3:1/RoCE"))
        );
    }

    #[test]
    fn parses_every_recorded_nccl_log() {
        #[expect(clippy::disallowed_methods, reason = "a test reads its data")]
        let all = std::fs::read_dir("../../tests/nccl_logs").unwrap();
        for file in all {
            let name = file.unwrap().file_name().into_string().unwrap();
            assert_ne!(log(name.strip_suffix(".log").unwrap()), Read::default(), "{name}");
        }
        #[expect(clippy::disallowed_methods, reason = "a test reads its data")]
        let of = |name: &str| std::fs::read_to_string(format!("../../tests/logs/healthy/{name}")).unwrap();
        let rings = read(of("nccl-rings-socket.log").lines());
        assert_eq!(
            (rings.connections[&transport("NET/Socket/0")], rings.connections[&transport("P2P/IPC")]),
            (2, 11)
        );
        let roce = read(of("nccl-roce-selected.log").lines());
        assert!(roce.networks.contains("IB") && !roce.devices.is_empty(), "{roce:?}");
    }
}
