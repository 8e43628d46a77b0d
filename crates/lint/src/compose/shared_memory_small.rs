//! Several processes and 64 MiB of shared memory.

use crate::read::compose::{Compose, Gpus, IsStack, Service, bare, text};
use crate::rule::{Found, Judge, Rule, Severity, compose, stack};

pub(crate) const RULE: Rule = Rule {
    id: "shared-memory-small",
    severity: Severity::Warning,
    summary: "services with several processes have enough shared memory",
    explain: include_str!("shared_memory_small.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    shm_size: 64m\n    command: torchrun \
             --nproc_per_node=8 t.py\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    command: torchrun --nproc_per_node=8 \
             train.py\n",
        ),
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.10.0\n    gpus: all\n    command: \
             [\"--tensor-parallel-size\", \"4\"]\n",
        ),
        stack(
            "services:\n  a:\n    image: b\n    shm_size: 8g\n    command: torchrun --nproc_per_node=8 \
             train.py\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    shm_size: 8g\n    command: torchrun \
             --nproc_per_node=8 train.py\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    ipc: host\n    command: deepspeed --num_gpus \
             4 train.py\n",
        ),
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.10.0\n    gpus: all\n    command: \
             [\"--tensor-parallel-size\", \"1\"]\n",
        ),
        stack(
            "services:\n  a:\n    image: b\n    command: torchrun --nproc_per_node=8 train.py\n    \
             volumes:\n      - type: tmpfs\n        target: /dev/shm\n        tmpfs: {size: 8589934592}\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    tmpfs: [\"/dev/shm:size=8g\"]\n    command: \
             torchrun --nproc_per_node=8 train.py\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let lacking =
        file.services.iter().filter(|service| !service.extends_elsewhere && !has_memory(file, service));
    lacking.filter_map(|service| finding(file, service)).collect()
}

fn finding(file: &Compose, service: &Service) -> Option<Found> {
    let (why, several) = workers(service)?;
    let message = format!(
        "service {} {why} with the default 64 MiB of shared memory; NCCL and data loaders run \
         out of it",
        service.name
    );
    let fix = match file.stack {
        IsStack::No => "Add `shm_size: 8gb` or `ipc: host`",
        _ => "Add the volume `{type: tmpfs, target: /dev/shm, tmpfs: {size: 8589934592}}`",
    };
    Some(match several {
        true => Found::warning(service.line.clone(), message, fix),
        false => Found::note(service.line.clone(), message, fix),
    })
}

fn has_memory(file: &Compose, service: &Service) -> bool {
    // A stack ignores the two keys.
    let size = service.text("shm_size").is_some_and(|size| !is_default(&size));
    let keys = file.stack == IsStack::No && (size || service.at(&["ipc"]).is_some());
    let mounted = service
        .list(&["tmpfs"])
        .iter()
        .chain(&service.list(&["volumes"]))
        .any(|one| one.contains("/dev/shm"));
    let long = match service.at(&["volumes"]) {
        Some(serde_yaml::Value::Sequence(items)) => items
            .iter()
            .filter_map(|item| bare(item).as_mapping()?.get("target").and_then(text))
            .any(|target| target == "/dev/shm"),
        _ => false,
    };
    keys || mounted || long
}

/// Whether a size is not above the default: `64m`, `67108864`.
fn is_default(size: &str) -> bool {
    let end = size.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(size.len());
    let Ok(number) = size[..end].parse::<u64>() else { return false };
    let bytes = match size[end..].to_ascii_lowercase().trim_end_matches(['b', 'i']).trim() {
        "" => number,
        "k" => number << 10,
        "m" => number << 20,
        _ => return false,
    };
    bytes <= 64 << 20
}

/// What starts several processes, and whether they are certainly several.
fn workers(service: &Service) -> Option<(String, bool)> {
    let command = service.command();
    let words: Vec<&str> =
        command.split(|c: char| c.is_whitespace() || c == '=').filter(|word| !word.is_empty()).collect();
    let number = |names: &[&str]| {
        let index = words.iter().position(|word| names.contains(word))?;
        words.get(index + 1)?.trim_matches(['"', '\'']).parse::<u64>().ok()
    };
    let parallel = number(&[
        "--tensor-parallel-size",
        "-tp",
        "--tp",
        "--tp-size",
        "--num-shard",
        "--pipeline-parallel-size",
    ]);
    if let Some(count) = parallel.filter(|count| *count > 1) {
        return Some((format!("splits a model across {count} GPUs"), true));
    }
    let launches = words.iter().any(|word| {
        let word = word.rsplit('/').next().unwrap_or(word);
        matches!(word, "torchrun" | "deepspeed" | "torch.distributed.run" | "torch.distributed.launch")
    }) || (words.contains(&"accelerate") && words.contains(&"launch"));
    if !launches {
        return None;
    }
    let processes = number(&["--nproc_per_node", "--nproc-per-node", "--num_gpus", "--num_processes"]);
    match (processes, service.gpus()) {
        (Some(1), _) | (None, Some(Gpus::Count(1))) => None,
        (Some(count), _) => Some((format!("starts {count} processes"), true)),
        (None, Some(Gpus::Ids(ids))) if ids.len() == 1 => None,
        _ => Some(("starts a process on each GPU".to_owned(), false)),
    }
}
