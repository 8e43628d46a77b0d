//! What a check is, and what it can say.

use serde::{Deserialize, Serialize};

use crate::facts::Facts;

/// A check: a struct of constants with a function pointer.
#[derive(Debug)]
pub struct Check {
    /// Kebab case, names the fault, never the fix; reads well after `--ignore`.
    pub id: &'static str,
    /// Where it stands in the report.
    pub group: Group,
    /// On which machines it means something.
    pub applies: Applies,
    /// What a healthy machine shows, in one line without a full stop: "the loaded module and the user library are one version".
    pub summary: &'static str,
    /// Markdown with the headings "What it checks", "Why it matters", "How to fix it", "Sources".
    pub explain: &'static str,
    /// The judgement. `Err` is a verdict too: the early way out for `?` on [`crate::facts::Fact::require`].
    pub judge: fn(&Facts) -> Judged,
}

/// What `judge` gives back: either side is the verdict.
pub type Judged = Result<Verdict, Verdict>;

/// On which machines a check means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applies {
    /// On every one.
    Anywhere,
    /// Not inside containers.
    Host,
    /// Inside containers only.
    Container,
    /// Where there is an NVIDIA GPU, or should be one.
    Gpu,
    /// Where there is one, and not inside containers.
    GpuHost,
}

/// The groups, in the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Operating system, time, limits.
    System,
    /// PCI devices and links.
    Pci,
    /// NVIDIA driver and kernel modules.
    Driver,
    /// GPUs: health, memory errors, clocks.
    Gpu,
    /// NVLink, NVSwitch, fabric manager.
    Fabric,
    /// CUDA toolkits and libraries.
    Cuda,
    /// NCCL.
    Nccl,
    /// Docker engine.
    Docker,
    /// NVIDIA Container Toolkit.
    Toolkit,
    /// Network.
    Network,
    /// InfiniBand and RoCE.
    Rdma,
    /// Python and torch.
    Python,
    /// Environment variables.
    Environment,
}

impl Group {
    /// All, in order.
    pub const ALL: &[Group] = &[
        Group::System,
        Group::Pci,
        Group::Driver,
        Group::Gpu,
        Group::Fabric,
        Group::Cuda,
        Group::Nccl,
        Group::Docker,
        Group::Toolkit,
        Group::Network,
        Group::Rdma,
        Group::Python,
        Group::Environment,
    ];

    /// As it stands after `--only` and in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Group::System => "system",
            Group::Pci => "pci",
            Group::Driver => "driver",
            Group::Gpu => "gpu",
            Group::Fabric => "fabric",
            Group::Cuda => "cuda",
            Group::Nccl => "nccl",
            Group::Docker => "docker",
            Group::Toolkit => "toolkit",
            Group::Network => "network",
            Group::Rdma => "rdma",
            Group::Python => "python",
            Group::Environment => "environment",
        }
    }

    /// As it stands in the report.
    pub fn title(self) -> &'static str {
        match self {
            Group::System => "System",
            Group::Pci => "PCI",
            Group::Driver => "NVIDIA driver",
            Group::Gpu => "GPUs",
            Group::Fabric => "NVLink and fabric",
            Group::Cuda => "CUDA",
            Group::Nccl => "NCCL",
            Group::Docker => "Docker",
            Group::Toolkit => "Container toolkit",
            Group::Network => "Network",
            Group::Rdma => "RDMA",
            Group::Python => "Python",
            Group::Environment => "Environment",
        }
    }
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Works, but slower, riskier or soon not any more.
    Warning,
    /// Something that the machine is for will fail.
    Error,
}

/// What a check says of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Looked, and it is well.
    Pass,
    /// Means nothing here; why.
    NotApplicable(String),
    /// Could not look; why. Never counted as healthy.
    Unknown(String),
    /// Something is wrong.
    Finding {
        /// How bad.
        severity: Severity,
        /// What is, what should be, and why it matters, in one or two sentences.
        says: String,
        /// The readings it rests on, one a line: "loaded module 550.54.14 (/proc/driver/nvidia/version)".
        evidence: Vec<String>,
        /// What to do.
        fix: Fix,
    },
}

impl Verdict {
    /// A finding at error level.
    pub fn error(says: impl Into<String>, fix: Fix) -> Verdict {
        Verdict::Finding { severity: Severity::Error, says: says.into(), evidence: Vec::new(), fix }
    }

    /// A finding at warning level.
    pub fn warning(says: impl Into<String>, fix: Fix) -> Verdict {
        Verdict::Finding { severity: Severity::Warning, says: says.into(), evidence: Vec::new(), fix }
    }

    /// One verdict of several on the same question: the worst finding (what the others say becomes evidence), else
    /// unknown, else pass, else not applicable: for the first reason given, or `none` where nothing was judged.
    pub fn together(judged: impl IntoIterator<Item = Judged>, none: &str) -> Judged {
        let mut worst: Option<Verdict> = None;
        let (mut unknown, mut passed, mut nothing) = (None, false, None);
        for verdict in judged.into_iter().map(|judged| judged.unwrap_or_else(|verdict| verdict)) {
            match (verdict, &mut worst) {
                (Verdict::Pass, _) => passed = true,
                (Verdict::NotApplicable(why), _) => nothing = nothing.or(Some(why)),
                (Verdict::Unknown(why), _) => unknown = unknown.or(Some(why)),
                (finding, slot @ None) => *slot = Some(finding),
                (Verdict::Finding { severity, says, evidence, fix }, Some(first)) => {
                    let Verdict::Finding { severity: before, .. } = first else { continue };
                    let next = Verdict::Finding { severity, says, evidence, fix };
                    let (keep, add) = match severity > *before {
                        true => (next, first.clone()),
                        false => (first.clone(), next),
                    };
                    *first = match add {
                        Verdict::Finding { says, .. } => keep.because(says),
                        _ => keep,
                    };
                }
            }
        }
        match (worst, unknown, passed) {
            (Some(finding), _, _) => Ok(finding),
            (None, Some(why), _) => Err(Verdict::Unknown(why)),
            (None, None, true) => Ok(Verdict::Pass),
            (None, None, false) => Err(Verdict::NotApplicable(nothing.unwrap_or_else(|| none.to_owned()))),
        }
    }

    /// The same finding as a warning.
    pub fn softened(self) -> Verdict {
        match self {
            Verdict::Finding { says, evidence, fix, .. } => {
                Verdict::Finding { severity: Severity::Warning, says, evidence, fix }
            }
            other => other,
        }
    }

    /// Adds a line of evidence to a finding.
    pub fn because(mut self, line: impl Into<String>) -> Verdict {
        if let Verdict::Finding { evidence, .. } = &mut self {
            evidence.push(line.into());
        }
        self
    }
}

/// What a fix does to the machine while it is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FixClass {
    /// Disturbs nothing that runs.
    Safe,
    /// Restarts a service or resets a GPU: running containers or jobs may end.
    Disruptive,
    /// Needs a reboot.
    Reboot,
}

/// What to do about a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// One sentence; empty when the commands speak for themselves.
    pub text: String,
    /// Commands to type, in order.
    pub commands: Vec<String>,
    /// What they do to the machine.
    pub class: FixClass,
}

impl Fix {
    /// A fix that disturbs nothing.
    pub fn safe(text: impl Into<String>, commands: &[&str]) -> Fix {
        Fix::new(FixClass::Safe, text, commands)
    }
    /// A fix that restarts a service or resets a GPU.
    pub fn disruptive(text: impl Into<String>, commands: &[&str]) -> Fix {
        Fix::new(FixClass::Disruptive, text, commands)
    }
    /// A fix that ends in a reboot.
    pub fn reboot(text: impl Into<String>, commands: &[&str]) -> Fix {
        Fix::new(FixClass::Reboot, text, commands)
    }
    fn new(class: FixClass, text: impl Into<String>, commands: &[&str]) -> Fix {
        Fix { text: text.into(), commands: commands.iter().map(|&c| c.to_owned()).collect(), class }
    }
}
