//! The hypervisor, where there is one.

use crate::Fact;
use crate::IntoFact;
use catalog::Catalog;
use host::{Host, Reading};

pub(super) fn gather(host: &dyn Host, catalog: &Catalog) -> Fact<String> {
    let vendor = host.read("/sys/class/dmi/id/sys_vendor").text();
    let product = host.read("/sys/class/dmi/id/product_name").text();
    if let (Some(vendor), Some(product)) = (vendor.known(), product.known())
        && let Some(name) = catalog.hypervisors().by_dmi(vendor.trim(), product.trim())
    {
        return Fact::Known(name.into());
    }
    let clocks = host.read("/sys/devices/system/clocksource/clocksource0/available_clocksource").text();
    if let Some(clocks) = clocks.known() {
        let available: Vec<&str> = clocks.split_whitespace().collect();
        if let Some(name) = catalog.hypervisors().by_clock_sources(&available) {
            return Fact::Known(name.into());
        }
    }
    by_processor(host, vendor.known().is_some())
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
