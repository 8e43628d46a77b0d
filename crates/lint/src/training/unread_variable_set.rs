//! A program sets an environment variable that nothing reads.

use std::collections::BTreeMap;

use crate::read::python::{Program, string};
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::variables::variable_not_read::unread;

pub(crate) const RULE: Rule = Rule {
    id: "unread-variable-set",
    severity: Severity::Warning,
    summary: "variables with a known prefix that a program sets are read by some library",
    explain: include_str!("unread_variable_set.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "infer.py",
            "import os\nos.environ[\"VLLM_WORKER_MULTIPROCESSING_METHOD\"] = \"spawn\"\nfrom vllm import \
             LLM\nllm = LLM(model=\"m\", tensor_parallel_size=4)\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nos.environ.setdefault('NCCL_SOCKET_IFNAMES', 'ib0')\n\
             torch.distributed.init_process_group(\"nccl\")\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import os\nimport torch\nos.environ[\"NCCL_TIMEOUT\"] = \"1800\"\nos.environ[\"NCCL_DEBUG\"] = \
             \"WARN\"\nseconds = int(os.environ[\"NCCL_TIMEOUT\"])\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nos.environ.setdefault(\"MASTER_ADDRESS\", \"a\")\nos.environ[key] = \
             \"1\"\n# os.environ[\"NCCL_SOCKET_IFNAMES\"] = \"ib0\"\n",
        ),
    ],
};

/// Names that are looked at.
const NAMES_LIMIT: usize = 100;

fn judge(program: &Program) -> Vec<Found> {
    let mut set: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for one in &program.assignments {
        let key = program.environment_key(&one.name);
        if let Some(name) = key.and_then(string) {
            set.entry(name).or_default().push(one.line);
        }
    }
    for call in program.calls.iter().filter(|call| call.name == "os.environ.setdefault") {
        if let Some(name) = call.arguments.first().and_then(|one| string(&one.text)) {
            set.entry(name).or_default().push(call.line);
        }
    }
    let found = set.into_iter().take(NAMES_LIMIT).filter_map(|(name, lines)| {
        let (why, near) = unread(program.catalog, name)?;
        // The program or a part of it may read it itself.
        let named = program.text.match_indices(name).count() > lines.len();
        if named || program.modules.iter().any(|module| module.text.contains(name)) {
            return None;
        }
        let fix =
            near.map_or_else(|| "Remove it".to_owned(), |near| format!("Set {near}, if that was meant"));
        Some(Found::warning(*lines.first()?, format!("{name} has no effect: {why}"), fix).about(name))
    });
    found.collect()
}
