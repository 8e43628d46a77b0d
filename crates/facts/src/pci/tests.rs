use std::collections::BTreeMap;

use super::acs::parse_acs;
use super::*;
use crate::testing::Sparse;
use host::record::Replay;

fn stat(path: &str) -> Reading {
    let stat = Stat {
        kind: host::FileKind::Directory,
        mode: "0755".into(),
        uid: 0,
        gid: 0,
        size: 0,
        mtime: 0,
        path: path.into(),
    };
    Reading::Text(serde_json::to_string(&stat).unwrap())
}

fn put(host: &mut Sparse, address: &str, file: &str, text: &str) {
    host.0.insert(format!("read {DEVICES}/{address}/{file}"), Reading::Text(format!("{text}\n")));
}

fn switch() -> Sparse {
    let mut host = Sparse(BTreeMap::new());
    let places = [
        ("0000:17:01.0", "0x8086", "0x352a", "0x060400", ""),
        ("0000:18:00.0", "0x1000", "0xc030", "0x060400", "/0000:17:01.0"),
        ("0000:19:00.0", "0x1000", "0xc030", "0x060400", "/0000:17:01.0/0000:18:00.0"),
        ("0000:1b:00.0", "0x10de", "0x2330", "0x030200", "/0000:17:01.0/0000:18:00.0/0000:19:00.0"),
        ("0000:1c:00.0", "0x15b3", "0x1021", "0x020700", "/0000:17:01.0/0000:18:00.0/0000:19:01.0"),
    ];
    for (address, vendor, device, class, above) in places {
        put(&mut host, address, "vendor", vendor);
        put(&mut host, address, "device", device);
        put(&mut host, address, "class", class);
        let path = format!("/sys/devices/pci0000:17{above}/{address}");
        host.0.insert(format!("stat {DEVICES}/{address}"), stat(&path));
    }
    let names: Vec<&str> = places.iter().map(|entry| entry.0).collect();
    host.0.insert(format!("list {DEVICES}"), Reading::Text(names.join("\n")));
    for (file, text) in [
        ("current_link_speed", "16.0 GT/s PCIe"),
        ("max_link_speed", "32.0 GT/s PCIe"),
        ("current_link_width", "8"),
        ("max_link_width", "16"),
        ("numa_node", "-1"),
    ] {
        put(&mut host, "0000:1b:00.0", file, text);
    }
    for (link, to) in
        [("driver", "/sys/bus/pci/drivers/nvidia"), ("iommu_group", "/sys/kernel/iommu_groups/42")]
    {
        host.0.insert(format!("stat {DEVICES}/0000:1b:00.0/{link}"), stat(to));
    }
    host.0.insert("read /sys/kernel/iommu_groups/42/type".into(), Reading::Text("DMA-FQ\n".into()));
    host
}

#[test]
fn a_gpu_is_read_with_its_link_and_the_bridges_above_it() {
    let pci = gather(&switch());
    let addresses: Vec<&str> =
        pci.devices.known().unwrap().iter().map(|device| device.address.as_str()).collect();
    assert_eq!(addresses, ["0000:17:01.0", "0000:18:00.0", "0000:19:00.0", "0000:1b:00.0", "0000:1c:00.0"]);
    let gpu = pci.gpus().next().unwrap();
    assert_eq!((gpu.device, gpu.driver.known().map(String::as_str)), (0x2330, Some("nvidia")));
    let link = Link { speed: 160, speed_max: 320, width: 8, width_max: 16 };
    assert_eq!(gpu.link, Fact::Known(link));
    assert_eq!((&gpu.iommu_group, &gpu.numa_node), (&Fact::Known(42), &Fact::Absent));
    assert_eq!(gpu.iommu_type, Fact::Known("DMA-FQ".into()));
    let above = pci.above(gpu).map(|all| all.iter().map(|bridge| bridge.address.clone()).collect());
    let expected = ["0000:19:00.0", "0000:18:00.0", "0000:17:01.0"].map(str::to_owned).to_vec();
    assert_eq!(above, Fact::Known(expected));
}

#[test]
fn unreadable_bridge_or_path_leaves_what_is_above_unknown() {
    let above = |question: &str| {
        let pci = gather(&switch().failing(&[(question, "permission denied")]));
        let gpu = pci.gpus().next().unwrap();
        pci.above(gpu).map(|all| all.len())
    };
    let bridge = format!("{DEVICES}/0000:18:00.0/class");
    assert_eq!(above(&format!("read {bridge}")), Fact::unknown(format!("{bridge}: permission denied")));
    let path = format!("{DEVICES}/0000:1b:00.0");
    assert_eq!(above(&format!("stat {path}")), Fact::unknown(format!("{path}: permission denied")));
}

#[test]
fn distinguishes_missing_pci_bus_from_missing_sysfs() {
    let none = Sparse(BTreeMap::new());
    assert!(matches!(gather(&none).devices, Fact::Unknown(_)));
    assert!(may_have_gpu(&none));
    let firecracker =
        Sparse(BTreeMap::from([("list /sys/bus".to_owned(), Reading::Text("cpu\nmemory".into()))]));
    assert_eq!(gather(&firecracker).devices, Fact::Known(vec![]));
    assert!(!may_have_gpu(&firecracker));
    let unread = Replay::new(BTreeMap::new(), "not read");
    assert_eq!(gather(&unread).devices, Fact::unknown(format!("{DEVICES}: not read")));
}

#[test]
fn speeds_and_widths_are_read() {
    for (text, expected) in [
        ("2.5 GT/s PCIe", Fact::Known(25)),
        ("16.0 GT/s PCIe", Fact::Known(160)),
        ("8 GT/s", Fact::Known(80)),
        ("Unknown speed", Fact::Absent),
        ("Unknown", Fact::Absent),
    ] {
        assert_eq!(parse_speed(text), expected, "{text}");
    }
    for odd in ["fast", "4294967295 GT/s", "429496729.6 GT/s"] {
        assert!(matches!(parse_speed(odd), Fact::Unknown(_)), "{odd}");
    }
    assert_eq!(
        [parse_width("16\n"), parse_width("0"), parse_width("255")],
        [Fact::Known(16), Fact::Absent, Fact::Absent]
    );
}

/// The configuration space of a bridge: AER at 0x100, ACS at 0x148 with the given control register.
fn config(control: u16) -> String {
    let mut bytes = vec![0u8; 4096];
    bytes[..4].copy_from_slice(&[0x00, 0x10, 0x30, 0xc0]);
    bytes[0x100..0x104].copy_from_slice(&[0x01, 0x00, 0x82, 0x14]);
    bytes[0x148..0x14c].copy_from_slice(&[0x0d, 0x00, 0x01, 0x00]);
    bytes[0x14e..0x150].copy_from_slice(&control.to_le_bytes());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn acs_is_read_from_the_configuration_space() {
    assert_eq!(parse_acs(&config(0x001d)), Fact::Known(true));
    assert_eq!(parse_acs(&config(0x0001)), Fact::Known(false));
    assert_eq!(parse_acs(&config(0)[..512]), Fact::Absent);
    assert!(matches!(parse_acs(&config(0x001d)[..128]), Fact::Unknown(why) if why.is_denied()));
    let mut host = switch();
    let text = Reading::Text(config(0x001d));
    host.0.insert(format!("hex {DEVICES}/0000:19:00.0/config"), text);
    assert_eq!(gather(&host).at("0000:19:00.0").unwrap().acs_redirects, Fact::Known(true));
}

#[test]
fn a_device_that_is_gone_answers_with_ones() {
    assert!(!answers(&"ff".repeat(64)));
    assert!(answers("de103023"));
}

/// `0000:1b:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)`, put
/// back into the files of sysfs that it was made from.
fn from_lspci(text: &str) -> Sparse {
    let mut host = Sparse(BTreeMap::from([("list /sys/bus".to_owned(), Reading::Text("pci".into()))]));
    let mut names = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with(char::is_whitespace)) {
        let Some((address, rest)) = line.split_once(' ') else { continue };
        let domain = if address.len() == 7 { format!("0000:{address}") } else { address.to_owned() };
        let bracket = |wanted: usize| {
            rest.split('[').filter_map(|part| part.split_once(']')).map(|(bracketed, _)| bracketed).find(
                |bracketed| {
                    bracketed.len() == wanted
                        && bracketed.chars().all(|c| c.is_ascii_hexdigit() || c == ':')
                        && (wanted == 4) != bracketed.contains(':')
                },
            )
        };
        let (Some(class), Some(ids)) = (bracket(4), bracket(9)) else { continue };
        let (vendor, device) = ids.split_once(':').unwrap();
        put(&mut host, &domain, "vendor", &format!("0x{vendor}"));
        put(&mut host, &domain, "device", &format!("0x{device}"));
        put(&mut host, &domain, "class", &format!("0x{class}00"));
        names.push(domain);
    }
    if !names.is_empty() {
        host.0.insert(format!("list {DEVICES}"), Reading::Text(names.join("\n")));
    }
    host
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
fn classifies_gpus_nvswitches_and_adapters_of_recordings() {
    // GPUs, NVSwitches, adapters.
    let expected = [
        ("lspci-Dnn-h100-x8-host-nvswitch.txt", [8, 4, 0]),
        ("lspci-Dnn-kvm-guest-h100-x4-no-nvswitch.txt", [4, 0, 0]),
        ("lspci-Dnn-kvm-guest-h100-x8-nvswitch-x4.txt", [8, 4, 0]),
        ("lspci-nn-azure-nd-a100-x8-nvswitch-vf.txt", [8, 6, 9]),
        ("lspci-nn-gtx1080ti-430.40.txt", [1, 0, 0]),
        ("lspci-nn-kvm-guest-a10.txt", [1, 0, 1]),
        ("lspci-nn-lambda-a6000-x2.txt", [2, 0, 0]),
        ("lspci-nn-precision7530-p3200-mixed-drivers.txt", [1, 0, 0]),
        ("lspci-nnDvvvxxx-lambda-a6000-x2.txt", [2, 0, 0]),
        ("lspci-nnmmv-vm-no-gpu.txt", [0, 0, 0]),
    ];
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/outputs/pci");
    for (file, counts) in expected {
        let text = std::fs::read_to_string(format!("{dir}/{file}")).unwrap();
        let pci = gather(&from_lspci(&text));
        let count = |wanted: fn(&Device) -> bool| {
            pci.devices.known().unwrap().iter().filter(|device| wanted(device)).count()
        };
        let found = [count(Device::is_gpu), count(Device::is_nvswitch), count(Device::is_adapter)];
        assert_eq!(found, counts, "{file}");
    }
}
