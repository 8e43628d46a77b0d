//! Several worker processes of a web server, each with an engine for the whole GPU.

use crate::read::python::{Program, number};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "engine-per-web-worker",
    severity: Severity::Error,
    summary: "a web server with an engine of vLLM has one worker process",
    explain: include_str!("engine_per_web_worker.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "serve.py",
            "import uvicorn\nfrom fastapi import FastAPI\nfrom vllm import LLM\napp = \
             FastAPI()\n@app.on_event(\"startup\")\ndef load():\n    global llm\n    llm = LLM(model=\"m\", \
             gpu_memory_utilization=0.90)\nif __name__ == \"__main__\":\n    uvicorn.run(\"serve:app\", \
             port=8100, workers=4)\n",
        ),
        named(
            "serve.py",
            "import uvicorn\nfrom fastapi import FastAPI\nfrom vllm import AsyncEngineArgs, \
             AsyncLLMEngine\napp = \
             FastAPI()\nengine = AsyncLLMEngine.from_engine_args(AsyncEngineArgs(model=\"m\"))\nWORKERS = 2\n\
             if __name__ == \"__main__\":\n    uvicorn.run(\"serve:app\", workers=WORKERS)\n",
        ),
    ],
    silent: &[
        named(
            "serve.py",
            "import uvicorn\nfrom vllm import LLM\nllm = LLM(model=\"m\")\nuvicorn.run(app, workers=1)\n",
        ),
        named(
            "serve.py",
            "import uvicorn\nfrom vllm import LLM\nllm = LLM(model=\"m\", \
             gpu_memory_utilization=0.4)\nuvicorn.run(\"serve:app\", workers=2)\n",
        ),
        named(
            "serve.py",
            "import os\nimport uvicorn\nfrom vllm import LLM\nos.environ[\"CUDA_VISIBLE_DEVICES\"] = \
             str(os.getpid() % 4)\nllm = LLM(model=\"m\")\nuvicorn.run(\"serve:app\", workers=4)\n",
        ),
    ],
};

/// The share of the memory that vLLM takes without an option.
const DEFAULT_SHARE: f64 = 0.9;

fn judge(program: &Program) -> Vec<Found> {
    if program.text.contains("CUDA_VISIBLE_DEVICES") {
        return Vec::new();
    }
    let engine = program.calls.iter().find(|call| {
        matches!(
            call.name.as_str(),
            "vllm.LLM" | "vllm.AsyncEngineArgs" | "vllm.EngineArgs" | "vllm.engine.arg_utils.AsyncEngineArgs"
        )
    });
    let Some(engine) = engine else { return Vec::new() };
    let share = match engine.keyword("gpu_memory_utilization") {
        Some(given) => number(program.origin(&given.at, &engine.function).text),
        None => Some(DEFAULT_SHARE),
    };
    let found = program.calls.iter().filter(|call| call.name == "uvicorn.run").find_map(|call| {
        let given = call.keyword("workers")?;
        let count = number(program.origin(&given.at, &call.function).text).filter(|count| *count > 1.0)?;
        let share = share.filter(|share| count * share > 1.0)?;
        let message = format!(
            "uvicorn starts {count} worker processes, and each makes the engine of line {} on the same GPU, \
             with \
             {share} of its memory; the second one finds too little and fails",
            engine.line
        );
        Some(Found::error(given.line, message, "Use one worker: vLLM batches concurrent requests itself"))
    });
    found.into_iter().collect()
}
