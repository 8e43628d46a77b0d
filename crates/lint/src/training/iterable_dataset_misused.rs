//! Options of a loader that its dataset does not take, and workers that all read the same.

use crate::read::python::{Class, Program, contains, number};
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
    ],
    silent: &[
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
        let made = program.call_at(&data.at).or_else(|| {
            program.call_at(&program.certain_value(&data.text, &loader.function, loader.at.start)?.at)
        });
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
        }
    }
    found
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
fn share_of_rank(program: &Program, class: &Class) -> Option<usize> {
    let body = program.text.get(class.at.clone())?;
    let first = program.text.get(..class.at.start)?.matches('\n').count() + 1;
    let is_share = |line: &str| line.replace("()", "").contains("rank::") || line.contains("rank ::");
    body.lines().position(is_share).map(|index| first + index)
}

/// Whether a dataset may yield something else in each worker.
fn shares(program: &Program, class: &Class) -> bool {
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
    let by_rank = lower.contains("rank") && !(lower.contains("open(") && lower.contains("rank::"));
    let known = by_rank || WORDS.iter().any(|word| lower.contains(word));
    let init = program.text.contains("worker_init_fn");
    let iterates = program.functions.iter().any(|one| one.name == "__iter__" && contains(&class.at, &one.at));
    known || init || !iterates
}
