//! Workers that all read the same, of a dataset whose class is in a module of its own.

use super::iterable_dataset_misused::{made_of, share_of_rank, shares};
use crate::read::python::{Call, Program, number};
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "iterable-module-repeated",
    severity: Severity::Warning,
    summary: "the workers of a loader share the data of an IterableDataset of another module",
    explain: include_str!("iterable_module_repeated.md"),
    judge: Judge::Training(judge),
    fires: &[named_with(
        "train.py",
        "from torch.utils.data import DataLoader\nfrom stream import Lines\nloader = \
             DataLoader(Lines(\"a\"), \
             num_workers=8)\n",
        &[(
            "stream.py",
            "from torch.utils.data import IterableDataset\nclass Lines(IterableDataset):\n    def \
                 __iter__(self):\n        for name in self.files[self.rank :: self.world]:\n            with \
                 open(name) as lines:\n                yield from lines\n",
        )],
    )],
    silent: &[
        named_with(
            "train.py",
            "from torch.utils.data import DataLoader\nfrom stream import Lines\nloader = \
             DataLoader(Lines(\"a\"), \
             num_workers=4)\n",
            &[(
                "stream.py",
                "import torch.distributed as dist\nfrom torch.utils.data import IterableDataset, \
                 get_worker_info\nclass Lines(IterableDataset):\n    def __iter__(self):\n        info = \
                 get_worker_info()\n        mine = self.files[self.rank :: self.world]\n        for name in \
                 mine[info.id :: info.num_workers]:\n            yield from open(name)\n",
            )],
        ),
        named_with(
            "train.py",
            "from torch.utils.data import DataLoader\nfrom stream import Lines\nloader = \
             DataLoader(Lines(\"a\"), \
             num_workers=1)\n",
            &[(
                "stream.py",
                "from torch.utils.data import IterableDataset\nclass Lines(IterableDataset):\n    def \
                 __iter__(self):\n        for name in self.files[self.rank :: self.world]:\n            \
                 yield from \
                 open(name)\n",
            )],
        ),
        named_with(
            "train.py",
            "from torch.utils.data import DataLoader\nfrom stream import Lines\nloader = \
             DataLoader(Lines(\"a\"), \
             num_workers=4, worker_init_fn=split)\n",
            &[(
                "stream.py",
                "from torch.utils.data import IterableDataset\nclass Lines(IterableDataset):\n    def \
                 __iter__(self):\n        for name in self.files[self.rank :: self.world]:\n            \
                 yield from \
                 open(name)\n",
            )],
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let loaders = program.calls.iter().filter(|call| call.name.ends_with("DataLoader"));
    let found = loaders.filter_map(|loader| {
        let data = loader.argument(0, "dataset")?;
        of_module(program, made_of(program, loader, data)?, loader)
    });
    found.collect()
}

/// Workers that all read the same, of a dataset whose class is in a module next to the program.
fn of_module(program: &Program, made: &Call, loader: &Call) -> Option<Found> {
    let workers = loader.argument(5, "num_workers").and_then(|one| number(&one.text))?;
    if workers <= 1.0 || program.text.contains("worker_init_fn") || program.text.contains("IterableDataset") {
        return None;
    }
    let (_, name) = made.name.rsplit_once('.')?;
    let over = program.module_of(&made.name)?;
    let home = over.program(program.catalog);
    let class = home.classes.iter().find(|class| class.name == name)?;
    let splits_by_rank = share_of_rank(home, class).is_some();
    if !class.bases.contains("IterableDataset") || !splits_by_rank || shares(home, class) {
        return None;
    }
    let message = format!(
        "{name}.__iter__ ({}) splits the data by rank only; each of the {workers} workers reads the whole \
         share, so every sample appears {workers} times",
        over.name
    );
    let fix = "Let each worker yield its share: `files[info.id::info.num_workers]` with get_worker_info()";
    Some(Found::warning(loader.line, message, fix))
}
