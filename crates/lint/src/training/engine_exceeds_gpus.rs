//! An engine of vLLM that needs more GPUs than its program sees.

use crate::read::python::{Call, Program, number, string};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "engine-exceeds-gpus",
    severity: Severity::Error,
    summary: "an engine of vLLM is split over as many GPUs as the program sees",
    explain: include_str!("engine_exceeds_gpus.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "serve.py",
            "import os\nos.environ[\"CUDA_VISIBLE_DEVICES\"] = \"0,1\"\nfrom vllm import LLM\nif __name__ == \
             \"__main__\":\n    llm = LLM(model=\"m/n\", tensor_parallel_size=4)\n",
        ),
        named(
            "serve.py",
            "from vllm import LLM\nif __name__ == \"__main__\":\n    llm = LLM(model=\"m/n\", \
             gpu_memory_utilization=90)\n",
        ),
    ],
    silent: &[
        named(
            "serve.py",
            "import os\nos.environ[\"CUDA_VISIBLE_DEVICES\"] = \"0,1,2,3\"\nfrom vllm import LLM\nif \
             __name__ == \
             \"__main__\":\n    llm = LLM(model=\"m/n\", tensor_parallel_size=4, \
             gpu_memory_utilization=0.9)\n",
        ),
        named(
            "serve.py",
            "import os\nos.environ[\"CUDA_VISIBLE_DEVICES\"] = gpus\nfrom vllm import LLM\nif __name__ == \
             \"__main__\":\n    llm = LLM(model=\"m/n\", tensor_parallel_size=4)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let engines = program
        .calls
        .iter()
        .filter(|call| matches!(call.name.as_str(), "vllm.LLM" | "vllm.AsyncEngineArgs" | "vllm.EngineArgs"));
    engines.filter_map(|engine| share(program, engine).or_else(|| gpus(program, engine))).collect()
}

fn value(program: &Program, call: &Call, name: &str) -> Option<f64> {
    let given = call.keyword(name)?;
    number(program.origin(&given.at, &call.function).text)
}

fn share(program: &Program, engine: &Call) -> Option<Found> {
    let share = value(program, engine, "gpu_memory_utilization").filter(|share| *share > 1.0)?;
    let line = engine.keyword("gpu_memory_utilization")?.line;
    let message = format!(
        "gpu_memory_utilization {share}: the share is a fraction of 1; vLLM raises ValueError (`GPU memory \
         utilization must be less than 1.0`)"
    );
    Some(Found::error(line, message, "Write a fraction, such as 0.9"))
}

fn gpus(program: &Program, engine: &Call) -> Option<Found> {
    let mut sets = program
        .assignments
        .iter()
        .filter(|one| program.environment_key(&one.name).and_then(string) == Some("CUDA_VISIBLE_DEVICES"));
    let set = sets.next().filter(|_| sets.next().is_none())?;
    let list = string(&set.text)?;
    let entries: Vec<&str> = list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
    let plain = entries.iter().all(|entry| entry.bytes().all(|byte| byte.is_ascii_digit()));
    let tensor = value(program, engine, "tensor_parallel_size")?;
    let pipeline = value(program, engine, "pipeline_parallel_size").unwrap_or(1.0);
    let needed = tensor * pipeline;
    let seen = u32::try_from(entries.len()).ok()?;
    let message = format!(
        "the engine needs {needed} GPUs (tensor_parallel_size × pipeline_parallel_size), but \
         CUDA_VISIBLE_DEVICES={list} (line {}) shows {seen}; it does not start",
        set.line
    );
    let fix = "Show more GPUs, or reduce the parallel sizes";
    let line = engine.keyword("tensor_parallel_size")?.line;
    (plain && seen > 0 && needed > f64::from(seen)).then(|| Found::error(line, message, fix))
}
