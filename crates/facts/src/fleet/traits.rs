//! What can differ between machines: one list, for the checks and for the table of the report.

use crate::{Fact, Facts};

/// Something that a machine has and another may have otherwise.
#[derive(Debug)]
pub struct Trait {
    /// How it is called in the table: `driver`.
    pub name: &'static str,
    /// Its value on one machine.
    pub of: fn(&Facts) -> Fact<String>,
}

/// Every one, in the order of the table.
pub const TRAITS: &[&Trait] =
    &[&OS, &KERNEL, &ARCHITECTURE, &GPUS, &DRIVER, &CUDA, &NCCL, &ENGINE, &TOOLKIT, &MTU, &SWARM];

const OS: Trait =
    Trait { name: "system", of: |facts| facts.system.os.as_ref().map(|os| os.pretty_name.clone()) };
const KERNEL: Trait = Trait { name: "kernel", of: |facts| facts.system.kernel.clone() };
/// Of the processor.
pub const ARCHITECTURE: Trait = Trait { name: "processor", of: |facts| facts.system.architecture.clone() };
/// How many GPUs of which model.
pub const GPUS: Trait = Trait { name: "GPUs", of: gpus };
pub const DRIVER: Trait = Trait { name: "driver", of: driver };
/// The CUDA toolkit that a shell finds.
pub const CUDA: Trait = Trait { name: "CUDA toolkit", of: cuda };
/// The NCCL library that the loader takes.
pub const NCCL: Trait = Trait { name: "NCCL", of: nccl };
pub const ENGINE: Trait = Trait {
    name: "engine",
    of: |facts| {
        let kind = if facts.docker.is_podman() { "Podman" } else { "Docker" };
        facts.docker.info_text(&["ServerVersion"]).map(|version| format!("{kind} {version}"))
    },
};
pub const TOOLKIT: Trait = Trait { name: "container toolkit", of: |facts| facts.toolkit.version.clone() };
const MTU: Trait = Trait { name: "MTU", of: mtu };
const SWARM: Trait =
    Trait { name: "swarm", of: |facts| facts.docker.info_text(&["Swarm", "LocalNodeState"]) };

/// A value for people: "none" where there is nothing, "?" where nobody could look.
pub fn value(fact: &Fact<String>) -> String {
    match fact {
        Fact::Known(value) => value.clone(),
        Fact::Absent => "none".into(),
        Fact::Unknown(_) => "?".into(),
    }
}

/// `8 × NVIDIA H100 80GB HBM3`; what the driver does not show counts by the bus.
fn gpus(facts: &Facts) -> Fact<String> {
    match facts.has_gpu() {
        Fact::Known(true) => {}
        Fact::Unknown(why) => return Fact::Unknown(why),
        _ => return Fact::Absent,
    }
    let mut counts: Vec<(String, usize)> = Vec::new();
    let mut add = |name: String| match counts.iter_mut().find(|(known, _)| *known == name) {
        Some((_, count)) => *count += 1,
        None => counts.push((name, 1)),
    };
    match (&facts.gpu.list, &facts.pci.devices) {
        (Fact::Known(list), _) if !list.is_empty() => list.iter().for_each(|gpu| add(gpu.name.clone())),
        (_, Fact::Known(_)) if facts.pci.gpus().count() > 0 => {
            facts.pci.gpus().for_each(|device| {
                let model = facts.catalog.gpus().by_pci(device.device);
                add(model
                    .map_or_else(|| format!("GPU 10de:{:04x}", device.device), |model| model.name.clone()));
            });
        }
        (Fact::Unknown(why), _) | (_, Fact::Unknown(why)) => return Fact::Unknown(why.clone()),
        _ => return Fact::Unknown("the GPU names are unknown".into()),
    }
    Fact::Known(counts.iter().map(|(name, count)| format!("{count} × {name}")).collect::<Vec<_>>().join(", "))
}

/// The driver that is loaded, else what nvidia-smi says, else the user library.
fn driver(facts: &Facts) -> Fact<String> {
    let loaded = facts.driver.module.as_ref().map(|module| module.version);
    loaded
        .or_look(|| facts.gpu.driver.clone())
        .or_look(|| facts.driver.library.clone())
        .map(|version| version.to_string())
}

/// The toolkit whose compiler is on PATH, else the one that /usr/local/cuda is.
fn cuda(facts: &Facts) -> Fact<String> {
    facts.cuda.nvcc_version.clone().or_else(|| {
        let default = facts.cuda.default.clone();
        default.map(|path| path.trim_start_matches("/usr/local/").trim_start_matches("cuda-").to_owned())
    })
}

/// The library that the loader takes.
fn nccl(facts: &Facts) -> Fact<String> {
    facts.libraries.nccl.as_ref().and_then(|all| match all.first() {
        Some(library) => library.version.clone(),
        None => Fact::Absent,
    })
}

/// Of the interface with the default route.
fn mtu(facts: &Facts) -> Fact<String> {
    facts.network.default_route.as_ref().and_then(|name| {
        facts.network.interfaces.as_ref().and_then(|all| {
            match all.iter().find(|interface| interface.name == *name) {
                Some(interface) => Fact::Known(interface.mtu.to_string()),
                None => Fact::Absent,
            }
        })
    })
}
