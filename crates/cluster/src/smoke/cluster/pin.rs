//! `NCCL_SOCKET_IFNAME`: which interfaces a value selects.

use crate::worker::Interface;

/// What is wrong with a pin. NCCL takes `eth` for every interface that begins so, `=eth0` for that one alone,
/// `^docker` for all others, lo included, which comes first (NVIDIA/nccl:src/misc/socket.cc,
/// src/os/linux.cc). It ignores a value of one character.
pub(super) fn mispinned(pin: &str, interfaces: &[Interface], wanted: &str) -> Option<String> {
    if pin.len() < 2 {
        return None;
    }
    let (without, rest) = pin.strip_prefix('^').map_or((false, pin), |rest| (true, rest));
    let (exact, rest) = rest.strip_prefix('=').map_or((false, rest), |rest| (true, rest));
    let named = |name: &str| {
        rest.split(',').any(|word| if exact { name == word } else { name.starts_with(word) }) != without
    };
    let loopback = interfaces.iter().find(|one| one.loopback && one.up && named(&one.name));
    if let Some(loopback) = loopback {
        let name = &loopback.name;
        return Some(format!(
            "NCCL is pinned to {pin}, which includes {name}; NCCL takes {name}, and other machines cannot \
             reach it"
        ));
    }
    if named(wanted) {
        return None;
    }
    let list = |all: Vec<&Interface>| {
        let one = |interface: &&Interface| {
            let address = interface.addresses.iter().find(|(address, _)| address.is_ipv4());
            address.map_or(interface.name.clone(), |(address, _)| format!("{} ({address})", interface.name))
        };
        all.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let real = || interfaces.iter().filter(|interface| !interface.loopback);
    let taken: Vec<&Interface> = real().filter(|interface| named(&interface.name)).collect();
    Some(match taken.is_empty() {
        true => format!("NCCL is pinned to {pin}, but the container has only {}", list(real().collect())),
        false => format!("NCCL is pinned to {pin}, which is {}", list(taken)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_as_nccl_reads_them() {
        let interface = |name: &str, address: &str| Interface {
            name: name.into(),
            addresses: vec![(address.parse().unwrap(), 24)],
            mtu: Some(1450),
            speed: None,
            up: true,
            loopback: name == "lo",
        };
        let all =
            [interface("lo", "127.0.0.1"), interface("eth0", "10.0.1.2"), interface("eth1", "172.18.0.3")];
        for right in ["eth0", "=eth0", "eth", "^lo", "^=eth1,lo", "eth0,ib0"] {
            assert_eq!(mispinned(right, &all, "eth0"), None, "{right}");
        }
        let message = |pin| mispinned(pin, &all, "eth0").unwrap();
        assert_eq!(message("eth1"), "NCCL is pinned to eth1, which is eth1 (172.18.0.3)");
        assert!(message("ens3").ends_with("but the container has only eth0 (10.0.1.2), eth1 (172.18.0.3)"));
        assert_eq!(
            message("=eth"),
            "NCCL is pinned to =eth, but the container has only eth0 (10.0.1.2), eth1 (172.18.0.3)"
        );
        assert!(message("^eth0,lo").contains("eth1"));
        for reaches_lo in ["^=eth1", "^docker0", "lo", "eth0,lo"] {
            assert!(message(reaches_lo).contains("takes lo"), "{reaches_lo}");
        }
        assert_eq!((mispinned("", &all, "eth0"), mispinned("^", &all, "eth0")), (None, None));
        // NCCL looks only for what is there.
        assert_eq!(mispinned("^docker0", &all[1..], "eth0"), None);
    }
}
