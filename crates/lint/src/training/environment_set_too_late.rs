//! A GPU that the process hides from itself, and settings that come too late.

use crate::read::python::{Call, Program, names, string};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "environment-set-too-late",
    severity: Severity::Error,
    summary: "variables are set before what reads them, and fit the device that is used",
    explain: include_str!("environment_set_too_late.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import os\nimport torch\nlocal_rank = int(os.environ[\"LOCAL_RANK\"])\n\
             os.environ[\"CUDA_VISIBLE_DEVICES\"] = str(local_rank)\ntorch.cuda.set_device(local_rank)\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\ndef main(rank):\n    os.environ['CUDA_VISIBLE_DEVICES'] = \
             f\"{rank}\"\n    \
             model = Net().to(f\"cuda:{rank}\")\n",
        ),
        named(
            "train.py",
            "import os\nfrom transformers import AutoModel\nos.environ[\"HF_HOME\"] = \"/data/hf\"\n\
             model = AutoModel.from_pretrained(\"gpt2\")\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nx = torch.ones(1).cuda()\nos.environ[\"CUDA_VISIBLE_DEVICES\"] = \
             \"1\"\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import os\nos.environ[\"HF_HOME\"] = \"/data/hf\"\nos.environ[\"CUDA_VISIBLE_DEVICES\"] = \
             \"0,1\"\n\
             import torch\nfrom transformers import AutoModel\nos.environ[\"HF_TOKEN\"] = token\n\
             torch.cuda.set_device(0)\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nos.environ[\"CUDA_VISIBLE_DEVICES\"] = str(local_rank)\n\
             torch.cuda.set_device(0)\nmodel.to(\"cuda:0\")\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\ndef main():\n    from transformers import AutoModel\n\
             os.environ[\"HF_HUB_OFFLINE\"] = \"1\"\nif __name__ == \"__main__\":\n    main()\n",
        ),
    ],
};

/// Variables that huggingface_hub reads when it is imported.
const OF_HUB: &[&str] = &[
    "HF_HOME",
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
    "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "TRANSFORMERS_CACHE",
    "HF_ENDPOINT",
    "HF_HUB_ENABLE_HF_TRANSFER",
    "HF_DATASETS_CACHE",
    "HF_DATASETS_OFFLINE",
];

/// Libraries that import huggingface_hub with themselves.
const HUB_USERS: &[&str] = &[
    "huggingface_hub",
    "transformers",
    "datasets",
    "diffusers",
    "peft",
    "trl",
    "sentence_transformers",
    "accelerate",
];

fn judge(program: &Program) -> Vec<Found> {
    let mut found = Vec::new();
    for one in &program.assignments {
        let key = program.environment_key(&one.name);
        let Some(name) = key.and_then(string) else { continue };
        if name == "CUDA_VISIBLE_DEVICES" {
            found.extend(device(program, one.line, &one.text, one.at.end, &one.function));
        }
        if OF_HUB.contains(&name) && one.function.is_empty() {
            found.extend(imported(program, name, one.line));
        }
    }
    found
}

/// The library is imported above, at the top of the file.
fn imported(program: &Program, name: &str, line: usize) -> Option<Found> {
    let import = program.text.lines().enumerate().take(line - 1).find_map(|(index, text)| {
        let rest = text.strip_prefix("from ").or_else(|| text.strip_prefix("import "))?;
        let library = rest.split([' ', '.', ',']).next()?;
        let own = HUB_USERS.contains(&library);
        own.then(|| (index + 1, library.to_owned()))
    });
    let (at, library) = import?;
    let message = format!(
        "{name} is set after the import of {library} in line {at}, which has read it: it has no effect"
    );
    Some(
        Found::warning(
            line,
            message,
            format!("Set it above the import, or in the environment: `{name}=… python …`"),
        )
        .about(name),
    )
}

fn device(
    program: &Program,
    line: usize,
    value: &str,
    at: usize,
    function: &std::ops::Range<usize>,
) -> Option<Found> {
    let here = |call: &&Call| call.function == *function && !call.conditional;
    // After CUDA has started nothing looks at it.
    let before = program.calls.iter().filter(here).find(|call| call.at.end < at && starts_cuda(call));
    if let Some(first) = before {
        let message = format!(
            "CUDA is initialized in line {}; CUDA_VISIBLE_DEVICES no longer has an \
             effect",
            first.line
        );
        return Some(Found::warning(line, message, "Set it before the first use of CUDA"));
    }
    let inner = value.strip_prefix("str(").and_then(|rest| rest.strip_suffix(')'));
    let written = inner.or_else(|| value.strip_prefix("f\"{").and_then(|rest| rest.strip_suffix("}\"")))?;
    let rank = written.rsplit('.').next()?;
    if !matches!(
        rank,
        "local_rank" | "rank" | "gpu" | "local_rank_id" | "LOCAL_RANK" | "device_id" | "gpu_id"
    ) {
        return None;
    }
    let uses = program.calls.iter().filter(here).find(|call| {
        let last = call.name.rsplit('.').next().unwrap_or_default();
        let argument = match last {
            "set_device" | "cuda" | "to" => call.arguments.first(),
            "device" if call.name == "torch.device" => call.arguments.last(),
            "DistributedDataParallel" => call.keyword("device_ids"),
            _ => None,
        };
        let own = argument.is_some_and(|one| {
            let text = one.text.trim_start_matches('f').trim_matches(['"', '\'', '[', ']']);
            text == written
                || text == format!("cuda:{{{written}}}")
                || one.text.starts_with('[') && names(&one.text).any(|name| name == written)
        });
        call.at.start > at && own
    })?;
    let message = format!(
        "with CUDA_VISIBLE_DEVICES={written} (line {line}) the process sees one GPU, as device 0, but uses \
         device \
         {written}; ranks above 0 fail with `invalid device ordinal`"
    );
    Some(Found::error(uses.line, message, "Remove the line that sets CUDA_VISIBLE_DEVICES, or use device 0"))
}

fn starts_cuda(call: &Call) -> bool {
    let last = call.name.rsplit('.').next().unwrap_or_default();
    last == "cuda" && call.name != "torch.cuda"
        || matches!(call.name.as_str(), "torch.cuda.set_device" | "torch.cuda.init")
}
