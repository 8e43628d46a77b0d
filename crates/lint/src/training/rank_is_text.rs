//! A rank that is the text of an environment variable, used as a number.

use std::ops::Range;

use crate::read::python::{Argument, Call, Program, string};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "rank-is-text",
    severity: Severity::Error,
    summary: "ranks from the environment are converted to numbers",
    explain: include_str!("rank_is_text.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "from os import environ, getenv\nimport torch\ntorch.cuda.set_device(environ.get(\"LOCAL_RANK\", \
             \"0\"))\nif getenv(\"RANK\", \"0\") == 0:\n    print(1)\nif environ[\"RANK\"] == 0:\n    \
             print(2)\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nrank = os.environ[\"RANK\"]\nif rank == 0:\n    \
             torch.save(model.state_dict(), \"x.pt\")\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\ndef main():\n    local_rank = os.environ.get(\"LOCAL_RANK\", \
             \"0\")\n    \
             torch.cuda.set_device(local_rank)\n    if os.getenv(\"SLURM_PROCID\") != 0:\n        return\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nimport torch.distributed as dist\n\
             dist.init_process_group(\"nccl\", rank=os.environ[\"RANK\"], world_size=4)\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\
             r = os.environ['LOCAL_RANK']\nmodel = DDP(Net().cuda(int(r)), device_ids=[r])\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import os\nimport torch\nrank = int(os.environ[\"RANK\"])\nif rank == 0:\n    pass\n\
             local = os.environ[\"LOCAL_RANK\"]\ndevice = torch.device(f\"cuda:{local}\")\n\
             if local == \"0\":\n    pass\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nrank = os.environ[\"RANK\"]\nrank = int(rank)\nif rank == 0:\n    \
             pass\n\
             def f(rank):\n    if rank == 0:\n        torch.cuda.set_device(rank)\n",
        ),
        named(
            "train.py",
            "import os\nrank = os.environ[\"RANK\"]\ndef spawn(rank):\n    return rank == 0\n\
             name = os.environ[\"MODE\"]\nif name == 0:\n    pass\n",
        ),
    ],
};

/// Variables with numbers that launchers set.
const NUMBERS: &[&str] = &[
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "NODE_RANK",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_NTASKS",
    "SLURM_NNODES",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK",
];

fn judge(program: &Program) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for one in &program.comparisons {
        let sides = [(&one.left, &one.right), (&one.right, &one.left)];
        let text = sides.into_iter().find_map(|(text, number)| {
            number.parse::<i64>().ok()?;
            of_environment(program, text, &one.function, one.at.start)
        });
        let Some((name, certain)) = text else { continue };
        let effect = match one.operator.as_str() {
            "==" => "is False on every rank",
            "!=" => "is True on every rank",
            "<" | ">" | "<=" | ">=" => "raises TypeError",
            _ => continue,
        };
        let message = format!(
            "{name} of the environment is text, so that `{} {} {}` {effect}",
            one.left, one.operator, one.right
        );
        found.push(Found::error(one.line, message, fix(&name)).unless_certain(certain));
    }
    found.extend(program.calls.iter().filter_map(|call| of_call(program, call)));
    found
}

fn fix(name: &str) -> String {
    format!("Write `int(os.environ[\"{name}\"])`")
}

/// A call that takes a number, or a device.
fn of_call(program: &Program, call: &Call) -> Option<Found> {
    let last = call.name.rsplit('.').next().unwrap_or_default();
    let numbers: Vec<&Argument> = match call.name.as_str() {
        "torch.cuda.set_device" => call.argument(0, "device").into_iter().collect(),
        "torch.device" if call.arguments.len() == 1 => call.argument(0, "type").into_iter().collect(),
        "torch.device" => call.argument(1, "index").into_iter().collect(),
        "torch.distributed.init_process_group" => {
            ["rank", "world_size"].iter().filter_map(|name| call.keyword(name)).collect()
        }
        _ if last == "DistributedDataParallel" => {
            ["device_ids", "output_device"].iter().filter_map(|name| call.keyword(name)).collect()
        }
        _ if last == "cuda" && call.name.contains('.') => call.argument(0, "device").into_iter().collect(),
        _ => return None,
    };
    let (argument, name, certain) = numbers.into_iter().find_map(|one| {
        let inner = one.text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(&one.text);
        let (name, certain) = of_environment(program, inner, &call.function, call.at.start)?;
        Some((one, name, certain))
    })?;
    let what = match call.name.as_str() {
        "torch.distributed.init_process_group" => "takes an integer; RuntimeError",
        _ => "takes it for the name of a device; `Invalid device string`",
    };
    let message = format!("{name} of the environment is text, and {last} {what}");
    Some(Found::error(argument.line, message, fix(&name)).unless_certain(certain))
}

/// The variable whose text an expression is, and whether it is text also where the variable is not set.
fn of_environment(
    program: &Program,
    text: &str,
    function: &Range<usize>,
    before: usize,
) -> Option<(String, bool)> {
    let read = |text: &str| {
        let (name, default) = program.environment_read(text)?;
        let certain =
            program.environment_key(text).is_some() || default.is_some_and(|one| string(one).is_some());
        Some((name.to_owned(), certain))
    };
    let known = |(name, certain): (String, bool)| NUMBERS.contains(&name.as_str()).then_some((name, certain));
    if let Some(found) = read(text) {
        return known(found);
    }
    let set = program.certain_value(text, function, before)?;
    read(&set.text).and_then(known)
}
