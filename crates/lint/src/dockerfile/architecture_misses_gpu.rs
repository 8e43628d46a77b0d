//! CUDA code that is compiled for other GPUs than those on which the image runs.

use std::collections::BTreeSet;

use super::architecture_list_missing::projects;
use crate::compiles::ahead;
use crate::file::Over;
use crate::node_labels::{gpu_of_label, selected};
use crate::programs::{is_python, is_shell};
use crate::read::dockerfile::install::Install;
use crate::read::dockerfile::stage::{settings, unquoted};
use crate::read::dockerfile::{Dockerfile, Run, Stage};
use crate::read::manifest::Manifest;
use crate::read::sbatch::Batch;
use crate::rule::{Found, Judge, Rule, Severity, with};
use crate::torch::{self, Known};
use catalog::Catalog;
use catalog::gpus::Gpu;
use catalog::torch::{Build, Release};
use catalog::version;

pub(crate) const RULE: Rule = Rule {
    id: "architecture-misses-gpu",
    severity: Severity::Warning,
    summary: "CUDA code is compiled for the GPUs that the jobs of the image ask for",
    explain: include_str!("architecture_misses_gpu.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        with(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nENV MAX_JOBS=8 \
             TORCH_CUDA_ARCH_LIST=\"8.0;8.6\"\n\
             COPY csrc/ ./csrc/\nRUN pip install --no-build-isolation ./csrc\n",
            &[(
                "job.yaml",
                "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      \
                 restartPolicy: Never\n      nodeSelector: {nvidia.com/gpu.product: \
                 NVIDIA-H100-80GB-HBM3}\n      \
                 containers: [{name: a, image: registry.example/ml/a:1}]\n",
            )],
        ),
        with(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nCOPY . /src\nRUN cmake -S /src -B /b \
             -DCMAKE_CUDA_ARCHITECTURES=\"80-real;86-real\" && cmake --build /b\n",
            &[(
                "job.sbatch",
                "#!/bin/bash\n#SBATCH --partition=h100\n#SBATCH --gpus-per-node=8\nsrun \
                 --container-image=/x/a.sqsh ./run\n",
            )],
        ),
        with(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nCOPY a.cu .\nRUN nvcc -gencode \
             arch=compute_90,code=sm_90 -o a a.cu\n",
            &[("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:a100:4\napptainer exec --nv a.sif ./a\n")],
        ),
        with(
            "FROM python:3.11-slim\nRUN pip install torch==2.5.1 --index-url \
             https://download.pytorch.org/whl/cu124\nCOPY serve.py .\n",
            &[(
                "deployment.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: \
                 {matchLabels: {app: a}}\n  template:\n    metadata: {labels: {app: a}}\n    spec:\n      \
                 nodeSelector: {nvidia.com/gpu.product: NVIDIA-B200}\n      containers: [{name: a, image: \
                 registry.example/ml/a:1}]\n",
            )],
        ),
        with(
            "FROM python:3.11-slim\nCOPY . .\nRUN pip install torch==2.5.1 --index-url \
             https://download.pytorch.org/whl/cu124\nRUN pip install numpy==1.26.4\n",
            &[("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:b200:4\nsrun --container-image=a ./a\n")],
        ),
    ],
    silent: &[
        with(
            "FROM python:3.11-slim\nCOPY . .\nRUN pip install torch==2.5.1 --index-url \
             https://download.pytorch.org/whl/cu124\nRUN pip install numpy -r requirements.txt\n",
            &[("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:b200:4\nsrun --container-image=a ./a\n")],
        ),
        with(
            "FROM python:3.11-slim\nCOPY . .\nRUN pip install torch==2.5.1 --index-url \
             https://download.pytorch.org/whl/cu124\nRUN pip install lmdeploy\n",
            &[("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:b200:4\nsrun --container-image=a ./a\n")],
        ),
        with(
            "FROM python:3.11-slim\nCOPY . .\nRUN pip install torch==2.5.1 --index-url \
             https://download.pytorch.org/whl/cu124\nRUN uv sync\n",
            &[("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:b200:4\nsrun --container-image=a ./a\n")],
        ),
        with(
            "FROM python:3.11-slim\nCOPY . .\nRUN pip install torch==2.5.1 --index-url \
             https://download.pytorch.org/whl/cu124\nRUN ./install.sh\n",
            &[("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:b200:4\nsrun --container-image=a ./a\n")],
        ),
        with(
            "FROM python:3.11-slim\nRUN pip install torch==2.5.1 --index-url \
             https://download.pytorch.org/whl/cu124\n",
            &[("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:h200:4\nsrun --container-image=a ./a\n")],
        ),
        with(
            "FROM python:3.11-slim\nRUN pip install torch==2.5.1 --index-url \
             https://download.pytorch.org/whl/cu124\nRUN pip install vllm==0.6.3\n",
            &[("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:b200:4\nsrun --container-image=a ./a\n")],
        ),
        with(
            "FROM python:3.11-slim\nRUN pip install torch --index-url \
             https://download.pytorch.org/whl/cu124\n",
            &[("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:b200:4\nsrun --container-image=a ./a\n")],
        ),
        with(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nENV \
             TORCH_CUDA_ARCH_LIST=\"8.0;8.6+PTX\"\nCOPY csrc/ \
             ./csrc/\nRUN pip install --no-build-isolation ./csrc\n",
            &[("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:h100:4\nsrun --container-image=a ./a\n")],
        ),
        with(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nENV TORCH_CUDA_ARCH_LIST=\"8.0;9.0\"\nCOPY \
             csrc/ \
             ./csrc/\nRUN pip install --no-build-isolation ./csrc\n",
            &[("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:a40:4\nsrun --container-image=a ./a\n")],
        ),
        with(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nENV TORCH_CUDA_ARCH_LIST=\"8.0\"\nRUN pip \
             install \
             transformers==4.46.0\n",
            &[("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:h100:4\nsrun --container-image=a ./a\n")],
        ),
        with(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nENV TORCH_CUDA_ARCH_LIST=\"8.0\"\nCOPY csrc/ \
             ./csrc/\nRUN pip install --no-build-isolation ./csrc\n",
            &[("job.sbatch", "#!/bin/bash\n#SBATCH --partition=gpu\nsrun --container-image=a ./a\n")],
        ),
        with(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nCOPY . /src\nRUN cmake -S /src -B /b \
             -DCMAKE_CUDA_ARCHITECTURES=80 && cmake --build /b\n",
            &[("job.sbatch", "#!/bin/bash\n#SBATCH --partition=h100\nsrun --container-image=a ./run\n")],
        ),
    ],
};

/// What is compiled for one architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Code {
    capability: (u32, u32),
    /// Whether it has binary code, which later GPUs of the same major version run.
    real: bool,
    /// Whether it has PTX, which every later GPU compiles.
    ptx: bool,
    /// `90a`: for this one alone.
    exact: bool,
}

/// What a command compiles, and where the list is.
struct Compiled {
    line: usize,
    written: String,
    codes: Vec<Code>,
    /// The release of torch whose wheel it is.
    wheel: Option<&'static Release>,
}

fn judge(file: &Dockerfile) -> Vec<Found> {
    if file.near.is_empty() {
        return Vec::new();
    }
    let wheel = file.shipped().into_iter().find_map(of_wheel);
    let compiled: Vec<Compiled> = file.stages.iter().flat_map(of_stage).chain(wheel).collect();
    let mut found = Vec::new();
    for one in &compiled {
        let wrong = file.near.iter().find_map(|near| {
            let gpus = gpus(file.catalog, near);
            let missed =
                |gpu: &Gpu| capability(gpu).is_some_and(|gpu| !one.codes.iter().any(|code| runs(code, gpu)));
            let (name, gpu) = gpus.first().filter(|_| gpus.iter().all(|(_, gpu)| missed(gpu)))?;
            Some((near.name.clone(), name.clone(), *gpu))
        });
        let Some((near, name, gpu)) = wrong else { continue };
        let message = format!(
            "{} has no code for {} (compute capability {}), on which {near} runs ({name}), and no PTX from \
             which \
             the driver makes it: `no kernel image is available for execution on the device`",
            one.written, gpu.name, gpu.compute_capability
        );
        let fix = match one.wheel {
            None => format!("Add {} to the list", gpu.compute_capability),
            Some(release) => match with_code(file.catalog, release, gpu) {
                Some((other, build)) => format!("Install torch {other}, whose build {build} has code for it"),
                None => format!("Install a torch that has code for {}", gpu.compute_capability),
            },
        };
        found.push(Found::warning(one.line, message, fix));
    }
    found.dedup_by(|one, other| one.line == other.line);
    found
}

fn runs(code: &Code, gpu: (u32, u32)) -> bool {
    if code.exact {
        return code.capability == gpu;
    }
    let same = code.capability.0 == gpu.0 && code.capability.1 <= gpu.1;
    code.real && same || code.ptx && code.capability <= gpu
}

fn capability(gpu: &Gpu) -> Option<(u32, u32)> {
    version::minor(&gpu.compute_capability)
}

/// The GPUs that a file near the Dockerfile asks for, each with the text that says so.
fn gpus(catalog: &'static Catalog, near: &Over) -> Vec<(String, &'static Gpu)> {
    if near.name.ends_with(".yaml") || near.name.ends_with(".yml") {
        let manifest = Manifest::read(catalog, &near.text);
        let pods = manifest.pods();
        let labels: Vec<(String, String)> = pods.iter().flat_map(selected).collect();
        let known = labels.into_iter();
        return known
            .filter_map(|(key, value)| {
                let gpu = gpu_of_label(catalog, &key, &value)?;
                Some((format!("{key}: {value}"), gpu))
            })
            .collect();
    }
    let containers = ["container", "docker", "apptainer", "singularity", "enroot", "podman"];
    let in_image = containers.iter().any(|word| near.text.contains(word));
    let Some(batch) = Batch::read(catalog, &near.text).filter(|_| in_image) else { return Vec::new() };
    let mut found = Vec::new();
    for name in ["gres", "gpus", "gpus-per-node", "gpus-per-task", "constraint", "partition"] {
        let Some(value) = batch.value(name) else { continue };
        let parts: BTreeSet<&str> = value.split([',', ':', '|', '&', '-', '_', '/']).collect();
        let gpu = parts.into_iter().find_map(|part| catalog.gpus().by_alias(part).filter(|_| is_name(part)));
        found.extend(gpu.map(|gpu| (format!("--{name}={value}"), gpu)));
        if !found.is_empty() {
            break;
        }
    }
    found
}

/// Whether a part of a value is the name of a GPU and no number.
fn is_name(part: &str) -> bool {
    part.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && part.contains(|letter: char| letter.is_ascii_digit())
}

fn of_stage(stage: &Stage) -> Vec<Compiled> {
    let mut found = Vec::new();
    let builds = |run: &&Run| {
        !projects(run).is_empty() || run.install.as_ref().is_some_and(|install| ahead(run, install).is_some())
    };
    for (at, one) in stage.instructions.iter().enumerate() {
        if !matches!(one.keyword.as_str(), "ENV" | "ARG") {
            continue;
        }
        for (name, value) in settings(&one.text.text) {
            let value = unquoted(&value.unwrap_or_default());
            if name != "TORCH_CUDA_ARCH_LIST" || value.contains('$') {
                continue;
            }
            let Some(codes) = torch_list(&value) else { continue };
            if stage.runs.iter().filter(|run| run.instruction > at).any(|run| builds(&run)) {
                let line = line_of(one, &name);
                found.push(Compiled { line, written: format!("{name}={value}"), codes, wheel: None });
            }
        }
    }
    for run in &stage.runs {
        let command = &run.command;
        let own = command.sets.iter().find(|(name, word)| name == "TORCH_CUDA_ARCH_LIST" && word.known);
        if let Some((name, word)) = own.filter(|_| builds(&run))
            && let Some(codes) = torch_list(&word.text)
        {
            let written = format!("{name}={}", word.text);
            found.push(Compiled { line: command.line, written, codes, wheel: None });
        }
        let known = command.words.iter().filter(|word| word.known);
        let cmake = known.clone().find_map(|word| {
            let list = word.text.strip_prefix("-DCMAKE_CUDA_ARCHITECTURES=")?;
            Some((word.line, word.text.clone(), cmake_list(list)?))
        });
        found.extend(cmake.map(|(line, written, codes)| Compiled { line, written, codes, wheel: None }));
        if command.program() == "nvcc" {
            let codes: Vec<Code> = known.flat_map(|word| nvcc_code(&word.text)).collect();
            let written = "nvcc -gencode".to_owned();
            let line = command.line;
            found.extend((!codes.is_empty()).then_some(Compiled { line, written, codes, wheel: None }));
        }
    }
    found
}

/// The code of the torch that a stage installs last, where its wheel is known.
fn of_wheel(stage: &Stage) -> Option<Compiled> {
    let installs = stage.runs.iter().filter_map(|run| Some((run, run.install.as_ref()?)));
    let installs: Vec<(&Run, &Install)> = installs.collect();
    let at = installs.iter().rposition(|(_, install)| {
        install.requirement("torch").is_some() || install.more && install.requirements.is_empty()
    })?;
    let (run, install) = installs[at];
    let one = install.requirement("torch").filter(|_| install.certain && !install.elsewhere())?;
    let Known::Release(release) = torch::known(run.state.catalog, one) else { return None };
    let after = stage.runs.iter().skip_while(|other| !std::ptr::eq(*other, run)).skip(1);
    let later = &installs[at + 1..];
    if after.into_iter().any(may_install)
        || later.iter().any(|(run, install)| torch::may_replace(run.state.catalog, install, release))
    {
        return None;
    }
    let name = torch::build(run, install, release)?;
    let build = release.builds.iter().find(|one| one.build == name)?;
    let codes = codes(build)?;
    let written = format!("torch {} ({name})", release.version);
    // In a list of packages the line is another file's.
    let line = if one.file.is_some() { install.line } else { one.line };
    Some(Compiled { line, written, codes, wheel: Some(release) })
}

/// Whether a command may install packages that it does not name: `uv sync`, `./install.sh`.
fn may_install(run: &Run) -> bool {
    const MANAGERS: &[&str] =
        &["uv", "conda", "mamba", "micromamba", "pixi", "poetry", "pdm", "pipenv", "pip", "pip3"];
    let (command, program) = (&run.command, run.command.program());
    let script = |word: &str| word.ends_with(".sh") || word.ends_with("setup.py") || word.starts_with("./");
    let runs_script = program.is_empty()
        || script(command.word(0))
        || (is_shell(program) || is_python(program)) && command.words.iter().any(|word| script(&word.text));
    run.install.is_none() && !command.words.is_empty() && (runs_script || MANAGERS.contains(&program))
}

/// What a wheel has code for, where both kinds are known.
fn codes(build: &Build) -> Option<Vec<Code>> {
    let code = |text: &String, ptx: bool| {
        let exact = text.ends_with('a');
        let capability = version::minor(text.trim_end_matches('a'))?;
        Some(Code { capability, real: !ptx, ptx, exact })
    };
    let real = build.architectures.as_ref()?.iter().map(|text| code(text, false));
    let ptx = build.ptx.as_ref()?.iter().map(|text| code(text, true));
    real.chain(ptx).collect()
}

/// A release of torch with code for a GPU: the next one after another, or else the last one.
fn with_code(catalog: &'static Catalog, than: &Release, gpu: &Gpu) -> Option<(&'static str, &'static str)> {
    let wanted = capability(gpu)?;
    let all = catalog.torch().all().iter();
    let has = |build: &&Build| codes(build).is_some_and(|all| all.iter().any(|code| runs(code, wanted)));
    let fitting: Vec<(usize, &'static Release, &'static Build)> = all
        .enumerate()
        .filter_map(|(at, release)| Some((at, release, release.builds.iter().find(has)?)))
        .collect();
    let at = catalog.torch().all().iter().position(|one| one.version == than.version)?;
    let next = fitting.iter().find(|(place, ..)| *place >= at).or(fitting.last());
    next.map(|(_, release, build)| (release.version.as_str(), build.build.as_str()))
}

/// The line of a variable in an instruction that sets several.
fn line_of(one: &crate::read::dockerfile::instructions::Instruction, name: &str) -> usize {
    one.text.text.find(name).map_or(one.line, |at| one.text.line_at(at))
}

/// TORCH_CUDA_ARCH_LIST; nothing where it has names of architectures, most of which PyTorch takes with PTX.
fn torch_list(value: &str) -> Option<Vec<Code>> {
    let words = value.split([';', ' ', ',']).map(str::trim).filter(|word| !word.is_empty());
    let codes: Option<Vec<Code>> = words
        .map(|word| {
            let (bare, ptx) = word.strip_suffix("+PTX").map_or((word, false), |bare| (bare, true));
            let exact = bare.ends_with('a');
            let bare = bare.trim_end_matches(['a', 'f']);
            Some(Code { capability: version::minor(bare)?, real: true, ptx, exact })
        })
        .collect();
    codes.filter(|codes| !codes.is_empty())
}

/// A list of CMake: `80` has both kinds of code, `80-real` no PTX.
fn cmake_list(list: &str) -> Option<Vec<Code>> {
    let codes: Option<Vec<Code>> = list
        .split([';', ','])
        .map(|word| {
            let (number, kind) =
                word.trim().split_once('-').map_or((word.trim(), ""), |(number, kind)| (number, kind));
            let exact = number.ends_with('a');
            let capability = joined(number.trim_end_matches(['a', 'f']))?;
            Some(Code { capability, real: kind != "virtual", ptx: kind != "real", exact })
        })
        .collect();
    codes.filter(|codes| !codes.is_empty())
}

/// `arch=compute_80,code=sm_80`, `-arch=sm_80`.
fn nvcc_code(word: &str) -> Vec<Code> {
    let number = |text: &str| -> Option<((u32, u32), bool)> {
        let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        Some((joined(&text[..end])?, text[end..].starts_with('a')))
    };
    let mut found = Vec::new();
    if let Some((_, code)) = word.split_once("code=") {
        for (mark, real) in [("sm_", true), ("compute_", false)] {
            found.extend(code.split(mark).skip(1).filter_map(|rest| {
                let (capability, exact) = number(rest)?;
                Some(Code { capability, real, ptx: !real, exact })
            }));
        }
    } else if let Some(rest) =
        word.strip_prefix("-arch=sm_").or_else(|| word.strip_prefix("--gpu-architecture=sm_"))
    {
        // A binary and the PTX of the same number.
        found.extend(number(rest).map(|(capability, exact)| Code {
            capability,
            real: true,
            ptx: true,
            exact,
        }));
    }
    found
}

/// `90`: the number as CMake and nvcc write it.
fn joined(digits: &str) -> Option<(u32, u32)> {
    let at = digits.len().checked_sub(1).filter(|at| *at >= 1)?;
    Some((digits.get(..at)?.parse().ok()?, digits.get(at..)?.parse().ok()?))
}

/// Whether it may matter on which GPUs an image runs: its text lists architectures or may install torch.
pub(crate) fn depends_on_gpu(text: &str) -> bool {
    let marks = ["CUDA_ARCH_LIST", "CUDA_ARCHITECTURES", "gencode", "-arch=sm_", "torch", "requirements"];
    marks.iter().any(|mark| text.contains(mark))
}
