//! What a check is, and what it can say.

use diagnostic::rule::Rule;
use diagnostic::{Judged, Severity, Verdict};
use facts::{Fact, Facts};
use host::redact::hide_credentials;

/// A check: a struct of constants with a function pointer.
#[derive(Debug)]
pub struct Check {
    /// Kebab case, names the fault, never the fix; reads well after `--ignore`.
    pub id: &'static str,
    /// Where it is in the report.
    pub group: Group,
    /// The worst that it says.
    pub severity: Severity,
    /// On which machines it means something.
    pub applies: Applies,
    /// What a healthy machine shows, in one line without a full stop: "the loaded module and the user library
    /// are one version".
    pub summary: &'static str,
    /// Markdown with the headings "What it checks", "Why it matters", "How to fix it", "Sources".
    pub explain: &'static str,
    /// The judgement. `Err` is a verdict too: the early way out for `?` on [`facts::Fact::require`].
    pub judge: fn(&Facts) -> Judged,
}

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
    Nccl,
    Docker,
    Toolkit,
    Network,
    /// InfiniBand and RoCE.
    Rdma,
    /// Python and torch.
    Python,
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

    /// As given after `--only` and in JSON.
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

    /// As shown in the report.
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

impl Rule for Check {
    fn id(&self) -> &'static str {
        self.id
    }
    fn severity(&self) -> Severity {
        self.severity
    }
    fn group(&self) -> diagnostic::rule::Group {
        diagnostic::rule::Group { id: self.group.id(), title: self.group.title() }
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
    fn explain(&self) -> &'static str {
        self.explain
    }
}

/// All checks of a machine, passed down from the program.
pub type Checks = &'static [&'static Check];

/// One check's verdict on one machine.
#[derive(Debug, Clone)]
pub struct CheckResult {
    pub check: &'static Check,
    /// Not applicable, too, where the check's [`Applies`] excludes the machine.
    pub verdict: Verdict,
}

/// Runs `checks` on one machine.
pub fn judge(checks: &[&'static Check], facts: &Facts) -> Vec<CheckResult> {
    let result = |&check: &&'static Check| CheckResult {
        check,
        // Reports end up in tickets and in the logs of CI.
        verdict: judge_one(check, facts).map_texts(hide_credentials),
    };
    checks.iter().map(result).collect()
}

/// The checks with these ids. An id that none has would make a rule silent: builds with assertions stop.
pub fn with_ids(checks: Checks, ids: &[&str]) -> impl Iterator<Item = &'static Check> {
    for id in ids {
        debug_assert!(checks.is_empty() || checks.iter().any(|check| check.id == *id), "no check {id}");
    }
    checks.iter().copied().filter(|check| ids.contains(&check.id))
}

/// Runs one check: first whether it applies to this machine at all, then its own judgement.
pub fn judge_one(check: &Check, facts: &Facts) -> Verdict {
    match applies(check, facts) {
        Ok(()) => (check.judge)(facts).unwrap_or_else(|verdict| verdict),
        Err(verdict) => verdict,
    }
}

/// The way out of a check whose finding would only be a consequence of what one of `roots` says at error
/// level.
pub fn yield_to(roots: &[&Check], facts: &Facts) -> Result<(), Verdict> {
    root(roots, facts).map_or(Ok(()), |root| Err(Verdict::NotApplicable(format!("see {}", root.id))))
}

/// The first of some checks that finds an error.
pub fn root<'c>(roots: &[&'c Check], facts: &Facts) -> Option<&'c Check> {
    let is_error =
        |verdict: Verdict| matches!(verdict, Verdict::Found(found) if found.severity == Severity::Error);
    roots.iter().find(|root| is_error(judge_one(root, facts))).copied()
}

fn applies(check: &Check, facts: &Facts) -> Result<(), Verdict> {
    match (check.applies, facts.inside_container()) {
        (Applies::Host | Applies::GpuHost, Fact::Known(true)) => {
            return Err(Verdict::NotApplicable("checked on the host only, and this is a container".into()));
        }
        (Applies::Container, Fact::Known(false)) => {
            return Err(Verdict::NotApplicable("this is not a container".into()));
        }
        (Applies::Host | Applies::GpuHost | Applies::Container, Fact::Unknown(why)) => {
            return Err(Verdict::Unknown(why));
        }
        _ => {}
    }
    if matches!(check.applies, Applies::Gpu | Applies::GpuHost) {
        match facts.has_gpu() {
            Fact::Known(true) => {}
            Fact::Unknown(why) => return Err(Verdict::Unknown(why)),
            _ => return Err(Verdict::NotApplicable("no NVIDIA GPU on this machine".into())),
        }
    }
    Ok(())
}
