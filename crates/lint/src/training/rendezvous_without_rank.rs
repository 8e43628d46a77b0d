//! A rendezvous over tcp:// that does not know which rank calls.

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
        named(
            "train.py",
            "import torch.distributed as dist\nimport torch.multiprocessing as mp\n\ndef worker(rank, \
             world):\n    \
             dist.init_process_group(\"nccl\", rank=rank, world_size=world)\n\nif __name__ == \
             \"__main__\":\n    \
             mp.spawn(worker, args=(4,), nprocs=4)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import os\nimport torch.distributed as dist\nimport torch.multiprocessing as mp\n\ndef \
             worker(rank, \
             world):\n    os.environ[\"MASTER_ADDR\"] = \"127.0.0.1\"\n    os.environ[\"MASTER_PORT\"] = \
             \"1234\"\n    \
             dist.init_process_group(\"nccl\", rank=rank, world_size=world)\n\nif __name__ == \
             \"__main__\":\n    \
             mp.spawn(worker, args=(4,), nprocs=4)\n",
        ),
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
    let calls: Vec<&Call> = calls.collect();
    let spawned = calls.iter().find_map(|call| without_address(program, call));
    calls.iter().filter_map(|call| fault(program, call)).chain(spawned).collect()
}

/// Processes that the program starts itself, for which nobody sets MASTER_ADDR.
fn without_address(program: &Program, call: &Call) -> Option<Found> {
    let starts = program.calls.iter().any(|one| {
        matches!(
            one.name.as_str(),
            "torch.multiprocessing.spawn"
                | "torch.multiprocessing.start_processes"
                | "torch.multiprocessing.Process"
                | "multiprocessing.Process"
        )
    });
    let spread = call.arguments.iter().any(|one| one.name.as_deref() == Some("*"));
    let own = call.argument(1, "init_method").is_some() || call.keyword("store").is_some();
    let ranked = call.keyword("rank").is_some();
    let scripts = program.scripts.iter().map(|one| &*one.text);
    let texts = scripts.chain(program.modules.iter().map(|one| &*one.text));
    let set = std::iter::once(program.text.as_str()).chain(texts).any(|text| {
        text.contains("MASTER_ADDR") || text.contains("init_distributed") || text.contains("load_dotenv")
    });
    let message = "the program starts its processes itself, but neither it nor a script next to it sets \
                   MASTER_ADDR; init_process_group raises `environment variable MASTER_ADDR expected, but \
                   not set`";
    let fix = "Set os.environ[\"MASTER_ADDR\"] = \"127.0.0.1\" and MASTER_PORT before, or pass \
               init_method=\"tcp://127.0.0.1:29500\"";
    (starts && ranked && !spread && !own && !set).then(|| Found::warning(call.line, message, fix))
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
