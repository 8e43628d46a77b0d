//! A program of a build stage whose CUDA libraries the image does not have.

use super::nvcc_missing::build_files;
use crate::base::Base;
use crate::read::dockerfile::install::Install;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::{Dockerfile, Run, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};
use catalog::images::Flavour;

pub(crate) const RULE: Rule = Rule {
    id: "cuda-library-left-behind",
    severity: Severity::Error,
    summary: "the image has the CUDA libraries that copied programs are linked with",
    explain: include_str!("cuda_library_left_behind.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        with(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nWORKDIR /s\nCOPY . .\nRUN cmake -B b && \
             cmake --build b\nFROM nvidia/cuda:12.4.1-base-ubuntu22.04\nCOPY --from=build /s/b/spectra \
             /usr/bin/spectra\n\
             CMD [\"spectra\"]\n",
            &[(
                "CMakeLists.txt",
                "project(spectra LANGUAGES CXX CUDA)\nfind_package(CUDAToolkit \
                 REQUIRED)\nadd_executable(spectra \
                 a.cu)\ntarget_link_libraries(spectra\n  PRIVATE CUDA::cufft CUDA::cudart_static)\n",
            )],
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nCOPY gemm.cu .\nRUN nvcc -O3 -o /out/gemm \
             gemm.cu -lcublas\nFROM ubuntu:22.04\nCOPY --from=build /out/gemm /gemm\nENTRYPOINT \
             [\"/gemm\"]\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nRUN git clone --depth 1 \
             https://github.com/ggml-org/llama.cpp /llama.cpp\nWORKDIR /llama.cpp\nRUN cmake -B build \
             -DGGML_CUDA=ON -DBUILD_SHARED_LIBS=OFF && cmake --build build -j 8\nFROM \
             nvidia/cuda:12.4.1-base-ubuntu22.04\nCOPY --from=build /llama.cpp/build/bin/llama-server \
             /usr/local/bin/\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-cudnn-devel-ubuntu22.04 AS b\nRUN g++ -o /x/infer main.cpp -lcudnn \
             -lcudart\n\
             FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nCOPY --from=b /x/infer /usr/bin/\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nRUN nvcc -o /out/gemm gemm.cu \
             -lcublas\nFROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nCOPY --from=build /out/gemm /gemm\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nRUN nvcc -o /out/gemm gemm.cu \
             -lcublas_static -lcublasLt_static -lculibos\nFROM ubuntu:22.04\nCOPY --from=build /out/gemm \
             /gemm\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nRUN nvcc -o /out/gemm gemm.cu \
             -lcublas\nFROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             libcublas-12-4\nCOPY --from=build /out/gemm /gemm\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nRUN nvcc -o /out/gemm gemm.cu \
             -lcublas\nFROM ubuntu:22.04\nCOPY --from=build /usr/local/cuda/lib64/libcublas.so.12 \
             /usr/lib/\nCOPY --from=build \
             /out/gemm /gemm\n",
        ),
        with(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nWORKDIR /s\nCOPY . .\nRUN cmake -B b && \
             cmake --build b\nFROM nvidia/cuda:12.4.1-base-ubuntu22.04\nCOPY --from=build /s/b/probe \
             /usr/bin/probe\n",
            &[(
                "CMakeLists.txt",
                "project(s LANGUAGES CXX CUDA)\nadd_executable(probe p.cu)\nadd_executable(solve \
                 s.cu)\ntarget_link_libraries(probe PRIVATE CUDA::cudart)\ntarget_link_libraries(solve \
                 PRIVATE CUDA::cusolver)\n",
            )],
        ),
    ],
};

/// Libraries of the toolkit other than its runtime, as CMake and linkers name them.
const LIBRARIES: &[&str] = &[
    "cublas", "cublasLt", "cufft", "cufftw", "curand", "cusolver", "cusparse", "nvrtc", "nvjpeg", "nppc",
    "nppial", "nppidei", "nppif", "nppig", "nppim", "nppist", "nppitc", "npps", "nccl", "cudnn",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let Some(last) = file.stages.last() else { return Vec::new() };
    let Some(has) = Present::of(file, last) else { return Vec::new() };
    let stages = file.lineage(last);
    let copies = stages.iter().flat_map(|stage| &stage.instructions).filter(|one| one.keyword == "COPY");
    copies.filter_map(|copy| fault(file, &has, copy)).take(1).collect()
}

/// What the image has of CUDA's libraries.
struct Present {
    /// The image as written.
    image: String,
    runtime: bool,
    libraries: bool,
    cudnn: bool,
}

impl Present {
    /// Of an image whose base is known and where nothing may bring more of them.
    fn of(file: &Dockerfile, last: &Stage) -> Option<Present> {
        let written = file.base(last).filter(|base| base.known)?;
        let base = Base::of(&written.text)?;
        let image = last.end.image?;
        let stages = file.lineage(last);
        let brings = |run: &Run| {
            let packages = apt::packages(run.state.catalog, &run.command);
            let named = packages.iter().any(|word| {
                let name = apt::name(word);
                !word.known || ["libcu", "libn", "cuda", "nvidia"].iter().any(|start| name.starts_with(start))
            });
            let pip = |install: &Install| {
                let more = install.requirements.iter().any(|one| {
                    one.name.starts_with("nvidia") || one.name == "torch" || one.name.starts_with("cu")
                });
                more || install.more
            };
            named || run.install.as_ref().is_some_and(pip)
        };
        let copied = stages.iter().flat_map(|stage| &stage.instructions).any(brings_libraries);
        let more = copied || stages.iter().flat_map(|stage| &stage.runs).any(brings);
        if more || last.end.opaque || last.end.toolkit {
            return None;
        }
        let (runtime, libraries) = match (base, image.flavour) {
            (Base::System, _) => (false, false),
            (Base::Cuda, Flavour::Base) => (true, false),
            (Base::Cuda, Flavour::Runtime) => (true, true),
            _ => return None,
        };
        let cudnn = image.has_cudnn != Some(false);
        Some(Present { image: written.text.clone(), runtime, libraries, cudnn: libraries && cudnn })
    }

    fn lacks(&self, library: &str) -> bool {
        match library {
            "cudart" => !self.runtime,
            "cudnn" => !self.cudnn,
            _ => !self.libraries && LIBRARIES.contains(&library),
        }
    }
}

/// Whether an instruction may copy libraries: of another stage, whole folders of the system, or files.
fn brings_libraries(one: &Instruction) -> bool {
    if !matches!(one.keyword.as_str(), "COPY" | "ADD") {
        return false;
    }
    let text = one.text.text.as_str();
    let target = text.split_whitespace().next_back().unwrap_or_default().trim_end_matches('/');
    let of_system =
        matches!(target, "" | "/" | "/usr" | "/usr/local" | "/opt" | "/usr/lib" | "/usr/local/lib");
    let marks = [".so", "cuda", "/lib", "$"];
    of_system || marks.iter().any(|mark| text.contains(mark))
}

fn fault(file: &Dockerfile, has: &Present, copy: &Instruction) -> Option<Found> {
    let from = copy.flag("from")?;
    let named = |stage: &Stage| stage.name.as_deref() == Some(from.to_ascii_lowercase().as_str());
    let number = || from.parse().ok();
    let made = file.stages.get(file.stages.iter().position(named).or_else(number)?)?;
    let words: Vec<&str> = match &copy.json {
        Some(words) => words.iter().map(String::as_str).collect(),
        None => copy.text.text.split_whitespace().collect(),
    };
    let (_, sources) = words.split_last()?;
    let (source, (library, how)) = sources.iter().find_map(|source| {
        let name = source.rsplit('/').next().filter(|name| !name.is_empty())?;
        let runs = file.lineage(made).into_iter().flat_map(|stage| &stage.runs);
        Some((*source, runs.into_iter().find_map(|run| linked(file, run, name, has))?))
    })?;
    let message = format!(
        "{source} of the stage {from} is linked with lib{library}.so ({how}), which {} does not have; it \
         does not start (`error while loading shared libraries`)",
        has.image
    );
    let fix = match library {
        "cudnn" => "Use an image with cuDNN for the last stage",
        _ => "Use the `runtime` image of nvidia/cuda for the last stage, or link the library statically",
    };
    Some(Found::error(copy.line, message, fix))
}

/// A library that the image lacks and a command links a program with, and what says so.
fn linked<'l>(file: &'l Dockerfile, run: &'l Run, name: &str, has: &Present) -> Option<(&'l str, String)> {
    let command = &run.command;
    if !command.certain {
        return None;
    }
    let words = || command.words.iter().filter(|word| word.known).map(|word| word.text.as_str());
    match command.program() {
        "nvcc" | "g++" | "gcc" | "clang++" | "c++" => {
            let output = words().skip_while(|word| *word != "-o").nth(1)?;
            let own = output.rsplit('/').next() == Some(name);
            let library = words().filter_map(|word| word.strip_prefix("-l")).find(|one| has.lacks(one));
            let fixed = command.has("-static");
            library.filter(|_| own && !fixed).map(|one| (one, format!("-l{one}")))
        }
        "cmake" => {
            let on = |word: &str| {
                let switch = word.strip_prefix("-DGGML_CUDA=");
                switch
                    .is_some_and(|value| ["ON", "1", "TRUE"].iter().any(|on| on.eq_ignore_ascii_case(value)))
            };
            let fixed = words()
                .any(|word| word.starts_with("-DGGML_STATIC=") || word.starts_with("-DGGML_BACKEND_DL="));
            if name.starts_with("llama-") && words().any(on) && !fixed && has.lacks("cublas") {
                return Some(("cublas", "GGML_CUDA".to_owned()));
            }
            let text = build_files(run).iter().find_map(|path| {
                let places = run.state.files.candidates(path);
                places.iter().find_map(|place| file.context.get(place)?.as_deref())
            })?;
            let library = linked_by_cmake(text, name).into_iter().find(|one| has.lacks(one))?;
            Some((library, format!("CUDA::{library} in CMakeLists.txt")))
        }
        _ => None,
    }
}

/// The libraries of CUDA that CMake links a target with, in every configuration.
fn linked_by_cmake<'t>(text: &'t str, target: &str) -> Vec<&'t str> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut of_target = false;
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        let (name, rest) = line.split_once('(').unwrap_or(("", line));
        match name.trim().to_ascii_lowercase().as_str() {
            "if" | "function" | "macro" | "foreach" => depth += 1,
            "endif" | "endfunction" | "endmacro" | "endforeach" => depth = depth.saturating_sub(1),
            "target_link_libraries" => {
                let first = rest.split([' ', ')']).find(|word| !word.is_empty());
                of_target = depth == 0 && first == Some(target);
            }
            "" => {}
            _ => of_target = false,
        }
        if of_target {
            let words = line.split([' ', '(', ')', '\t']).filter_map(|word| word.strip_prefix("CUDA::"));
            found.extend(words);
            of_target = !rest.contains(')');
        }
    }
    found
}
