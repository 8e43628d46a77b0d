//! The hypervisor, where there is one.

use crate::Fact;
use crate::IntoFact;
use host::{Host, Reading};

/// What DMI says of virtual machines: the beginning of the vendor, a part of the product, the hypervisor.
const MACHINES: &[(&str, &str, &str)] = &[
    ("QEMU", "", "kvm"),
    ("Red Hat", "", "kvm"),
    ("oVirt", "", "kvm"),
    ("OpenStack", "", "kvm"),
    ("Google", "Google Compute Engine", "kvm"),
    ("DigitalOcean", "", "kvm"),
    ("Alibaba Cloud", "ECS", "kvm"),
    ("VMware", "", "vmware"),
    ("innotek GmbH", "", "virtualbox"),
    ("Oracle Corporation", "VirtualBox", "virtualbox"),
    ("Xen", "", "xen"),
    ("Microsoft Corporation", "Virtual Machine", "hyperv"),
    ("Parallels", "", "parallels"),
];

/// Clock sources that only a hypervisor offers.
const CLOCKS: &[(&str, &str)] = &[("kvm-clock", "kvm"), ("hyperv_clocksource", "hyperv"), ("xen", "xen")];

pub(super) fn gather(host: &dyn Host) -> Fact<String> {
    let vendor = host.read("/sys/class/dmi/id/sys_vendor").text();
    let product = host.read("/sys/class/dmi/id/product_name").text();
    if let (Some(vendor), Some(product)) = (vendor.known(), product.known())
        && let Some(name) = by_dmi(vendor.trim(), product.trim())
    {
        return Fact::Known(name.into());
    }
    let clocks = host.read("/sys/devices/system/clocksource/clocksource0/available_clocksource").text();
    if let Some(clocks) = clocks.known() {
        let offered = |clock: &str| clocks.split_whitespace().any(|word| word.starts_with(clock));
        if let Some((_, name)) = CLOCKS.iter().find(|(clock, _)| offered(clock)) {
            return Fact::Known((*name).into());
        }
    }
    by_processor(host, vendor.known().is_some())
}

fn by_dmi(vendor: &str, product: &str) -> Option<&'static str> {
    MACHINES
        .iter()
        .find(|(v, p, _)| vendor.starts_with(v) && product.contains(p))
        .map(|(_, _, name)| *name)
        .or_else(|| product.contains("KVM").then_some("kvm"))
}

/// An x86 processor shows its guests the flag `hypervisor`. Other architectures have no such flag.
fn by_processor(host: &dyn Host, has_dmi: bool) -> Fact<String> {
    let text = match host.read("/proc/cpuinfo") {
        Reading::Text(text) => text,
        Reading::Failed(why) => return Fact::Unknown(why),
        _ => return Fact::unknown("/proc/cpuinfo does not exist here"),
    };
    let flags = text.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':'));
    match flags {
        Some((_, flags)) if flags.split_whitespace().any(|flag| flag == "hypervisor") => {
            Fact::Known("unidentified hypervisor".into())
        }
        Some(_) => Fact::Absent,
        None if has_dmi => Fact::Absent,
        None => Fact::unknown("neither DMI nor CPU flags show whether there is a hypervisor"),
    }
}
