//! DataLoader workers for every core, in every rank.

use crate::read::python::{Program, number};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "loader-workers-by-cores",
    severity: Severity::Warning,
    summary: "the data loader workers of all ranks fit the CPU cores and /dev/shm",
    explain: include_str!("loader_workers_by_cores.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nimport os\n\
             from torch.utils.data import DataLoader\ndist.init_process_group(\"nccl\")\n\
             loader = DataLoader(data, num_workers=os.cpu_count())\n",
        ),
        named_with(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom torch.utils.data import DataLoader\n\
             dist.init_process_group(\"nccl\")\nloader = DataLoader(data, num_workers=4)\n",
            &[("server.json", "broken-container-shm-64m.json")],
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nimport os\n\
             from torch.utils.data import DataLoader\ndist.init_process_group(\"nccl\")\n\
             loader = DataLoader(data, num_workers=4)\n",
        ),
        named(
            "train.py",
            "import os\nfrom torch.utils.data import DataLoader\n\
             loader = DataLoader(data, num_workers=os.cpu_count())\n",
        ),
    ],
};

/// Below this /dev/shm is too small for batches of several workers, bytes.
const SMALL: u64 = 256 << 20;

fn judge(program: &Program) -> Vec<Found> {
    if !program.is_distributed() {
        return Vec::new();
    }
    let loaders = program.calls.iter().filter(|call| call.name.ends_with("DataLoader"));
    let found = loaders.filter_map(|call| {
        let workers = call.keyword("num_workers")?;
        let through = program.value(&workers.text, &call.function, call.at.start);
        let (text, line) =
            through.map_or((workers.text.as_str(), workers.line), |one| (one.text.as_str(), one.line));
        let bare = text.replace(' ', "");
        if matches!(
            bare.as_str(),
            "os.cpu_count()"
                | "multiprocessing.cpu_count()"
                | "mp.cpu_count()"
                | "len(os.sched_getaffinity(0))"
        ) {
            let message = format!("{text} workers in every rank, but all ranks of a node share its cores");
            return Some(Found::note(line, message, "Divide the cores by the ranks per node"));
        }
        let count = number(text).filter(|count| *count > 0.0)?;
        let facts = program.facts.as_ref()?;
        let shared =
            facts.limits.shared_memory.known().map(|space| space.total).filter(|total| *total < SMALL);
        if let Some(total) = shared {
            let message = format!(
                "{count} workers pass batches through /dev/shm, which has only {} MiB; they fail with Bus \
                 error",
                total >> 20
            );
            return Some(Found::warning(
                line,
                message,
                "Start the container with `--shm-size=8g` or \
                 `--ipc=host`",
            ));
        }
        let gpus = facts.gpu.list.known().map(Vec::len).filter(|gpus| *gpus > 0)?;
        // One processor alone is what a shortened recording shows.
        let cores = facts.limits.cpus.known().filter(|cores| **cores > 1)?;
        #[expect(clippy::cast_precision_loss, reason = "counts of GPUs and cores")]
        let (all, cores) = (count * gpus as f64, *cores as f64);
        let message = format!("{count} workers in each of {gpus} ranks are {all} processes on {cores} cores");
        (all > 2.0 * cores).then(|| {
            Found::warning(line, message, format!("Use {:.0} or fewer", (cores / gpus as f64).floor()))
        })
    });
    found.collect()
}
