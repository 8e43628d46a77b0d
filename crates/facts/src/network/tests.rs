//! Tests of the group, on real text.

use std::collections::BTreeMap;

use super::*;
use crate::testing::Sparse;
use crate::testing::roles::{gpu_node, with_variables};
use host::record::Replay;
use serde_json::json;

fn network(readings: &[(&str, &str)]) -> Network {
    gather(&Sparse::new(readings))
}

const ROUTES: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
    eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
    eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
    ib0\t0000000A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n\
    ib1\t0000000A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n";
const FIB_TRIE: &str = "Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 127.0.0.0/8 2 0 2
        +-- 127.0.0.0/31 1 0 0
           |-- 127.0.0.0
              /8 host LOCAL
           |-- 127.0.0.1
              /32 host LOCAL
        |-- 127.255.255.255
           /32 link BROADCAST
     +-- 192.0.2.0/24 2 0 2
        +-- 192.0.2.0/30 2 0 2
           |-- 192.0.2.0
              /24 link UNICAST
           |-- 192.0.2.2
              /32 host LOCAL
        |-- 192.0.2.255
           /32 link BROADCAST
     |-- 10.0.0.5
        /32 host LOCAL
     |-- 10.0.0.6
        /32 host LOCAL
";

#[test]
fn addresses_find_their_interface_or_none() {
    let routes = addresses::routes(ROUTES);
    let local = addresses::local(FIB_TRIE);
    assert_eq!(addresses::of_interface("lo", &routes, &local), ["127.0.0.1/8"]);
    assert_eq!(addresses::of_interface("eth0", &routes, &local), ["192.0.2.2/24"]);
    // Two interfaces in one network: which has .5 and which .6 is unknown.
    assert!(addresses::of_interface("ib0", &routes, &local).is_empty());
    let ipv6 = addresses::ipv6("fe8000000000000000fc00fffe000001 04 40 20 80     eth0\n");
    assert_eq!(ipv6, [("eth0".to_owned(), "fe80::fc:ff:fe00:1/64".to_owned())]);
}

#[test]
fn an_interface_that_cannot_be_read_is_not_left_out() {
    let readings = [
        ("list /sys/class/net".to_owned(), Reading::Text("eth0".into())),
        ("read /sys/class/net/eth0/ifindex".to_owned(), Reading::failed("permission denied")),
        ("stat /sys/class/net/eth0/device".to_owned(), Reading::Absent),
    ];
    let found = gather(&Sparse(readings.into())).interfaces;
    assert_eq!(found, Fact::unknown("eth0: permission denied"));
}

#[test]
fn unreadable_state_kind_or_master_is_not_guessed() {
    let readings = [
        ("list /sys/class/net", "eth0"),
        ("read /sys/class/net/eth0/ifindex", "2"),
        ("read /proc/net/route", ""),
    ];
    let mtu = ("read /sys/class/net/eth0/mtu", "1500");
    let host = Sparse::new(&[readings[0], readings[1], readings[2], mtu]);
    assert_eq!(gather(&host).interfaces.known().unwrap()[0].state, OperState::Unknown);
    for (question, name) in [("read", "operstate"), ("read", "type"), ("stat", "master")] {
        let key = format!("{question} /sys/class/net/eth0/{name}");
        let found = gather(&host.clone().failing(&[(&key, "permission denied")])).interfaces;
        assert_eq!(found, Fact::unknown(format!("eth0: {name}: permission denied")));
    }
}

#[test]
fn unreadable_routes_leave_networks_and_addresses_unknown() {
    let host = Sparse::new(&[
        ("list /sys/class/net", "eth0"),
        ("read /sys/class/net/eth0/ifindex", "2"),
        ("read /sys/class/net/eth0/mtu", "1500"),
    ]);
    let found = gather(&host.failing(&[("read /proc/net/route", "permission denied")])).interfaces;
    let eth0 = &found.known().unwrap()[0];
    assert_eq!(eth0.networks, Fact::unknown("permission denied"));
    assert_eq!(eth0.has_ipv4(), Fact::unknown("permission denied"));
}

#[test]
fn peers_are_unknown_where_a_source_is_unread_and_no_other_shows_them() {
    let alone = gpu_node();
    assert_eq!(alone.peers(), Fact::Absent);
    let unread = || Missing::from("permission denied");
    let mut environment = alone.clone();
    environment.environment.variables = Fact::Unknown(unread());
    assert_eq!(environment.peers(), Fact::unknown("environment: permission denied"));
    let mut engine = alone.clone();
    engine.docker.info = Fact::Unknown(unread());
    assert_eq!(engine.peers(), Fact::Unknown(unread()));
    let mut stopped = alone.clone();
    stopped.docker.info = Fact::Unknown(Missing::new(MissingKind::Refused, "connection refused"));
    assert_eq!(stopped.peers(), Fact::Absent);
    let mut rdma = alone.clone();
    rdma.rdma.devices = Fact::Unknown(unread());
    assert_eq!(rdma.peers(), Fact::Unknown(unread()));
    rdma.docker.info = Fact::Known(json!({"Swarm": {"LocalNodeState": "active"}}));
    assert_eq!(rdma.peers(), Fact::Known("this is a node of a Docker swarm".into()));
    let job = with_variables(engine, &[("SLURM_NNODES", "2")]);
    assert_eq!(job.peers(), Fact::Known("a Slurm job of several nodes".into()));
}

#[test]
fn interfaces_are_read() {
    let link = concat!(
        r#"{"kind":"directory","mode":"0755","uid":0,"gid":0,"size":0,"mtime":0,"#,
        r#""path":"/sys/devices/pci0000:00/x"}"#,
    );
    let bond = concat!(
        r#"{"kind":"directory","mode":"0755","uid":0,"gid":0,"size":0,"mtime":0,"#,
        r#""path":"/sys/devices/virtual/net/bond0"}"#,
    );
    let found = network(&[
        ("list /sys/class/net", "bond0\nbonding_masters\neth0\nlo"),
        ("read /sys/class/net/lo/ifindex", "1\n"),
        ("read /sys/class/net/lo/mtu", "65536\n"),
        ("read /sys/class/net/lo/type", "772\n"),
        ("read /sys/class/net/lo/operstate", "unknown\n"),
        ("read /sys/class/net/eth0/ifindex", "2\n"),
        ("read /sys/class/net/eth0/mtu", "9000\n"),
        ("read /sys/class/net/eth0/type", "1\n"),
        ("read /sys/class/net/eth0/operstate", "up\n"),
        ("read /sys/class/net/eth0/speed", "25000\n"),
        ("stat /sys/class/net/eth0/device", link),
        ("stat /sys/class/net/eth0/master", bond),
        ("read /sys/class/net/bond0/ifindex", "7\n"),
        ("read /sys/class/net/bond0/mtu", "9000\n"),
        ("read /proc/net/route", ROUTES),
        ("read /proc/net/fib_trie", FIB_TRIE),
    ]);
    let interfaces = found.interfaces.known().unwrap();
    let names: Vec<&str> = interfaces.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(names, ["lo", "eth0", "bond0"]);
    let eth0 = &interfaces[1];
    assert_eq!((eth0.mtu, eth0.speed.clone(), eth0.physical), (9000, Fact::Known(25_000), true));
    assert_eq!((eth0.master.as_deref(), &eth0.kind), (Some("bond0"), &InterfaceKind::Ethernet));
    assert_eq!(eth0.networks, Fact::Known(vec!["192.0.2.0/24".into()]));
    assert_eq!(found.default_route, Fact::Known("eth0".into()));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
fn name_servers_of_the_corpus_are_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/outputs/system/resolv-conf.txt");
    let servers = name_servers(&std::fs::read_to_string(path).unwrap());
    assert_eq!(servers, ["203.0.113.65", "203.0.113.72", "2001:558:feed::1", "2001:558:feed::2"]);
}

#[test]
fn names_are_looked_up_in_hosts() {
    let hosts = "127.0.0.1 localhost\n127.0.1.1\tnode1.example.org Node1 # Debian's\n#10.0.0.1 node1\n";
    assert_eq!(in_hosts(hosts, "node1"), ["127.0.1.1"]);
    assert!(in_hosts(hosts, "node2").is_empty());
    let found = network(&[
        ("read /proc/sys/kernel/hostname", "node2\n"),
        ("read /etc/hosts", hosts),
        (
            "read /etc/nsswitch.conf",
            "passwd: files\nhosts:          files mdns4_minimal [NOTFOUND=return] dns\n",
        ),
    ]);
    assert_eq!(found.hostname_in_hosts, Fact::Absent);
    assert_eq!(found.name_services, Fact::Known(vec!["files".into(), "mdns4_minimal".into(), "dns".into()]));
}

#[test]
fn speeds_of_links_that_are_down_are_absent() {
    assert_eq!(
        speed(Reading::Failed(Missing::new(MissingKind::Os(22), "Invalid argument (os error 22)"))),
        Fact::Absent
    );
    assert_eq!(speed(Reading::Text("-1\n".into())), Fact::Absent);
    assert_eq!(speed(Reading::Text("400000\n".into())), Fact::Known(400_000));
    assert!(matches!(speed(Reading::failed("not in this snapshot")), Fact::Unknown(_)));
}

const UFW_RULES: &str = "*filter
### RULES ###

### tuple ### allow tcp 22 0.0.0.0/0 any 0.0.0.0/0 in
-A ufw-user-input -p tcp --dport 22 -j ACCEPT

### tuple ### allow tcp 2377,7946 0.0.0.0/0 any 10.0.0.0/8 in
### tuple ### deny any 4789 0.0.0.0/0 any 0.0.0.0/0 in
### tuple ### allow udp 7000:8000 0.0.0.0/0 any 0.0.0.0/0 in_eth0
### tuple ### allow any 53 0.0.0.0/0 any 0.0.0.0/0 out
";

#[test]
fn ufw_is_read() {
    let conf = ("read /etc/ufw/ufw.conf", "# /etc/ufw/ufw.conf\nENABLED=yes\nLOGLEVEL=low\n");
    let found = network(&[conf, ("read /etc/ufw/user.rules", UFW_RULES)]);
    let firewall = found.firewall.known().unwrap();
    assert_eq!(
        firewall.allowed,
        Fact::Known(["22/tcp", "2377/tcp", "7946/tcp", "7000:8000/udp"].map(String::from).to_vec())
    );
    assert_eq!(firewall.allows(7946, "udp"), Fact::Known(true));
    assert_eq!(firewall.allows(4789, "udp"), Fact::Known(false));
    let unreadable = network(&[conf]);
    assert!(matches!(unreadable.firewall.known().unwrap().allows(22, "tcp"), Fact::Unknown(_)));
    assert_eq!(network(&[("read /etc/ufw/ufw.conf", "ENABLED=no\n")]).firewall, Fact::Absent);
    let open = network(&[conf, ("read /etc/default/ufw", "IPV6=yes\nDEFAULT_INPUT_POLICY=\"ACCEPT\"\n")]);
    assert_eq!(open.firewall.known().unwrap().allows(1, "udp"), Fact::Known(true));
}

#[test]
fn firewalld_is_read() {
    let zone = r#"<?xml version="1.0" encoding="utf-8"?>
<zone>
  <short>Public</short>
  <service name="ssh"/>
  <service name="docker-swarm"/>
  <port protocol="tcp" port="9000-9100"/>
</zone>"#;
    let ssh = r#"<service><short>SSH</short><port protocol="tcp" port="22"/></service>"#;
    let swarm = r#"<service><port port="2377" protocol="tcp"/><port port="7946" protocol="tcp"/></service>"#;
    let found = network(&[
        ("stat /run/firewalld.pid", "{}"),
        ("read /etc/firewalld/zones/public.xml", zone),
        ("read /usr/lib/firewalld/services/ssh.xml", ssh),
        ("read /usr/lib/firewalld/services/docker-swarm.xml", swarm),
    ]);
    let firewall = found.firewall.known().unwrap();
    assert_eq!(firewall.name, "firewalld");
    assert_eq!(
        firewall.allowed,
        Fact::Known(["9000:9100/tcp", "22/tcp", "2377/tcp", "7946/tcp"].map(String::from).to_vec())
    );
    assert_eq!(network(&[]).firewall, Fact::Absent);
}

#[test]
fn unreadable_sources_are_unknown() {
    let found = gather(&Replay::new(BTreeMap::new(), "not in this snapshot"));
    assert!(matches!(found.interfaces, Fact::Unknown(_)));
    assert!(matches!(found.default_route, Fact::Unknown(_)));
    assert!(matches!(found.hostname_in_hosts, Fact::Unknown(_)));
    assert!(matches!(found.firewall, Fact::Unknown(_)));
    // An absent /proc/net is no machine without addresses.
    assert!(matches!(network(&[("list /sys/class/net", "lo")]).default_route, Fact::Unknown(_)));
}
