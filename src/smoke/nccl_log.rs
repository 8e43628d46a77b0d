//! What NCCL says of itself with `NCCL_DEBUG=INFO`: which version, which network, which transport each connection took. Lines of all releases
//! since 2.4 are understood: `Ring 00 : 0 -> 1 [send] via …` became `Channel 00/0 : 0[0] -> 1[0] [send] via …`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// What was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Read {
    /// `2.21.5+cuda12.4`.
    pub version: Option<String>,
    /// The network that was chosen: `IB`, `Socket`, `AWS Libfabric`; never two, unless ranks differ.
    pub networks: BTreeSet<String>,
    /// What the network found: `[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE`, `[0]eth0:10.0.0.1<0>`.
    pub devices: BTreeSet<String>,
    /// Whether it said that there is no InfiniBand device.
    pub no_infiniband: bool,
    /// Connections by transport: `P2P/IPC`, `SHM`, `NET/IB/GDRDMA`, `NET/Socket`.
    pub connections: BTreeMap<String, usize>,
    /// Whether NVLink SHARP carries.
    pub nvls: bool,
    /// Rings of the largest communicator.
    pub rings: usize,
    /// What it warns of, each once, at most 20.
    pub warnings: Vec<String>,
}

/// Warnings that are kept.
const WARNINGS: usize = 20;

/// Reads the lines of all ranks.
pub fn read<'l>(lines: impl IntoIterator<Item = &'l str>) -> Read {
    let mut read = Read::default();
    for line in lines {
        if let Some((_, version)) = line.split_once("NCCL version ") {
            let end = version.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(version.len());
            read.version.get_or_insert_with(|| version[..end].to_owned());
        }
        if let Some((_, says)) = line.split_once("NCCL WARN ") {
            let says = says.trim().to_owned();
            if read.warnings.len() < WARNINGS && !read.warnings.contains(&says) {
                read.warnings.push(says);
            }
        }
        if let Some((_, says)) = line.split_once("NCCL INFO ") {
            info(says.trim(), &mut read);
        }
    }
    read
}

fn info(says: &str, read: &mut Read) {
    if let Some(network) = says.strip_prefix("Using network ") {
        read.networks.insert(network.trim().to_owned());
    } else if says.contains("NET/IB : No device found") {
        read.no_infiniband = true;
    } else if let Some((_, devices)) =
        says.split_once(" : Using [").filter(|(net, _)| net.starts_with("NET/"))
    {
        let devices = devices.split([';', '\n']).next().unwrap_or_default();
        read.devices.insert(format!("[{}", devices.trim()));
    } else if says.starts_with("Connected NVLS tree") || says.starts_with("NVLS comm ") {
        read.nvls = true;
    } else if let Some((_, via)) =
        says.split_once(" via ").filter(|_| says.starts_with("Channel ") || says.starts_with("Ring "))
    {
        *read.connections.entry(transport(via)).or_default() += 1;
    } else if let Some(rest) = says.strip_prefix("Channel ") {
        // `Channel 01/02 :    0   1`: a ring, and how many there are.
        let of = rest.split_once(" : ").and_then(|(number, _)| number.split_once('/')?.1.trim().parse().ok());
        read.rings = read.rings.max(of.unwrap_or(0));
    }
}

/// `NET/IB/0(3)/GDRDMA` is `NET/IB/GDRDMA`: which of the cards it is, is left out.
fn transport(via: &str) -> String {
    let via = via.split(" comm ").next().unwrap_or(via).trim();
    let Some(net) = via.strip_prefix("NET/") else {
        // `SHM/direct/direct` copies in one of several ways.
        let kind = via.split('/').take(if via.starts_with("SHM") { 1 } else { 2 });
        return kind.collect::<Vec<_>>().join("/");
    };
    let mut parts = net.split('/');
    let name = parts.next().unwrap_or_default();
    let direct = if parts.any(|part| part.starts_with("GDRDMA")) { "/GDRDMA" } else { "" };
    format!("NET/{name}{direct}")
}

/// What is wished for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Wish {
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

/// Why the transport is not the wished one; `None` where it is. Without a wish, InfiniBand that is there and unused is a fault too.
pub fn unlike(read: &Read, wish: Option<Wish>, seen: &Infiniband) -> Option<String> {
    let has = |name: &str| read.connections.keys().any(|kind| kind.starts_with(name));
    let list = || read.connections.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let uses = format!(
        "NCCL's connections are {}",
        if read.connections.is_empty() { "none that it told".into() } else { list() }
    );
    match wish {
        Some(Wish::Nvlink) if !read.nvls && !has("P2P") => {
            Some(format!("no NVLink within the nodes: {uses}"))
        }
        Some(Wish::Socket) if !has("NET/Socket") => Some(format!("no sockets between the nodes: {uses}")),
        Some(Wish::Ib) | None if has("NET/Socket") && (wish.is_some() || !seen.devices.is_empty()) => {
            Some(format!("sockets carry the data between the nodes, not InfiniBand: {}", reasons(read, seen)))
        }
        Some(Wish::Ib) if !has("NET/IB") => Some(format!("no InfiniBand between the nodes: {uses}")),
        _ => None,
    }
}

fn reasons(read: &Read, seen: &Infiniband) -> String {
    let mut found = Vec::new();
    let variable = |name: &str| seen.variables.get(name).map(String::as_str);
    if variable("NCCL_IB_DISABLE").is_some_and(|value| value != "0") {
        found.push("NCCL_IB_DISABLE is set".to_owned());
    }
    if let Some(net) = variable("NCCL_NET").filter(|net| net.eq_ignore_ascii_case("socket")) {
        found.push(format!("NCCL_NET is {net}"));
    }
    if seen.devices.is_empty() {
        found.push("the machine has no InfiniBand device (/sys/class/infiniband is empty)".into());
    } else if !seen.mounted {
        found.push(format!(
            "{} are not in the container: /dev/infiniband/uverbs* is missing (network: {{ infiniband: true }} in cluster.yaml)",
            seen.devices.join(", ")
        ));
    }
    if !seen.library {
        found.push("the image has no libibverbs.so.1 (libibverbs1, ibverbs-providers)".into());
    }
    if let Some(bytes) = seen.memlock.filter(|bytes| *bytes < 1 << 30) {
        found.push(format!(
            "only {} KiB may be locked in memory (limits: {{ memlock: unlimited }})",
            bytes >> 10
        ));
    }
    if let Some(filter) = variable("NCCL_IB_HCA") {
        let known = seen.devices.iter().any(|device| {
            filter.contains(device.as_str()) || device.starts_with(filter.trim_start_matches(['=', '^']))
        });
        if !known || filter.starts_with('^') {
            found.push(format!("NCCL_IB_HCA={filter} lets none of {} through", seen.devices.join(", ")));
        }
    }
    if found.is_empty() {
        let told = if read.no_infiniband { "NCCL found no device" } else { "NCCL does not say why" };
        return format!("{told}; NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET shows more");
    }
    found.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    // Lines of public logs, with the hosts' names taken out: IB on two nodes of eight GPUs, EFA on two nodes, NVLS on one, sockets in NCCL 2.4.
    const IB: &str = "\
host-2:207008:208292 [3] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.
host-2:207009:207009 [2] NCCL INFO Channel 12/0 : 10[2] -> 9[1] via P2P/IPC
host-2:207007:207007 [0] NCCL INFO Channel 07/0 : 8[0] -> 7[7] [send] via NET/IB/0/GDRDMA
host-2:207007:207007 [0] NCCL INFO Channel 15/0 : 8[0] -> 7[7] [send] via NET/IB/2(3)/GDRDMA
";
    const EFA: &str = "\
[1,0]<stdout>:worker-0:21:27 [0] NCCL INFO Using network AWS Libfabric
[1,0]<stdout>:worker-0:21:27 [0] NCCL INFO Channel 00/02 :    0   1
[1,0]<stdout>:worker-0:21:27 [0] NCCL INFO Channel 01/02 :    0   1
[1,0]<stdout>:worker-0:21:27 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1
[1,1]<stdout>:worker-1:21:26 [0] NCCL INFO Channel 00/0 : 0[35000] -> 1[f5000] [receive] via NET/AWS Libfabric/0
";
    const NVLS: &str = "\
host-1:422771:422788 [2] NCCL INFO NVLS comm 0x5598478aaae0 headRank 3 nHeads 8 buffSize 4194304 memSize 2097152 nvlsPerRankSize 201326592 nvlsTotalSize 1610612736
host-1:422771:422792 [6] NCCL INFO Connected NVLS tree
host-1:422771:422792 [6] NCCL INFO 16 coll channels, 16 nvls channels, 16 p2p channels, 16 p2p channels per peer
";
    const SOCKET: &str = "\
host-1:9131:9131 [0] NCCL INFO NET/IB : No device found.
host-1:9131:9131 [0] NCCL INFO NET/Socket : Using [0]enp67s0:10.131.1.8<0>
host-1:9131:9131 [0] NCCL INFO Using network Socket
NCCL version 2.4.8+cuda10.1
host-1:9132:9191 [3] NCCL INFO Ring 00 : 3[3] -> 2[2] via P2P/IPC
host-2:9514:9571 [7] NCCL INFO Ring 00 : 15 -> 0 [send] via NET/Socket/0
host-1:9136:9194 [7] NCCL INFO Channel 20 : 5[5] -> 4[4] via SHM/direct/direct
";

    #[test]
    fn public_logs_of_infiniband_efa_nvlink_sharp_and_sockets() {
        let ib = read(IB.lines());
        assert_eq!(ib.connections["NET/IB/GDRDMA"], 2);
        assert_eq!(ib.connections["P2P/IPC"], 1);
        let efa = read(EFA.lines());
        assert_eq!((efa.rings, efa.connections["NET/AWS Libfabric"]), (2, 1));
        assert!(efa.networks.contains("AWS Libfabric"));
        assert!(read(NVLS.lines()).nvls);
        let socket = read(SOCKET.lines());
        assert_eq!(socket.version.as_deref(), Some("2.4.8+cuda10.1"));
        assert!(socket.no_infiniband && socket.devices.contains("[0]enp67s0:10.131.1.8<0>"));
        let kinds: Vec<_> = socket.connections.keys().map(String::as_str).collect();
        assert_eq!(kinds, ["NET/Socket", "P2P/IPC", "SHM"]);
    }

    #[test]
    fn logs_of_the_tests_are_read_too() {
        #[expect(clippy::disallowed_methods, reason = "a test reads its data")]
        let of = |name: &str| std::fs::read_to_string(format!("tests/logs/healthy/{name}")).unwrap();
        let rings = read(of("nccl-rings-socket.log").lines());
        assert_eq!((rings.connections["NET/Socket"], rings.connections["P2P/IPC"]), (2, 11));
        let roce = read(of("nccl-roce-selected.log").lines());
        assert!(roce.networks.contains("IB") && !roce.devices.is_empty(), "{roce:?}");
    }

    #[test]
    fn the_wrong_transport_is_named_with_its_reasons() {
        let (ib, socket, nvls) = (read(IB.lines()), read(SOCKET.lines()), read(NVLS.lines()));
        let seen = Infiniband {
            devices: vec!["mlx5_0".into()],
            mounted: true,
            library: true,
            ..Infiniband::default()
        };
        assert_eq!(unlike(&ib, Some(Wish::Ib), &seen), None);
        assert_eq!(unlike(&socket, None, &Infiniband::default()), None);
        assert_eq!(unlike(&nvls, Some(Wish::Nvlink), &seen), None);
        assert!(unlike(&ib, Some(Wish::Socket), &seen).unwrap().contains("NET/IB/GDRDMA, P2P/IPC"));
        let says = |seen: &Infiniband| unlike(&socket, None, seen).unwrap();
        assert!(says(&seen).contains("NCCL found no device"));
        let mut bad = Infiniband { memlock: Some(65_536), mounted: false, library: false, ..seen.clone() };
        bad.variables.insert("NCCL_IB_HCA".into(), "mlx4".into());
        let told = says(&bad);
        for reason in [
            "uverbs* is missing",
            "no libibverbs.so.1",
            "only 64 KiB",
            "NCCL_IB_HCA=mlx4 lets none of mlx5_0",
        ] {
            assert!(told.contains(reason), "{told}");
        }
        bad.variables.insert("NCCL_IB_DISABLE".into(), "1".into());
        assert!(says(&bad).contains("NCCL_IB_DISABLE is set"));
    }
}
