//! Tests of the group, on real text.

use std::collections::BTreeMap;

use super::*;
use crate::testing::Sparse;
use catalog::testing::catalog;
use host::record::Replay;

fn gather(host: &dyn Host) -> System {
    super::gather(host, catalog())
}

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/outputs/system");

fn link(to: &str) -> String {
    serde_json::to_string(&host::Stat {
        kind: host::FileKind::File,
        mode: "0444".into(),
        uid: 0,
        gid: 0,
        size: 0,
        mtime: 0,
        path: to.into(),
    })
    .unwrap()
}

/// The namespaces: `own` are this process's own, the others the machine's.
fn with_namespaces(readings: &[(&str, &str)], own: &[&str]) -> Sparse {
    let numbers = [("pid", 836), ("uts", 838), ("ipc", 839), ("user", 837), ("cgroup", 835)];
    let links: Vec<(String, String)> = numbers
        .iter()
        .map(|(name, end)| {
            let number = if own.contains(name) { "4026532741".to_owned() } else { format!("4026531{end}") };
            (format!("stat /proc/self/ns/{name}"), link(&format!("{name}:[{number}]")))
        })
        .collect();
    let mut all: Vec<(&str, &str)> = links.iter().map(|(ask, text)| (ask.as_str(), text.as_str())).collect();
    all.extend(readings);
    Sparse::new(&all)
}

const DOCKER_MOUNTS: &str = "1204 1122 0:76 / / rw,relatime master:450 - overlay overlay rw,lowerdir=/l/A\n\
    1207 1204 0:79 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755";
const VM_MOUNTS: &str = "24 27 0:6 / /dev rw,relatime - devtmpfs devtmpfs rw,size=12334524k,mode=755\n\
    27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard";

fn container(machine: &Sparse) -> Fact<String> {
    gather(machine).container
}

#[test]
fn distinguishes_containers_from_machines() {
    let known = |name: &str| Fact::Known(name.to_owned());
    let own = ["pid", "uts", "ipc"];
    let file = link("/x");
    let cgroup_v1 = "12:devices:/docker/4c0e0c7f1f7c\n0::/system.slice/containerd.service";
    let host_service = "0::/system.slice/docker.service";
    let cases: &[(&str, Sparse, Fact<String>)] = &[
        ("docker", with_namespaces(&[("stat /.dockerenv", &file)], &own), known("docker")),
        (
            "docker, cgroup v1, no mark",
            with_namespaces(&[("read /proc/self/cgroup", cgroup_v1)], &own),
            known("docker"),
        ),
        (
            "docker with the machine's processes",
            with_namespaces(&[("stat /.dockerenv", &file)], &["uts", "ipc", "cgroup"]),
            known("docker"),
        ),
        ("podman", with_namespaces(&[("stat /run/.containerenv", &file)], &own), known("podman")),
        (
            "kubernetes",
            with_namespaces(
                &[("environment", "KUBERNETES_SERVICE_HOST=10.96.0.1"), ("stat /.dockerenv", &file)],
                &own,
            ),
            known("kubernetes"),
        ),
        (
            "nspawn",
            with_namespaces(&[("read /run/systemd/container", "systemd-nspawn\n")], &own),
            known("systemd-nspawn"),
        ),
        ("lxc", with_namespaces(&[("read /run/systemd/container", "lxc\n")], &own), known("lxc")),
        (
            "unnamed",
            with_namespaces(&[("read /proc/self/mountinfo", DOCKER_MOUNTS)], &own),
            known("container"),
        ),
        (
            "a virtual machine made from an image",
            with_namespaces(&[("stat /.dockerenv", &file), ("read /proc/self/mountinfo", VM_MOUNTS)], &[]),
            Fact::Absent,
        ),
        (
            "a sandboxed service on such a machine",
            with_namespaces(
                &[("stat /.dockerenv", &file), ("read /proc/self/mountinfo", VM_MOUNTS)],
                &["uts", "user"],
            ),
            Fact::Absent,
        ),
        (
            "a machine, or a chroot on it",
            with_namespaces(&[("read /proc/self/cgroup", host_service)], &[]),
            Fact::Absent,
        ),
        ("a service in a sandbox", with_namespaces(&[], &["uts", "user"]), Fact::Absent),
        (
            "WSL 2",
            with_namespaces(
                &[
                    ("read /proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n"),
                    ("read /run/systemd/container", "wsl\n"),
                ],
                &own,
            ),
            Fact::Absent,
        ),
        (
            "docker in WSL 2",
            with_namespaces(
                &[
                    ("read /proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n"),
                    ("stat /.dockerenv", &file),
                ],
                &own,
            ),
            known("docker"),
        ),
        (
            "an older snapshot of a machine",
            Sparse::new(&[("read /proc/self/mountinfo", VM_MOUNTS)]),
            Fact::Absent,
        ),
    ];
    for (what, machine, expected) in cases {
        assert_eq!(&container(machine), expected, "{what}");
    }
}

#[test]
fn unreadable_sources_are_unknown() {
    let unshared = with_namespaces(&[("read /proc/self/mountinfo", VM_MOUNTS)], &["pid"]);
    assert!(matches!(container(&unshared), Fact::Unknown(_)));
    assert!(matches!(container(&Sparse::new(&[])), Fact::Unknown(_)), "no /proc");
    // Whether it is an HPC container with a root of its own depends on its user namespace.
    let unreadable = link("/proc/1/ns/user");
    let overlay = ("read /proc/self/mountinfo", DOCKER_MOUNTS);
    let shared = with_namespaces(&[overlay, ("stat /proc/self/ns/user", &unreadable)], &["uts"]);
    assert!(matches!(container(&shared), Fact::Unknown(_)), "{:?}", container(&shared));
    assert_eq!(container(&with_namespaces(&[overlay], &["uts"])), Fact::Absent);
    assert_eq!(container(&with_namespaces(&[overlay], &["uts", "user"])), Fact::Known("container".into()));
    let failing = Replay::new(BTreeMap::new(), "not in this snapshot");
    let system = gather(&failing);
    for unknown in [
        matches!(system.container, Fact::Unknown(_)),
        matches!(system.os, Fact::Unknown(_)),
        matches!(system.wsl, Fact::Unknown(_)),
        matches!(system.architecture, Fact::Unknown(_)),
        matches!(system.virtualisation, Fact::Unknown(_)),
        matches!(system.uid, Fact::Unknown(_)),
        matches!(system.memory, Fact::Unknown(_)),
        matches!(system.systemd, Fact::Unknown(_)),
    ] {
        assert!(unknown);
    }
}

#[test]
fn distinguishes_wsl_versions() {
    let wsl = |release: &str, dxg: bool| {
        let file = link("/dev/dxg");
        let mut readings = vec![("read /proc/sys/kernel/osrelease", release)];
        if dxg {
            readings.push(("stat /dev/dxg", &file));
        }
        gather(&Sparse::new(&readings)).wsl
    };
    assert_eq!(wsl("4.4.0-19041-Microsoft\n", false), Fact::Known(Wsl { version: 1, dxg: false }));
    assert_eq!(wsl("5.10.16.3-microsoft-standard-WSL2\n", true), Fact::Known(Wsl { version: 2, dxg: true }));
    assert_eq!(wsl("6.8.0-1018-azure\n", false), Fact::Absent);
}

#[test]
fn the_architecture_is_the_kernels_or_the_loaders() {
    let architecture = |readings: &[(&str, &str)]| gather(&Sparse::new(readings)).architecture;
    let file = link("/x");
    let x86 = ("stat /lib64/ld-linux-x86-64.so.2", file.as_str());
    let arm = ("stat /lib/ld-linux-aarch64.so.1", file.as_str());
    assert_eq!(architecture(&[("read /proc/sys/kernel/arch", "aarch64\n")]), Fact::Known("aarch64".into()));
    assert_eq!(architecture(&[x86]), Fact::Known("x86_64".into()));
    assert!(matches!(architecture(&[x86, arm]), Fact::Unknown(_)));
    assert!(matches!(architecture(&[]), Fact::Unknown(_)));
}

#[test]
fn ids_and_memory_are_read() {
    let status = "Name:\tbash\nUid:\t1000\t0\t0\t0\nGid:\t1000\t1001\t1001\t1001\nFDSize:\t256\nGroups:\t4 \
        24 1001 999 \n";
    let meminfo = "MemTotal:       131757392 kB\nMemFree:         1000000 kB\nHugePages_Total:       0\n";
    let system = gather(&Sparse::new(&[("read /proc/self/status", status), ("read /proc/meminfo", meminfo)]));
    assert_eq!(system.uid, Fact::Known(0));
    assert_eq!(system.gids, Fact::Known(vec![1001, 4, 24, 999]));
    assert_eq!(system.memory, Fact::Known(131_757_392 * 1024));
    assert_eq!(super::meminfo(meminfo, "HugePages_Total"), Some(0));
}

#[test]
fn hypervisors_are_named() {
    let virtualisation = |vendor: &str, product: &str, clocks: &str, flags: &str| {
        gather(&Sparse::new(&[
            ("read /sys/class/dmi/id/sys_vendor", vendor),
            ("read /sys/class/dmi/id/product_name", product),
            ("read /sys/devices/system/clocksource/clocksource0/available_clocksource", clocks),
            ("read /proc/cpuinfo", flags),
        ]))
        .virtualisation
    };
    let known = |name: &str| Fact::Known(name.to_owned());
    let metal = "processor\t: 0\nflags\t\t: fpu vme de pse lm\n";
    assert_eq!(virtualisation("Dell Inc.", "PowerEdge XE9680\n", "tsc hpet acpi_pm", metal), Fact::Absent);
    assert_eq!(virtualisation("Xen", "HVM domU\n", "xen tsc", metal), known("xen"));
    assert_eq!(virtualisation("Red Hat", "RHEV Hypervisor\n", "tsc", metal), known("kvm"));
    assert_eq!(virtualisation("Amazon EC2", "p5.48xlarge\n", "kvm-clock tsc hpet", metal), known("kvm"));
    assert_eq!(virtualisation("Microsoft Corporation", "Virtual Machine\n", "tsc", metal), known("hyperv"));
    let guest = "flags\t\t: fpu hypervisor lm\n";
    assert!(matches!(virtualisation("Contabo", "VPS\n", "tsc", guest), Fact::Known(_)));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
fn every_os_release_of_the_corpus_is_read() {
    let expected: BTreeMap<&str, (&str, Option<&str>, &str)> = BTreeMap::from([
        ("almalinux10", ("almalinux", Some("10.0"), "rhel centos fedora")),
        ("alpine", ("alpine", Some("3.23.2"), "")),
        ("amazon2016", ("amzn", Some("2016.03"), "rhel fedora")),
        ("amazon2023", ("amzn", Some("2023"), "fedora")),
        ("arch", ("arch", None, "")),
        ("centos7", ("centos", Some("7"), "rhel fedora")),
        ("centosstream10", ("centos", Some("10"), "rhel fedora")),
        ("centosstream8", ("centos", Some("8"), "rhel fedora")),
        ("centosstream9", ("centos", Some("9"), "rhel fedora")),
        ("cloudlinux7", ("cloudlinux", Some("7.3"), "rhel fedora centos")),
        ("coreos", ("coreos", Some("899.15.0"), "")),
        ("debian10", ("debian", Some("10"), "")),
        ("debian13", ("debian", Some("13"), "")),
        ("debian8", ("debian", Some("8"), "")),
        ("debiantesting", ("debian", None, "")),
        ("fedora42", ("fedora", Some("42"), "")),
        ("gentoo", ("gentoo", None, "")),
        ("guix", ("guix", None, "")),
        ("kali", ("kali", Some("2017.1"), "debian")),
        ("manjaro1512", ("manjaro", None, "")),
        ("opensuse15", ("opensuse-leap", Some("15.2"), "suse opensuse")),
        ("oracle7", ("ol", Some("7.5"), "")),
        ("rhel-ai", ("rhel", Some("9.4"), "fedora")),
        ("rhel10", ("rhel", Some("10.0"), "centos fedora")),
        ("rhel7", ("rhel", Some("7.0"), "fedora")),
        ("rhel9", ("rhel", Some("9.6"), "fedora")),
        ("rocky", ("rocky", Some("8.4"), "rhel centos fedora")),
        ("rocky10", ("rocky", Some("10.0"), "rhel centos fedora")),
        ("rocky9", ("rocky", Some("9.3"), "rhel centos fedora")),
        ("sles12", ("sles", Some("12.1"), "")),
        ("ubuntu-22.04.5", ("ubuntu", Some("22.04"), "debian")),
        ("ubuntu14", ("ubuntu", Some("14.04"), "debian")),
        ("ubuntu16", ("ubuntu", Some("16.04"), "debian")),
        ("ubuntu24", ("ubuntu", Some("24.04"), "debian")),
        ("ubuntu2504", ("ubuntu", Some("25.04"), "debian")),
        ("ubuntu2510", ("ubuntu", Some("25.10"), "debian")),
        ("ubuntu2604", ("ubuntu", Some("26.04"), "debian")),
    ]);
    let mut seen = 0;
    for entry in std::fs::read_dir(CORPUS).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(short) = name.strip_prefix("os-release-").and_then(|rest| rest.strip_suffix(".txt")) else {
            continue;
        };
        let os = parse_os_release(&std::fs::read_to_string(format!("{CORPUS}/{name}")).unwrap());
        let (id, version, like) = expected[short];
        assert_eq!(
            (os.id.as_str(), os.version_id.as_deref(), os.id_like.join(" ").as_str()),
            (id, version, like),
            "{name}"
        );
        assert!(!os.pretty_name.is_empty() && !os.pretty_name.contains('"'), "{name}");
        seen += 1;
    }
    assert_eq!(seen, expected.len());
}
