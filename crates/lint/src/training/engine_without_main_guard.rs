//! An engine of vLLM that each of its own processes would start again.

use crate::read::python::{Program, number};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "engine-without-main-guard",
    severity: Severity::Error,
    summary: "programs that start vLLM with spawn do so behind `if __name__ == \"__main__\"`",
    explain: include_str!("engine_without_main_guard.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "infer.py",
            "import os\nos.environ[\"VLLM_WORKER_MULTIPROC_METHOD\"] = \"spawn\"\nfrom vllm import LLM\nllm \
             = \
             LLM(model=\"m\", tensor_parallel_size=4)\nprint(llm.generate([\"a\"]))\n",
        ),
        named_with(
            "infer.py",
            "import vllm\nTP = 2\nllm = vllm.LLM(\"m\", tensor_parallel_size=TP)\n",
            &[("run.sh", "export VLLM_WORKER_MULTIPROC_METHOD=spawn\npython infer.py\n")],
        ),
    ],
    silent: &[
        named(
            "infer.py",
            "import os\nos.environ[\"VLLM_WORKER_MULTIPROC_METHOD\"] = \"spawn\"\nfrom vllm import LLM\nif \
             __name__ == \
             \"__main__\":\n    llm = LLM(model=\"m\", tensor_parallel_size=4)\n",
        ),
        named(
            "infer.py",
            "from vllm import LLM\nllm = LLM(model=\"m\", \
             tensor_parallel_size=4)\nprint(llm.generate([\"a\"]))\n",
        ),
        named(
            "infer.py",
            "import os\nos.environ[\"VLLM_WORKER_MULTIPROC_METHOD\"] = \"spawn\"\nfrom vllm import LLM\ndef \
             main():\n    return LLM(model=\"m\", tensor_parallel_size=4)\n",
        ),
    ],
};

/// The variable in old and new releases.
const VARIABLES: &[&str] = &["VLLM_WORKER_MULTIPROC_METHOD", "VLLM_WORKER_MULTIPROCESSING_METHOD"];

fn judge(program: &Program) -> Vec<Found> {
    let sets = |text: &str| {
        text.lines().map(str::trim_start).filter(|line| !line.starts_with('#')).any(|line| {
            let plain: String = line.chars().filter(|letter| !"\"' []".contains(*letter)).collect();
            VARIABLES.iter().any(|name| {
                plain.contains(&format!("{name}=spawn")) || plain.contains(&format!("{name},spawn"))
            })
        })
    };
    let spawns = sets(&program.text) || program.scripts.iter().any(|one| sets(&one.text));
    if !spawns || program.text.contains("__name__") || program.text.contains("distributed_executor_backend") {
        return Vec::new();
    }
    let calls = program.calls.iter().filter(|call| call.name == "vllm.LLM" && call.function.is_empty());
    let found = calls.filter_map(|call| {
        let given = call.keyword("tensor_parallel_size")?;
        let size = number(program.origin(&given.at, &call.function).text).filter(|size| *size > 1.0)?;
        let message = format!(
            "vLLM starts its {size} workers with spawn, which imports this program again in each of them: \
             without `if __name__ == \"__main__\":` each one reaches this line and stops with RuntimeError \
             (An \
             attempt has been made to start a new process)"
        );
        let fix = "Put the engine and what uses it behind `if __name__ == \"__main__\":`";
        Some(Found::error(call.line, message, fix).unless_certain(!call.conditional))
    });
    found.take(1).collect()
}
