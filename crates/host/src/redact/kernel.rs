//! What the kernel shows: its parameters, its log, mounts, sockets, and the settings of its modules.

use super::{HIDDEN, Redactor, listed};
use crate::sensitivity::KERNEL_LOG_WORDS;

/// Parameters whose values stay: they decide what the kernel does with GPUs, memory, PCI Express and cgroups.
const PARAMETERS: &str = "\
    amd_iommu intel_iommu iommu iommu.passthrough iommu.strict pci pcie_aspm pcie_ports \
    pcie_acs_override vfio-pci.ids vfio_iommu_type1.allow_unsafe_interrupts \
    systemd.unified_cgroup_hierarchy systemd.legacy_systemd_cgroup_controller cgroup_disable \
    cgroup_enable cgroup_no_v1 swapaccount default_hugepagesz hugepages hugepagesz transparent_hugepage \
    isolcpus nohz nohz_full rcu_nocbs irqaffinity numa numa_balancing mitigations modprobe.blacklist \
    module_blacklist rd.driver.blacklist rd.driver.pre nouveau.modeset nouveau.blacklist video vga \
    console tsc clocksource processor.max_cstate intel_idle.max_cstate intel_pstate amd_pstate \
    cpufreq.default_governor crashkernel selinux enforcing apparmor security audit lockdown loglevel \
    panic cma mem maxcpus nr_cpus init_on_alloc init_on_free nmi_watchdog nvme_core.io_timeout \
    net.ifnames biosdevname ipv6.disable fips rootfstype consoleblank page_alloc.shuffle kvm.ignore_msrs";
/// Parameters of these modules stay with their values.
const MODULES: &str = "\
    nvidia nouveau mlx5_ mlx4_ ib_ rdma iommu amdgpu vfio gdrdrv";
/// Parameters that are a word alone.
const SWITCHES: &str = "\
    ro rw quiet splash nosplash single nomodeset noapic nolapic noresume nosmt nopti nokaslr debug \
    nohpet noiommu kvm rhgb text --- -- nofb nvme.poll_queues noexec earlyprintk norandmaps efi noefi \
    rootwait auto recovery systemd.debug-shell";
/// Keys that stay without their values.
const KEYS: &str = "\
    root resume ip BOOT_IMAGE initrd init ds autoinstall luks cryptdevice net netroot nfsroot \
    rd.luks.uuid rd.lvm.lv rd.md.uuid dhcp boot hostname systemd.hostname systemd.setenv url inst.ks \
    inst.repo cloud-config-url";

/// `BOOT_IMAGE=/boot/vmlinuz-6.8.0 root=UUID=… ro iommu=pt`
pub(super) fn parameters(text: &str) -> String {
    let shown: Vec<String> = quoted_words(text).iter().map(|word| parameter(word)).collect();
    shown.join(" ") + "\n"
}

fn parameter(word: &str) -> String {
    let Some((key, value)) = word.split_once('=') else {
        return if listed(SWITCHES, word) { word.to_owned() } else { HIDDEN.to_owned() };
    };
    let module = key.split_once('.').is_some_and(|(module, _)| is_module(module));
    let kept = match key {
        "BOOT_IMAGE" => is_kernel_image(value),
        "root" | "resume" => is_plain_device(value),
        "modprobe.blacklist"
        | "module_blacklist"
        | "rd.driver.blacklist"
        | "rd.driver.pre"
        | "console"
        | "rootfstype"
        | "video"
        | "nouveau.blacklist" => is_setting(value),
        _ => (listed(PARAMETERS, key) || module || key.starts_with("hugepage")) && is_parameter_value(value),
    };
    match kept {
        true => word.to_owned(),
        false if listed(PARAMETERS, key) || listed(KEYS, key) || module => format!("{key}={HIDDEN}"),
        false => HIDDEN.to_owned(),
    }
}

fn is_module(name: &str) -> bool {
    name.len() < 24 && MODULES.split_whitespace().any(|module| name.starts_with(module))
}

/// What values of the kernel's parameters are: numbers, sizes, addresses of devices, and words that it knows.
fn is_parameter_value(value: &str) -> bool {
    const WORDS: &str = "\
        on off pt nopt strict lazy fullflush force noforce soft merge nomerge forcedac noagp allowed \
        memaper sp_off \
        sm_on igfx_off realloc noaer nomsi assign-busses nocrs use_crs pcie_bus_perf pcie_bus_safe \
        pcie_bus_tune_off \
        pcie_bus_peer2peer hpmemsize hpmmiosize hpmmioprefsize hpbussize resource_alignment \
        big_root_window noats \
        disable_acs_redir config_acs earlydump conf1 conf2 nommconf performance powersave powersupersave \
        default native \
        compat dpc-native auto nosmt mitigations always madvise never enable disable passive active \
        guided only nohwp \
        hwp_only no_hwp support_acpi_ppc per_cpu_perf_limits tsc hpet acpi_pm jiffies kvm-clock reliable \
        unstable \
        nowatchdog recalibrate watchdog schedutil ondemand conservative userspace interactive selinux \
        apparmor integrity \
        confidentiality none smack tomoyo memory cpu cpuset io pids rdma hugetlb misc devices freezer \
        net_cls net_prio \
        perf_event named all domain managed_irq nohz downstream multifunction id high low crashkernel cma \
        verbose \
        ignore_loglevel fake noacpi nohmat y n yes no true false panic nopanic lapic normal text ask keep \
        ondisk ibt lsm \
        lockdown yama landlock bpf capability";
    value.len() < 200
        && value.split([',', ';', ':', '=', '@', '/', '+', '&', '-']).all(|part| {
            let digits =
                part.trim_start_matches("0x").trim_end_matches(['K', 'M', 'G', 'T', 'k', 'm', 'g', 's']);
            let number =
                part.len() < 17 && digits.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'.');
            let decimal = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            // `10de:20b0` and `0000:af:00.0` are devices.
            number && (decimal || part.starts_with("0x") || [2, 4].contains(&digits.len()))
                || listed(WORDS, &part.to_ascii_lowercase())
                || part.starts_with("NVreg_") && part.len() < 60
                || part.starts_with("Rm")
                    && part.len() < 40
                    && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

/// What values of settings are made of: `pt`, `realloc=off`, `1G`, `ttyS0,115200n8`, `10de:20b0`.
fn is_setting(value: &str) -> bool {
    value.len() < 200
        && value.split([',', ';']).all(|part| {
            part.len() < 24
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:=-@/+!".contains(&byte))
        })
}

/// `/boot/vmlinuz-6.8.0-45-generic`, `(hd0,gpt2)/vmlinuz-5.14.0`
fn is_kernel_image(value: &str) -> bool {
    let path = value.split_once(')').map_or(value, |(_, path)| path);
    let name = path.trim_start_matches("/boot").trim_start_matches('/').trim_start_matches("EFI/Linux/");
    let Some(version) = name.strip_prefix("vmlinuz").or_else(|| name.strip_prefix("bzImage")) else {
        return false;
    };
    version.len() < 48
        && !version.contains('/')
        && (version.is_empty()
            || version.starts_with("-linux")
            || version[1..].starts_with(|c: char| c.is_ascii_digit()))
}

/// A device that is named by its kind and number, or by a UUID: the names of volumes hold those of machines.
pub(super) fn is_plain_device(value: &str) -> bool {
    let kinds = ["sd", "vd", "xvd", "nvme", "md", "dm-", "mmcblk", "loop", "hd", "zd", "sr"];
    let name = value.strip_prefix("/dev/").unwrap_or_default();
    let plain = kinds.iter().any(|kind| name.starts_with(kind))
        && name.len() < 16
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let by_uuid = value.strip_prefix("UUID=").or_else(|| value.strip_prefix("PARTUUID="));
    plain
        || by_uuid.is_some_and(|uuid| {
            uuid.len() <= 40 && uuid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        })
        || value == "LABEL=cloudimg-rootfs"
}

/// Words between white space; quotes hold words together and stay.
pub(super) fn quoted_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in text.trim().chars() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.push(String::new()),
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            _ => {}
        }
        if let Some(word) = words.last_mut().filter(|_| quote.is_some() || !c.is_whitespace()) {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The kernel's log: records that name what checks look at; of others the first keeps its beginning, so that
/// a log without such records stays a log.
pub(super) fn log(text: &str) -> String {
    let mut out = Vec::new();
    let mut other = false;
    for line in text.lines() {
        let parameters = line.contains("ommand line:");
        if KERNEL_LOG_WORDS.iter().any(|word| line.contains(word)) && !parameters {
            out.push(line.to_owned());
        } else if !other {
            other = true;
            out.push(format!("{}{HIDDEN}", beginning(line)));
        }
    }
    out.join("\n") + "\n"
}

/// Up to the text of a record: `6,1,5,-;`, `[    0.0] `, `2026-11-24T10:00:00+0000 node kernel: `.
fn beginning(line: &str) -> &str {
    let is_head = |head: &str| head.bytes().all(|byte| byte.is_ascii_digit() || b",- .[]c;".contains(&byte));
    let journal = line.find(" kernel: ").map(|at| at + 9);
    let end = journal.or_else(|| {
        let at = line.find(';').or_else(|| line.find("] ").map(|at| at + 1))?;
        is_head(&line[..=at]).then_some(at + 1)
    });
    let head = end.map_or("", |end| &line[..end]);
    // More than a date and a name of a machine before the word is no journal.
    if head.split_whitespace().count() > 5 { "" } else { head }
}

/// Words of mount options.
const OPTIONS: &str = "\
    rw ro relatime noatime nodiratime strictatime nosuid nodev noexec sync dirsync mand discard \
    errors=remount-ro inode64 nsdelegate memory_recursiveprot nr_inodes seclabel attr2 noquota xino=off \
    userxattr metacopy=on index=off";
/// Kinds of file systems.
const KINDS: &str = "\
    overlay ext2 ext3 ext4 xfs btrfs zfs tmpfs ramfs devtmpfs devpts proc sysfs cgroup cgroup2 mqueue \
    hugetlbfs securityfs debugfs tracefs pstore efivarfs bpf configfs fusectl fuse fuseblk \
    fuse.fuse-overlayfs fuse.lxcfs fuse.sshfs fuse.s3fs nfs nfs4 cifs smb3 lustre beegfs ceph gpfs 9p \
    virtiofs drvfs squashfs erofs iso9660 vfat autofs binfmt_misc rpc_pipefs nsfs aufs rootfs shiftfs";
/// Where systems and engines mount.
const POINTS: &[&str] =
    &["/proc", "/sys", "/dev", "/run/lock", "/run/user", "/boot", "/usr/lib/modules", "/usr/lib/firmware"];
const SINGLE_POINTS: &str = "\
    / /run /tmp /var /var/lib /home /etc /opt /usr /etc/hosts /etc/hostname /etc/resolv.conf /snap /mnt \
    /srv";

/// `/proc/self/mountinfo`: kinds and places of the system; sources and options that are not known are hidden.
pub(super) fn mounts(text: &str) -> String {
    let lines = text.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ');
        let mut number =
            || before.next().filter(|word| word.bytes().all(|b| b.is_ascii_digit() || b == b':'));
        let numbers = [number()?, number()?, number()?].join(" ");
        let (root, point, options) = (before.next()?, before.next()?, before.next()?);
        let mut after = after.split(' ');
        let (kind, source, own) = (after.next()?, after.next()?, after.next().unwrap_or("rw"));
        let kind = if listed(KINDS, kind) { kind } else { HIDDEN };
        let source = if listed(KINDS, source) || source == "none" || is_plain_device(source) {
            source
        } else {
            HIDDEN
        };
        Some(format!(
            "{numbers} {} {} {} - {kind} {source} {}",
            if root == "/" { root } else { HIDDEN },
            if is_known_point(point) { point } else { HIDDEN },
            known_options(options),
            known_options(own)
        ))
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn is_known_point(point: &str) -> bool {
    listed(SINGLE_POINTS, point)
        || POINTS.iter().any(|start| {
            point.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
}

fn known_options(options: &str) -> String {
    let known = |option: &&str| {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let number =
            value.bytes().all(|byte| byte.is_ascii_digit() || b"kmgKMG%".contains(&byte)) && value.len() < 12;
        listed(OPTIONS, option)
            || (["size", "mode", "uid", "gid", "nr_inodes", "stripe", "logbsize"].contains(&key) && number)
    };
    let mut shown: Vec<&str> = options.split(',').filter(known).collect();
    if shown.len() < options.split(',').count() {
        shown.push(HIDDEN);
    }
    shown.join(",")
}

/// `/proc/net/unix`: the sockets of engines.
pub(super) fn sockets(text: &str) -> String {
    const NAMES: &[&str] = &["/docker.sock", "/containerd.sock", "/podman.sock", "/cri-dockerd.sock"];
    let kept = text.lines().filter(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields.len() {
            8 if fields[0] == "Num" => true,
            8 => NAMES.iter().any(|name| fields[7].ends_with(name)),
            _ => false,
        }
    });
    kept.collect::<Vec<_>>().join("\n") + "\n"
}

/// Settings of modules: which are kept from loading, and the options of the drivers that checks judge.
pub(super) fn module_options(text: &str) -> String {
    let is_name = |word: &&str| {
        word.len() < 32 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-*".contains(&b))
    };
    let lines = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (command, rest) = words.split_first()?;
        match *command {
            "blacklist" | "softdep" | "alias"
                if rest.iter().all(|word| is_name(&word.trim_end_matches(':'))) =>
            {
                Some(words.join(" "))
            }
            "options" => {
                let (module, options) = rest.split_first()?;
                let shown = options.iter().map(|option| match option.split_once('=') {
                    Some((_, value)) if is_module(module) && is_setting(value) => (*option).to_owned(),
                    Some((_, value))
                        if value.len() < 10 && value.parse::<u64>().is_ok() && is_name(module) =>
                    {
                        (*option).to_owned()
                    }
                    _ => HIDDEN.to_owned(),
                });
                let module = if is_name(module) { *module } else { HIDDEN };
                Some(format!("options {module} {}", shown.collect::<Vec<_>>().join(" ")))
            }
            "install" | "remove" => {
                let (module, program) = rest.split_first()?;
                let module = if is_name(module) { *module } else { HIDDEN };
                let known =
                    ["/bin/false", "/bin/true", "/usr/bin/false", "/usr/bin/true", "false", "true", ":"];
                let known = program.len() == 1 && known.contains(&program[0]);
                Some(format!("{command} {module} {}", if known { program[0] } else { HIDDEN }))
            }
            _ => None,
        }
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

impl Redactor {
    /// `modinfo`: what names the module's file, version and licence.
    pub(super) fn module(&mut self, text: &str) -> String {
        const FIELDS: &[&str] =
            &["filename", "version", "license", "srcversion", "vermagic", "name", "retpoline", "intree"];
        const SIGNERS: &[&str] =
            &["Canonical Ltd. Kernel Module Signing", "DKMS module signing key", "NVIDIA Corporation"];
        let lines = text.lines().filter_map(|line| {
            let (field, value) = line.split_once(':')?;
            if field == "signer" {
                let value = match SIGNERS.iter().find(|known| value.trim() == **known) {
                    Some(known) => (*known).to_owned(),
                    None => format!("signer-{}", self.number("signer", value.trim())),
                };
                return (!line.trim_end().ends_with(':')).then(|| format!("signer:         {value}"));
            }
            FIELDS.contains(&field).then(|| line.to_owned())
        });
        lines.collect::<Vec<_>>().join("\n") + "\n"
    }
}
