//! Every file of `catalog/`, as the program carries it: one list.

use std::borrow::Cow;

use super::file::{Contents, Row, Sourced, Table as RowTable};
use super::{
    accelerate_config, apt_options, capabilities, conda_torch, cuda, cuda_errors, cudnn_users, cudnn_wheels,
    deepspeed, deepspeed_exports, deepspeed_keys, distributed_functions, docker_daemon, docker_options,
    docker_warnings, drivers, expected_bandwidth, flash_attn, gpu_builds, gpu_extras, gpu_images, gpus,
    hypervisors, image_variables, images, kubernetes_kinds, mirrors, misleading_packages, model_layers,
    model_servers, nccl, nccl_functions, network_interfaces, nvidia_packages, object_keys, other_gpus,
    package_order, packages, pip_options, presets, removed_arguments, sbatch_options, sshd_keywords,
    stack_keys, sxids, system_packages, systems, throttle_reasons, time_services, toolkit, toolkit_keys,
    torch, torch_partners, tracebacks, variable_families, variables, wheel_pythons, xids,
};

/// One file of the catalog.
#[derive(Clone)]
pub struct File {
    /// Its name below `catalog/`: `torch.yaml`, `packages/numpy.yaml`.
    pub name: Cow<'static, str>,
    /// The text that the program was built with.
    pub text: &'static str,
    /// Its tables, in the order in which they are shown.
    pub tables: &'static [Table],
    /// The source and the day of every row that the program reads from a text; why it reads none, if the
    /// text is not that of this file.
    pub provenance: fn(&str) -> Result<Vec<Provenance>, serde_yaml::Error>,
}

/// Where a row was read, and when it was compared with that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// With the keys of the file written out.
    pub source: String,
    /// `2026-11-21`.
    pub checked: String,
}

/// One list of rows in a file.
#[derive(Debug)]
pub struct Table {
    /// Its key in the file: `rows`.
    pub name: &'static str,
    /// The fields that together name a row.
    pub key: &'static [&'static str],
    pub order: Order,
}

/// How the rows of a table follow each other; no two have the same key in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By dotted version, oldest first.
    Versions,
    Numbers,
    Alphabet,
    /// By hand.
    Free,
}

const fn by(key: &'static [&'static str], order: Order) -> Table {
    Table { name: "rows", key, order }
}

const fn named(name: &'static str, key: &'static [&'static str], order: Order) -> Table {
    Table { name, key, order }
}

const fn of<T: Contents>(tables: &'static [Table]) -> File {
    File { name: Cow::Borrowed(T::NAME), text: T::TEXT, tables, provenance: provenance::<T> }
}

fn provenance<T: Sourced>(text: &str) -> Result<Vec<Provenance>, serde_yaml::Error> {
    let mut contents: T = serde_yaml::from_str(text)?;
    contents.complete();
    let of = |row: &mut dyn Row| {
        let (source, checked) = row.provenance();
        Provenance { source: source.to_string(), checked: checked.clone() }
    };
    Ok(contents.rows().into_iter().map(of).collect())
}

use Order::{Alphabet, Free, Numbers, Versions};

/// Every file besides those of packages, in the order of the alphabet.
static FILES: &[File] = &[
    of::<accelerate_config::AccelerateConfig>(&[
        named("keys", &["key"], Alphabet),
        named("types", &["name"], Free),
        named("refused", &["field"], Alphabet),
    ]),
    of::<RowTable<apt_options::AptOption>>(&[by(&["option"], Alphabet)]),
    of::<RowTable<capabilities::Capability>>(&[by(&["name"], Alphabet)]),
    of::<RowTable<conda_torch::CondaTorch>>(&[by(&["torch"], Versions)]),
    of::<cuda::Cuda>(&[
        by(&["toolkit"], Versions),
        named("majors", &["major"], Numbers),
        named("architectures", &["compute_capability"], Versions),
        named("forward_compatibility", &["toolkit"], Versions),
    ]),
    of::<RowTable<cuda_errors::CudaError>>(&[by(&["number"], Numbers)]),
    of::<RowTable<cudnn_users::CudnnUser>>(&[by(&["package", "from"], Free)]),
    of::<RowTable<cudnn_wheels::CudnnWheel>>(&[by(&["package", "version"], Alphabet)]),
    of::<deepspeed::Deepspeed>(&[
        by(&["version"], Versions),
        named("cuda_minors", &["since"], Versions),
        named("incompatibilities", &["id"], Free),
        named("operators", &["name"], Free),
    ]),
    of::<RowTable<deepspeed_exports::ExportedVariables>>(&[by(&["prefix"], Alphabet)]),
    of::<RowTable<deepspeed_keys::Section>>(&[by(&["section"], Alphabet)]),
    of::<RowTable<distributed_functions::DistributedFunction>>(&[by(&["function"], Alphabet)]),
    of::<docker_daemon::DockerDaemon>(&[by(&["key"], Alphabet)]),
    of::<RowTable<docker_options::DockerOption>>(&[by(&["command", "option"], Alphabet)]),
    of::<RowTable<docker_warnings::DockerWarning>>(&[by(&["words"], Alphabet)]),
    of::<RowTable<drivers::Branch>>(&[by(&["branch"], Numbers)]),
    of::<expected_bandwidth::ExpectedBandwidth>(&[
        named("gpus", &["gpu", "count"], Free),
        named("links", &["kind", "rate"], Free),
    ]),
    of::<RowTable<flash_attn::Release>>(&[by(&["version"], Free)]),
    of::<RowTable<gpu_builds::GpuBuild>>(&[by(&["gpu"], Alphabet)]),
    of::<RowTable<gpu_extras::GpuExtra>>(&[by(&["package", "extra"], Free)]),
    of::<RowTable<gpu_images::GpuImages>>(&[by(&["repository"], Alphabet)]),
    of::<RowTable<gpus::Gpu>>(&[by(&["name"], Free)]),
    of::<hypervisors::Hypervisors>(&[
        named("machines", &["vendor", "product"], Free),
        named("clock_sources", &["prefix"], Alphabet),
    ]),
    of::<RowTable<image_variables::ImageVariable>>(&[by(&["variable"], Free)]),
    of::<images::cuda::File>(&[
        by(&["cuda", "systems", "flavours"], Free),
        named("absent", &["reference"], Free),
    ]),
    of::<images::ngc::File>(&[by(&["release"], Versions)]),
    of::<images::python::File>(&[by(&["python", "suite"], Free)]),
    of::<images::pytorch::File>(&[by(&["torch"], Versions), named("unconfirmed", &["reference"], Free)]),
    of::<RowTable<kubernetes_kinds::KubernetesKind>>(&[by(&["kind"], Alphabet)]),
    of::<RowTable<mirrors::Mirror>>(&[by(&["name"], Alphabet)]),
    of::<RowTable<misleading_packages::MisleadingPackage>>(&[by(&["name"], Alphabet)]),
    of::<RowTable<model_layers::ModelLayer>>(&[by(&["layer"], Free)]),
    of::<RowTable<model_servers::ModelServer>>(&[by(&["name"], Free)]),
    of::<RowTable<nccl::Release>>(&[by(&["version"], Versions)]),
    of::<RowTable<nccl_functions::NcclFunction>>(&[by(&["function"], Alphabet)]),
    of::<RowTable<network_interfaces::LocalInterfaces>>(&[by(&["prefix"], Alphabet)]),
    of::<nvidia_packages::NvidiaPackages>(&[
        named("families", &["prefix"], Alphabet),
        named("driver", &["name"], Alphabet),
    ]),
    of::<RowTable<object_keys::ObjectKeys>>(&[by(&["file", "name"], Free)]),
    of::<RowTable<other_gpus::OtherGpus>>(&[by(&["maker"], Free)]),
    of::<RowTable<package_order::PackagePlace>>(&[by(&["package"], Free)]),
    of::<RowTable<pip_options::PipOption>>(&[by(&["option"], Alphabet)]),
    of::<RowTable<presets::Preset>>(&[by(&["name"], Alphabet)]),
    of::<RowTable<removed_arguments::RemovedArgument>>(&[by(&["package", "callables", "argument"], Free)]),
    of::<RowTable<sbatch_options::SbatchOption>>(&[by(&["option"], Alphabet)]),
    of::<RowTable<sshd_keywords::SshdKeyword>>(&[by(&["keyword"], Alphabet)]),
    of::<RowTable<stack_keys::StackKey>>(&[by(&["section", "key"], Alphabet)]),
    of::<RowTable<sxids::Sxid>>(&[by(&["number"], Numbers)]),
    of::<RowTable<system_packages::SystemPackage>>(&[by(&["package"], Alphabet)]),
    of::<systems::Systems>(&[
        named("systems", &["id"], Free),
        named("pythons", &["python"], Versions),
        named("python_sources", &["system"], Free),
        named("dnf_pythons", &["system", "python"], Free),
        named("compilers", &["cuda_from", "cuda_to"], Free),
        named("archived", &["name"], Free),
        named("other_releases", &["codename"], Free),
    ]),
    of::<RowTable<throttle_reasons::ThrottleReason>>(&[by(&["name"], Free)]),
    of::<RowTable<time_services::TimeService>>(&[by(&["unit"], Free)]),
    of::<toolkit::Toolkit>(&[
        by(&["version"], Versions),
        named("cves", &["id"], Free),
        named("packages", &["name"], Free),
        named("programs", &["name"], Free),
        named("modes", &["name"], Free),
        named("engine", &["series"], Versions),
    ]),
    of::<RowTable<toolkit_keys::ToolkitKey>>(&[by(&["section", "key"], Free)]),
    of::<torch::Torch>(&[by(&["version"], Versions)]),
    of::<RowTable<torch_partners::TorchPartner>>(&[by(&["partner"], Alphabet)]),
    of::<tracebacks::Tracebacks>(&[
        named("launchers", &["path"], Free),
        named("consequences", &["exception"], Alphabet),
        named("passed_on", &["words"], Alphabet),
    ]),
    of::<RowTable<variable_families::VariableFamily>>(&[by(&["prefix"], Alphabet)]),
    of::<RowTable<variables::Variable>>(&[by(&["name"], Alphabet)]),
    of::<RowTable<wheel_pythons::WheelPythons>>(&[by(&["package", "from"], Free)]),
    of::<RowTable<xids::Xid>>(&[by(&["number"], Numbers)]),
];

/// A row of a package names several releases; see [`super::packages`].
const PACKAGE: &[Table] = &[
    by(&["releases"], Free),
    named("incompatible", &["releases", "with", "versions"], Free),
    named("compiled", &["releases"], Free),
    named("indirect", &["releases", "package", "through"], Free),
    named("without_wheels", &["releases", "requires", "pythons", "architecture"], Free),
];

/// Every file of the catalog, packages last.
pub fn all() -> impl Iterator<Item = File> {
    let packages = packages::FILES.iter().map(|(name, text)| File {
        name: Cow::Owned(format!("packages/{name}.yaml")),
        text,
        tables: PACKAGE,
        provenance: provenance::<packages::Package>,
    });
    FILES.iter().cloned().chain(packages)
}

/// The file with this name below `catalog/`.
pub fn file_named(name: &str) -> Option<File> {
    all().find(|file| file.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_in_the_list() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog");
        let mut on_disk = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            #[expect(clippy::disallowed_methods, reason = "a test reads the source tree")]
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                match entry.file_type().unwrap().is_dir() {
                    true => folders.push(entry.path()),
                    false => {
                        on_disk.push(entry.path().strip_prefix(&root).unwrap().to_str().unwrap().to_owned())
                    }
                }
            }
        }
        on_disk.sort();
        let signatures = super::super::testing::catalog().signatures().all();
        let signatures =
            signatures.iter().map(|one| format!("signatures/{}/{}.yaml", one.component.id(), one.id));
        let mut listed: Vec<String> = all().map(|file| file.name.into_owned()).chain(signatures).collect();
        listed.sort();
        assert_eq!(listed, on_disk, "catalog/ and the lists in embedded.rs and packages.rs");
    }

    #[test]
    fn every_file_is_there_as_json() {
        for file in all() {
            let json = super::super::file::json(&file.name).expect(&file.name);
            let json: serde_json::Value = serde_json::from_str(json).unwrap();
            let yaml: serde_json::Value = serde_yaml::from_str(file.text).unwrap();
            assert_eq!(json, yaml, "{}", file.name);
        }
    }

    /// Tables have lists of rows; a mapping with a source is a row of its own. The sources of a whole file
    /// are none.
    #[test]
    fn every_row_of_every_file_has_a_source_and_a_day() {
        for file in all() {
            let value: serde_yaml::Value = serde_yaml::from_str(file.text).unwrap();
            let rows = |value: &serde_yaml::Value| match value {
                serde_yaml::Value::Sequence(rows) => rows.len(),
                value => usize::from(value.get("source").is_some()),
            };
            let tables =
                value.as_mapping().unwrap().iter().filter(|(name, _)| name.as_str() != Some("source"));
            let written: usize = tables.map(|(_, rows_or_row)| rows(rows_or_row)).sum();
            let read = (file.provenance)(file.text).unwrap();
            assert_eq!(read.len(), written, "{}: Sourced::rows leaves a table out", file.name);
            for Provenance { source, checked } in read {
                assert!(source.len() > 3, "{}: no source: {source:?}", file.name);
                assert!(checked.parse::<jiff::civil::Date>().is_ok(), "{}: no day: {checked:?}", file.name);
            }
        }
    }

    #[test]
    fn every_list_of_rows_is_a_table() {
        for file in all() {
            let value: serde_yaml::Value = serde_yaml::from_str(file.text).unwrap();
            for (name, rows) in value.as_mapping().unwrap() {
                let name = name.as_str().unwrap();
                // The sources of all rows that have none of their own.
                if name == "source" {
                    continue;
                }
                let listed = file.tables.iter().any(|table| table.name == name);
                assert_eq!(rows.is_sequence(), listed, "{}: {name}", file.name);
            }
        }
    }
}
