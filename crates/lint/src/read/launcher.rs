//! The programs that start the processes of a job.

/// A program that starts processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Launcher {
    Torchrun,
    /// `python -m torch.distributed.launch`.
    DistributedLaunch,
    Deepspeed,
    Accelerate,
    Mpirun,
}

impl Launcher {
    /// As people write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Launcher::Torchrun => "torchrun",
            Launcher::DistributedLaunch => "torch.distributed.launch",
            Launcher::Deepspeed => "deepspeed",
            Launcher::Accelerate => "accelerate launch",
            Launcher::Mpirun => "mpirun",
        }
    }

    pub(crate) fn is_torch(self) -> bool {
        matches!(self, Launcher::Torchrun | Launcher::DistributedLaunch)
    }
}
