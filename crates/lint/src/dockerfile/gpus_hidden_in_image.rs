//! An image whose environment hides the GPUs from the program that it starts.

use crate::read::dockerfile::start::started;
use crate::read::dockerfile::{Dockerfile, Stage};
use crate::read::entry_scripts::entry_scripts;
use crate::rule::{Found, Judge, Rule, Severity, with};

use super::copied_contents_misplaced::started_files;

pub(crate) const RULE: Rule = Rule {
    id: "gpus-hidden-in-image",
    severity: Severity::Warning,
    summary: "ENV hides no GPU from programs that use CUDA",
    explain: include_str!("gpus_hidden_in_image.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        with(
            "FROM pytorch/pytorch:2.4.1-cuda12.1-cudnn9-runtime\nWORKDIR /srv\nCOPY . .\nENV \
             CUDA_VISIBLE_DEVICES=-1\nRUN python -m unittest\nCMD [\"python\", \"fit.py\"]\n",
            &[("fit.py", "import torch\nplace = \"cuda\" if torch.cuda.is_available() else \"cpu\"\n")],
        ),
        with(
            "FROM pytorch/pytorch:2.4.1-cuda12.1-cudnn9-runtime AS base\nENV A=b \
             CUDA_VISIBLE_DEVICES=\"\"\nFROM \
             base\nCOPY \
             fit.py /srv/fit.py\nENTRYPOINT [\"python3\", \"/srv/fit.py\", \"--steps\", \"5\"]\n",
            &[("fit.py", "import torch\nnet = Net().to(\"cuda\")\n")],
        ),
    ],
    silent: &[
        with(
            "FROM pytorch/pytorch:2.4.1-cuda12.1-cudnn9-runtime\nWORKDIR /srv\nCOPY . .\nRUN \
             CUDA_VISIBLE_DEVICES=-1 python -m unittest\nCMD [\"python\", \"fit.py\"]\n",
            &[("fit.py", "import torch\nplace = \"cuda\" if torch.cuda.is_available() else \"cpu\"\n")],
        ),
        with(
            "FROM pytorch/pytorch:2.4.1-cuda12.1-cudnn9-runtime AS test\nWORKDIR /srv\nCOPY . .\nENV \
             CUDA_VISIBLE_DEVICES=-1\nRUN python -m unittest\nENV CUDA_VISIBLE_DEVICES=0\nCMD [\"python\", \
             \"fit.py\"]\n",
            &[("fit.py", "import torch\nplace = \"cuda\" if torch.cuda.is_available() else \"cpu\"\n")],
        ),
        // It is for the CPU, and says so.
        with(
            "FROM pytorch/pytorch:2.4.1-cuda12.1-cudnn9-runtime\nWORKDIR /srv\nCOPY . .\nENV \
             CUDA_VISIBLE_DEVICES=-1\nCMD [\"python\", \"fit.py\", \"--device\", \"cpu\"]\n",
            &[("fit.py", "import torch\nplace = \"cuda\" if torch.cuda.is_available() else \"cpu\"\n")],
        ),
        with(
            "FROM pytorch/pytorch:2.4.1-cuda12.1-cudnn9-runtime\nWORKDIR /srv\nCOPY . .\nENV \
             CUDA_VISIBLE_DEVICES=-1\nCMD [\"python\", \"fit.py\"]\n",
            &[(
                "fit.py",
                "import os\nos.environ.pop(\"CUDA_VISIBLE_DEVICES\")\nimport torch\ntorch.cuda.init()\n",
            )],
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    fault(file).into_iter().collect()
}

fn fault(file: &Dockerfile) -> Option<Found> {
    const NAME: &str = "CUDA_VISIBLE_DEVICES";
    let stages = file.shipped();
    let end = &stages.first()?.end;
    let value = end.variables.get(NAME).filter(|value| !value.default)?.text.clone()?;
    let hides = matches!(value.as_str(), "" | "-1" | "none" | "None" | "NoDevFiles");
    let image = end.image.filter(|image| image.cuda.is_some() && hides)?;
    // Whoever starts the program may set it.
    let sets = |text: &str| text.contains(NAME);
    let scripts = entry_scripts(file);
    let mut texts = scripts.iter().filter_map(|one| file.context_text(&one.path));
    let on_cpu = started(file).iter().any(|one| one.words.iter().any(|word| word.text.contains("cpu")));
    if on_cpu || texts.any(sets) {
        return None;
    }
    let path = started_files(file).into_iter().filter(|path| path.ends_with(".py")).find(|path| {
        let text = file.text_at(end, path).map(|(_, text)| text);
        text.is_some_and(|text| text.contains("cuda") && !sets(text))
    })?;
    let line = stages.iter().find_map(|stage| line(stage, NAME))?;
    let message = format!(
        "{NAME}={value} stays in the image, and {path}, which the container starts, sees no GPU, though the \
         image is based on {}",
        image.reference()
    );
    let fix = format!("Set it for one command alone: `RUN {NAME}=-1 …`");
    Some(Found::warning(line, message, fix).about(NAME))
}

/// The line of the last ENV of a stage that sets a variable.
fn line(stage: &Stage, name: &str) -> Option<usize> {
    let mut instructions = stage.instructions.iter().rev();
    let set = instructions.find(|one| one.keyword == "ENV" && one.text.text.contains(name))?;
    let at = set.text.text.find(name)?;
    Some(set.text.line_at(at))
}
