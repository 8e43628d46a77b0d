//! A step of the build that fails without a GPU.

use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::{Dockerfile, Run};
use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};
use catalog::Catalog;

pub(crate) const RULE: Rule = Rule {
    id: "build-needs-gpu",
    severity: Severity::Warning,
    summary: "no step of the build needs a GPU",
    explain: include_str!("build_needs_gpu.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nRUN python -c \"import torch; assert \
             torch.cuda.is_available(), 'no GPU'; print(torch.version.cuda)\"\n",
        ),
        dockerfile("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN make -j8 && nvidia-smi\n"),
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nRUN python3 <<EOF\nimport torch\n\
             x = torch.ones(2, device=\"cuda\")\nprint(x)\nEOF\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nRUN pip install torch\nRUN [\"python\", \"-c\", \"import torch; \
             print(torch.cuda.get_device_name(0))\"]\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nRUN python -c \"import torch; \
             print(torch.version.cuda, torch.cuda.is_available(), torch.cuda.device_count())\"\n\
             RUN nvidia-smi || true\nHEALTHCHECK CMD nvidia-smi\nCMD [\"nvidia-smi\"]\n",
        ),
        dockerfile(
            "# syntax=docker/dockerfile:1-labs\nFROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\n\
             RUN --device=nvidia.com/gpu=all python -c \"import torch; assert torch.cuda.is_available()\"\n",
        ),
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nRUN if command -v nvidia-smi; then \
             nvidia-smi; fi\n\
             RUN python -c \"import torch; assert not torch.cuda.is_available() or \
             torch.cuda.get_device_name(0)\"\n",
        ),
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nRUN echo 'torch.ones(1).cuda()' > check.py\n\
             RUN python <<EOF\nimport torch\nif torch.cuda.is_available():\n    torch.ones(1).cuda()\nEOF\n",
        ),
    ],
};

/// Functions of torch that raise without a GPU.
const NEED: &[&str] = &[
    "torch.cuda.get_device_name",
    "torch.cuda.get_device_properties",
    "torch.cuda.get_device_capability",
    "torch.cuda.current_device",
    "torch.cuda.mem_get_info",
    "torch.cuda.set_device",
    "torch.cuda.init",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in &file.stages {
        let mut last = None;
        for run in &stage.runs {
            let Some(instruction) = stage.instructions.get(run.instruction) else { continue };
            let Some((what, line)) = needs(file.catalog, instruction, run) else { continue };
            // One for each RUN.
            if last.replace(run.instruction) == Some(run.instruction) {
                continue;
            }
            let message = format!(
                "{what} needs a GPU, and a build has none: BuildKit gives RUN neither devices nor the \
                 driver's \
                 libraries; the build fails here"
            );
            let fix = "Check it when the container starts (`docker run --gpus all`), or in the build only \
             what \
                       needs no GPU: torch.version.cuda, torch.cuda.get_arch_list()";
            found.push(Found::warning(line, message, fix));
        }
    }
    found
}

/// What of a command needs a GPU, with its line.
fn needs(catalog: &'static Catalog, instruction: &Instruction, run: &Run) -> Option<(String, usize)> {
    let command = &run.command;
    let given = instruction.flags.iter().any(|flag| flag.starts_with("--device"));
    if given || !command.certain || command.after == "|" {
        return None;
    }
    let program = command.program();
    if program == "nvidia-smi" {
        let help = command.has("--help") || command.has("-h");
        return (!help).then(|| ("nvidia-smi".to_owned(), command.line));
    }
    if !program.starts_with("python") {
        return None;
    }
    let heredoc = command.heredoc.and_then(|index| instruction.heredocs.get(index));
    let (text, first) = match (command.words.iter().position(|word| word.text == "-c"), heredoc) {
        (Some(at), _) => {
            let word = command.words.get(at + 1).filter(|word| word.known)?;
            (word.text.as_str(), None)
        }
        (None, Some(heredoc)) => (heredoc.text.text.as_str(), Some(&heredoc.text)),
        (None, None) => return None,
    };
    let code = Program::read(catalog, text);
    if !code.unparsed.is_empty() || !code.tries.is_empty() {
        return None;
    }
    let used = code.calls.iter().find(|call| {
        // In a function, which may not run.
        let runs = !call.conditional && call.function.is_empty();
        let last = call.name.rsplit('.').next().unwrap_or_default();
        let cuda = |text: &str| text.trim_start_matches('f').trim_matches(['"', '\'']).starts_with("cuda");
        let quoted = |text: &str| text.contains(['"', '\'']);
        let before = code.text.get(..call.at.start).unwrap_or_default().trim_end();
        let asserted =
            before.ends_with("assert") && !code.text[call.at.end..].trim_start().starts_with("or ");
        let device = match last {
            "to" => call.argument(0, "device"),
            "device" => None,
            _ => call.keyword("device"),
        };
        runs && (NEED.contains(&call.name.as_str())
            || last == "cuda" && call.name != "torch.cuda"
            || call.name == "torch.cuda.is_available" && asserted
            || device.is_some_and(|one| quoted(&one.text) && cuda(&one.text) && !one.text.contains(" if ")))
    })?;
    let written = code.text.get(used.at.clone()).unwrap_or_default().replace('\n', " ");
    let what = match used.name.as_str() {
        "torch.cuda.is_available" => "`assert torch.cuda.is_available()`".to_owned(),
        _ => format!("`{}`", written.chars().take(60).collect::<String>()),
    };
    let line = first.map_or(command.line, |text| text.line_at(used.at.start));
    Some((what, line))
}
