//! Whether what carried NCCL's data is what should have: by its own log, by what was wished for, and by what
//! each node's container sees of InfiniBand.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::nccl_log::{Connection, Read};

/// Less memory than this that may be locked is too little for InfiniBand, in bytes.
const MEMLOCK_MIN_BYTES: u64 = 1 << 30;
/// Ways between GPUs that are NVLink: straight, or through another GPU (NVIDIA/nccl:src/graph/topo.h,
/// PATH_NVL and PATH_NVB).
const NVLINK: &[&str] = &["NVL", "NVB"];

/// What is wished for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ExpectedTransport {
    /// InfiniBand or RoCE between the nodes.
    Ib,
    /// NVLink within them.
    Nvlink,
    /// Plain sockets between them.
    Socket,
}

/// What may keep NCCL from InfiniBand, as seen in a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Infiniband {
    /// Devices of the machine: `/sys/class/infiniband`.
    pub devices: Vec<String>,
    /// Whether `/dev/infiniband/uverbs*` is there.
    pub mounted: bool,
    /// Whether libibverbs is found.
    pub library: bool,
    /// Bytes that may be locked; `None`: without limit.
    pub memlock: Option<u64>,
    /// Variables of NCCL that decide on it.
    pub variables: BTreeMap<String, String>,
}

/// A node: what NCCL's ranks there have written, and what its container sees.
#[derive(Debug, Clone)]
pub struct Site {
    /// The name of the node in cluster.yaml.
    pub node: String,
    /// The log of its ranks.
    pub read: Read,
    /// What it sees.
    pub infiniband: Infiniband,
}

/// Nodes on which the transport is not as it should be, and why; the first is the cause. If none is expected,
/// InfiniBand that is there and unused is a fault too, and so are nodes that chose different networks.
pub fn unlike(sites: &[Site], wish: Option<ExpectedTransport>) -> Vec<(String, String)> {
    let networks: BTreeSet<&String> = sites.iter().flat_map(|site| &site.read.networks).collect();
    let several = sites.len() > 1;
    let of = |site: &Site| {
        let own = alone(&site.read, wish, &site.infiniband, several);
        let apart = networks.len() > 1 && site.read.networks.iter().any(|network| network == "Socket");
        let why = own.or_else(|| {
            let others = networks.iter().filter(|network| !site.read.networks.contains(**network));
            let others: Vec<_> = others.map(|network| network.as_str()).collect();
            apart.then(|| {
                format!(
                    "NCCL uses sockets on this node and {} on others: {}",
                    others.join(" and "),
                    reasons(&site.read, &site.infiniband)
                )
            })
        })?;
        Some((site.node.clone(), format!("{}: {why}", site.node)))
    };
    sites.iter().filter_map(of).collect()
}

fn alone(read: &Read, wish: Option<ExpectedTransport>, hca: &Infiniband, several: bool) -> Option<String> {
    let networks: Vec<&str> = read
        .connections
        .keys()
        .filter_map(|kind| match kind {
            Connection::Net { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    let between = |wanted: &str| {
        // Where no connection between nodes was reported, the network that was chosen is what is known.
        let chosen = several && networks.is_empty();
        networks.iter().any(|name| name.starts_with(wanted))
            || chosen && read.networks.iter().any(|name| name.starts_with(wanted))
    };
    let uses = match (read.connections.is_empty(), read.networks.first()) {
        (false, _) => format!("NCCL's connections are {}", read.transports()),
        (true, Some(network)) => format!("NCCL uses network {network}"),
        (true, None) => "NCCL reported no connection".to_owned(),
    };
    match wish {
        Some(ExpectedTransport::Nvlink) => no_nvlink(read, &uses),
        Some(ExpectedTransport::Socket) if !between("Socket") => {
            Some(format!("no sockets between the nodes: {uses}"))
        }
        Some(ExpectedTransport::Ib) | None
            if between("Socket") && (wish.is_some() || !hca.devices.is_empty()) =>
        {
            Some(format!("NCCL uses sockets between the nodes instead of InfiniBand: {}", reasons(read, hca)))
        }
        Some(ExpectedTransport::Ib) if !between("IB") => {
            Some(format!("no InfiniBand between the nodes: {uses}"))
        }
        _ => None,
    }
}

/// NVLink within a node: NVLS runs on nothing else; P2P may be PCIe too, and then what NCCL printed of the
/// ways between the GPUs decides.
fn no_nvlink(read: &Read, uses: &str) -> Option<String> {
    let p2p = read.connections.keys().any(|kind| matches!(kind, Connection::P2p(_)));
    let ways = || read.paths.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    match (p2p, read.paths.is_empty()) {
        _ if read.nvls => None,
        (false, _) => Some(format!("no NVLink within the nodes: {uses}")),
        (true, true) => Some(
            "unknown whether NVLink carries the data within the nodes: P2P may be PCIe, and NCCL's log \
             has no topology \
             (NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH)"
                .to_owned(),
        ),
        (true, false) if read.paths.iter().all(|path| NVLINK.contains(&path.as_str())) => None,
        (true, false) => Some(format!(
            "not all GPUs of a node are connected by NVLink; NCCL's log shows the paths {} (NVL: NVLink; \
                PIX, PXB, PHB, SYS: PCIe)",
            ways()
        )),
    }
}

fn reasons(read: &Read, hca: &Infiniband) -> String {
    let mut found = Vec::new();
    let variable = |name: &str| hca.variables.get(name).map(String::as_str);
    if variable("NCCL_IB_DISABLE").is_some_and(|value| value != "0") {
        found.push("NCCL_IB_DISABLE is set".to_owned());
    }
    if let Some(net) = variable("NCCL_NET").filter(|net| net.eq_ignore_ascii_case("socket")) {
        found.push(format!("NCCL_NET is {net}"));
    }
    if hca.devices.is_empty() {
        found.push("the machine has no InfiniBand device (/sys/class/infiniband is empty)".into());
    } else if !hca.mounted {
        found.push(format!(
            "{} not available in the container: /dev/infiniband/uverbs* is missing (set `network: {{ \
                infiniband: true }}` in cluster.yaml)",
            hca.devices.join(", ")
        ));
    }
    if !hca.library {
        found.push("the image has no libibverbs.so.1 (libibverbs1, ibverbs-providers)".into());
    }
    if let Some(bytes) = hca.memlock.filter(|bytes| *bytes < MEMLOCK_MIN_BYTES) {
        found.push(format!(
            "memlock limit is only {} KiB (set `limits: {{ memlock: unlimited }}` in cluster.yaml)",
            bytes >> 10
        ));
    }
    if let Some(filter) = variable("NCCL_IB_HCA") {
        let known = hca.devices.iter().any(|device| {
            filter.contains(device.as_str()) || device.starts_with(filter.trim_start_matches(['=', '^']))
        });
        if !known || filter.starts_with('^') {
            found.push(format!("NCCL_IB_HCA={filter} excludes {}", hca.devices.join(", ")));
        }
    }
    let said = |warning: &&String| warning.contains("ibv") || warning.contains("NET/IB");
    let warnings: Vec<_> =
        read.warnings.iter().filter(said).map(|warning| format!("\"{warning}\"")).collect();
    if !warnings.is_empty() {
        found.push(format!("NCCL warns {}", warnings.join(", ")));
    }
    if found.is_empty() {
        let reason = if read.no_infiniband { "NCCL found no device" } else { "NCCL's log gives no reason" };
        return format!("{reason}; set NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET for details");
    }
    found.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::nccl_log;

    fn log(name: &str) -> Read {
        #[expect(clippy::disallowed_methods, reason = "a test reads its data")]
        let text = std::fs::read_to_string(format!("../../tests/nccl_logs/{name}.log")).unwrap();
        nccl_log::read(text.lines())
    }

    fn sees() -> Infiniband {
        let devices = vec!["mlx5_0".into()];
        Infiniband { devices, mounted: true, library: true, ..Infiniband::default() }
    }

    /// What is said of two nodes that both have written this.
    fn message(read: &Read, wish: Option<ExpectedTransport>, infiniband: &Infiniband) -> Option<String> {
        let of = |node: &str| Site { node: node.into(), read: read.clone(), infiniband: infiniband.clone() };
        unlike(&[of("node1"), of("node2")], wish).first().map(|(_, message)| message.clone())
    }

    #[test]
    fn expected_transport_in_use_passes() {
        for (name, wish) in [
            ("ib-two-nodes", ExpectedTransport::Ib),
            ("ib-nvls-two-nodes", ExpectedTransport::Ib),
            ("ib-two-nodes", ExpectedTransport::Nvlink),
            ("ib-nvls-two-nodes", ExpectedTransport::Nvlink),
            ("socket-two-nodes", ExpectedTransport::Socket),
            ("socket-shm-two-nodes", ExpectedTransport::Socket),
        ] {
            assert_eq!(message(&log(name), Some(wish), &sees()), None, "{name}");
        }
        // A network that was chosen is enough where no connection is reported.
        assert_eq!(message(&log("roce-p2p-without-nvlink"), Some(ExpectedTransport::Ib), &sees()), None);
        for name in ["ib-two-nodes", "efa-two-nodes", "efa-p5en"] {
            assert_eq!(message(&log(name), None, &sees()), None, "{name}");
        }
        // Sockets are no fault where there is nothing better.
        assert_eq!(message(&log("socket-two-nodes"), None, &Infiniband::default()), None);
    }

    #[test]
    fn reports_expected_transport_not_in_use() {
        let explanation = |name: &str, wish| message(&log(name), Some(wish), &sees()).unwrap();
        assert!(explanation("ib-two-nodes", ExpectedTransport::Socket).contains("NET/IB/GDRDMA, P2P/CUMEM"));
        assert!(
            explanation("efa-two-nodes", ExpectedTransport::Ib).contains("no InfiniBand between the nodes")
        );
        assert!(explanation("efa-p5en", ExpectedTransport::Ib).contains("NCCL uses network Libfabric"));
        assert!(
            explanation("socket-shm-two-nodes", ExpectedTransport::Nvlink)
                .contains("no NVLink within the nodes")
        );
        // P2P is PCIe as well as NVLink: without a topology it is left open, with one it is known.
        assert!(explanation("socket-two-nodes", ExpectedTransport::Nvlink).contains(
            "unknown whether NVLink carries \
                the data within the nodes: P2P may be PCIe"
        ));
        let mut pcie = log("pcie-without-nvlink");
        pcie.connections.insert(Connection::P2p(Some("CUMEM".into())), 8);
        let why = message(&pcie, Some(ExpectedTransport::Nvlink), &sees()).unwrap();
        assert!(why.contains("not all GPUs of a node are connected by NVLink") && why.contains("PHB, SYS"));
        pcie.paths = log("libibverbs-missing-nvlink").paths;
        assert_eq!(message(&pcie, Some(ExpectedTransport::Nvlink), &sees()), None);
    }

    #[test]
    fn unused_infiniband_is_reported_with_its_reasons() {
        let blocked = log("infiniband-not-opened");
        let explanation = message(&blocked, None, &sees()).unwrap();
        for reason in [
            "node1: NCCL uses sockets between the nodes",
            "ibv_open_device failed",
            "Unable to open device mlx5_bond_0",
        ] {
            assert!(explanation.contains(reason), "{explanation}");
        }
        let socket = log("socket-two-nodes");
        assert!(message(&socket, None, &sees()).unwrap().contains("NCCL's log gives no reason"));
        let mut bad = Infiniband { memlock: Some(65_536), mounted: false, library: false, ..sees() };
        bad.variables.insert("NCCL_IB_HCA".into(), "mlx4".into());
        bad.variables.insert("NCCL_IB_DISABLE".into(), "1".into());
        let explanation = message(&socket, None, &bad).unwrap();
        for reason in [
            "uverbs* is missing",
            "no libibverbs.so.1",
            "only 64 KiB",
            "NCCL_IB_HCA=mlx4 excludes mlx5_0",
            "NCCL_IB_DISABLE is set",
        ] {
            assert!(explanation.contains(reason), "{explanation}");
        }
    }

    #[test]
    fn names_the_node_that_fell_back_to_sockets() {
        let lines = |host: &str| {
            #[expect(clippy::disallowed_methods, reason = "a test reads its data")]
            let text =
                std::fs::read_to_string("../../tests/nccl_logs/one-node-without-infiniband.log").unwrap();
            nccl_log::read(text.lines().filter(|line| line.starts_with(host)))
        };
        let missing = Infiniband { mounted: false, ..sees() };
        let sites = [
            Site { node: "node1".into(), read: lines("host-2"), infiniband: sees() },
            Site { node: "node2".into(), read: lines("host-1"), infiniband: missing },
        ];
        let explanation = unlike(&sites, None);
        assert_eq!(explanation.len(), 1, "{explanation:?}");
        assert!(
            explanation[0].0 == "node2" && explanation[0].1.contains("uverbs* is missing"),
            "{explanation:?}"
        );
        // Where its container sees no card at all, that is the reason.
        let none = [sites[0].clone(), Site { infiniband: Infiniband::default(), ..sites[1].clone() }];
        let explanation = unlike(&none, None);
        assert!(
            explanation.len() == 1
                && explanation[0].1.contains("NCCL uses sockets on this node and IB on others"),
            "{explanation:?}"
        );
    }
}
