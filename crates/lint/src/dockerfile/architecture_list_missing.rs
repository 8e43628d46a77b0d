//! Operators are built ahead for GPUs that nobody named.

use crate::compiles;
use crate::cuda_extensions::makes_extension;
use crate::read::dockerfile::{Dockerfile, Run};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};

/// A setup.py with CUDA code, for the examples.
const EXTENSION: &str = "from setuptools import setup\nfrom torch.utils.cpp_extension import BuildExtension, \
                         CUDAExtension\nsetup(name='a', ext_modules=[CUDAExtension('a', ['a.cu'])], \
                         cmdclass={'build_ext': BuildExtension})\n";

/// A setup.py with CUDA code behind a switch.
pub(super) const SWITCHED: &str = "import os, torch\nfrom setuptools import setup\nfrom \
                        torch.utils.cpp_extension import BuildExtension, CppExtension, \
                        CUDAExtension\nExt = CppExtension\nif \
                        torch.cuda.is_available() or os.environ.get('FORCE_CUDA') == '1':\n    Ext = \
                        CUDAExtension\nsetup(name='a', ext_modules=[Ext('a', ['a.cu'])], \
                        cmdclass={'build_ext': BuildExtension})\n";

pub(crate) const RULE: Rule = Rule {
    id: "architecture-list-missing",
    severity: Severity::Warning,
    summary: "TORCH_CUDA_ARCH_LIST is set where CUDA code is compiled during the build",
    explain: include_str!("architecture_list_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\n\
             RUN DS_BUILD_OPS=1 pip3 install deepspeed\n",
        ),
        with(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\n\
             RUN pip3 install torch==2.4.1\nWORKDIR /ops\nCOPY ops/ ./\nRUN pip3 install \
             --no-build-isolation .\n",
            &[("ops/setup.py", EXTENSION)],
        ),
        with(
            "FROM pytorch/pytorch:2.4.1-cuda12.4-cudnn9-devel\nCOPY . /app\n\
             RUN cd /app/kernels && python setup.py install\n",
            &[("kernels/setup.py", EXTENSION)],
        ),
        dockerfile(
            "FROM pytorch/pytorch:2.4.1-cuda12.4-cudnn9-devel\nRUN apt-get update && apt-get install -y \
             git && \
             pip install --no-build-isolation \
             git+https://github.com/graphdeco-inria/diff-gaussian-rasterization\n",
        ),
        with(
            "FROM pytorch/pytorch:2.4.1-cuda12.4-cudnn9-devel\nENV FORCE_CUDA=1\nCOPY . /app\nRUN pip \
             install --no-build-isolation /app\n",
            &[("setup.py", SWITCHED)],
        ),
        dockerfile(
            "FROM pytorch/pytorch:2.4.1-cuda12.4-cudnn9-devel\nRUN apt-get update && apt-get install -y git \
             && FORCE_CUDA=1 pip install --no-build-isolation \
             git+https://github.com/facebookresearch/detectron2.git@main\n",
        ),
    ],
    silent: &[
        // Without the switch, it compiles no CUDA code where there is no GPU.
        with(
            "FROM pytorch/pytorch:2.4.1-cuda12.4-cudnn9-devel\nCOPY . /app\nRUN pip \
             install --no-build-isolation /app\n",
            &[("setup.py", SWITCHED)],
        ),
        with(
            "FROM pytorch/pytorch:2.4.1-cuda12.4-cudnn9-devel\nENV FORCE_CUDA=1 \
             TORCH_CUDA_ARCH_LIST=8.0\nCOPY . /app\nRUN pip install --no-build-isolation /app\n",
            &[("setup.py", SWITCHED)],
        ),
        with(
            "FROM pytorch/pytorch:2.4.1-cuda12.4-cudnn9-devel\nENV TORCH_CUDA_ARCH_LIST=\"8.0;9.0\"\nCOPY \
             . /app\n\
             RUN pip install --no-build-isolation /app/kernels\n",
            &[("kernels/setup.py", EXTENSION)],
        ),
        with(
            "FROM pytorch/pytorch:2.4.1-cuda12.4-cudnn9-devel\nCOPY . /app\n\
             RUN pip install --no-build-isolation /app/kernels\n",
            &[(
                "kernels/setup.py",
                "import torch\nfrom torch.utils.cpp_extension import CUDAExtension\nif \
                 torch.cuda.is_available():\n    ext = CUDAExtension('a', ['a.cu'])\n",
            )],
        ),
        with(
            "FROM pytorch/pytorch:2.4.1-cuda12.4-cudnn9-devel\nCOPY . /app\n\
             RUN pip install --no-build-isolation /app\n",
            &[("setup.py", "from setuptools import setup\nsetup(name='a')\n")],
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=9.0\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN DS_BUILD_OPS=1 pip3 install deepspeed\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN DS_BUILD_OPS=0 pip3 install deepspeed\n",
        ),
        dockerfile("FROM nvcr.io/nvidia/pytorch:24.05-py3\nRUN DS_BUILD_OPS=1 pip install deepspeed\n"),
        dockerfile("FROM example/base:1\nRUN DS_BUILD_OPS=1 pip install deepspeed\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for (_, run, install) in file.installs() {
        // NGC's images set the list, and of others nobody knows.
        let known = run.state.image.is_some_and(|image| !image.repository.starts_with("nvcr.io"));
        let ahead = install.requirement("deepspeed").and_then(|_| compiles::deepspeed_ahead(run));
        if let (Some(variable), true, None) =
            (ahead, known && !run.state.opaque, run.variable("TORCH_CUDA_ARCH_LIST"))
        {
            let message = format!(
                "{variable}=1 compiles DeepSpeed operators without TORCH_CUDA_ARCH_LIST; a build sees no GPU \
                 and falls back to default architectures"
            );
            found.push(Found::warning(
                install.line,
                message,
                "Set `ENV TORCH_CUDA_ARCH_LIST=\"8.0;9.0\"` to the compute capabilities of the target GPUs",
            ));
        }
    }
    found.extend(file.runs().filter_map(|(_, run)| extension(file, run)).take(1));
    found
}

/// A project with CUDA code that a command compiles; torch asks the GPUs of the machine for what.
fn extension(file: &Dockerfile, run: &Run) -> Option<Found> {
    let known = run.state.image.is_some_and(|image| !image.repository.starts_with("nvcr.io"));
    if !known || run.state.opaque || run.variable("TORCH_CUDA_ARCH_LIST").is_some() {
        return None;
    }
    let with_cuda = |path: &String| {
        file.text_at(&run.state, &setup_of(path)).is_some_and(|(_, text)| leaves_choice(text, run))
    };
    let projects = projects(run);
    let name = projects.iter().find(|path| is_known(path, run) || with_cuda(path))?;
    let message = format!(
        "{name} has a CUDAExtension, for which torch asks the GPUs of the machine without \
         TORCH_CUDA_ARCH_LIST; a build sees none: `IndexError: list index out of range`"
    );
    let fix = "Set `ENV TORCH_CUDA_ARCH_LIST=\"8.0;9.0\"` to the compute capabilities of the target GPUs";
    Some(Found::warning(run.command.line, message, fix))
}

/// The projects that a command certainly builds with the torch of the image: their directories or addresses.
pub(crate) fn projects(run: &Run) -> Vec<String> {
    let words: Vec<&str> = run.command.words.iter().map(|word| word.text.as_str()).collect();
    let python = run.command.program().starts_with("python");
    if python && words.get(1).is_some_and(|word| word.rsplit('/').next() == Some("setup.py")) {
        const BUILDS: &[&str] = &["install", "develop", "bdist_wheel", "build", "build_ext"];
        let folder = words[1].rsplit_once('/').map_or(".", |(folder, _)| folder);
        return words
            .iter()
            .any(|word| BUILDS.contains(word))
            .then(|| folder.to_owned())
            .into_iter()
            .collect();
    }
    if run.install.is_none() || !words.contains(&"--no-build-isolation") {
        return Vec::new();
    }
    let values = ["-r", "--requirement", "-c", "--constraint", "-i", "--index-url", "-f", "--find-links"];
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let word = word.strip_prefix("--editable=").unwrap_or(word);
        let valued = at.checked_sub(1).is_some_and(|before| values.contains(&words[before]));
        let local = word.starts_with(['.', '/']) && !word.ends_with(".whl") && !word.ends_with(".txt");
        if at > 0 && !valued && (local || word.starts_with("git+")) {
            found.push(word.split('[').next().unwrap_or_default().to_owned());
        }
    }
    found
}

/// The folders of the projects that a command builds, isolated or not: those of [`projects`], and what `pip
/// install ./ops`, `pip wheel .`, `python -m build` and `uv build` build.
pub(crate) fn local_projects(run: &Run) -> Vec<String> {
    const VALUED: &[&str] = &[
        "-r",
        "--requirement",
        "-c",
        "--constraint",
        "-i",
        "--index-url",
        "--extra-index-url",
        "-f",
        "--find-links",
        "-w",
        "--wheel-dir",
        "-t",
        "--target",
        "-d",
        "--dest",
        "-o",
        "--outdir",
        "--out-dir",
        "-C",
        "--config-setting",
        "--cache-dir",
        "--prefix",
        "-p",
        "--python",
        "-m",
    ];
    const ARCHIVES: &[&str] = &[".whl", ".txt", ".gz", ".zip", ".toml"];
    let words: Vec<&str> = run.command.words.iter().map(|word| word.text.as_str()).collect();
    let has = |name: &str| words.contains(&name);
    let program = run.command.program();
    let module =
        |name: &str| program.starts_with("python") && words.windows(2).any(|two| two == ["-m", name]);
    let pip = matches!(program, "pip" | "pip3") || module("pip");
    let installs = run.install.is_some() || pip && has("wheel");
    let builds = module("build") || program == "uv" && words.get(1) == Some(&"build");
    let mut found: Vec<String> = projects(run).into_iter().filter(|one| !one.starts_with("git+")).collect();
    if !installs && !builds {
        return found;
    }
    for (at, word) in words.iter().enumerate().skip(1) {
        let word = word.strip_prefix("--editable=").or(word.strip_prefix("-e")).unwrap_or(word);
        let folder = word.split('[').next().unwrap_or_default();
        let local = folder == "." || ["./", "../", "/"].iter().any(|start| folder.starts_with(start));
        let valued = VALUED.contains(&words[at - 1]);
        if local && !valued && !ARCHIVES.iter().any(|end| folder.ends_with(end)) {
            found.push(folder.to_owned());
        }
    }
    if builds && found.is_empty() {
        found.push(".".to_owned());
    }
    found
}

/// The path of a project's setup.py.
pub(crate) fn setup_of(project: &str) -> String {
    format!("{}/setup.py", project.trim_end_matches('/'))
}

/// Projects whose setup.py compiles CUDA code and sets no list: always, or with FORCE_CUDA=1.
fn is_known(project: &str, run: &Run) -> bool {
    const ALWAYS: &[&str] = &["diff-gaussian-rasterization", "simple-knn"];
    const FORCED: &[&str] = &["detectron2"];
    let bare = project.split(['#', '?']).next().unwrap_or_default().trim_end_matches('/');
    let base = bare.rsplit('/').next().unwrap_or_default();
    let base = base.split('@').next().unwrap_or_default().trim_end_matches(".git");
    let forced = run.variable("FORCE_CUDA").and_then(|value| value.text).as_deref() == Some("1");
    project.starts_with("git+") && (ALWAYS.contains(&base) || forced && FORCED.contains(&base))
}

/// Whether a setup.py compiles CUDA code here, and leaves the choice of architectures to torch.
fn leaves_choice(text: &str, run: &Run) -> bool {
    let own = ["ARCH_LIST", "gencode", "arch=", "-arch"];
    makes_extension(text, run).is_some() && !own.iter().any(|word| text.contains(word))
}
