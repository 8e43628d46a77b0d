//! [`Catalog`]: every table in one value, each parsed when first asked for.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::cache::Cache;
use super::file::{self, Contents, Sourced, Table};
use super::images::{self, plain::Plain};
use super::packages::{self, Package};
use super::signatures::Signatures;
use super::{
    accelerate_config, apt_options, capabilities, conda_torch, cuda, cuda_errors, cudnn_users, cudnn_wheels,
    deepspeed, deepspeed_exports, deepspeed_keys, distributed_functions, docker_daemon, docker_options,
    docker_warnings, drivers, expected_bandwidth, flash_attn, gpu_builds, gpu_extras, gpu_images, gpus,
    hypervisors, image_variables, kubernetes_kinds, mirrors, misleading_packages, model_layers,
    model_servers, nccl, nccl_functions, network_interfaces, nvidia_packages, object_keys, other_gpus,
    package_order, pip_options, presets, removed_arguments, sbatch_options, sshd_keywords, stack_keys, sxids,
    system_packages, systems, throttle_reasons, time_services, toolkit, toolkit_keys, torch, torch_partners,
    tracebacks, variable_families, variables, wheel_pythons, xids,
};

/// Makes the struct with a cell for each table, and an accessor for each.
macro_rules! catalog {
    ($($(#[$doc:meta])* $vis:vis $name:ident: $contents:ty,)+) => {
        /// What envdoc knows of the world outside. The program makes one and hands it down; nothing is
        /// parsed before it is asked for.
        pub struct Catalog {
            cache: Option<Cache>,
            packages: [OnceLock<Package>; packages::FILES.len()],
            plain_images: OnceLock<Vec<Plain>>,
            signatures: OnceLock<Signatures>,
            $($name: OnceLock<$contents>,)+
        }

        impl Catalog {
            /// The files that the program was built with.
            pub const fn embedded() -> Catalog {
                Catalog {
                    cache: None,
                    packages: [const { OnceLock::new() }; packages::FILES.len()],
                    plain_images: OnceLock::new(),
                    signatures: OnceLock::new(),
                    $($name: OnceLock::new(),)+
                }
            }

            $(
                $(#[$doc])*
                $vis fn $name(&self) -> &$contents {
                    self.$name.get_or_init(|| self.read())
                }
            )+
        }
    };
}

catalog! {
    /// What accelerate's configuration file takes.
    pub accelerate_config: accelerate_config::AccelerateConfig,
    /// Options of apt that take a value.
    pub apt_options: Table<apt_options::AptOption>,
    /// Capabilities of Linux that Docker takes.
    pub capabilities: Table<capabilities::Capability>,
    /// The builds of PyTorch on the conda channel pytorch, oldest first.
    pub conda_torch: Table<conda_torch::CondaTorch>,
    /// CUDA toolkits, and the drivers and GPUs that they work with.
    pub cuda: cuda::Cuda,
    /// The errors of CUDA's runtime, by number.
    pub cuda_errors: Table<cuda_errors::CudaError>,
    /// Packages that load cuDNN from the system.
    pub cudnn_users: Table<cudnn_users::CudnnUser>,
    /// Wheels of cuDNN that load a library by its name only.
    pub cudnn_wheels: Table<cudnn_wheels::CudnnWheel>,
    /// DeepSpeed releases, oldest first, and what they do not work with.
    pub deepspeed: deepspeed::Deepspeed,
    /// Variables that DeepSpeed's launcher forwards.
    pub deepspeed_exports: Table<deepspeed_exports::ExportedVariables>,
    /// The sections of DeepSpeed's configuration, by name.
    pub deepspeed_keys: Table<deepspeed_keys::Section>,
    /// Functions of programs for several ranks.
    pub distributed_functions: Table<distributed_functions::DistributedFunction>,
    /// Keys of `daemon.json`.
    pub docker_daemon: docker_daemon::DockerDaemon,
    /// Options of `docker run` and `docker build`.
    pub docker_options: Table<docker_options::DockerOption>,
    /// Warnings of Docker Engine that matter for GPU work.
    pub docker_warnings: Table<docker_warnings::DockerWarning>,
    /// Driver branches, oldest first.
    pub drivers: Table<drivers::Branch>,
    /// What an all-reduce should reach.
    pub expected_bandwidth: expected_bandwidth::ExpectedBandwidth,
    /// Releases of flash-attn whose wheels are known, oldest first.
    pub flash_attn: Table<flash_attn::Release>,
    /// Packages whose build for the GPU has a name of its own.
    pub gpu_builds: Table<gpu_builds::GpuBuild>,
    /// Extras that bring the libraries of CUDA.
    pub gpu_extras: Table<gpu_extras::GpuExtra>,
    /// Repositories of images that are made for GPUs.
    pub gpu_images: Table<gpu_images::GpuImages>,
    /// GPU models.
    pub gpus: Table<gpus::Gpu>,
    /// How virtual machines look from inside.
    pub hypervisors: hypervisors::Hypervisors,
    /// Variables by which images tell what they contain, the more specific one first.
    pub image_variables: Table<image_variables::ImageVariable>,
    /// Kinds of Kubernetes objects, and the versions that serve them.
    pub kubernetes_kinds: Table<kubernetes_kinds::KubernetesKind>,
    /// Mirrors, in the order of the alphabet.
    pub mirrors: Table<mirrors::Mirror>,
    /// Names under which pip finds something else than what people mean.
    pub misleading_packages: Table<misleading_packages::MisleadingPackage>,
    /// Classes of the layers of language models.
    pub model_layers: Table<model_layers::ModelLayer>,
    /// Servers whose options and defaults are known.
    pub model_servers: Table<model_servers::ModelServer>,
    /// NCCL releases, oldest first.
    pub nccl: Table<nccl::Release>,
    /// Functions of NCCL whose lack is known to stop `import torch`.
    pub nccl_functions: Table<nccl_functions::NcclFunction>,
    /// Interfaces that lead nowhere outside the machine.
    pub network_interfaces: Table<network_interfaces::LocalInterfaces>,
    /// How NVIDIA's packages are named.
    pub nvidia_packages: nvidia_packages::NvidiaPackages,
    /// Keys of Compose files and Kubernetes manifests.
    pub object_keys: Table<object_keys::ObjectKeys>,
    /// GPUs of other makers than NVIDIA.
    pub other_gpus: Table<other_gpus::OtherGpus>,
    /// Packages in the order in which they are chosen.
    pub package_order: Table<package_order::PackagePlace>,
    /// Options of pip and uv that take a value.
    pub pip_options: Table<pip_options::PipOption>,
    /// Presets, in the order of the alphabet.
    pub presets: Table<presets::Preset>,
    /// Keyword arguments that libraries no longer take.
    pub removed_arguments: Table<removed_arguments::RemovedArgument>,
    /// Options of sbatch.
    pub sbatch_options: Table<sbatch_options::SbatchOption>,
    /// Keywords of sshd_config.
    pub sshd_keywords: Table<sshd_keywords::SshdKeyword>,
    /// Keys of stack files.
    pub stack_keys: Table<stack_keys::StackKey>,
    /// SXids, by number.
    pub sxids: Table<sxids::Sxid>,
    /// Packages of Debian and Ubuntu, and whether they bring Python.
    pub system_packages: Table<system_packages::SystemPackage>,
    /// Linux distributions, their Pythons and compilers.
    pub systems: systems::Systems,
    /// Why GPUs lower their clocks, the reason to show first at the start.
    pub throttle_reasons: Table<throttle_reasons::ThrottleReason>,
    /// Services that keep the clock, the one that counts first at the start.
    pub time_services: Table<time_services::TimeService>,
    /// The container toolkit and the container software around it.
    pub toolkit: toolkit::Toolkit,
    /// Keys of the container toolkit's config.toml.
    pub toolkit_keys: Table<toolkit_keys::ToolkitKey>,
    /// PyTorch releases, oldest first.
    pub torch: torch::Torch,
    /// Which torch torchvision and torchaudio require.
    pub torch_partners: Table<torch_partners::TorchPartner>,
    /// Tracebacks that tell of a failure elsewhere.
    pub tracebacks: tracebacks::Tracebacks,
    /// Beginnings of names of variables that belong to the stack.
    pub variable_families: Table<variable_families::VariableFamily>,
    /// Environment variables, by name.
    pub variables: Table<variables::Variable>,
    /// Packages without a source, and the Pythons of their wheels.
    pub wheel_pythons: Table<wheel_pythons::WheelPythons>,
    /// Xids, by number.
    pub xids: Table<xids::Xid>,
    pub(super) cuda_images: images::cuda::File,
    pub(super) ngc_images: images::ngc::File,
    pub(super) python_images: images::python::File,
    pub(super) pytorch_images: images::pytorch::File,
}

impl Catalog {
    /// The files that the program was built with, and newer ones of a directory.
    pub fn with_cache(cache: Cache) -> Catalog {
        Catalog { cache: Some(cache), ..Catalog::embedded() }
    }

    /// The directory of newer files.
    pub fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    /// The signatures of failures.
    pub fn signatures(&self) -> &Signatures {
        self.signatures.get_or_init(Signatures::embedded)
    }

    /// The package with this normalised name.
    pub fn package(&self, name: &str) -> Option<&Package> {
        let index = packages::FILES.iter().position(|(known, _)| *known == name)?;
        Some(self.packages[index].get_or_init(|| {
            let (name, text) = packages::FILES[index];
            let mut package: Package = self.parse(&format!("packages/{name}.yaml"), text);
            package.complete();
            package
        }))
    }

    /// The environment variable with this name.
    ///
    /// An environment has many names, and few of them are in the catalog: the names alone are searched first,
    /// so that the rows are parsed only when one is needed.
    pub fn variable(&self, name: &str) -> Option<&variables::Variable> {
        type Rows = Table<variables::Variable>;
        let embedded = self.newer(Rows::NAME, Rows::TEXT).is_none();
        if embedded && variables::NAMES.binary_search(&name).is_err() {
            return None;
        }
        let rows = self.variables().all();
        rows.binary_search_by(|row| row.name.as_str().cmp(name)).ok().map(|index| &rows[index])
    }

    pub(super) fn plain_images(&self) -> &[Plain] {
        self.plain_images.get_or_init(|| images::plain::repositories(self.systems()))
    }

    fn read<T: Contents>(&self) -> T {
        let mut contents: T = self.parse(T::NAME, T::TEXT);
        contents.complete();
        contents
    }

    fn parse<T: serde::de::DeserializeOwned>(&self, name: &str, embedded: &'static str) -> T {
        file::parse(name, embedded, self.newer(name, embedded).as_deref())
    }

    /// The text of the cache that is used in place of an embedded one.
    fn newer(&self, name: &str, embedded: &'static str) -> Option<Arc<str>> {
        self.cache.as_ref()?.newer(name, embedded)
    }
}

/// A catalog is equal to itself only: comparing rows would parse all of them.
impl PartialEq for Catalog {
    fn eq(&self, other: &Catalog) -> bool {
        std::ptr::eq(self, other)
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").field("cache", &self.cache).finish_non_exhaustive()
    }
}
