//! What the machine is, in two or three lines.

use facts::{Fact, Facts, Role};

/// Lines such as `Ubuntu 22.04.5 LTS · Linux 5.15.0 · x86_64` and `8 × NVIDIA H100 80GB HBM3 · driver
/// 550.90.07 · CUDA 12.4`.
pub fn lines(facts: &Facts) -> Vec<String> {
    [system(facts), gpus(facts), engine(facts)].into_iter().flatten().collect()
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
    let gpus = facts.gpu.list.known().map(|gpus| count(gpus.iter().map(|gpu| gpu.name.as_str())).join(", "));
    let driver = facts.driver.module.known().map(|module| module.version.to_string());
    let driver = driver.or_else(|| facts.gpu.driver.known().map(ToString::to_string));
    let time = facts
        .clock
        .now
        .known()
        .and_then(|&seconds| Some(jiff::Timestamp::from_second(seconds).ok()?.to_string()));
    all.extend([
        ("gpus", gpus),
        ("driver", driver),
        ("cuda", facts.gpu.cuda.known().cloned()),
        ("docker", facts.docker.info_text(&["ServerVersion"]).known().cloned()),
        ("container_toolkit", facts.toolkit.version.known().map(ToString::to_string)),
        ("time", time),
    ]);
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
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

fn gpus(facts: &Facts) -> Option<String> {
    match (facts.has_gpu(), facts.role()) {
        (Fact::Known(false), Fact::Known(Role::BuildHost)) => {
            return Some("no NVIDIA GPU: a build host".into());
        }
        (Fact::Known(false), _) => return Some("no NVIDIA GPU".into()),
        _ => {}
    }
    let mut parts = Vec::new();
    match facts.gpu.list.known() {
        Some(gpus) => parts.extend(count(gpus.iter().map(|gpu| gpu.name.as_str()))),
        None => match facts.pci.gpus().count() {
            0 => {}
            count => {
                parts.push(format!("{count} NVIDIA GPU{} on the bus", if count == 1 { "" } else { "s" }))
            }
        },
    }
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
