use super::*;
use crate::testing::Sparse;
use catalog::testing::catalog;
use host::Reading;

fn gather(host: &dyn Host) -> Driver {
    super::gather(host, catalog())
}

#[test]
fn driver_versions_order_by_number_and_print_as_nvidia_writes_them() {
    let parse = |text: &str| text.parse::<DriverVersion>().unwrap();
    assert!(parse("550.54.14") < parse("550.144.03"));
    assert!(parse("470.256.02") < parse("525.60.13"));
    for text in ["550.144.03", "525.60.13", "390.157", "590.44.01", "535.54.03"] {
        assert_eq!(parse(text).to_string(), text);
    }
    for text in ["", "550", "550.x", "1.2.3.4", "N/A"] {
        assert!(text.parse::<DriverVersion>().is_err(), "{text}");
    }
}

fn stat(path: &str, size: u64) -> String {
    let kind = host::FileKind::File;
    let mode = "0755".to_owned();
    let stat = Stat { kind, mode, uid: 0, gid: 0, size, mtime: 0, path: path.to_owned() };
    serde_json::to_string(&stat).unwrap()
}

const FIND: &str = "find /usr/lib/x86_64-linux-gnu libcuda.so libnvidia-ml.so";
const DIR: &str = "/usr/lib/x86_64-linux-gnu";

#[test]
fn the_library_is_what_the_link_leads_to() {
    let real = stat(&format!("{DIR}/libcuda.so.550.54.14"), 28_000_000);
    let mut host = Sparse::new(&[
        (FIND, "libcuda.so\nlibcuda.so.1\nlibcuda.so.535.183.01\nlibcuda.so.550.54.14"),
        ("stat /usr/lib/x86_64-linux-gnu/libcuda.so.1", &real),
        ("stat /usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14", &real),
        ("stat /usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01", &stat("/x/libcuda.so.535.183.01", 0)),
    ]);
    let driver = gather(&host);
    assert_eq!(driver.library.map(|version| version.to_string()), Fact::Known("550.54.14".into()));
    let versions: Vec<String> =
        driver.libraries.known().unwrap().iter().map(|library| library.version.to_string()).collect();
    assert_eq!(versions, ["535.183.01", "550.54.14"]);
    assert_eq!(driver.broken, Fact::Known(vec![(format!("{DIR}/libcuda.so.535.183.01"), "is empty")]));
    host.0.insert(FIND.into(), Reading::failed("permission denied"));
    assert!(matches!(gather(&host).library, Fact::Unknown(_)));
    assert_eq!(gather(&Sparse::new(&[])).library, Fact::Absent);
}

#[test]
fn distinguishes_wsl_jetson_stubs_and_dangling_symlinks() {
    let host = Sparse::new(&[
        ("environment", "LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs:/usr/local/cuda/compat"),
        ("find /usr/local/cuda/lib64/stubs libcuda.so libnvidia-ml.so", "libcuda.so"),
        ("find /usr/local/cuda/compat libcuda.so libnvidia-ml.so", "libcuda.so.1"),
        ("find /usr/lib/wsl/lib libcuda.so libnvidia-ml.so", "libcuda.so\nlibcuda.so.1\nlibcuda.so.1.1"),
        ("stat /usr/lib/wsl/lib/libcuda.so.1", &stat("/usr/lib/wsl/lib/libcuda.so.1", 165_000)),
        (FIND, "libnvidia-ml.so.1"),
    ]);
    let driver = gather(&host);
    assert!(matches!(driver.library, Fact::Unknown(why) if why.detail.contains("has no version")));
    assert_eq!(driver.unversioned, Fact::Known(vec!["/usr/lib/wsl/lib/libcuda.so.1".into()]));
    assert_eq!(driver.stubs, Fact::Known(vec!["/usr/local/cuda/lib64/stubs/libcuda.so".into()]));
    assert_eq!(
        driver.broken,
        Fact::Known(vec![(format!("{DIR}/libnvidia-ml.so.1"), "is a dangling symlink")])
    );
}

#[test]
fn loader_directories_follow_ld_so_conf_without_duplicates() {
    let lib = stat("/usr/lib", 0);
    let host = Sparse::new(&[
        ("environment", "LD_LIBRARY_PATH=/opt/x/:relative:"),
        ("list /etc/ld.so.conf.d", "x86_64-linux-gnu.conf\nREADME"),
        (
            "read /etc/ld.so.conf.d/x86_64-linux-gnu.conf",
            "# Multiarch\n/lib/x86_64-linux-gnu\n/usr/lib/x86_64-linux-gnu\n",
        ),
        ("stat /lib", &lib),
    ]);
    assert_eq!(directories(&host).unwrap()[..3], ["/opt/x", DIR, "/usr/lib/aarch64-linux-gnu"]);
}

/// A directory that nobody could list may hold the library that the loader takes first.
#[test]
fn an_unreadable_loader_configuration_leaves_the_libraries_unknown() {
    let file = "/etc/ld.so.conf.d/cuda.conf";
    for key in ["environment", "list /etc/ld.so.conf.d", &format!("read {file}")] {
        let host = Sparse::new(&[("list /etc/ld.so.conf.d", "cuda.conf")]);
        let driver = gather(&host.failing(&[(key, host::Missing::denied())]));
        assert!(matches!(&driver.library, Fact::Unknown(why) if why.is_denied()), "{key}");
    }
}

#[test]
fn device_nodes_are_read() {
    let names = "nvidia-caps\nnvidia-modeset\nnvidia-nvswitch0\nnvidia-nvswitchctl\nnvidia-uvm\n\
     nvidia-uvm-tools\n\
                 nvidia0\nnvidia1\nnvidia10\nnvidiactl";
    let host = Sparse::new(&[("find /dev nvidia", names)]);
    let expected = DeviceNodes {
        gpus: vec![0, 1, 10],
        control: true,
        uvm: true,
        nvswitches: vec![0],
        capabilities: true,
    };
    assert_eq!(gather(&host).device_nodes, Fact::Known(expected));
    assert_eq!(gather(&Sparse::new(&[("find /dev nvidia", "")])).device_nodes, Fact::Absent);
    assert!(matches!(gather(&Sparse::new(&[])).device_nodes, Fact::Unknown(_)));
}

#[test]
fn distinguishes_driver_packages_from_other_nvidia_packages() {
    for name in [
        "nvidia-driver-550-server",
        "nvidia-headless-no-dkms-535",
        "linux-modules-nvidia-580-server-open-6.8.0-45-generic",
        "kmod-nvidia-open-dkms",
        "cuda-drivers-570",
        "nvidia",
    ] {
        assert!(catalog().nvidia_packages().is_driver(name), "{name}");
    }
    for name in ["nvidia-container-toolkit", "libnvidia-container1", "nvidia-cuda-toolkit", "nvidia-settings"]
    {
        assert!(!catalog().nvidia_packages().is_driver(name), "{name}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
fn every_version_file_of_the_corpus_is_read() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/outputs/proc_nvidia");
    let mut files: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("version-"))
        .collect();
    files.sort();
    let expected = [
        ("version-gtx1080ti-430.40.txt", "430.40", false),
        ("version-lambda-a6000-x2.txt", "535.113.01", false),
        ("version-open-590.48.01-sberlinux.txt", "590.48.01", true),
        ("version-precision7530-p3200-mixed-drivers.txt", "418.152.00", false),
    ];
    assert_eq!(files, expected.map(|(file, ..)| file.to_owned()));
    for (file, version, open) in expected {
        let text = std::fs::read_to_string(format!("{dir}/{file}")).unwrap();
        let module = parse_version(&text);
        let module = module.known().unwrap();
        assert_eq!((module.version.to_string().as_str(), module.open), (version, open), "{file}");
    }
    assert!(matches!(parse_version("garbage"), Fact::Unknown(_)));
}
