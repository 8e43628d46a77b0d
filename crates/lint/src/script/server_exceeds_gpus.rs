//! A server of models that needs more GPUs, or more of their memory, than there is.

use crate::read::dockerfile::command::Command;
use crate::read::handed::all_commands;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::workers::{needs, share_above_one, share_message};

pub(crate) const RULE: Rule = Rule {
    id: "server-exceeds-gpus",
    severity: Severity::Error,
    summary: "servers of models split them over as many GPUs as they see",
    explain: include_str!("server_exceeds_gpus.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("serve.sh", "export CUDA_VISIBLE_DEVICES=0,1\nvllm serve m/n --tensor-parallel-size 4\n"),
        named(
            "serve.sh",
            "CUDA_VISIBLE_DEVICES=4,5,6,7 python -m sglang.launch_server --model-path m/n --tp 8 --port \
             30000\n",
        ),
        named(
            "serve.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:4\nsrun vllm serve m/n -tp 4 \
             --pipeline-parallel-size 2\n",
        ),
        named("serve.sh", "vllm serve m/n --gpu-memory-utilization 95\n"),
    ],
    silent: &[
        named("serve.sh", "export CUDA_VISIBLE_DEVICES=0,1,2,3\nvllm serve m/n --tensor-parallel-size 4\n"),
        named(
            "serve.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gres=gpu:8\nray start --head\nvllm serve m/n -tp 16\n",
        ),
        named(
            "serve.sh",
            "CUDA_VISIBLE_DEVICES=0 python a.py\nvllm serve m/n -tp 2 --gpu-memory-utilization 0.9\n",
        ),
        named("serve.sh", "export CUDA_VISIBLE_DEVICES=$GPUS\nvllm serve m/n --tensor-parallel-size 4\n"),
        named(
            "serve.sh",
            "export CUDA_VISIBLE_DEVICES=0\nssh node2 'vllm serve m/n -tp 4'\nunset \
             CUDA_VISIBLE_DEVICES\nvllm \
             serve m/n -tp 2\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let mut found = Vec::new();
    for command in all_commands(script).iter().filter(|one| is_server(one)) {
        if let Some(share) = share_above_one(&command.text()) {
            let (message, fix) = share_message(&share);
            found.push(Found::error(command.line, message, fix).unless_certain(command.certain));
        }
    }
    let batch = Batch::read(script.catalog, &script.text);
    let together = script.text.contains("ray start") || script.text.contains("ray.sub");
    let of_job = batch.as_ref().filter(|batch| batch.number("nodes").unwrap_or(1) == 1 && !together);
    let of_job = of_job.filter(|batch| !batch.is_heterogeneous()).and_then(Batch::gpus_per_node);
    let mut visible: Option<String> = None;
    for command in &script.commands {
        let own = command.sets.iter().find(|(name, _)| name == "CUDA_VISIBLE_DEVICES");
        if command.program() == "unset" && command.has("CUDA_VISIBLE_DEVICES") {
            visible = None;
        }
        if command.words.is_empty() {
            if let Some((_, word)) = own {
                visible = command.certain.then(|| word.text.clone());
            }
            continue;
        }
        if !is_server(command) {
            continue;
        }
        let list = own.map(|(_, word)| word.text.clone()).or_else(|| visible.clone());
        let (gpus, shown) = match list {
            Some(list) => match count(&list) {
                Some(count) => (count, format!("CUDA_VISIBLE_DEVICES={list} shows {count} GPUs")),
                None => continue,
            },
            None => match of_job {
                Some(count) => (count, format!("the job has {count} GPUs")),
                None => continue,
            },
        };
        let Some(needs) = needs(&command.text()).filter(|needs| needs.gpus > gpus) else { continue };
        let message =
            format!("{} needs {} GPUs, but {shown}; the server does not start", needs.option, needs.gpus);
        let fix = "Show more GPUs to the server, or reduce the parallel sizes";
        found.push(Found::error(command.line, message, fix).unless_certain(command.certain));
    }
    found
}

/// Whether a command starts vLLM or SGLang.
fn is_server(command: &Command) -> bool {
    let has = |start: &str| command.words.iter().any(|word| word.text.starts_with(start));
    let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let serves = command.words.windows(2).any(|two| base(&two[0].text) == "vllm" && two[1].text == "serve");
    let container = matches!(command.program(), "docker" | "podman" | "nerdctl" | "ssh" | "kubectl" | "helm");
    !container && (serves || has("vllm.entrypoints") || has("sglang.launch_server"))
}

/// The entries of a list of GPUs.
fn count(list: &str) -> Option<u64> {
    let entries: Vec<&str> = list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
    let plain = entries.iter().all(|entry| entry.bytes().all(|byte| byte.is_ascii_digit()));
    u64::try_from(entries.len()).ok().filter(|count| *count > 0 && plain)
}
