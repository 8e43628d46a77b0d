//! A command that is gone, or never was.

use diagnostic::Fix;

use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "command-retired",
    severity: Severity::Warning,
    summary: "no commands that Docker, the container toolkit or torch have retired",
    explain: include_str!("command_retired.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("install.sh", "nvidia-docker run nvidia/cuda nvidia-smi\n"),
        named(
            "install.sh",
            "curl -s -L https://nvidia.github.io/nvidia-docker/gpgkey | sudo apt-key add -\n",
        ),
        named("check.sh", "systemctl status nvidia-container-runtime\n"),
        named("train.sh", "python -m torch.distributed.launch --nproc_per_node=8 train.py\n"),
    ],
    silent: &[
        named(
            "install.sh",
            "docker run --gpus all x\ncurl -fsSL https://nvidia.github.io/libnvidia-container/gpgkey | gpg \
             --dearmor -o /usr/share/keyrings/n.gpg\nsystemctl restart docker\n",
        ),
        named("check.sh", "command -v nvidia-docker\nsystemctl status nvidia-cdi-refresh.service\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    script
        .commands
        .iter()
        .filter_map(|command| {
            let text = command.text();
            let line = command.line;
            match command.program() {
                "nvidia-docker" | "nvidia-docker2" if command.words.len() > 1 => Some(Found::warning(
                    line,
                    "the nvidia-docker wrapper is retired; current packages do not include it",
                    "Use `docker run --gpus all`",
                )),
                "apt-key" if command.has("add") => Some(Found::warning(
                    line,
                    "apt-key is deprecated and was removed in Debian 13",
                    "Use a key file named by `signed-by=`",
                )),
                "curl" | "wget" if text.contains("nvidia.github.io/nvidia-docker") => Some(Found::warning(
                    line,
                    "the nvidia-docker package repository is retired",
                    "Use nvidia.github.io/libnvidia-container/stable/deb",
                )),
                "systemctl" | "service"
                    if command.words.iter().skip(1).any(|word| {
                        matches!(
                            word.text.trim_end_matches(".service"),
                            "nvidia-container-runtime" | "nvidia-container-toolkit" | "nvidia-docker"
                        )
                    }) =>
                {
                    let message =
                        "no such service exists; nvidia-container-runtime is a program that Docker starts";
                    Some(Found::warning(
                        line,
                        message,
                        Fix::safe(
                            "Check the toolkit, and whether Docker knows its runtime:",
                            &["nvidia-ctk --version", "docker info"],
                        ),
                    ))
                }
                "python" | "python3"
                    if command.word(1) == "-m" && command.word(2) == "torch.distributed.launch" =>
                {
                    Some(Found::note(
                        line,
                        "torch.distributed.launch is deprecated in favor of \
                         torchrun",
                        "Use torchrun",
                    ))
                }
                _ => None,
            }
        })
        .collect()
}
