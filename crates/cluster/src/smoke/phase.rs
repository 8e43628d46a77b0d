//! The phases of the smoke test by name, as reports show them.

use std::borrow::Cow;

use diagnostic::Severity;
use diagnostic::report::RuleInfo;
use diagnostic::rule::Group;

/// The group of all phases in reports.
const GROUP: Group = Group { id: "smoke", title: "Smoke test" };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseId {
    /// Every container runs and is in the network.
    Containers,
    /// envdoc's worker runs in every container.
    Worker,
    /// /dev/shm: its size, and that it takes a file.
    Shm,
    /// The interface that NCCL and Gloo choose.
    Interface,
    /// Name resolution between the containers.
    Names,
    /// Packets that get lost, in each direction.
    Loss,
    /// TCP between all ranks.
    Tcp,
    /// The largest packets.
    Mtu,
    /// Passwordless ssh, where the launcher needs it.
    Ssh,
    /// The ring of the ranks.
    Rendezvous,
    /// All-reduces with every element checked.
    AllReduce,
    /// What the path carries without reducing.
    Path,
    /// Bandwidth by size.
    Bandwidth,
    /// What looked slow, again.
    Repeat,
    /// Every pair of ranks alone.
    Pairs,
    /// libnccl and the GPUs.
    Devices,
    /// NCCL's communicator.
    Communicator,
    /// NCCL's all-reduces with every element checked.
    NcclAllReduce,
    /// NCCL's bandwidth by size.
    NcclBandwidth,
    /// What carried NCCL's data.
    Transport,
    /// The image's own torch.
    Torch,
    /// A model that DeepSpeed trains.
    Deepspeed,
}

impl PhaseId {
    /// As in reports and after `--pause`.
    pub fn id(self) -> &'static str {
        self.row().0
    }

    /// The id, and what a sound cluster shows.
    fn row(self) -> (&'static str, &'static str) {
        match self {
            PhaseId::Containers => ("containers", "every container runs and is in the cluster's network"),
            PhaseId::Worker => ("worker", "envdoc's worker runs in every container"),
            PhaseId::Shm => ("shm", "/dev/shm takes files and is large enough for NCCL and data loaders"),
            PhaseId::Interface => ("interface", "NCCL and Gloo use the interface of the cluster's network"),
            PhaseId::Names => ("names", "every container resolves the names of the others"),
            PhaseId::Loss => ("loss", "packets arrive in both directions between the containers"),
            PhaseId::Tcp => ("tcp", "every rank connects to every other"),
            PhaseId::Mtu => ("mtu", "packets of the interface's MTU arrive unfragmented"),
            PhaseId::Ssh => ("ssh", "ssh between all containers needs no password"),
            PhaseId::Rendezvous => ("rendezvous", "all ranks connect to one ring"),
            PhaseId::AllReduce => ("all-reduce", "every element of an all-reduce is correct on every rank"),
            PhaseId::Path => ("path", "every link carries data in both directions"),
            PhaseId::Bandwidth => ("bandwidth", "all-reduces of every size complete with correct elements"),
            PhaseId::Repeat => ("repeat", "what looked slow is not slow in repeated rounds"),
            PhaseId::Pairs => ("pairs", "no pair of ranks is slower than the others"),
            PhaseId::Devices => ("devices", "every rank loads libnccl and opens its GPU"),
            PhaseId::Communicator => ("communicator", "NCCL connects all ranks"),
            PhaseId::NcclAllReduce => ("nccl-all-reduce", "every element of NCCL's all-reduces is correct"),
            PhaseId::NcclBandwidth => ("nccl-bandwidth", "NCCL's all-reduces of every size complete"),
            PhaseId::Transport => ("transport", "NCCL uses the expected transport on every node"),
            PhaseId::Torch => ("torch", "the image's torch completes an all-reduce with correct elements"),
            PhaseId::Deepspeed => {
                ("deepspeed", "all ranks of a DeepSpeed training have the same falling loss")
            }
        }
    }
}

impl From<PhaseId> for RuleInfo {
    fn from(phase: PhaseId) -> RuleInfo {
        let (id, summary) = phase.row();
        rule(id, summary)
    }
}

/// The verdict of a run, as one more result next to those of the phases.
pub(super) fn verdict() -> RuleInfo {
    rule("verdict", "every element is correct, at the bandwidth that the path carries")
}

fn rule(id: &'static str, summary: &'static str) -> RuleInfo {
    RuleInfo {
        id: id.into(),
        group: GROUP,
        severity: Severity::Error,
        summary: summary.into(),
        explain: Cow::Borrowed(""),
    }
}
