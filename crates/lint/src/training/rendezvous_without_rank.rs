//! A rendezvous over tcp:// that is not told which rank calls.

use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "rendezvous-without-rank",
    severity: Severity::Error,
    summary: "init_process_group with tcp:// or file:// has rank and world size",
    explain: include_str!("rendezvous_without_rank.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch.distributed as dist\n\
             dist.init_process_group(\"nccl\", init_method=\"tcp://10.0.0.1:29500\")\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\naddress = f\"tcp://{host}:{port}\"\n\
             dist.init_process_group(backend=\"nccl\", init_method=address, world_size=8)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\", \
             init_method=\"tcp://10.0.0.1\", \
             rank=rank, world_size=2)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\", \
             init_method=\"tcp://10.0.0.1:29500\", rank=rank, world_size=8)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\", init_method=\"env://\")\n\
             dist.init_process_group(\"nccl\", \"tcp://a:1?rank=0&world_size=2\")\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\n\
             dist.init_process_group(\"nccl\", init_method=\"tcp://10.0.0.1:29500\", **ranks)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let calls = program.calls.iter().filter(|call| call.name == "torch.distributed.init_process_group");
    calls.filter_map(|call| fault(program, call)).collect()
}

fn fault(program: &Program, call: &Call) -> Option<Found> {
    let given = call.argument(1, "init_method")?;
    let set = program.certain_value(&given.text, &call.function, call.at.start);
    let text = set.map_or(given.text.as_str(), |set| set.text.as_str());
    let address = text.trim_start_matches('f').strip_prefix(['"', '\''])?.strip_suffix(['"', '\''])?;
    let scheme = ["tcp", "file"].into_iter().find(|scheme| address.starts_with(&format!("{scheme}://")))?;
    let spread = call.arguments.iter().any(|one| one.name.as_deref() == Some("*"));
    let plain = call.arguments.iter().filter(|one| one.name.is_none()).count();
    let has = |name: &str| call.keyword(name).is_some() || address.contains(&format!("{name}=")) || plain > 3;
    let backend = call.argument(0, "backend").map_or("", |one| one.text.trim_matches(['"', '\'']));
    // MPI has ranks of its own.
    if spread || address.contains('+') || backend.eq_ignore_ascii_case("mpi") {
        return None;
    }
    let missing: Vec<&str> = ["rank", "world_size"].into_iter().filter(|name| !has(name)).collect();
    if let Some(first) = missing.first() {
        let message = format!(
            "init_process_group gets no {} for {scheme}://; torchrun's variables are read for env:// only \
             (`{first} parameter missing`)",
            missing.join(" and no ")
        );
        let fix = "Pass rank and world_size, or use init_method=\"env://\", the default, with torchrun";
        return Some(Found::error(call.line, message, fix));
    }
    let host = address.strip_prefix("tcp://")?.split(['?', '/']).next()?;
    let port = host.contains(':') || host.contains('{');
    let message = "the tcp:// address has no port; `port number missing`";
    (!port).then(|| Found::error(given.line, message, format!("Write `tcp://{host}:29500`")))
}
