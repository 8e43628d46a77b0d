//! GPUs in tasks of Ray that did not request them, or that see one alone.

use std::ops::Range;

use crate::cuda_use::uses_cuda;
use crate::read::python::{Call, Program, contains};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "ray-gpu-not-requested",
    severity: Severity::Warning,
    summary: "tasks and actors of Ray request the GPUs that they use, and number them from 0",
    explain: include_str!("ray_gpu_not_requested.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "serve.py",
            "import ray\nimport torch\n@ray.remote\nclass Worker:\n    def __init__(self):\n        self.m = \
             torch.nn.Linear(2, 2).cuda()\nworkers = [Worker.remote() for _ in range(4)]\n",
        ),
        named(
            "train.py",
            "import ray\nimport torch\n@ray.remote(num_gpus=1)\ndef train(rank):\n    \
             torch.cuda.set_device(rank)\n    return 1\nray.get([train.remote(i) for i in range(4)])\n",
        ),
        named(
            "embed.py",
            "import ray\nimport torch\n@ray.remote(num_cpus=2)\ndef embed(x):\n    return \
             model(x.to(\"cuda\"))\nray.get(embed.remote(1))\n",
        ),
    ],
    silent: &[
        named(
            "serve.py",
            "import ray\nimport torch\n@ray.remote(num_gpus=1)\nclass Worker:\n    def \
             __init__(self):\n        \
             self.m = torch.nn.Linear(2, 2).cuda()\n",
        ),
        named(
            "serve.py",
            "import ray\nimport torch\n@ray.remote\nclass Worker:\n    def __init__(self):\n        self.m = \
             torch.nn.Linear(2, 2).cuda()\nw = Worker.options(num_gpus=1).remote()\n",
        ),
        named(
            "serve.py",
            "import ray\nimport torch\n@ray.remote\ndef load(x):\n    return x.to(\"cuda\" if \
             torch.cuda.is_available() else \"cpu\")\n@ray.remote(num_gpus=4)\ndef train(rank):\n    \
             torch.cuda.set_device(rank)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    // Options may come with each call, and a variable of Ray keeps all GPUs visible.
    let others =
        ["NOSET_CUDA_VISIBLE_DEVICES", "ACCEL_ENV_VAR_OVERRIDE", ".options(", "ray_actor_options", "Pool("];
    if !program.text.contains("ray.remote") || others.iter().any(|word| program.text.contains(word)) {
        return Vec::new();
    }
    let functions = program.functions.iter().filter_map(|function| {
        let decorator = function.decorators.iter().find(|one| one.contains("ray.remote"))?;
        Some((function.name.as_str(), decorator.clone(), function.at.clone()))
    });
    let classes = program.classes.iter().filter_map(|class| {
        let before = program.text.get(..class.at.start)?.trim_end();
        let decorator = before.lines().last().filter(|line| line.trim_start().starts_with("@ray.remote"))?;
        Some((class.name.as_str(), decorator.trim().to_owned(), class.at.clone()))
    });
    let remote: Vec<(&str, String, Range<usize>)> = functions.chain(classes).collect();
    remote.into_iter().filter_map(|(name, decorator, at)| fault(program, name, &decorator, &at)).collect()
}

fn fault(program: &Program, name: &str, decorator: &str, at: &Range<usize>) -> Option<Found> {
    let enclosed = |call: &&Call| contains(at, &call.at) && !call.conditional;
    if !decorator.contains("num_gpus") && !decorator.contains("resources") && !decorator.contains("**") {
        let text = program.text.get(at.clone())?;
        if text.contains("is_available") || text.contains("vllm") {
            return None;
        }
        let used = program.calls.iter().filter(enclosed).find(|call| uses_cuda(program, None, call))?;
        let message = format!(
            "{name} uses CUDA, but requests no GPU ({decorator}): before Ray 2.56 it sees no GPU (`No CUDA \
             GPUs are available`); from 2.56 on, all such tasks share GPU 0 of the node"
        );
        return Some(Found::warning(used.line, message, "Write `@ray.remote(num_gpus=1)`"));
    }
    let bare: String = decorator.chars().filter(|letter| !letter.is_whitespace()).collect();
    if !bare.contains("num_gpus=1,") && !bare.contains("num_gpus=1)") {
        return None;
    }
    let used = program.calls.iter().filter(enclosed).find(|call| {
        let device = call.argument(0, "device").map_or("", |one| one.text.as_str());
        let rank = ["rank", "local_rank", "self.rank", "i", "idx", "gpu_id", "worker_id"].contains(&device);
        call.name == "torch.cuda.set_device" && rank
    })?;
    let message = format!(
        "{name} gets one GPU (num_gpus=1), which it sees as cuda:0, but selects the device {}: `invalid \
         device \
         ordinal` in all but the first",
        used.argument(0, "device").map_or("", |one| one.text.as_str())
    );
    Some(Found::warning(used.line, message, "Use cuda:0: Ray shows each task its own GPU"))
}
