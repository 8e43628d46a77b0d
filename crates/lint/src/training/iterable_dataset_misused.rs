//! Options of a loader that its dataset does not take, and workers that all read the same.

use crate::collectives::of_own_module;
use crate::read::python::{Argument, Call, Class, Program, contains, names, number};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "iterable-dataset-misused",
    severity: Severity::Error,
    summary: "loaders of an IterableDataset do not shuffle, and its workers share the data",
    explain: include_str!("iterable_dataset_misused.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "from torch.utils.data import DataLoader, IterableDataset\nclass Lines(IterableDataset):\n    \
             def __iter__(self):\n        yield from open(self.path)\n\
             loader = DataLoader(Lines(\"a.txt\"), batch_size=2, shuffle=True)\n",
        ),
        named(
            "train.py",
            "from torch.utils.data import DataLoader, IterableDataset\nclass Lines(IterableDataset):\n    \
             def __iter__(self):\n        for name in self.files:\n            yield name\n\
             data = Lines()\nloader = DataLoader(data, num_workers=4)\n",
        ),
        named(
            "train.py",
            "import random\nimport torch.distributed as dist\nfrom torch.utils.data import DataLoader, \
             IterableDataset\nclass Lines(IterableDataset):\n    \"\"\"Split over the ranks, not the \
             workers.\"\"\"\n    def __iter__(self):\n        files = list(self.files)\n        \
             random.Random(self.seed).shuffle(files)\n        for name in \
             files[dist.get_rank()::dist.get_world_size()]:\n            yield from open(name)\nloader = \
             DataLoader(Lines(), batch_size=8, num_workers=4)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.utils.data import DataLoader, IterableDataset, \
             get_worker_info\nclass Shards(IterableDataset):\n    def __iter__(self):\n        info = \
             get_worker_info()\n        for path in self.paths[info.id :: \
             info.num_workers]:\n            yield \
             from open(path)\ndist.init_process_group(\"nccl\")\nloader = \
             DataLoader(Shards(\"/data\"), num_workers=4)\n",
        ),
        named(
            "train.py",
            "from torch.nn.parallel import DistributedDataParallel as DDP\nfrom torch.utils.data import \
             DataLoader, IterableDataset\nclass Lines(IterableDataset):\n    def __init__(self, \
             path):\n        \
             self.path = path\n    def __iter__(self):\n        with open(self.path) as lines:\n            \
             yield from lines\ndef main(args):\n    model = DDP(net)\n    data = Lines(args.path)\n    for \
             line in DataLoader(data, batch_size=8):\n        model(line)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.utils.data import DataLoader, IterableDataset, \
             get_worker_info\nclass Shards(IterableDataset):\n    def __init__(self, paths):\n        \
             self.paths = paths\n    def __iter__(self):\n        info = get_worker_info()\n        for path \
             in self.paths[info.id :: info.num_workers]:\n            yield from \
             open(path)\ndist.init_process_group(\"nccl\")\nrank, size = dist.get_rank(), \
             dist.get_world_size()\npaths = files[rank::size]\nloader = DataLoader(Shards(paths), \
             num_workers=4)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.utils.data import DataLoader, \
             IterableDataset\nclass Lines(IterableDataset):\n    def __iter__(self):\n        yield from \
             open(self.path)\ndist.init_process_group(\"nccl\")\nval_loader = DataLoader(Lines(), \
             batch_size=8)\n",
        ),
        named(
            "train.py",
            "from torch.utils.data import DataLoader, IterableDataset, get_worker_info\n\
             class Lines(IterableDataset):\n    def __iter__(self):\n        info = \
             get_worker_info()\n        \
             for name in self.files[info.id :: info.num_workers]:\n            yield name\n\
             loader = DataLoader(Lines(), num_workers=4)\n",
        ),
        named(
            "train.py",
            "import random\nfrom torch.utils.data import DataLoader, Dataset, IterableDataset\n\
             class Noise(IterableDataset):\n    def __iter__(self):\n        while True:\n            \
             yield random.random()\nclass Plain(Dataset):\n    def __getitem__(self, i):\n        return i\n\
             loader = DataLoader(Noise(), num_workers=4)\nother = DataLoader(Plain(), shuffle=True)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let loaders = program.calls.iter().filter(|call| call.name.ends_with("DataLoader"));
    let mut found = Vec::new();
    for loader in loaders {
        let Some(data) = loader.argument(0, "dataset") else { continue };
        let made = made_of(program, loader, data);
        let class = made.and_then(|made| program.classes.iter().find(|class| class.name == made.name));
        let Some(class) = class.filter(|class| class.bases.contains("IterableDataset")) else { continue };
        let option = ["shuffle", "sampler", "batch_sampler"].iter().find_map(|name| {
            loader
                .keyword(name)
                .filter(|one| !matches!(one.text.as_str(), "False" | "None"))
                .map(|one| (name, one))
        });
        if let Some((name, option)) = option.filter(|(name, one)| **name != "shuffle" || one.text == "True") {
            let message = format!(
                "{} is an IterableDataset, for which DataLoader takes no {name}; it raises ValueError",
                class.name
            );
            found.push(Found::error(option.line, message, "Remove it, and shuffle in __iter__"));
        }
        let workers = loader.argument(5, "num_workers").and_then(|one| number(&one.text));
        if workers.is_some_and(|workers| workers > 1.0) && !shares(program, class) {
            let message = format!(
                "each of the workers runs {}.__iter__ in full, which does not look at get_worker_info(): \
                 every sample \
                 comes {} times",
                class.name,
                workers.unwrap_or_default()
            );
            let fix = "Let each worker yield its share: `files[info.id::info.num_workers]`";
            let line = share_of_rank(program, class).unwrap_or(loader.line);
            found.push(Found::warning(line, message, fix));
        } else if let Some(one) = made.and_then(|made| same_on_all_ranks(program, class, made, loader)) {
            found.push(one);
        }
    }
    found
}

/// The call that makes the dataset of a loader.
pub(crate) fn made_of<'p>(program: &'p Program, loader: &Call, data: &Argument) -> Option<&'p Call> {
    let set = || program.certain_value(&data.text, &loader.function, loader.at.start);
    program.call_at(&data.at).or_else(|| program.call_at(&set()?.at))
}

/// Words of what gives each rank its share, in the dataset or around it.
const OF_RANKS: &[&str] = &[
    "rank",
    "world",
    "replica",
    "process_index",
    "num_processes",
    "split_by_node",
    "nodesplitter",
    ".shard(",
    "split_dataset_by_node",
    "accelerator",
    "trainer(",
    "fabric",
    "lightning",
    "webdataset",
    "streaming",
    "dispatch_batches",
    "prepare_data_loader",
    "iterabledatasetshard",
    "slurm_procid",
];

/// A training in which every rank reads the same samples: the dataset asks for its worker at most.
fn same_on_all_ranks(program: &Program, class: &Class, made: &Call, loader: &Call) -> Option<Found> {
    let body = code(program.text.get(class.at.clone())?);
    // `random.Random(seed)` makes the same numbers on every rank.
    let lower = body.replace("random.Random(", "seeded(").to_ascii_lowercase();
    let by_worker = lower.contains("get_worker_info");
    let few = loader.argument(5, "num_workers").is_none_or(|one| number(&one.text) == Some(0.0));
    let random = ["choice", "sample(", "rand"].iter().any(|word| lower.contains(word));
    let reads = ["open(", "load", "read"].iter().any(|word| lower.contains(word));
    let inner = ["dataset:", "self.dataset", "super()", "queue", "socket", "load_dataset"];
    let other = inner.iter().any(|word| lower.contains(word));
    let shared = OF_RANKS.iter().any(|word| lower.contains(word)) || program.text.contains("worker_init_fn");
    let libraries = ["Accelerator(", "Trainer(", "webdataset", "split_dataset_by_node", "import ray"];
    let elsewhere = libraries.iter().any(|word| program.text.contains(word));
    // Each rank may evaluate on everything.
    let place =
        program.assignments.iter().find(|one| one.at == loader.at).map_or("", |one| one.name.as_str());
    let evaluates =
        ["val", "test", "eval", "dev"].iter().any(|word| place.to_ascii_lowercase().contains(word));
    let silent = random || other || shared || elsewhere || evaluates || !(by_worker || few && reads);
    if silent || !program.is_distributed() || !made.arguments.iter().all(|one| same(program, one, made)) {
        return None;
    }
    let iterates =
        program.functions.iter().find(|one| one.name == "__iter__" && contains(&class.at, &one.at))?;
    let message = format!(
        "{}.__iter__ {}: every rank reads the same samples",
        class.name,
        match by_worker {
            true => "splits the data across the workers of a loader, but not across ranks",
            false => "does not split the data",
        }
    );
    let fix = "Let each rank yield its share: `files[rank * workers + worker::world_size * workers]`";
    Some(Found::warning(iterates.line, message, fix))
}

/// Whether an argument of a dataset is the same on every rank, as far as the script shows.
fn same(program: &Program, one: &Argument, made: &Call) -> bool {
    let from = program.origin(&one.at, &made.function);
    let call = program.call_at(&from.at);
    let function = call.and_then(|call| program.function(&call.name));
    let text = function.and_then(|one| program.text.get(one.at.clone())).unwrap_or_default();
    let by_rank = |text: &str| {
        let lower = text.to_ascii_lowercase();
        ["gpu", "local"].iter().chain(OF_RANKS).any(|word| lower.contains(word))
    };
    // The names in it, one step further: `f"part-{part}.txt"`.
    let inner = names(from.text)
        .any(|name| program.value(name, &from.function, from.at.start).is_some_and(|set| by_rank(&set.text)));
    // What another module gives may depend on the rank.
    let foreign = call.is_some_and(|call| of_own_module(program, call));
    let known = [&one.text, from.text, text].into_iter().any(by_rank);
    one.name.as_deref() != Some("*") && !foreign && !inner && !known
}

/// The text of a class without comments and docstrings.
fn code(body: &str) -> String {
    let mut parts = body.split("\"\"\"");
    let mut out = parts.next().unwrap_or_default().to_owned();
    while let (Some(_), rest) = (parts.next(), parts.next()) {
        out.push_str(rest.unwrap_or_default());
    }
    let lines = out.lines().map(|line| match line.trim_start().starts_with('#') {
        true => "",
        false => line.split("  # ").next().unwrap_or_default(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The line on which a class takes the share of its rank.
pub(crate) fn share_of_rank(program: &Program, class: &Class) -> Option<usize> {
    let body = program.text.get(class.at.clone())?;
    let first = program.text.get(..class.at.start)?.matches('\n').count() + 1;
    let is_share = |line: &str| line.replace([' ', '(', ')'], "").contains("rank::");
    body.lines().position(is_share).map(|index| first + index)
}

/// Whether a dataset may yield something else in each worker.
pub(crate) fn shares(program: &Program, class: &Class) -> bool {
    let body = code(program.text.get(class.at.clone()).unwrap_or_default());
    const WORDS: &[&str] = &[
        "worker",
        "random.random(",
        "random.shuffle(",
        "random.choice",
        "random.sample(",
        "random.randint(",
        "random.rand",
        "torch.rand",
        "default_rng()",
        "split_dataset_by_node",
        "super()",
        ".shard(",
        "queue",
        "socket",
        "load_dataset",
        "dataset:",
        "self.dataset",
        "webdataset",
    ];
    // A seed makes the same order in every worker. `files[dist.get_rank()::dist.get_world_size()]`
    let lower = body
        .replace("random.Random(", "seeded(")
        .to_ascii_lowercase()
        .replace("()", "")
        .replace("default_rng", "default_rng()");
    // The share of a rank is no share of its workers, unless both are in one number.
    let cut = lower.replace("rank ::", "rank::").contains("rank::");
    let by_rank = lower.contains("rank") && !(lower.contains("open(") && cut);
    let known = by_rank || WORDS.iter().any(|word| lower.contains(word));
    let init = program.text.contains("worker_init_fn");
    let iterates = program.functions.iter().any(|one| one.name == "__iter__" && contains(&class.at, &one.at));
    known || init || !iterates
}
