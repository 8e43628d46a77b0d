//! What the machine is, in three or four lines.

use facts::pci::Device;
use facts::{Fact, Facts, Role};

/// Lines such as `Ubuntu 22.04.5 LTS · Linux 5.15.0 · x86_64`, `64 CPUs · AMD EPYC 9334 32-Core Processor`
/// and `8 × NVIDIA H100 80GB HBM3 · driver 550.90.07 · CUDA 12.4`.
pub fn lines(facts: &Facts) -> Vec<String> {
    [system(facts), join(cpu(facts)), gpus(facts), engine(facts)].into_iter().flatten().collect()
}

/// The same for programs, as far as it is known: name and value.
pub fn properties(facts: &Facts) -> Vec<(&'static str, String)> {
    let system = &facts.system;
    let mut all: Vec<(&'static str, Option<String>)> = vec![
        ("os", system.os.known().map(|os| os.pretty_name.clone())),
        ("kernel", system.kernel.known().cloned()),
        ("architecture", system.architecture.known().cloned()),
        ("virtualization", system.virtualisation.known().map(ToString::to_string)),
        ("container", system.container.known().map(ToString::to_string)),
    ];
    let joined = |parts: Vec<String>| (!parts.is_empty()).then(|| parts.join(", "));
    let driver = facts.driver.module.known().map(|module| module.version.to_string());
    let driver = driver.or_else(|| facts.gpu.driver.known().map(ToString::to_string));
    all.extend([
        ("cpu", joined(cpu(facts))),
        ("gpus", joined(models(facts))),
        ("driver", driver),
        ("cuda", facts.gpu.cuda.known().cloned()),
        ("docker", facts.docker.info_text(&["ServerVersion"]).known().cloned()),
        ("container_toolkit", facts.toolkit.version.known().map(ToString::to_string)),
        ("time", time(facts)),
    ]);
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// What the machine's clock shows, in UTC: `2026-11-27T19:34:46Z`.
pub fn time(facts: &Facts) -> Option<String> {
    let seconds = *facts.clock.now.known()?;
    Some(jiff::Timestamp::from_second(seconds).ok()?.to_string())
}

fn system(facts: &Facts) -> Option<String> {
    let system = &facts.system;
    let mut parts = Vec::new();
    parts.extend(system.os.known().map(|os| os.pretty_name.clone()));
    parts.extend(system.kernel.known().map(|kernel| format!("Linux {kernel}")));
    parts.extend(system.architecture.known().cloned());
    parts.extend(system.wsl.known().map(|wsl| format!("WSL{}", wsl.version)));
    parts.extend(
        system.virtualisation.known().filter(|_| system.wsl == Fact::Absent).map(|v| format!("on {v}")),
    );
    parts.extend(system.container.known().map(|container| format!("inside a container ({container})")));
    join(parts)
}

/// The number of processors and their model, as far as they are known.
fn cpu(facts: &Facts) -> Vec<String> {
    let number = facts.limits.cpus.known().filter(|&&number| number > 0);
    let number = number.map(|number| format!("{number} CPU{}", if *number == 1 { "" } else { "s" }));
    number.into_iter().chain(facts.system.cpu_model.known().cloned()).collect()
}

/// The GPUs as the driver names them; where it does not answer, those that the PCI bus shows.
fn models(facts: &Facts) -> Vec<String> {
    if let Some(gpus) = facts.gpu.list.known().filter(|gpus| !gpus.is_empty()) {
        return count(gpus.iter().map(|gpu| gpu.name.as_str()));
    }
    let name = |device: &Device| match facts.catalog.gpus().by_pci(device.device) {
        Some(gpu) => format!("NVIDIA {} (PCI)", gpu.name),
        None => format!("NVIDIA GPU {:04x}:{:04x} (PCI)", device.vendor, device.device),
    };
    let names: Vec<String> = facts.pci.gpus().map(name).collect();
    count(names.iter().map(String::as_str))
}

fn gpus(facts: &Facts) -> Option<String> {
    match (facts.has_gpu(), facts.role()) {
        (Fact::Known(false), Fact::Known(Role::BuildHost)) => {
            return Some(
                "no NVIDIA GPU found; checked as a build host (--expect role=gpu-node changes that)".into(),
            );
        }
        (Fact::Known(false), _) => return Some("no NVIDIA GPU".into()),
        _ => {}
    }
    let mut parts = Vec::new();
    parts.extend(models(facts));
    match &facts.driver.module {
        Fact::Known(module) => {
            parts.push(format!("driver {}{}", module.version, if module.open { " (open)" } else { "" }));
        }
        _ => match &facts.gpu.driver {
            Fact::Known(version) => parts.push(format!("driver {version}")),
            Fact::Absent => parts.push("no driver".into()),
            Fact::Unknown(_) => parts.push("driver unknown".into()),
        },
    }
    parts.extend(facts.gpu.cuda.known().map(|cuda| format!("CUDA {cuda}")));
    join(parts)
}

fn engine(facts: &Facts) -> Option<String> {
    let mut parts = Vec::new();
    if let Fact::Known(version) = facts.docker.info_text(&["ServerVersion"]) {
        parts.push(format!("Docker {version}"));
    }
    parts.extend(facts.toolkit.version.known().map(|version| format!("container toolkit {version}")));
    join(parts)
}

/// `8 × NVIDIA H100 80GB HBM3`, unlike ones one after the other.
fn count<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    counts.into_iter().map(|(name, count)| format!("{count} × {name}")).collect()
}

fn join(parts: Vec<String>) -> Option<String> {
    (!parts.is_empty()).then(|| parts.join(" · "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::testing::{Sparse, pci::gpu, sparse::host};

    fn shown(readings: &[(&str, &str)]) -> (String, Vec<(&'static str, String)>) {
        let facts = host(&Sparse::new(readings));
        (lines(&facts).join("\n"), properties(&facts))
    }

    #[test]
    fn the_processor_is_shown() {
        let cpu =
            "processor\t: 0\nmodel name\t: AMD EPYC 9334  32-Core\nprocessor\t: 1\nmodel name\t: other\n";
        let (text, properties) = shown(&[("read /proc/cpuinfo", cpu)]);
        assert!(text.contains("2 CPUs · AMD EPYC 9334 32-Core"), "{text}");
        assert!(properties.contains(&("cpu", "2 CPUs, AMD EPYC 9334 32-Core".into())), "{properties:?}");
        // ARM's kernel writes no model.
        let (text, _) = shown(&[("read /proc/cpuinfo", "processor\t: 0\nCPU part\t: 0xd4f\n")]);
        assert!(text.lines().any(|line| line == "1 CPU"), "{text}");
        let (_, properties) = shown(&[]);
        assert!(properties.iter().all(|(name, _)| *name != "cpu"), "unknown is left out: {properties:?}");
    }

    #[test]
    fn without_a_driver_the_bus_names_the_gpus() {
        let mut facts = host(&Sparse::new(&[]));
        let device = |device: u16| Device { device, ..gpu("0000:1b:00.0") };
        facts.pci.devices = Fact::Known(vec![device(0x2330), device(0x2330), device(0x0001)]);
        assert_eq!(models(&facts), ["2 × NVIDIA H100 80GB HBM3 (PCI)", "1 × NVIDIA GPU 10de:0001 (PCI)"]);
        let gpus = properties(&facts).into_iter().find(|(name, _)| *name == "gpus");
        assert_eq!(gpus.unwrap().1, "2 × NVIDIA H100 80GB HBM3 (PCI), 1 × NVIDIA GPU 10de:0001 (PCI)");
    }
}
