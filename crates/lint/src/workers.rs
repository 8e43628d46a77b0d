//! How many GPUs a command needs on its machine.

/// What a command asks for, and the number of GPUs that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Needs {
    /// The options: `--tensor-parallel-size 4`.
    pub option: String,
    pub gpus: u64,
}

/// Options of launchers that start so many processes on each machine.
const PROCESSES: &[&str] = &["--nproc_per_node", "--nproc-per-node", "--num_gpus"];
/// Options of servers that split a model over so many GPUs.
const TENSOR: &[&str] = &["--tensor-parallel-size", "-tp", "--tp", "--tp-size", "--num-shard", "--tp_size"];
const PIPELINE: &[&str] = &["--pipeline-parallel-size", "-pp", "--pp-size"];
const DATA: &[&str] = &["--data-parallel-size", "-dp", "--dp-size"];

/// Options with which a server is one part of what runs on several machines.
const SEVERAL_MACHINES: &[&str] = &[
    "--nnodes",
    "--node-rank",
    "--headless",
    "--data-parallel-address",
    "--data-parallel-size-local",
    "--data-parallel-start-rank",
];

/// The GPUs that a command needs; `None` where it does not say so.
pub(crate) fn needs(command: &str) -> Option<Needs> {
    let words: Vec<&str> = command
        .split(|letter: char| letter.is_whitespace() || letter == '=')
        .map(|word| word.trim_matches(['"', '\'', ',', '\\']))
        .filter(|word| !word.is_empty())
        .collect();
    let value = |names: &[&str]| {
        let at = words.iter().position(|word| names.contains(word))?;
        Some((words[at], words.get(at + 1)?.parse::<u64>().ok()?))
    };
    let cpu = ["gloo", "--use-cpu", "--cpu"].iter().any(|word| words.contains(word));
    if let Some((option, gpus)) = value(PROCESSES).filter(|_| !cpu) {
        return Some(Needs { option: format!("{option} {gpus}"), gpus });
    }
    // vLLM and SGLang spread over several machines with a head of their own; `mp` and `uni` start processes
    // of one machine.
    let several = words.iter().enumerate().any(|(at, word)| match *word {
        "--distributed-executor-backend" | "--distributed_executor_backend" | "--data-parallel-backend" => {
            !words.get(at + 1).is_some_and(|backend| ["mp", "uni"].contains(backend))
        }
        word => SEVERAL_MACHINES.contains(&word.replace('_', "-").as_str()),
    });
    if several {
        return None;
    }
    let found: Vec<(&str, u64)> = [TENSOR, PIPELINE, DATA].into_iter().filter_map(value).collect();
    let option = found.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(" ");
    let gpus = found.iter().try_fold(1_u64, |all, (_, count)| all.checked_mul(*count))?;
    (!found.is_empty()).then_some(Needs { option, gpus })
}

/// A share of the GPU's memory above 1 that a command gives to vLLM, as it is written: `95`.
pub(crate) fn share_above_one(command: &str) -> Option<String> {
    let words: Vec<&str> = command
        .split(|letter: char| letter.is_whitespace() || letter == '=')
        .map(|word| word.trim_matches(['"', '\'', ',', '\\']))
        .filter(|word| !word.is_empty())
        .collect();
    let at = words.iter().position(|word| word.replace('_', "-") == "--gpu-memory-utilization")?;
    let value = words.get(at + 1)?;
    value.parse::<f64>().is_ok_and(|share| share > 1.0).then(|| (*value).to_owned())
}

/// What vLLM does with such a share, and what to write.
pub(crate) fn share_message(share: &str) -> (String, String) {
    let message = format!(
        "--gpu-memory-utilization {share}: the share is a fraction of 1; vLLM ends with `GPU memory \
         utilization \
         must be less than 1.0`"
    );
    let fix = match share.parse::<f64>() {
        Ok(percent) if percent <= 100.0 => format!("Write {}", percent / 100.0),
        _ => "Write a fraction, such as 0.9".to_owned(),
    };
    (message, fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_of_commands() {
        let of = |command: &str| needs(command).map(|needs| needs.gpus);
        assert_eq!(of("torchrun --nproc_per_node=8 train.py"), Some(8));
        assert_eq!(of("vllm serve m -tp 2 --pipeline-parallel-size 2"), Some(4));
        assert_eq!(of("vllm serve m -tp 4 --distributed-executor-backend=mp"), Some(4));
        for several in [
            "vllm serve m -tp 4 --distributed-executor-backend ray",
            "vllm serve m -tp 16 --nnodes 2 --distributed-executor-backend mp",
            "vllm serve m -tp 8 -dp 2 --headless",
            "vllm serve m -dp 4 --data-parallel-size-local 2 --data-parallel-address a",
        ] {
            assert_eq!(of(several), None, "{several}");
        }
        assert_eq!(of("torchrun --nproc_per_node=gpu train.py"), None);
        assert_eq!(of("torchrun --nproc_per_node=4 t.py --backend gloo"), None);
        assert_eq!(share_above_one("vllm serve m --gpu_memory_utilization=95").as_deref(), Some("95"));
        assert_eq!(share_above_one("vllm serve m --gpu-memory-utilization 0.95"), None);
    }
}
