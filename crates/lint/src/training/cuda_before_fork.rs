//! A process that is forked from one that already uses CUDA.

use crate::cuda_use::uses_cuda;
use crate::read::python::{Call, Program, contains, number};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "cuda-before-fork",
    severity: Severity::Warning,
    summary: "processes that use CUDA are spawned, or forked before their parent uses CUDA",
    explain: include_str!("cuda_before_fork.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "run.py",
            "import torch\nimport torch.multiprocessing as mp\ndef work(rank):\n    \
             torch.cuda.set_device(rank)\n    x = torch.zeros(1, device=\"cuda\")\nif __name__ == \
             \"__main__\":\n    \
             warm = torch.zeros(1).cuda()\n    for rank in range(2):\n        p = mp.Process(target=work, \
             args=(rank,))\n        p.start()\n",
        ),
        named(
            "run.py",
            "import torch\nfrom multiprocessing import Pool\nmodel = load().to(\"cuda:0\")\ndef \
             embed(text):\n    \
             return model(text.to(\"cuda:0\")).cpu()\nif __name__ == \"__main__\":\n    with Pool(4) as \
             pool:\n        \
             pool.map(embed, texts)\n",
        ),
        named(
            "embed.py",
            "import torch\nfrom datasets import load_dataset\nmodel = torch.nn.Linear(2, 2).cuda()\ndef \
             embed(batch):\n    return {\"y\": model(torch.tensor(batch[\"x\"]).cuda()).cpu()}\ndata = \
             load_dataset(\"a\")\ndata = data.map(embed, batched=True, num_proc=8)\n",
        ),
    ],
    silent: &[
        named(
            "run.py",
            "import torch\nimport torch.multiprocessing as mp\ndef work(rank):\n    x = torch.zeros(1, \
             device=\"cuda\")\nif __name__ == \"__main__\":\n    mp.set_start_method(\"spawn\")\n    warm = \
             torch.zeros(1).cuda()\n    p = mp.Process(target=work, args=(0,))\n    p.start()\n",
        ),
        named(
            "run.py",
            "import torch\nimport torch.multiprocessing as mp\ndef work(rank):\n    x = torch.zeros(1, \
             device=\"cuda\")\nif __name__ == \"__main__\":\n    p = mp.Process(target=work, args=(0,))\n    \
             p.start()\n    p.join()\n",
        ),
        named(
            "run.py",
            "import torch\nimport multiprocessing as mp\ndef load(path):\n    return open(path).read()\nif \
             __name__ \
             == \"__main__\":\n    model = net().cuda()\n    p = mp.Process(target=load, args=(\"a\",))\n    \
             p.start()\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let spawned = ["spawn", "forkserver", "get_context", "set_start_method"];
    if spawned.iter().any(|word| program.text.contains(word)) {
        return Vec::new();
    }
    let starts = program.calls.iter().filter(|call| {
        matches!(
            call.name.as_str(),
            "multiprocessing.Process"
                | "torch.multiprocessing.Process"
                | "multiprocessing.Pool"
                | "torch.multiprocessing.Pool"
                | "concurrent.futures.ProcessPoolExecutor"
        )
    });
    let found = starts.filter_map(|start| fault(program, start)).next();
    found.or_else(|| of_map(program)).into_iter().collect()
}

/// `dataset.map(f, num_proc=8)` of a function that uses CUDA.
fn of_map(program: &Program) -> Option<Found> {
    if !program.imports.values().any(|name| name.starts_with("datasets")) {
        return None;
    }
    program.calls.iter().filter(|call| call.name.ends_with(".map")).find_map(|call| {
        let processes =
            call.keyword("num_proc").and_then(|one| number(&one.text)).filter(|count| *count > 1.0)?;
        let function = program.function(&call.argument(0, "function")?.text)?;
        let used =
            program.calls.iter().find(|one| one.function == function.at && uses_cuda(program, None, one))?;
        let before = program.calls.iter().find(|one| {
            let here = one.function == call.function || one.function == (0..0);
            here && !one.conditional && one.at.start < call.at.start && uses_cuda(program, None, one)
        })?;
        let message = format!(
            "map forks {processes} processes, and {} uses CUDA in each of them (line {}), as their parent \
             does (line \
             {}): `Cannot re-initialize CUDA in forked subprocess`",
            function.name, used.line, before.line
        );
        let fix = "Set the start method to spawn (`multiprocess.set_start_method(\"spawn\")`), or num_proc=1";
        Some(Found::warning(call.line, message, fix))
    })
}

fn fault(program: &Program, start: &Call) -> Option<Found> {
    let before = program.calls.iter().find(|call| {
        let here = call.function == start.function || call.function == (0..0);
        // The main guard is around both.
        let certain = !call.conditional
            || program.branches_at(&call.at, &call.function).all(|branch| contains(&branch.at, &start.at));
        here && certain && call.at.start < start.at.start && uses_cuda(program, None, call)
    })?;
    let target = match start.keyword("target") {
        Some(target) => target.text.clone(),
        // What a pool runs is given to its methods.
        None => program.calls.iter().find_map(|call| {
            let method = call.name.rsplit('.').next().unwrap_or_default();
            let runs = matches!(method, "map" | "imap" | "starmap" | "apply_async" | "submit" | "map_async");
            let first = call.argument(0, "func").filter(|_| runs && call.at.start > start.at.start)?;
            program.function(&first.text).map(|function| function.name.clone())
        })?,
    };
    let function = program.function(&target)?;
    let used = program.calls.iter().find(|call| {
        let cuda = uses_cuda(program, None, call) || call.name == "torch.cuda.set_device";
        call.function == function.at && cuda
    })?;
    let message = format!(
        "{target} uses CUDA (line {}) in a process that is forked from one that already does (line {}): \
         `Cannot \
         re-initialize CUDA in forked subprocess`",
        used.line, before.line
    );
    let fix =
        "Call `torch.multiprocessing.set_start_method(\"spawn\")` before, or use CUDA only in the processes";
    Some(Found::warning(start.line, message, fix))
}
