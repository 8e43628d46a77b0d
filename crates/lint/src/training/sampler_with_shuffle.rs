//! A DataLoader with a sampler and `shuffle=True`.

use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sampler-with-shuffle",
    severity: Severity::Error,
    summary: "a DataLoader with a sampler has no `shuffle=True`",
    explain: include_str!("sampler_with_shuffle.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "from torch.utils.data import DataLoader, DistributedSampler\n\
             sampler = DistributedSampler(data, shuffle=False)\n\
             loader = DataLoader(data, batch_size=8, sampler=sampler, shuffle=True)\n",
        ),
        named(
            "train.py",
            "import torch\nloader = torch.utils.data.DataLoader(data, shuffle=True, \
             sampler=torch.utils.data.DistributedSampler(data))\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "from torch.utils.data import DataLoader\n\
             loader = DataLoader(data, sampler=sampler, shuffle=True)\n",
        ),
        named(
            "train.py",
            "from torch.utils.data import DataLoader, DistributedSampler\n\
             sampler = DistributedSampler(data, shuffle=True)\n\
             loader = DataLoader(data, sampler=sampler, shuffle=False)\n",
        ),
        named(
            "train.py",
            "from torch.utils.data import DataLoader, DistributedSampler\n\
             sampler = DistributedSampler(data)\n\
             loader = DataLoader(data, sampler=sampler, shuffle=(sampler is None))\n",
        ),
        named(
            "train.py",
            "from torch.utils.data import DataLoader, DistributedSampler\nsampler = None\n\
             if distributed:\n    sampler = DistributedSampler(data)\n\
             loader = DataLoader(data, sampler=sampler, shuffle=True)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let loaders = program.calls.iter().filter(|call| call.name == "torch.utils.data.DataLoader");
    let wrong = loaders.filter(|call| has_sampler(program, call));
    let shuffled = wrong
        .filter_map(|call| call.keyword("shuffle").filter(|one| one.text == "True").map(|one| (call, one)));
    let found = shuffled.map(|(call, shuffle)| {
        let message = "DataLoader takes either a sampler or shuffle=True; it fails with `sampler option is \
            mutually exclusive with shuffle`";
        Found::error(shuffle.line, message, "Remove `shuffle=True`; a DistributedSampler shuffles by default")
            .unless_certain(!call.conditional)
    });
    found.collect()
}

/// Whether its sampler certainly is one: a call, or a name that is set once, to a call.
fn has_sampler(program: &Program, call: &Call) -> bool {
    let Some(sampler) = call.keyword("sampler") else { return false };
    let is_sampler = |call: &Call| call.name.ends_with("Sampler");
    if program.call_at(&sampler.at).is_some_and(is_sampler) {
        return true;
    }
    let mut set = program.assignments.iter().filter(|one| one.name == sampler.text);
    let first = set.next().filter(|_| set.next().is_none());
    first.and_then(|one| program.call_at(&one.at)).is_some_and(|call| is_sampler(call) && !call.conditional)
}
