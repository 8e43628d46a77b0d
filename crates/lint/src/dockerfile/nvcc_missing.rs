//! CUDA code is to be compiled where there is no nvcc.

use super::architecture_list_missing::{SWITCHED, local_projects, setup_of};
use std::collections::BTreeMap;

use crate::build_files::build_text;
use crate::compiles;
use crate::cuda_extensions::{Makes, makes_extension};
use crate::read::cmake;
use crate::read::dockerfile::install::Install;
use crate::read::dockerfile::{Dockerfile, Run, Stage};
use crate::read::makefile::Makefile;
use crate::read::script::{Script, in_functions};
use crate::rule::{Found, Judge, Location, Rule, Severity, dockerfile, with};

pub(crate) const RULE: Rule = Rule {
    id: "nvcc-missing",
    severity: Severity::Error,
    summary: "the image has nvcc where CUDA code is compiled",
    explain: include_str!("nvcc_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN DS_BUILD_OPS=1 pip3 install deepspeed\n",
        ),
        dockerfile("FROM nvidia/cuda:12.1.1-base-ubuntu22.04\nRUN nvcc --version\n"),
        dockerfile("FROM python:3.12-slim\nRUN pip install torch\nRUN pip install deepspeed\n"),
        dockerfile(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\n\
             RUN pip install flash-attn --no-build-isolation\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN make -C /opt/nccl-tests \
             NVCC_GENCODE=-gencode=arch=compute_80,code=sm_80\n",
        ),
        dockerfile("FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN cmake -B build -DGGML_CUDA=ON .\n"),
        with(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nWORKDIR /ext\nCOPY . .\nRUN pip install \
             --no-build-isolation .\n",
            &[(
                "setup.py",
                "from torch.utils.cpp_extension import BuildExtension, CUDAExtension\n\
                 setup(ext_modules=[CUDAExtension(\"a\", [\"a.cu\"])])\n",
            )],
        ),
        with(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nWORKDIR /ext\nCOPY setup.py ./\nCOPY csrc/ \
             csrc/\nENV TORCH_CUDA_ARCH_LIST=9.0\nRUN python setup.py bdist_wheel && pip install \
             --no-cache-dir \
             dist/*.whl\n",
            &[(
                "setup.py",
                "from setuptools import setup\nfrom torch.utils.cpp_extension import BuildExtension, \
                 CUDAExtension\nsetup(ext_modules=[CUDAExtension(\"a\", [\"csrc/a.cu\"], \
                 extra_compile_args={\"nvcc\": [\"-O3\"]})])\n",
            )],
        ),
        with(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nWORKDIR /src\nCOPY . .\nENV \
             TORCH_CUDA_ARCH_LIST=9.0\nRUN pip wheel --no-build-isolation -w /wheels ./ops\n",
            &[(
                "ops/setup.py",
                "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n\
                 setup(ext_modules=[CUDAExtension(\"a\", [\"a.cu\"])])\n",
            )],
        ),
        // The switch of the image decides, and another name stands for the class.
        with(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nENV FORCE_CUDA=1\nCOPY . /app\nRUN pip \
             install --no-build-isolation /app\n",
            &[("setup.py", SWITCHED)],
        ),
        with(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y g++ make\n\
             WORKDIR /k\nCOPY Makefile a.cu b.cu ./\nRUN make -j8 libkernels.so\n",
            &[(
                "Makefile",
                "NVCC ?= nvcc\nSRC := a.cu b.cu\nlibkernels.so: $(SRC:.cu=.o)\n\t$(NVCC) -shared -o $@ \
                 $^\ntest:\n\t./run.sh\n",
            )],
        ),
        with(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y cmake g++\nCOPY native \
             /native\nRUN mkdir /native/build && cd /native/build && cmake .. && make\n",
            &[(
                "native/CMakeLists.txt",
                "cmake_minimum_required(VERSION 3.24)\nproject(sampler\n  LANGUAGES CXX CUDA)\nadd_library(s \
                 SHARED s.cu)\n",
            )],
        ),
        with(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nWORKDIR /k\nCOPY . .\nRUN bash \
             tools/build.sh\n",
            &[("tools/build.sh", "#!/bin/bash\nset -e\nmkdir -p out\nnvcc -O3 -shared -o out/k.so k.cu\n")],
        ),
    ],
    silent: &[
        // A build sees no GPU: without the switch there is no CUDA code.
        with(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nCOPY . /app\nRUN pip install \
             --no-build-isolation /app\n",
            &[("setup.py", SWITCHED)],
        ),
        with(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nWORKDIR /k\nCOPY . .\nRUN ./build.sh\n",
            &[(
                "build.sh",
                "#!/bin/bash\nif [ -n \"$GPU\" ]; then\n  nvcc -o k k.cu\nelse\n  g++ -o k \
             k.cpp\nfi\n",
            )],
        ),
        with(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nWORKDIR /k\nCOPY . .\nRUN make cpu\n",
            &[("Makefile", "all: gpu cpu\ngpu:\n\tnvcc -o gpu a.cu\ncpu:\n\tg++ -o cpu a.cpp\n")],
        ),
        with(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nWORKDIR /k\nCOPY . .\nRUN make\n",
            &[(
                "Makefile",
                "all: core\nifneq ($(shell which nvcc),)\nall: gpu\nendif\ngpu:\n\tnvcc -o gpu \
                 a.cu\ncore:\n\tg++ -o core a.cpp\n",
            )],
        ),
        with(
            "FROM ubuntu:22.04\nCOPY . /s\nRUN cmake -S /s -B /b\n",
            &[(
                "CMakeLists.txt",
                "project(s VERSION 1.0 DESCRIPTION \"CUDA\" LANGUAGES CXX)\n#[=[\nproject(s LANGUAGES \
                 CUDA)\n]=]\noption(GPU \"with CUDA\" OFF)\nif(GPU)\n  \
                 enable_language(CUDA)\nendif()\n",
            )],
        ),
        with(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nWORKDIR /ext\nCOPY . .\nENV \
             TORCH_CUDA_ARCH_LIST=9.0\nRUN python setup.py bdist_wheel\n",
            &[(
                "setup.py",
                "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n\
                 setup(ext_modules=[CUDAExtension(\"a\", [\"a.cu\"])])\n",
            )],
        ),
        with(
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nWORKDIR /ext\nCOPY . .\nRUN python setup.py \
             install\n",
            &[(
                "setup.py",
                "from setuptools import setup\nfrom torch.utils.cpp_extension import CppExtension\n\
                 setup(ext_modules=[CppExtension(\"a\", [\"a.cpp\"])])\n",
            )],
        ),
        dockerfile(
            "FROM nvidia/cuda:12.1.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=9.0\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN DS_BUILD_OPS=1 pip3 install deepspeed\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.1.1-base-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y cuda-nvcc-12-1 python3-pip && nvcc --version && pip3 \
             install deepspeed\n",
        ),
        dockerfile("FROM python:3.12-slim\nRUN pip install torch transformers\n"),
        dockerfile("FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN make && cmake -DGGML_CUDA=OFF .\n"),
        dockerfile("FROM example/base:1\nRUN pip install deepspeed\n"),
        dockerfile(
            "FROM nvidia/cuda:12.1.1-devel-ubuntu22.04 AS build\n\
             RUN apt-get update && apt-get install -y python3-pip\nRUN pip wheel deepspeed\n\
             FROM python:3.12-slim\nCOPY --from=build /opt/venv /opt/venv\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nRUN pip install torch --index-url https://download.pytorch.org/whl/cpu\n\
             RUN pip install deepspeed\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    // Whether a CMakeLists.txt has the language CUDA, by its path: many commands may build the same project.
    let mut languages = BTreeMap::new();
    for stage in &file.stages {
        let (mut warned, processor_only) = (false, processor_only(stage));
        for run in stage.runs.iter().filter(|run| run.state.lacks_nvcc()) {
            match finding(file, run, processor_only, &mut languages) {
                Some(one) if one.severity == Severity::Error || !std::mem::replace(&mut warned, true) => {
                    found.push(one)
                }
                _ => {}
            }
        }
    }
    found
}

fn finding(
    file: &Dockerfile,
    run: &Run,
    processor_only: bool,
    languages: &mut BTreeMap<String, bool>,
) -> Option<Found> {
    let image = run.state.image?.reference();
    let fix = "Use a devel image, here or in a build stage";
    if run.command.program() == "nvcc" && run.command.certain {
        let message = format!("{image} has no nvcc");
        return Some(Found::error(run.command.line, message, fix).about(image));
    }
    if let Some(what) = built_with_nvcc(run).or_else(|| made_with_nvcc(file, run, languages)) {
        let message =
            format!("`{}` compiles CUDA code ({what}), but {image} has no nvcc", run.command.program());
        let found = Found::error(run.command.line, message, fix).about(image);
        return Some(found.unless_certain(run.command.certain));
    }
    if let Some(certain) = compiles_extension(file, run) {
        let message = format!("setup.py compiles CUDA code (CUDAExtension), but {image} has no nvcc");
        let line = run.install.as_ref().map_or(run.command.line, |install| install.line);
        return Some(Found::error(line, message, fix).unless_certain(certain && run.command.certain));
    }
    let install = run.install.as_ref()?;
    let (location, what) = match compiles::ahead(run, install) {
        Some(what) => {
            let message = format!("{what} is compiled here, but {image} has no nvcc");
            return Some(Found::error(install.line, message, fix).unless_certain(install.certain));
        }
        None => later(install)?,
    };
    if processor_only {
        return None;
    }
    Some(Found::warning(location, format!("{what}, but {image} has no nvcc"), fix).about(image))
}

/// The word of make or CMake with which a project compiles CUDA code: a target of nvcc, a switch of the
/// project, or the folder of NVIDIA's tests, which are nothing else.
fn built_with_nvcc(run: &Run) -> Option<String> {
    const SWITCHES: &[&str] =
        &["-DGGML_CUDA=", "-DLLAMA_CUDA=", "-DLLAMA_CUBLAS=", "-DWITH_CUDA=", "-DUSE_CUDA="];
    let program = run.command.program();
    let is_on = |value: &str| ["ON", "1", "TRUE", "YES"].iter().any(|on| on.eq_ignore_ascii_case(value));
    let compiles = |word: &str| match program {
        "make" => word.starts_with("NVCC_GENCODE=") || word.trim_end_matches('/').ends_with("nccl-tests"),
        "cmake" => {
            let switch = SWITCHES.iter().find_map(|switch| word.strip_prefix(switch));
            switch.is_some_and(is_on) || word.starts_with("-DCMAKE_CUDA_ARCHITECTURES=")
        }
        _ => false,
    };
    let word = run.command.words.iter().filter(|word| word.known).find(|word| compiles(&word.text))?;
    Some(word.text.split('=').next().unwrap_or_default().to_owned())
}

/// What in the build files of the context calls nvcc, where make or CMake certainly comes to it.
fn made_with_nvcc(file: &Dockerfile, run: &Run, languages: &mut BTreeMap<String, bool>) -> Option<String> {
    let (path, text) = build_text(file, run)?;
    let program = run.command.program();
    if program == "cmake" {
        let enabled = *languages.entry(path.clone()).or_insert_with(|| cmake::has_language_cuda(text));
        return enabled.then(|| format!("{path} enables the language CUDA"));
    }
    if !matches!(program, "make" | "gmake") {
        let line = called_in_script(file, text)?;
        return Some(format!("{path} calls nvcc on line {line}"));
    }
    // A choice may leave it out.
    let chooses = |line: &str| {
        let start = line.trim_start();
        ["ifeq", "ifneq", "ifdef", "ifndef"].iter().any(|word| start.starts_with(word))
            || ["which nvcc", "command -v", "wildcard"].iter().any(|word| line.contains(word))
    };
    let (mut goals, mut given) = (Vec::new(), Vec::new());
    let mut words = run.command.words.iter().skip(1).peekable();
    while let Some(word) = words.next() {
        match word.text.as_str() {
            "-C" | "-f" | "--directory" | "--file" | "--makefile" | "-j" | "--jobs" | "-l" => {
                let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
                let counts = matches!(word.text.as_str(), "-j" | "--jobs" | "-l");
                words.next_if(|next| !counts || !next.known || number(&next.text));
            }
            text if text.starts_with('-') => {}
            _ if !word.known => return None,
            text => match text.split_once('=') {
                Some((name, value)) => given.push((name.trim_end_matches(':').to_owned(), value.to_owned())),
                None => goals.push(text),
            },
        }
    }
    if text.lines().any(chooses) || run.command.has("-n") {
        return None;
    }
    let recipes = Makefile::read(text).recipes_of(&goals, &given);
    let calls = |line: &String| {
        line.split("&&").flat_map(|part| part.split(';')).any(|part| {
            let first = part.trim_start_matches([' ', '\t', '@', '+']).split_whitespace().next();
            first.is_some_and(|first| first.rsplit('/').next() == Some("nvcc"))
        })
    };
    recipes.iter().flatten().any(calls).then(|| format!("{path} calls nvcc"))
}

/// The line on which a script calls nvcc, whatever it finds, and without making it.
fn called_in_script(file: &Dockerfile, text: &str) -> Option<usize> {
    const OTHERWISE: &[&str] =
        &["apt", "conda", "PATH", "which ", "command -v", "exit", "dpkg", "wget", "curl"];
    if OTHERWISE.iter().any(|word| text.contains(word)) {
        return None;
    }
    let in_function = in_functions(text);
    let script = Script::read(file.catalog, text);
    let calls = script.commands.iter().filter(|one| one.certain && one.program() == "nvcc");
    calls.map(|one| one.line).find(|line| !in_function(*line))
}

/// Whether a project that a command builds has an extension in CUDA, and whether always.
fn compiles_extension(file: &Dockerfile, run: &Run) -> Option<bool> {
    local_projects(run).iter().find_map(|project| {
        let (_, text) = file.text_at(&run.state, &setup_of(project))?;
        Some(makes_extension(text, run)? == Makes::Always)
    })
}

/// What may have to be compiled: the place, and what it does.
fn later(install: &Install) -> Option<(Location, &'static str)> {
    if let Some(one) = install.requirement("deepspeed") {
        return Some((Location::from(one), "DeepSpeed compiles its operators on first use"));
    }
    let one = install.requirement("flash-attn")?;
    Some((Location::from(one), "flash-attn is compiled unless a prebuilt wheel matches"))
}

/// Whether torch is the one without CUDA.
fn processor_only(stage: &Stage) -> bool {
    stage.runs.iter().filter_map(|run| run.install.as_ref()).any(|install| {
        let cpu = |text: &str| text.trim_end_matches('/').ends_with("/cpu");
        install.index.iter().chain(&install.extra).any(|url| cpu(&url.text))
            || install.requirement("torch").is_some_and(|torch| torch.local.as_deref() == Some("cpu"))
    })
}
