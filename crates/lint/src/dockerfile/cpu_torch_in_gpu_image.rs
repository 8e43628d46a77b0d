//! A torch without CUDA in an image for GPUs.

use super::copied_contents_misplaced::started_files;
use crate::base::is_jetson_without_torch;
use crate::cuda_use::always_uses_cuda;
use crate::read::dockerfile::install::{Install, Requirement};
use crate::read::dockerfile::{Dockerfile, Run, Stage};
use crate::read::python::Program;
use crate::rule::{Found, Judge, Location, Rule, Severity, dockerfile, with};
use crate::torch::{self, Known};

pub(crate) const RULE: Rule = Rule {
    id: "cpu-torch-in-gpu-image",
    severity: Severity::Warning,
    summary: "torch in an image based on CUDA is a CUDA build",
    explain: include_str!("cpu_torch_in_gpu_image.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip3 install torch==2.3.1 --index-url https://download.pytorch.org/whl/cpu\n",
        ),
        with(
            "FROM python:3.11-slim\nWORKDIR /app\nRUN pip install torch==2.3.1 --index-url \
             https://download.pytorch.org/whl/cpu\nCOPY train.py .\nCMD [\"python\", \"train.py\"]\n",
            &[(
                "train.py",
                "import torch\n\ndef main():\n    device = torch.device(\"cuda\")\n    model = \
                 torch.nn.Linear(2, 2).to(device)\n\nif __name__ == \"__main__\":\n    main()\n",
            )],
        ),
        dockerfile(
            "FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install torch==2.3.1+cpu -f \
             https://download.pytorch.org/whl/torch_stable.html\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\nRUN conda install -y pytorch cpuonly -c pytorch\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\nRUN uv pip install --system \
             --torch-backend=cpu torch\n",
        ),
        dockerfile(
            "FROM --platform=linux/arm64 nvidia/cuda:12.4.1-runtime-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install \
             torch==2.5.1\n",
        ),
        dockerfile(
            "FROM nvcr.io/nvidia/l4t-jetpack:r36.4.0\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip3 install torch==2.5.1 torchvision==0.20.1\n",
        ),
    ],
    silent: &[
        with(
            "FROM python:3.11\nRUN pip install torch==2.3.1 --index-url \
             https://download.pytorch.org/whl/cpu\n\
             COPY prep.py .\nCMD [\"python\", \"prep.py\"]\n",
            &[(
                "prep.py",
                "import torch\ndevice = torch.device(\"cuda\" if torch.cuda.is_available() else \
                 \"cpu\")\nx = \
                 torch.ones(1).to(device)\n",
            )],
        ),
        with(
            "FROM python:3.11\nRUN pip install torch==2.3.1 --index-url \
             https://download.pytorch.org/whl/cpu\n\
             COPY prep.py .\nCMD [\"python\", \"prep.py\"]\n",
            &[(
                "prep.py",
                "import sys\nimport torch\nif sys.argv[1:]:\n    x = torch.ones(1).to(\"cuda\")\n",
            )],
        ),
        with(
            "FROM python:3.11\nRUN pip install torch==2.3.1 --index-url \
             https://download.pytorch.org/whl/cpu\n\
             COPY prep.py train.py ./\nCMD [\"python\", \"prep.py\"]\n",
            &[("prep.py", "import torch\n"), ("train.py", "import torch\nd = torch.device(\"cuda\")\n")],
        ),
        with(
            "FROM python:3.11\nRUN pip install torch==2.3.1 --index-url \
             https://download.pytorch.org/whl/cpu\n\
             COPY prep.py .\nCMD [\"python\", \"prep.py\"]\n",
            &[(
                "prep.py",
                "import torch\ntry:\n    x = torch.ones(1).cuda()\nexcept Exception:\n    x = \
                 torch.ones(1)\n",
            )],
        ),
        dockerfile(
            "FROM nvcr.io/nvidia/l4t-jetpack:r36.4.0\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip3 install torch==2.5.1 --extra-index-url \
             https://wheels.example.org/jetson\n",
        ),
        // The GPU is JAX's; torch only loads data.
        dockerfile(
            "FROM nvidia/cuda:12.6.3-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\nRUN pip3 install 'jax[cuda12]==0.4.35'\nRUN pip3 install torch==2.5.1 --index-url \
             https://download.pytorch.org/whl/cpu\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN pip install torch --index-url https://download.pytorch.org/whl/cpu\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04 AS tools\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip3 install torch --index-url https://download.pytorch.org/whl/cpu\n\
             FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip3 install torch --index-url https://download.pytorch.org/whl/cu121\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install torch --index-url \
             https://download.pytorch.org/whl/cpu\nRUN pip3 install --force-reinstall torch --index-url \
             https://download.pytorch.org/whl/cu121\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install torch --index-url \
             https://download.pytorch.org/whl/cpu --extra-index-url https://download.pytorch.org/whl/cu121\n",
        ),
        dockerfile(
            "FROM --platform=linux/arm64 nvidia/cuda:12.4.1-runtime-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install \
             torch==2.5.1 --index-url https://download.pytorch.org/whl/cu124\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let stages = file.shipped();
    let Some((first, last)) = stages.first().zip(stages.last()) else { return Vec::new() };
    let cuda = first.end.image.filter(|image| image.cuda.is_some()).map(|image| image.reference());
    let jetson = file.base(last).filter(|base| base.known && is_jetson_without_torch(&base.text));
    let base = jetson.map(|base| base.text.clone()).or(cuda);
    if uses_gpu_otherwise(&stages) {
        return Vec::new();
    }
    let arm = jetson.is_some() || is_arm(file, last);
    // The last installation counts; stages come from the last to the first.
    let runs = stages.iter().flat_map(|stage| stage.runs.iter().rev());
    let Some(source) = runs.filter(|run| run.command.certain).find_map(|run| source(run, arm)) else {
        return Vec::new();
    };
    let Source::Cpu(location, why) = source else { return Vec::new() };
    let message = match base {
        Some(base) => {
            format!("{why}; torch.cuda.is_available() is False, though the image is based on {base}")
        }
        None => {
            let Some((path, line)) = use_of_cuda(file) else { return Vec::new() };
            format!(
                "{why}, but {path}, which the container starts, uses CUDA in line {line}: `Torch not \
                 compiled with CUDA enabled`"
            )
        }
    };
    let fix = match jetson {
        Some(_) => "Install NVIDIA's wheel of torch for this JetPack",
        None => "Install it from the index of a CUDA build, such as whl/cu124",
    };
    vec![Found::warning(location, message, fix)]
}

/// The program that a container starts, and the line where it uses CUDA in every run.
fn use_of_cuda(file: &Dockerfile) -> Option<(String, usize)> {
    let end = &file.stages.last()?.end;
    started_files(file).iter().filter(|path| path.ends_with(".py")).find_map(|path| {
        let (_, text) = file.text_at(end, path)?;
        Some((path.clone(), always_uses_cuda(&Program::read(file.catalog, text))?))
    })
}

/// Whether something else in an image is there for the GPU: JAX, TensorFlow or another library with CUDA.
fn uses_gpu_otherwise(stages: &[&Stage]) -> bool {
    let installs = stages.iter().flat_map(|stage| &stage.runs).filter_map(|run| run.install.as_ref());
    installs.flat_map(|install| &install.requirements).any(|one| {
        let has_extra = |name: &str| one.extras().any(|extra| extra.contains(name));
        let name = one.name.as_str();
        match name {
            "jax" => has_extra("cuda"),
            "tensorflow" => has_extra("and-cuda"),
            "tensorflow-gpu" | "onnxruntime-gpu" | "paddlepaddle-gpu" | "mxnet-cu112" => true,
            _ => name.starts_with("jax-cuda") || name.starts_with("cupy") || name.starts_with("faiss-gpu"),
        }
    })
}

/// What a command makes of torch.
enum Source {
    /// It has no CUDA, for this reason.
    Cpu(Location, &'static str),
    /// It may have CUDA.
    Other,
}

fn source(run: &Run, arm: bool) -> Option<Source> {
    let conda = ["conda", "mamba", "micromamba"].contains(&run.command.program());
    if conda && run.command.has("install") && run.command.has("cpuonly") {
        return Some(Source::Cpu(run.command.line.into(), "cpuonly selects PyTorch's build without CUDA"));
    }
    if conda && run.command.words.iter().any(|word| word.text.contains("pytorch")) {
        return Some(Source::Other);
    }
    let install = run.install.as_ref().filter(|install| !install.elsewhere())?;
    let torch = install.requirement("torch")?;
    Some(match why(run, install, torch, arm) {
        Some(why) => Source::Cpu(torch.into(), why),
        None => Source::Other,
    })
}

/// Why an installation of torch gives the build without CUDA.
fn why(run: &Run, install: &Install, torch: &Requirement, arm: bool) -> Option<&'static str> {
    if torch.local.as_deref() == Some("cpu") {
        return Some("+cpu is the build without CUDA");
    }
    if torch.local.is_some() {
        return None;
    }
    let backend = install.torch_backend.as_ref().filter(|word| word.known && word.text == "cpu");
    if backend.is_some() {
        return Some("--torch-backend=cpu gives the build without CUDA");
    }
    let index = install.index.as_ref().filter(|index| index.known && install.extra.is_empty());
    if index.is_some_and(|index| torch::build_of_index(&index.text) == Some("cpu")) {
        return Some("the index whl/cpu has only builds without CUDA");
    }
    let Known::Release(release) = torch::known(run.state.catalog, torch) else { return None };
    let of_pypi = arm && torch::only_pypi(run, install);
    (of_pypi && release.aarch64_build.as_deref() == Some("cpu"))
        .then_some("PyPI's wheel of this torch for aarch64 has no CUDA")
}

/// Whether a stage is built for aarch64 only.
fn is_arm(file: &Dockerfile, stage: &Stage) -> bool {
    let from = file.instructions.iter().find(|one| one.keyword == "FROM" && one.line == stage.line);
    let platforms = ["--platform=linux/arm64", "--platform=linux/aarch64", "--platform=linux/arm64/v8"];
    from.is_some_and(|from| from.flags.iter().any(|flag| platforms.contains(&flag.as_str())))
}
