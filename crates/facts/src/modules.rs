//! Kernel modules, Secure Boot, DKMS and a pending reboot.

use std::time::Duration;

use super::{Fact, pci};
use crate::IntoFact;
use host::{Host, Reading};

/// What the kernel has loaded and would load.
#[derive(Debug, Clone)]
pub struct Modules {
    /// Names of loaded modules: `/proc/modules`.
    pub loaded: Fact<Vec<String>>,
    /// Version of the loaded `nvidia` module: `/sys/module/nvidia/version`. Absent when it is not loaded.
    pub nvidia_loaded: Fact<String>,
    /// Version of the `nvidia` module on disk for the running kernel: that of [`Modules::nvidia_file`].
    pub nvidia_on_disk: Fact<String>,
    /// The `nvidia` module that `modprobe` would load into the running kernel: `modinfo nvidia`, asked only
    /// where an NVIDIA GPU is on the bus (absent elsewhere, and where there is none).
    pub nvidia_file: Fact<ModuleFile>,
    /// Secure Boot: last byte of `/sys/firmware/efi/efivars/SecureBoot-…`; absent on machines without EFI.
    pub secure_boot: Fact<bool>,
    /// DKMS: `/var/lib/dkms/nvidia*/VERSION/KERNEL/ARCH` present or not.
    pub dkms: Fact<Vec<Dkms>>,
    /// `/run/reboot-required` with `/run/reboot-required.pkgs` (Debian, Ubuntu); absent when no reboot is
    /// asked for.
    pub reboot_required: Fact<Vec<String>>,
    /// Lines of `/etc/modprobe.d` and `/usr/lib/modprobe.d` that name nvidia or nouveau.
    pub options: Fact<Vec<String>>,
}

/// A kernel module on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFile {
    /// `/lib/modules/6.8.0-138-generic/updates/dkms/nvidia.ko.zst`.
    pub path: String,
    /// `610.57.04`.
    pub version: String,
    /// Whether it is the open module: its licence is `Dual MIT/GPL`, that of the closed one `NVIDIA`. Absent
    /// when not named.
    pub open: Fact<bool>,
    /// Who signed it, for Secure Boot. Absent when nobody did.
    pub signer: Fact<String>,
}

/// One DKMS module version and the kernels it is built for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dkms {
    /// `nvidia`, `nvidia-open`, …
    pub name: String,
    /// Driver version.
    pub version: String,
    /// Kernel releases for which it is built.
    pub built_for: Vec<String>,
}

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host) -> Modules {
    let nvidia_file = nvidia_file(host);
    Modules {
        loaded: loaded(host),
        nvidia_loaded: host.read("/sys/module/nvidia/version").text().map(|text| text.trim().to_owned()),
        nvidia_on_disk: nvidia_file.clone().map(|file| file.version),
        nvidia_file,
        secure_boot: secure_boot(host),
        dkms: dkms(host).about("/var/lib/dkms"),
        reboot_required: reboot_required(host),
        options: options(host),
    }
}

/// Reads lines such as `nvidia_uvm 4260675 12 - Live 0x60cdd02eea624fc2 (POE)`. A kernel built without
/// modules has no such file.
fn loaded(host: &dyn Host) -> Fact<Vec<String>> {
    let no_modules =
        || host.read("/proc/sys/kernel/osrelease").text().must_exist("/proc").map(|_| String::new());
    let text = host.read("/proc/modules").text().or_else(no_modules).about("/proc/modules");
    text.map(|text| text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
}

fn nvidia_file(host: &dyn Host) -> Fact<ModuleFile> {
    if !pci::may_have_gpu(host) {
        return Fact::Absent;
    }
    // Not on the PATH of ordinary users on Debian.
    let run = |program| host.run(&[program, "nvidia"], Duration::from_secs(1));
    let reading = match run("modinfo") {
        Reading::Absent => run("/sbin/modinfo"),
        other => other,
    };
    match reading {
        Reading::Ran { status: Some(0), stdout, .. } => parse_modinfo(&stdout),
        Reading::Ran { stderr, .. } if stderr.contains("not found") => Fact::Absent,
        other => other.stdout().must_exist("modinfo").about("modinfo nvidia").and_then(|_| Fact::Absent),
    }
}

/// Reads `filename:       /lib/modules/6.8.0-138-generic/updates/dkms/nvidia.ko.zst` and the lines like it.
fn parse_modinfo(text: &str) -> Fact<ModuleFile> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(str::trim)
            .filter(|value| !value.is_empty())
            .map_or(Fact::Absent, |v| Fact::Known(v.to_owned()))
    };
    let file = field("filename").and_then(|path| {
        field("version").map(|version| ModuleFile {
            path,
            version,
            open: field("license").map(|license| license != "NVIDIA"),
            signer: field("signer"),
        })
    });
    file.or_else(|| Fact::unknown("modinfo names no file and version of the module nvidia"))
}

/// Four bytes of attributes and one of value, which are text without looking like it.
fn secure_boot(host: &dyn Host) -> Fact<bool> {
    const VARIABLE: &str = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    let firmware = || host.list("/sys/firmware/efi").text();
    let sys = || host.list("/sys/bus").text().must_exist("/sys").and_then(|_| Fact::Absent);
    let hidden = |_| Fact::unknown("the EFI variables are not to be seen here (efivarfs is not mounted)");
    let value = host.read(VARIABLE).text().or_else(|| firmware().and_then(hidden)).or_else(sys);
    value.about("Secure Boot").and_then(|text| match text.chars().collect::<Vec<char>>()[..] {
        [_, _, _, _, last] => Fact::Known(last == '\u{1}'),
        _ => Fact::unknown(format!("Secure Boot: the EFI variable has {} bytes instead of 5", text.len())),
    })
}

/// Looks for `/var/lib/dkms/nvidia/550.54.14/6.8.0-45-generic/x86_64/module`.
fn dkms(host: &dyn Host) -> Fact<Vec<Dkms>> {
    const TREE: &str = "/var/lib/dkms";
    let names = |dir: &str| host.list(dir).lines().absent_as(Vec::new());
    let mut found = Vec::new();
    let modules = match host.find(TREE, &["nvidia"]).lines().absent_as(Vec::new()) {
        Fact::Known(modules) => modules,
        other => return other.map(|_| Vec::new()),
    };
    for name in modules {
        let versions = match names(&format!("{TREE}/{name}")) {
            Fact::Known(versions) => versions,
            other => return other.map(|_| Vec::new()),
        };
        for version in versions.iter().filter(|version| version.starts_with(|c: char| c.is_ascii_digit())) {
            let dir = format!("{TREE}/{name}/{version}");
            let kernels = match names(&dir) {
                Fact::Known(kernels) => kernels,
                other => return other.map(|_| Vec::new()),
            };
            let mut built_for = Vec::new();
            for kernel in kernels.into_iter().filter(|kernel| kernel != "source" && kernel != "build") {
                match built(host, &format!("{dir}/{kernel}")) {
                    Fact::Known(true) => built_for.push(kernel),
                    Fact::Known(false) | Fact::Absent => {}
                    Fact::Unknown(why) => return Fact::Unknown(why),
                }
            }
            found.push(Dkms { name: name.clone(), version: version.clone(), built_for });
        }
    }
    Fact::Known(found)
}

/// Whether one of the machine types below a kernel's directory has modules.
fn built(host: &dyn Host, dir: &str) -> Fact<bool> {
    let names = |dir: &str| host.list(dir).lines().absent_as(Vec::new());
    names(dir).and_then(|machines| {
        machines.iter().fold(Fact::Known(false), |found, machine| match found {
            Fact::Known(false) => names(&format!("{dir}/{machine}/module")).map(|names| !names.is_empty()),
            other => other,
        })
    })
}

/// The packages that asked for it, one a line; the file itself says only `*** System restart required ***`.
fn reboot_required(host: &dyn Host) -> Fact<Vec<String>> {
    host.read("/run/reboot-required").text().and_then(|_| {
        let packages = host.read("/run/reboot-required.pkgs").lines().absent_as(Vec::new());
        packages.map(|mut packages| {
            packages.sort();
            packages.dedup();
            packages
        })
    })
}

fn options(host: &dyn Host) -> Fact<Vec<String>> {
    let mut found = Vec::new();
    for dir in ["/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d"] {
        // On merged systems /lib is /usr/lib.
        let names = match host.list(dir).lines().absent_as(Vec::new()) {
            Fact::Known(names) => names,
            other => return other.about(dir),
        };
        for name in names.iter().filter(|name| name.ends_with(".conf")) {
            let path = format!("{dir}/{name}");
            match host.read(&path).text().absent_as(String::new()) {
                Fact::Known(text) => found.extend(parse_options(&text)),
                other => return other.map(|_| Vec::new()).about(&path),
            }
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|line| seen.insert(line.clone()));
    Fact::Known(found)
}

/// Keeps `blacklist nouveau`, `options nvidia NVreg_…`; not comments, and not the unrelated `nvidiafb`.
fn parse_options(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#') && (line.contains("nvidia") || line.contains("nouveau")))
        .filter(|line| !line.ends_with("nvidiafb"))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::testing::Sparse;

    #[test]
    fn modinfo_is_read() {
        let text = "filename:       /lib/modules/6.8.0-138-generic/updates/dkms/nvidia.ko.zst\n\
                    alias:          char-major-195-*\nversion:        610.57.04\nlicense:        Dual \
                    MIT/GPL\n\
                    srcversion:     5B7E5876650E7011D207A04\nsigner:         gpu-node Secure Boot Module \
                    Signature key\n";
        let file = parse_modinfo(text);
        let file = file.known().unwrap();
        assert_eq!(file.version, "610.57.04");
        assert_eq!(file.open, Fact::Known(true));
        assert_eq!(file.signer, Fact::Known("gpu-node Secure Boot Module Signature key".into()));
        assert!(matches!(parse_modinfo("garbage"), Fact::Unknown(_)));
    }

    #[test]
    fn distinguishes_missing_module_from_missing_modinfo() {
        let mut host = Sparse::new(&[
            ("list /sys/bus/pci/devices", "0000:01:00.0"),
            ("read /sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n"),
            ("read /sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n"),
        ]);
        assert_eq!(nvidia_file(&host), Fact::unknown("modinfo nvidia: modinfo does not exist here"));
        let ran = Reading::Ran {
            status: Some(1),
            stdout: String::new(),
            stderr: "modinfo: ERROR: Module nvidia not found.\n".into(),
        };
        host.0.insert("run /sbin/modinfo nvidia".into(), ran);
        assert_eq!(nvidia_file(&host), Fact::Absent);
        assert_eq!(nvidia_file(&Sparse::new(&[("list /sys/bus", "cpu")])), Fact::Absent);
    }

    #[test]
    fn distinguishes_built_from_added_dkms_modules() {
        let host = Sparse::new(&[
            ("find /var/lib/dkms nvidia", "nvidia"),
            ("list /var/lib/dkms/nvidia", "465.19.01\n550.54.14\nkernel-6.8.0-45-generic-x86_64"),
            ("list /var/lib/dkms/nvidia/465.19.01", "source"),
            ("list /var/lib/dkms/nvidia/550.54.14", "6.8.0-45-generic\n6.8.0-47-generic\nbuild\nsource"),
            ("list /var/lib/dkms/nvidia/550.54.14/6.8.0-45-generic", "x86_64"),
            ("list /var/lib/dkms/nvidia/550.54.14/6.8.0-45-generic/x86_64/module", "nvidia.ko.zst"),
            ("list /var/lib/dkms/nvidia/550.54.14/6.8.0-47-generic", "x86_64"),
        ]);
        let entry = |version: &str, built: &[&str]| Dkms {
            name: "nvidia".into(),
            version: version.into(),
            built_for: built.iter().map(|&kernel| kernel.to_owned()).collect(),
        };
        let expected = vec![entry("465.19.01", &[]), entry("550.54.14", &["6.8.0-45-generic"])];
        assert_eq!(dkms(&host), Fact::Known(expected));
        assert_eq!(dkms(&Sparse::new(&[])), Fact::Known(vec![]));
    }

    #[test]
    fn reads_secure_boot_state() {
        const VARIABLE: &str =
            "read /sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
        assert_eq!(secure_boot(&Sparse::new(&[(VARIABLE, "\u{6}\0\0\0\u{1}")])), Fact::Known(true));
        assert_eq!(secure_boot(&Sparse::new(&[(VARIABLE, "\u{6}\0\0\0\0")])), Fact::Known(false));
        assert_eq!(secure_boot(&Sparse::new(&[("list /sys/bus", "pci")])), Fact::Absent);
        assert!(matches!(
            secure_boot(&Sparse::new(&[("list /sys/firmware/efi", "efivars")])),
            Fact::Unknown(_)
        ));
        assert!(matches!(secure_boot(&Sparse::new(&[])), Fact::Unknown(_)));
    }

    #[test]
    fn modules_and_options_are_read() {
        let host = Sparse::new(&[
            (
                "read /proc/modules",
                "nvidia_uvm 4260675 12 - Live 0x60cdd02eea624fc2 (POE)\nnouveau 1 0 - Live 0x0\n",
            ),
            (
                "list /etc/modprobe.d",
                "blacklist-framebuffer.conf\nnvidia-installer-disable-nouveau.conf\nREADME",
            ),
            ("read /etc/modprobe.d/blacklist-framebuffer.conf", "blacklist nvidiafb\nblacklist rivafb\n"),
            (
                "read /etc/modprobe.d/nvidia-installer-disable-nouveau.conf",
                "# generated by nvidia-installer\nblacklist nouveau\noptions  nouveau modeset=0\n",
            ),
        ]);
        assert_eq!(loaded(&host), Fact::Known(vec!["nvidia_uvm".into(), "nouveau".into()]));
        assert_eq!(
            options(&host),
            Fact::Known(vec!["blacklist nouveau".into(), "options nouveau modeset=0".into()])
        );
        assert!(matches!(loaded(&Sparse::new(&[])), Fact::Unknown(_)));
        assert_eq!(
            loaded(&Sparse::new(&[("read /proc/sys/kernel/osrelease", "6.1.0\n")])),
            Fact::Known(vec![])
        );
    }

    #[test]
    fn reads_packages_that_require_a_reboot() {
        let host = Sparse::new(&[
            ("read /run/reboot-required", "*** System restart required ***\n"),
            ("read /run/reboot-required.pkgs", "linux-image-6.8.0-47-generic\nlinux-base\nlinux-base\n"),
        ]);
        let packages = vec!["linux-base".into(), "linux-image-6.8.0-47-generic".into()];
        assert_eq!(reboot_required(&host), Fact::Known(packages));
        assert_eq!(reboot_required(&Sparse::new(&[])), Fact::Absent);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
    fn the_corpus_is_read() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/outputs");
        for (file, wanted) in [
            ("proc-modules-gtx1080ti-430.40.txt", Some("nvidia")),
            ("proc-modules-lambda-a6000-x2.txt", Some("nvidia_uvm")),
            ("proc-modules-no-nvidia.txt", None),
            ("proc-modules-precision7530-p3200-mixed-drivers.txt", Some("nvidia")),
        ] {
            let text = std::fs::read_to_string(format!("{dir}/system/{file}")).unwrap();
            let modules = loaded(&Sparse::new(&[("read /proc/modules", &text)]));
            let modules = modules.known().unwrap();
            assert!(!modules.is_empty(), "{file}");
            assert_eq!(modules.iter().any(|name| name.starts_with("nvidia")), wanted.is_some(), "{file}");
            assert!(wanted.is_none_or(|wanted| modules.iter().any(|name| name == wanted)), "{file}");
        }
        let file = format!("{dir}/packages/modinfo-nvidia-610.57.04-dkms-excerpt.txt");
        let file = parse_modinfo(&std::fs::read_to_string(file).unwrap());
        assert_eq!(
            file.map(|file| (file.version, file.open)),
            Fact::Known(("610.57.04".into(), Fact::Absent))
        );
    }
}
