//! A script imports torch in an image that has none.

use crate::base::Base;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "started-image-without-torch",
    severity: Severity::Error,
    summary: "scripts import torch only in images that contain it",
    explain: include_str!("started_image_without_torch.md"),
    judge: Judge::Script(judge),
    fires: &[named(
        "check.sh",
        "docker run --gpus all python:3.10-slim python -c \"import torch; \
         print(torch.cuda.device_count())\"\n",
    )],
    silent: &[named(
        "check.sh",
        "docker run --gpus all pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime python -c \"import torch\"\n\
         docker run python:3.12 sh -c \"pip install torch && python -c 'import torch'\"\n",
    )],
};

fn judge(script: &Script) -> Vec<Found> {
    let runs = script.commands.iter().filter(|command| {
        matches!(command.program(), "docker" | "podman" | "nerdctl") && command.word(1) == "run"
    });
    let found = runs.filter_map(|command| {
        let image = command
            .words
            .iter()
            .skip(2)
            .find(|word| matches!(Base::of(&word.text), Some(Base::Python | Base::Cuda)))?;
        let text = command.text();
        // A folder of the host may bring it along.
        let brings = ["pip", "install", " -v", "--volume", "--mount"].iter().any(|word| text.contains(word));
        let imports = text.contains("import torch");
        let message = format!(
            "{} does not contain torch; the import fails with \
             ModuleNotFoundError",
            image.text
        );
        (imports && !brings).then(|| {
            Found::error(command.line, message, "Use an image with torch, or `nvidia-smi -L`")
                .about(&image.text)
                .unless_certain(command.certain)
        })
    });
    found.collect()
}
