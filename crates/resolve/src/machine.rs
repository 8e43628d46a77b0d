//! The requirements of a machine, from its facts.
//!
//! An unknown fact adds no requirement but a warning.

use catalog::Catalog;
use std::collections::BTreeMap;

use super::outcome::Warning;
use super::parse;
use super::request::{Gpu, Requirement, RequirementKind};
use crate::parameter::Source;
use catalog::gpus;
use facts::driver::DriverVersion;
use facts::python::PythonEnvironment;
use facts::{Fact, Facts};

/// What a machine requires of a stack.
#[derive(Debug, Default)]
pub struct Machine {
    /// Its driver, GPUs and processor; its system too if the stack is installed on the machine itself.
    pub requirements: Vec<Requirement>,
    /// The Python stack on it, by package.
    pub installed: BTreeMap<String, String>,
    /// Unknown facts, and faults of the machine that matter to a stack.
    pub warnings: Vec<Warning>,
    /// Facts that add no requirement.
    pub notes: Vec<String>,
}

/// What is read of a machine besides GPUs, driver and processor.
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineScope {
    /// The stack is installed on the machine itself, so its system is a requirement.
    pub bare: bool,
    /// Installed versions are preferred, so they are read.
    pub installed: bool,
    /// A stack without CUDA is required: GPUs and driver are no requirements.
    pub cpu: bool,
}

impl Machine {
    /// The requirements of a machine; `name` is used in messages: `node-a.json`, `this machine`.
    pub fn from_facts(name: &str, facts: &Facts, scope: MachineScope) -> Machine {
        let mut machine = Machine::default();
        match facts.has_gpu() {
            has_gpu if scope.cpu => {
                machine.architecture(name, facts);
                if has_gpu == Fact::Known(true) {
                    machine.notes.push(format!("a CPU build uses neither the GPUs nor the driver of {name}"));
                }
            }
            Fact::Known(true) => {
                machine.driver(name, facts);
                machine.gpus(name, facts);
                machine.architecture(name, facts);
            }
            Fact::Known(false) | Fact::Absent => machine.notes.push(format!(
                "{name} has no NVIDIA GPU: it is a build host, and the stack need not run on it"
            )),
            Fact::Unknown(why) => {
                machine.unknown("gpu", &format!("whether {name} has a GPU is not known: {why}"));
                machine.architecture(name, facts);
            }
        }
        if scope.bare {
            machine.system(name, facts);
        }
        if scope.installed {
            machine.installed(name, facts, scope.bare);
        }
        machine
    }

    fn require(&mut self, message: String, kind: RequirementKind) {
        self.requirements.push(Requirement { source: Source::Stated(message), kind });
    }

    fn unknown(&mut self, what: &str, message: &str) {
        self.warnings.push(Warning { id: format!("{what}-not-known"), message: message.to_owned() });
    }

    fn driver(&mut self, name: &str, facts: &Facts) {
        match driver(facts) {
            Fact::Known(driver) => {
                self.require(format!("driver of {name}: {driver}"), RequirementKind::Driver(driver))
            }
            Fact::Absent => {
                self.unknown("driver", &format!("{name} has no NVIDIA driver yet: any driver was allowed"));
            }
            Fact::Unknown(why) => {
                self.unknown("driver", &format!("the driver of {name} is not known, any was allowed: {why}"));
            }
        }
    }

    /// Every model once: as the driver names it, else as the bus shows it.
    fn gpus(&mut self, name: &str, facts: &Facts) {
        let mut found: Vec<(String, Fact<Gpu>)> = Vec::new();
        for gpu in facts.gpu.list.known().into_iter().flatten() {
            let model = catalog_model(facts.catalog, gpu);
            // As the driver reports it, also where the catalog has another capability of the model.
            let called = gpu.compute_capability.clone().map(|capability| {
                let of_model = model.and_then(|model| parse::of_model(&gpu.name, model));
                let unknown = || parse::of_capability(facts.catalog, &gpu.name, capability);
                Gpu { capability, ..of_model.unwrap_or_else(unknown) }
            });
            found.push((gpu.name.clone(), called));
        }
        // With a working nvidia-smi the bus counts for what the driver does not show.
        let described = facts.gpu.list.known().map_or(0, Vec::len);
        if facts.pci.gpus().count() > described {
            found.extend(facts.pci.gpus().map(|it| on_bus(facts.catalog, it)));
        }
        if found.is_empty() {
            let why = match (&facts.gpu.list, &facts.pci.devices) {
                (Fact::Unknown(why), _) | (_, Fact::Unknown(why)) => why.detail.as_str(),
                _ => "nothing names it",
            };
            self.unknown("gpu", &format!("the GPU of {name} is not known, any was allowed: {why}"));
        }
        let mut seen: Vec<Gpu> = Vec::new();
        for (called, gpu) in found {
            match gpu {
                Fact::Known(gpu) if seen.iter().any(|known| same_model(facts.catalog, known, &gpu)) => {}
                Fact::Known(gpu) => {
                    seen.push(gpu.clone());
                    self.require(format!("GPU of {name}: {called}"), RequirementKind::Gpu(gpu));
                }
                Fact::Unknown(why) => {
                    let message = format!("the {called} of {name} was left out: {why}");
                    if !self.warnings.iter().any(|warning| warning.message == message) {
                        self.unknown("gpu", &message);
                    }
                }
                Fact::Absent => {}
            }
        }
    }

    fn architecture(&mut self, name: &str, facts: &Facts) {
        match &facts.system.architecture {
            Fact::Known(architecture) => self.require(
                format!("processor of {name}: {architecture}"),
                RequirementKind::Architecture(architecture.clone()),
            ),
            Fact::Absent => self.unknown("processor", &format!("the processor of {name} is not known")),
            Fact::Unknown(why) => {
                self.unknown("processor", &format!("the processor of {name} is not known: {why}"));
            }
        }
    }

    fn system(&mut self, name: &str, facts: &Facts) {
        let message = match &facts.system.os {
            Fact::Known(os) => {
                let release = os.version_id.as_deref().unwrap_or_default();
                if let Some(system) = parse::system_of_release(facts.catalog, &os.id, release) {
                    let message = format!("system of {name}: {}", system.name);
                    return self.require(message, RequirementKind::System(system.id.clone()));
                }
                format!(
                    "{} of {name} is not in the catalog: its glibc and Pythons are not known",
                    os.pretty_name
                )
            }
            Fact::Absent => format!("the system of {name} is not known"),
            Fact::Unknown(why) => format!("the system of {name} is not known: {why}"),
        };
        self.unknown("system", &message);
    }

    fn installed(&mut self, name: &str, facts: &Facts, bare: bool) {
        let environments = match &facts.python.environments {
            Fact::Known(environments) => environments,
            Fact::Absent => return self.notes.push(format!("{name} has no Python: nothing is installed")),
            Fact::Unknown(why) => {
                return self
                    .unknown("installed", &format!("what is installed on {name} is not known: {why}"));
            }
        };
        let has_torch = |one: &&PythonEnvironment| matches!(one.torch, Fact::Known(_));
        let chosen = environments
            .iter()
            .find(|one| one.active() && has_torch(one))
            .or_else(|| environments.iter().find(has_torch))
            .or_else(|| environments.iter().find(|one| one.active()));
        let Some(chosen) = chosen else {
            return self.notes.push(format!("{name} has no Python environment: nothing is installed"));
        };
        self.notes.push(format!("what is installed in {} of {name} is preferred", chosen.prefix));
        if bare && chosen.externally_managed == Fact::Known(true) {
            self.warnings.push(Warning {
                id: Warning::EXTERNALLY_MANAGED.into(),
                message: format!(
                    "pip refuses to install into {} of {name} (PEP 668): make a virtual environment first, \
                        `python3 -m venv`.",
                    chosen.prefix
                ),
            });
        }
        for package in chosen.packages.known().into_iter().flatten() {
            self.installed.entry(package.name.clone()).or_insert_with(|| package.version.clone());
        }
        if let Fact::Known(version) = &chosen.version {
            self.installed.insert("python".into(), version.clone());
        }
        if let Fact::Known(torch) = &chosen.torch {
            self.installed.insert("torch".into(), torch.full());
        }
    }
}

/// The driver: the loaded module, else the version of `nvidia-smi`, else that of the user library.
fn driver(facts: &Facts) -> Fact<DriverVersion> {
    let loaded = facts.driver.module.as_ref().map(|module| module.version);
    loaded.or_look(|| facts.gpu.driver.clone()).or_look(|| facts.driver.library.clone())
}

fn catalog_model(catalog: &'static Catalog, gpu: &facts::gpu::Gpu) -> Option<&'static gpus::Gpu> {
    facts::gpu::model(catalog, gpu)
}

/// A GPU that is visible on the PCI bus only.
fn on_bus(catalog: &'static Catalog, device: &facts::pci::Device) -> (String, Fact<Gpu>) {
    match catalog.gpus().by_pci(device.device) {
        Some(model) => {
            let gpu = parse::of_model(&model.name, model);
            let unreadable = || Fact::Unknown("the catalog has no compute capability of it".into());
            (model.name.clone(), gpu.map_or_else(unreadable, Fact::Known))
        }
        None => {
            let name = format!("GPU 10de:{:04x} at {}", device.device, device.address);
            (name, Fact::Unknown("the catalog does not know its PCI id".into()))
        }
    }
}

/// Whether two are one model as far as a stack is concerned: the driver and the catalog call it differently.
fn same_model(catalog: &'static Catalog, one: &Gpu, other: &Gpu) -> bool {
    let row = |gpu: &Gpu| {
        catalog.gpus().by_name(&gpu.name).or_else(|| catalog.gpus().by_alias(&gpu.name)).map(|row| &row.name)
    };
    one.name == other.name
        || (one.capability == other.capability && row(one).is_some() && row(one) == row(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::testing::pci::gpu;
    use facts::testing::server::{healthy, server};
    use facts::testing::smi;

    fn sources(machine: &Machine) -> Vec<String> {
        machine.requirements.iter().map(|requirement| requirement.source.to_string()).collect()
    }

    fn ids(machine: &Machine) -> Vec<&str> {
        machine.warnings.iter().map(|warning| warning.id.as_str()).collect()
    }

    #[test]
    fn server_requires_its_driver_gpus_and_architecture() {
        let machine = Machine::from_facts("a.json", &healthy(), MachineScope::default());
        assert_eq!(
            sources(&machine),
            ["driver of a.json: 580.95.05", "GPU of a.json: H100 80GB HBM3", "processor of a.json: x86_64"]
        );
        let RequirementKind::Gpu(gpu) = &machine.requirements[1].kind else { panic!("{machine:?}") };
        assert_eq!((gpu.capability, gpu.data_centre), ((9, 0), Some(true)));
    }

    #[test]
    fn cpu_stack_requires_the_architecture_alone() {
        let scope = MachineScope { cpu: true, ..MachineScope::default() };
        let machine = Machine::from_facts("a.json", &healthy(), scope);
        assert_eq!(sources(&machine), ["processor of a.json: x86_64"]);
        assert_eq!(machine.notes, ["a CPU build uses neither the GPUs nor the driver of a.json"]);
        let unknown = Machine::from_facts("a.json", &facts::testing::unknown(), scope);
        assert_eq!(ids(&unknown), ["processor-not-known"], "whether it has a GPU does not matter");
    }

    #[test]
    fn every_model_once_as_the_driver_names_it() {
        let mut facts = smi::machine(&["", ""]);
        facts.pci.devices = Fact::Known(vec![gpu("0000:1b:00.0"), gpu("0000:1c:00.0"), gpu("0000:1d:00.0")]);
        let machine = Machine::from_facts("a", &facts, MachineScope::default());
        let gpus: Vec<String> =
            sources(&machine).into_iter().filter(|message| message.starts_with("GPU")).collect();
        assert_eq!(gpus, ["GPU of a: NVIDIA H100 80GB HBM3"], "{machine:?}");
    }

    #[test]
    fn unknown_facts_become_warnings() {
        let unknown = facts::testing::unknown();
        let machine = Machine::from_facts(
            "old.json",
            &unknown,
            MachineScope { bare: true, installed: true, cpu: false },
        );
        assert!(machine.requirements.is_empty(), "{machine:?}");
        assert_eq!(
            ids(&machine),
            ["gpu-not-known", "processor-not-known", "system-not-known", "installed-not-known"]
        );
        let strange = server(|facts| {
            facts.driver.module = Fact::Unknown("permission denied".into());
            facts.driver.library = Fact::Unknown("permission denied".into());
            facts.gpu.driver = Fact::Unknown("nvidia-smi failed".into());
            facts.system.architecture = Fact::Unknown("no loader".into());
            facts::testing::server::first(facts, |device| device.device = 0xfff0);
        });
        let machine = Machine::from_facts("a", &strange, MachineScope::default());
        assert_eq!(ids(&machine), ["driver-not-known", "gpu-not-known", "processor-not-known"]);
        assert!(machine.warnings[0].message.contains("permission denied"), "{machine:?}");
        assert!(machine.warnings[1].message.contains("10de:fff0"), "{machine:?}");
    }

    #[test]
    fn build_host_has_no_requirements() {
        let host = server(|facts| facts.pci.devices = Fact::Known(vec![]));
        let host = server(|facts| {
            *facts = host;
            facts.driver.device_nodes = Fact::Absent;
        });
        let machine = Machine::from_facts("ci.json", &host, MachineScope::default());
        assert!(machine.requirements.is_empty() && machine.warnings.is_empty(), "{machine:?}");
        assert!(machine.notes[0].contains("build host"));
    }

    #[test]
    fn operating_system_is_required_on_bare_machines() {
        let machine =
            Machine::from_facts("a", &healthy(), MachineScope { bare: true, ..MachineScope::default() });
        assert_eq!(sources(&machine).last(), Some(&"system of a: Ubuntu 24.04".to_owned()));
    }
}
