//! An engine of vLLM that each of its own processes would start again.

use crate::read::python::{Branch, Call, Program, number, string};
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
        named(
            "infer.py",
            "import logging\nimport os\nos.environ[\"VLLM_WORKER_MULTIPROC_METHOD\"] = \"spawn\"\nfrom \
             vllm import LLM\nlog = logging.getLogger(__name__)\nllm = LLM(model=\"m\", \
             tensor_parallel_size=8, distributed_executor_backend=\"mp\")\n",
        ),
        named(
            "gen.py",
            "import logging, os\nos.environ[\"VLLM_WORKER_MULTIPROC_METHOD\"] = \"spawn\"\nfrom vllm import \
             LLM\nif logging.getLogger(__name__).isEnabledFor(10):\n    llm = LLM(\"a\", \
             tensor_parallel_size=2)\n",
        ),
    ],
    silent: &[
        named(
            "gen.py",
            "import os\nos.environ[\"VLLM_WORKER_MULTIPROC_METHOD\"] = \"spawn\"\nfrom vllm import LLM\nMAIN \
             = __name__ == \"__main__\"\nif MAIN:\n    llm = LLM(\"a\", tensor_parallel_size=2)\n",
        ),
        named(
            "infer.py",
            "import os\nos.environ[\"VLLM_WORKER_MULTIPROCESSING_METHOD\"] = \"spawn\"\nfrom vllm import \
             LLM\nllm = LLM(model=\"m\", tensor_parallel_size=4, distributed_executor_backend=\"mp\")\n",
        ),
        named(
            "infer.py",
            "import os\nos.environ[\"VLLM_WORKER_MULTIPROC_METHOD\"] = \"spawn\"\nfrom vllm import \
             LLM\nllm = LLM(model=\"m\", tensor_parallel_size=4, distributed_executor_backend=\"ray\")\n",
        ),
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

const VARIABLE: &str = "VLLM_WORKER_MULTIPROC_METHOD";
/// Engines of a program that are looked at.
const ENGINES_LIMIT: usize = 20;

fn judge(program: &Program) -> Vec<Found> {
    let sets = |text: &str| {
        text.lines().map(str::trim_start).filter(|line| !line.starts_with('#')).any(|line| {
            let plain: String = line.chars().filter(|letter| !"\"' []".contains(*letter)).collect();
            ["=", ",", ":"].iter().any(|sign| plain.contains(&format!("{VARIABLE}{sign}spawn")))
        })
    };
    let spawns = sets(&program.text) || program.scripts.iter().any(|one| sets(&one.text));
    if !spawns {
        return Vec::new();
    }
    let calls = program.calls.iter().filter(|call| call.name == "vllm.LLM" && call.function.is_empty());
    let found = calls.take(ENGINES_LIMIT).filter_map(|call| {
        let backend = call.keyword("distributed_executor_backend");
        let other =
            backend.is_some_and(|one| string(program.origin(&one.at, &call.function).text) != Some("mp"));
        if other || is_guarded(program, call) {
            return None;
        }
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

/// Whether only the main program comes to a call.
fn is_guarded(program: &Program, call: &Call) -> bool {
    let main = |one: &Branch| {
        let name = one.condition.trim().trim_start_matches("not ");
        let mut sets = program.assignments.iter().filter(|set| set.name == name);
        compares_name(&one.condition) || sets.any(|set| compares_name(&set.text))
    };
    // A program may leave where it is imported.
    program.branches_at(&call.at, &call.function).any(main)
        || program.branches.iter().any(|one| main(one) && one.leaves && one.at.end <= call.at.start)
}

/// Whether an expression asks for the name under which the program runs: `__name__ == "__main__"`.
fn compares_name(text: &str) -> bool {
    let bare: String = text.split_whitespace().collect();
    ["__name__==", "==__name__", "__name__!=", "!=__name__"].iter().any(|mark| bare.contains(mark))
}
