//! A number of GPUs that no baseboard has.

use std::collections::BTreeSet;

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::pci::Device;
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "gpu-board-incomplete",
    group: Group::Pci,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "every GPU module of the baseboard is on the PCI bus",
    explain: include_str!("gpu_board_incomplete.md"),
    judge,
};

/// GPUs of a baseboard with NVSwitches, in each generation.
const BOARD_GPUS: usize = 8;
/// GPUs of a virtual machine that has NVSwitches: the configurations that NVIDIA supports.
const GUEST_GPUS: &[usize] = &[1, 2, 4, 8, 16];

fn judge(facts: &Facts) -> Judged {
    if facts.expected.gpus.is_some() {
        return Err(Verdict::NotApplicable("a number of GPUs is expected: see gpu-missing-from-bus".into()));
    }
    if *facts.inside_container().require("could not determine whether this is a container")? {
        return Err(Verdict::NotApplicable("a container has only the GPUs assigned to it".into()));
    }
    let devices = facts.pci.devices.require("no PCI bus")?;
    let found = facts.pci.gpus().count();
    match devices.iter().filter(|device| device.is_nvswitch()).count() {
        0 => by_modules(facts, found),
        switches => by_switches(facts, found, switches),
    }
}

/// With NVSwitches: a board has eight GPUs, a virtual machine the whole of it or a supported part.
fn by_switches(facts: &Facts, found: usize, switches: usize) -> Judged {
    let boards = found > 0 && found.is_multiple_of(BOARD_GPUS);
    let (usual, guest) = match &facts.system.virtualisation {
        Fact::Absent => (boards, false),
        Fact::Known(_) => (boards || GUEST_GPUS.contains(&found), true),
        Fact::Unknown(why) if !boards && GUEST_GPUS.contains(&found) => {
            return Err(Verdict::Unknown(why.clone()));
        }
        Fact::Unknown(_) => (boards, false),
    };
    if usual {
        return Ok(Verdict::Pass);
    }
    let expected = match guest {
        true => "a virtual machine with NVSwitches gets 1, 2, 4, 8 or 16".to_owned(),
        false => format!("a baseboard with NVSwitches has {BOARD_GPUS}"),
    };
    let message = format!("{} and {switches} NVSwitches on the PCI bus, but {expected}", gpus(found));
    Ok(with_gpus(facts, Verdict::warning(message, fix(found))))
}

/// Without: modules are numbered from 1 on their board. Cards that are no modules all have the same number.
fn by_modules(facts: &Facts, found: usize) -> Judged {
    let unknown =
        || Err(Verdict::NotApplicable("the number of GPUs that this board should have is unknown".into()));
    if facts.system.virtualisation.decided()?.is_some() {
        return unknown();
    }
    let Some(list) = facts.gpu.list.decided()? else { return unknown() };
    let ids: BTreeSet<u32> = list.iter().filter_map(|gpu| gpu.module.known().copied()).collect();
    let Some(&highest) = ids.last() else { return unknown() };
    if ids.len() < 2 || ids.len() != list.len() || list.len() != found || ids.contains(&0) {
        return unknown();
    }
    // A board has one, two, four or eight modules: the eighth may be the one that is missing.
    let modules = highest.next_power_of_two();
    let missing: Vec<String> =
        (1..=modules).filter(|id| !ids.contains(id)).map(|id| id.to_string()).collect();
    if missing.is_empty() {
        return Ok(Verdict::Pass);
    }
    let known = highest as usize > found || modules as usize == BOARD_GPUS;
    if !known {
        return unknown();
    }
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    let message = format!(
        "{} on the PCI bus, but this board has {modules} GPU modules; missing: module {}",
        gpus(found),
        missing.join(", ")
    );
    let verdict = Verdict::warning(message, fix(found));
    Ok(with_gpus(facts, verdict).evidence(format!("module ids of nvidia-smi -q: {}", ids.join(", "))))
}

fn fix(found: usize) -> Fix {
    let expect = format!("envdoc check --expect gpus={found}");
    Fix::needs_reboot(
        "Check the management controller's log, power-cycle the machine, then reseat the module. If this \
         number is right, say so with --expect:",
        &["lspci -nn -d 10de:", "sudo dmesg | grep -i -E 'pcie|nvrm'", &expect],
    )
}

fn with_gpus(facts: &Facts, verdict: Verdict) -> Verdict {
    let name = |gpu: &Device| format!("{} {}", gpu.address, crate::gpu::name(facts, gpu));
    facts.pci.gpus().fold(verdict, |verdict, gpu| verdict.evidence(name(gpu)))
}

fn gpus(count: usize) -> String {
    match count {
        0 => "no GPU".into(),
        1 => "1 GPU".into(),
        count => format!("{count} GPUs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::pci::{device, gpu};
    use facts::testing::server::server;
    use facts::testing::smi;

    /// A bare-metal machine with so many GPUs and NVSwitches on its bus.
    fn board(gpus: usize, switches: usize) -> Facts {
        server(|f| {
            let mut devices: Vec<_> = (0..gpus).map(|index| gpu(&format!("0000:{index:02x}:00.0"))).collect();
            devices
                .extend((0..switches).map(|one| device(&format!("0000:8{one}:00.0"), 0x06_80_00, "nvidia")));
            f.pci.devices = Fact::Known(devices);
        })
    }

    #[test]
    fn with_nvswitches_a_board_has_eight() {
        expect(&CHECK, &board(8, 4), "pass", "");
        expect(&CHECK, &board(16, 12), "pass", "");
        expect(&CHECK, &board(7, 4), "warning", "7 GPUs and 4 NVSwitches on the PCI bus, but");
        expect(&CHECK, &board(4, 4), "warning", "a baseboard with NVSwitches has 8");
        expect(&CHECK, &board(0, 4), "warning", "no GPU");
        let mut guest = board(4, 4);
        guest.system.virtualisation = Fact::Known("kvm".into());
        expect(&CHECK, &guest, "pass", "");
        guest.system.virtualisation = Fact::Unknown("not read".into());
        expect(&CHECK, &guest, "unknown", "not read");
        let mut guest = board(7, 4);
        guest.system.virtualisation = Fact::Known("kvm".into());
        expect(&CHECK, &guest, "warning", "1, 2, 4, 8 or 16");
    }

    #[test]
    fn unread_gpus_without_nvswitches_are_unknown() {
        let mut facts = board(4, 0);
        facts.gpu.list = Fact::Unknown("nvidia-smi: permission denied".into());
        expect(&CHECK, &facts, "unknown", "nvidia-smi: permission denied");
    }

    #[test]
    fn not_applicable_in_containers_or_with_expected_gpus() {
        let mut facts = board(7, 4);
        facts.expected.gpus = Some(7);
        expect(&CHECK, &facts, "not-applicable", "gpu-missing-from-bus");
        let mut facts = board(7, 4);
        facts.system.container = Fact::Known("docker".into());
        expect(&CHECK, &facts, "not-applicable", "container");
        let mut facts = board(7, 4);
        facts.pci.devices = Fact::Unknown("not shown".into());
        expect(&CHECK, &facts, "unknown", "not shown");
    }

    /// A bare-metal machine without NVSwitches on its bus whose GPUs have these module ids.
    fn modules(ids: &[u32]) -> Facts {
        let xml = |id: &u32| format!("<platformInfo><module_id>{id}</module_id></platformInfo>");
        let xml: Vec<String> = ids.iter().map(xml).collect();
        let mut facts = board(ids.len(), 0);
        facts.gpu = smi::machine(&xml.iter().map(String::as_str).collect::<Vec<_>>()).gpu;
        facts
    }

    #[test]
    fn reports_missing_module_numbers_without_nvswitches() {
        expect(&CHECK, &modules(&[4, 2, 1, 3, 8, 6, 5, 7]), "pass", "");
        expect(&CHECK, &modules(&[1, 2, 3, 4]), "pass", "");
        expect(&CHECK, &modules(&[4, 2, 1, 3, 8, 6, 7]), "warning", "has 8 GPU modules; missing: module 5");
        expect(&CHECK, &modules(&[1, 2, 3, 4, 5, 6, 7]), "warning", "missing: module 8");
        expect(&CHECK, &modules(&[1, 2, 4]), "warning", "has 4 GPU modules; missing: module 3");
        // Three of a board of four, or of one of three: nobody says.
        expect(&CHECK, &modules(&[1, 2, 3]), "not-applicable", "");
        // Cards: not modules of one board.
        expect(&CHECK, &modules(&[1; 7]), "not-applicable", "");
        expect(&CHECK, &modules(&[0; 7]), "not-applicable", "");
        expect(&CHECK, &modules(&[7]), "not-applicable", "");
        let mut guest = modules(&[1, 3, 4, 6]);
        guest.system.virtualisation = Fact::Known("kvm".into());
        expect(&CHECK, &guest, "not-applicable", "");
    }
}
