//! Programs that many rules know, by what they do.

use crate::read::dockerfile::command::Command;

/// Start the processes of a job, and hand their other arguments to it.
const LAUNCHERS: [&str; 5] = ["torchrun", "deepspeed", "accelerate", "mpirun", "mpiexec"];

/// Run a container.
const ENGINES: [&str; 4] = ["docker", "podman", "apptainer", "singularity"];

/// Start a server in Python.
const SERVERS: [&str; 3] = ["vllm", "uvicorn", "gunicorn"];

/// `python`, `python3`, `python3.12`.
pub(crate) fn is_python(program: &str) -> bool {
    program
        .strip_prefix("python")
        .is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

pub(crate) fn is_launcher(program: &str) -> bool {
    LAUNCHERS.contains(&program)
}

/// A launcher, or Slurm's.
pub(crate) fn starts_tasks(program: &str) -> bool {
    is_launcher(program) || program == "srun"
}

pub(crate) fn is_engine(program: &str) -> bool {
    ENGINES.contains(&program)
}

pub(crate) fn is_server(program: &str) -> bool {
    SERVERS.contains(&program)
}

pub(crate) fn is_shell(program: &str) -> bool {
    matches!(program, "bash" | "sh")
}

/// Whether a command is the work of a script: it trains, or starts what does.
pub(crate) fn is_job(command: &Command) -> bool {
    let python = is_python(command.program()) && command.words.iter().any(|word| word.text.ends_with(".py"));
    starts_tasks(command.program()) || python
}

/// Whether a text names what starts ranks of PyTorch, anywhere in it.
pub(crate) fn names_launcher(text: &str) -> bool {
    ["torchrun", "torch.distributed", "deepspeed", "accelerate"].iter().any(|name| text.contains(name))
}

/// Whether a command starts ranks of PyTorch.
pub(crate) fn launches(command: &str) -> bool {
    let programs = ["torchrun", "deepspeed", "torch.distributed.run", "torch.distributed.launch"];
    let words: Vec<&str> = command.split_whitespace().collect();
    words.iter().any(|word| programs.contains(&word.rsplit('/').next().unwrap_or(word)))
        || words.windows(2).any(|two| two[0].rsplit('/').next() == Some("accelerate") && two[1] == "launch")
}

/// The value of the first of these options that a command has, `-` and `_` alike. Of an option that comes
/// twice the last value counts.
pub(crate) fn option(words: &[&str], names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        words.iter().enumerate().rev().find_map(|(at, word)| {
            let word = word.strip_prefix("--")?;
            let (own, value) = word.split_once('=').map_or((word, None), |(own, value)| (own, Some(value)));
            let value = value.or_else(|| words.get(at + 1).copied())?;
            (own.replace('-', "_") == *name).then(|| value.trim_matches(['"', '\'']).to_owned())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_apart() {
        assert!(is_python("python3.12") && is_python("python") && !is_python("python-config"));
        assert!(starts_tasks("srun") && !is_launcher("srun") && is_launcher("mpiexec"));
        assert!(launches("/usr/bin/torchrun x") && launches("/opt/venv/bin/accelerate launch t.py"));
        assert!(!launches("python train.py") && !launches("accelerate config"));
        assert!(names_launcher("python -m torch.distributed.run") && !names_launcher("python train.py"));
    }
}
