//! The rows of `catalog/signatures/`, as the program and the build script of this crate read them.

mod behaviour;

use crate::severity::Severity;
use serde::{Deserialize, Serialize};

pub use behaviour::{CountsIf, Derived, MachineFault, Report, Signal, Unfinished};

/// Whose failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Component {
    /// Docker's engine, client and builder.
    Docker,
    /// Swarm and its overlay networks.
    Swarm,
    /// NVIDIA's container toolkit.
    Toolkit,
    /// NVIDIA's driver.
    Driver,
    /// The Linux kernel and the machine's buses.
    Kernel,
    /// CUDA's runtime and libraries.
    Cuda,
    /// NCCL and its network plugins.
    Nccl,
    Torch,
    /// DeepSpeed and its launcher.
    Deepspeed,
    /// ssh and pdsh.
    Ssh,
    /// Names, routes, proxies and certificates.
    Network,
    /// Python and its packages.
    Python,
    /// File systems.
    Disk,
    /// The machine's memory, shared memory too.
    Memory,
}

impl Component {
    /// Every component, from the container down to the machine and back up to the job.
    pub const ALL: &[Component] = &[
        Component::Docker,
        Component::Swarm,
        Component::Toolkit,
        Component::Driver,
        Component::Kernel,
        Component::Cuda,
        Component::Nccl,
        Component::Torch,
        Component::Deepspeed,
        Component::Ssh,
        Component::Network,
        Component::Python,
        Component::Disk,
        Component::Memory,
    ];

    /// Its folder below `catalog/signatures/`.
    pub fn id(self) -> &'static str {
        match self {
            Component::Docker => "docker",
            Component::Swarm => "swarm",
            Component::Toolkit => "toolkit",
            Component::Driver => "driver",
            Component::Kernel => "kernel",
            Component::Cuda => "cuda",
            Component::Nccl => "nccl",
            Component::Torch => "torch",
            Component::Deepspeed => "deepspeed",
            Component::Ssh => "ssh",
            Component::Network => "network",
            Component::Python => "python",
            Component::Disk => "disk",
            Component::Memory => "memory",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Component::Docker => "Docker",
            Component::Swarm => "Docker Swarm",
            Component::Toolkit => "NVIDIA container toolkit",
            Component::Driver => "NVIDIA driver",
            Component::Kernel => "Kernel and buses",
            Component::Cuda => "CUDA",
            Component::Nccl => "NCCL",
            Component::Torch => "PyTorch",
            Component::Deepspeed => "DeepSpeed",
            Component::Ssh => "ssh and pdsh",
            Component::Network => "Network",
            Component::Python => "Python packages",
            Component::Disk => "Disks",
            Component::Memory => "Memory",
        }
    }
}

/// What a line with this wording is in the timeline of a failure. Ordered by how much it explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Where it began.
    Root,
    /// What follows from something else.
    Symptom,
    /// No failure by itself: it helps to understand one.
    Context,
}

impl Role {
    pub fn describe(self) -> &'static str {
        match self {
            Role::Root => "a root cause",
            Role::Symptom => "a symptom of something else",
            Role::Context => "no failure by itself",
        }
    }
}

/// How it is known that programs really say this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verified {
    /// Read in the program's source or in its strings.
    SourceCode,
    /// Read in the log of a real failure.
    RealLog,
}

impl Verified {
    pub fn describe(self) -> &'static str {
        match self {
            Verified::SourceCode => "the program's source",
            Verified::RealLog => "a real log",
        }
    }
}

/// One of the causes that end in the same words.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause<Text = &'static str> {
    /// The cause in a few words.
    pub cause: Text,
    /// What distinguishes it from the others: the id of a check of the machine ...
    #[serde(default)]
    pub check: Option<Text>,
    /// ... or, where no check looks for it, a command to paste ...
    #[serde(default)]
    pub confirm: Option<Text>,
    /// ... and what to look at: in the output of the command, or where no command shows it.
    #[serde(default)]
    pub look_at: Option<Text>,
    /// What to do, without commands; it ends with a colon where commands follow.
    pub fix: Text,
    /// What to type; words in capitals are to be replaced.
    #[serde(default)]
    pub commands: Vec<Text>,
}

/// One wording of a failure.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature<Text = &'static str> {
    /// Its id, which is the name of its file.
    pub id: Text,
    pub component: Component,
    /// What it is in the timeline of a failure.
    pub role: Role,
    pub severity: Severity,
    /// What its lines report about the job.
    #[serde(default)]
    pub reports: Vec<Report>,
    /// The signal that ended a process; `None` where the lines report no such end.
    #[serde(default)]
    pub signal: Option<Signal>,
    /// Exit codes of a launcher that mean this signature; negative: the number of a signal.
    #[serde(default)]
    pub exit_codes: Vec<i32>,
    /// A root only where no other root is found: the peer or step that failed has lines of its own.
    #[serde(default)]
    pub yields: bool,
    /// Only a candidate if a line of one of these signatures came before it in the same source.
    #[serde(default)]
    pub candidate_after: Vec<Text>,
    /// Whether, and when, it is a fault of the machine: such a root comes before all others.
    #[serde(default)]
    pub machine_fault: Option<MachineFault>,
    /// What a log that ends with these lines is diagnosed as; the first that holds.
    #[serde(default)]
    pub unfinished: Vec<Unfinished<Text>>,
    /// Conditions under which its lines count as a failure.
    #[serde(default)]
    pub counts_if: Option<CountsIf<Text>>,
    /// The derivation that takes its texts from this row.
    #[serde(default)]
    pub derived: Option<Derived>,
    /// A regular expression for one line; empty where several lines together say it.
    pub pattern: Text,
    /// Texts of which every matching line has at least one; none where several lines together say it.
    pub literals: Vec<Text>,
    /// The named groups of the pattern.
    #[serde(default)]
    pub captures: Vec<Text>,
    /// One sentence with the groups in braces; a part in brackets is left out where its groups are missing.
    pub message: Text,
    pub meaning: Text,
    /// Whether its line says little without its neighbours.
    #[serde(default)]
    pub context_lines: bool,
    /// What may be behind it, the likely first.
    pub causes: Vec<Cause<Text>>,
    /// Ids of the signatures that follow from it.
    #[serde(default)]
    pub leads_to: Vec<Text>,
    /// The first version of the component with these words; `None`: not known.
    #[serde(default)]
    pub since: Option<Text>,
    /// The last version of the component with these words; `None`: not known, or it has them still.
    #[serde(default)]
    pub until: Option<Text>,
    /// Lines that match.
    pub matches: Vec<Text>,
    /// Lines that look alike and do not match.
    pub not_matches: Vec<Text>,
    pub source: Text,
    /// How it is known that programs really say this.
    pub verified: Verified,
}

impl<Text> Signature<Text> {
    /// Whether its lines report this.
    pub fn reports(&self, report: Report) -> bool {
        self.reports.contains(&report)
    }

    /// Whether no single line says it: it is read from several together ([`diagnose::root_cause`]), or from a
    /// dump.
    pub fn is_derived(&self) -> bool {
        self.literals.is_empty()
    }
}
