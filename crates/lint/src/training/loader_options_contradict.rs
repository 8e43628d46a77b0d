//! Options of a DataLoader that exclude each other.

use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "loader-options-contradict",
    severity: Severity::Error,
    summary: "a DataLoader has options that go together",
    explain: include_str!("loader_options_contradict.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "from torch.utils.data import DataLoader, DistributedSampler\n\
             sampler = DistributedSampler(data)\n\
             loader = DataLoader(data, batch_size=8, sampler=sampler, shuffle=True)\n",
        ),
        named(
            "train.py",
            "from torch.utils.data import DataLoader\n\
             loader = DataLoader(data, batch_size=8, batch_sampler=MySampler(data))\n",
        ),
        named(
            "train.py",
            "import torch\nloader = torch.utils.data.DataLoader(data, num_workers=0, \
             persistent_workers=True)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "from torch.utils.data import DataLoader, DistributedSampler\n\
             sampler = DistributedSampler(data) if distributed else None\n\
             loader = DataLoader(data, sampler=sampler, shuffle=(sampler is None))\n\
             other = DataLoader(data, sampler=None, shuffle=True)\n",
        ),
        named(
            "train.py",
            "from torch.utils.data import DataLoader\n\
             loader = DataLoader(data, batch_size=1, batch_sampler=MySampler(data), shuffle=False)\n\
             last = DataLoader(data, num_workers=n, persistent_workers=True)\n",
        ),
        named(
            "train.py",
            "def f(sampler=None):\n    return DataLoader(data, sampler=sampler, shuffle=True)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let of_torch = |call: &&Call| {
        call.name == "DataLoader" || call.name.ends_with(".DataLoader") && call.name.contains("torch")
    };
    program.calls.iter().filter(of_torch).filter_map(|call| fault(program, call)).collect()
}

fn fault(program: &Program, call: &Call) -> Option<Found> {
    // A class of the same name may take anything.
    let own = program.imports.get("DataLoader").is_some_and(|full| full.starts_with("torch.utils.data"));
    if call.name == "DataLoader" && !own {
        return None;
    }
    let is = |name: &str, text: &str| call.keyword(name).filter(|one| one.text == text);
    let made = |name: &str| {
        let one = call.keyword(name)?;
        let sampler = |call: &Call| call.name.ends_with("Sampler");
        let direct = program.call_at(&one.at).is_some_and(sampler);
        let mut set = program.assignments.iter().filter(|other| other.name == one.text).peekable();
        // Something else under the same name may be None.
        let always = set.peek().is_some() && set.all(|other| program.call_at(&other.at).is_some_and(sampler));
        (direct || always).then_some(one)
    };
    if let (Some(_), Some(shuffle)) = (made("sampler"), is("shuffle", "True")) {
        let message = "DataLoader takes either a sampler or shuffle=True; it raises ValueError";
        return Some(Found::error(shuffle.line, message, "Remove shuffle=True: the sampler shuffles"));
    }
    if made("batch_sampler").is_some() {
        let size = call.keyword("batch_size").filter(|size| {
            crate::read::python::number(&size.text).is_some_and(|size| (size - 1.0).abs() > 0.5)
        });
        let other = size.or(is("shuffle", "True")).or(is("drop_last", "True")).or(made("sampler"))?;
        let message = format!(
            "DataLoader takes no {} with a batch_sampler; it raises ValueError",
            other.name.as_deref().unwrap_or_default()
        );
        return Some(Found::error(other.line, message, "Set it in the batch_sampler"));
    }
    let stars = call.arguments.iter().any(|one| one.name.as_deref() == Some("*"));
    let none = call.keyword("num_workers").map_or(!stars && call.arguments.len() < 6, |one| one.text == "0");
    let persistent = is("persistent_workers", "True").filter(|_| none)?;
    let message = "persistent_workers=True needs num_workers above 0; DataLoader raises ValueError";
    Some(Found::error(persistent.line, message, "Set num_workers, or remove persistent_workers"))
}
