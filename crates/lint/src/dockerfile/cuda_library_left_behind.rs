//! A program of a build stage whose CUDA libraries the image does not have.

use std::collections::BTreeMap;

use crate::base::Base;
use crate::build_files::build_text;
use crate::read::cmake;
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
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nRUN nvcc -o /out/gemm gemm.cu \
             -lcublas\nFROM ubuntu:22.04\nCOPY --from=build [\"/deps/\", \"/usr/local\"]\nCOPY --from=build \
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
    // What a stage links is the same for each copy from it.
    let mut known: BTreeMap<usize, Vec<Link>> = BTreeMap::new();
    let mut projects = Projects::new();
    let mut faults = copies.filter_map(|copy| {
        let made = file.stage_of(copy)?;
        let links = known.entry(made.line).or_insert_with(|| {
            let runs = file.lineage(made).into_iter().flat_map(|stage| &stage.runs);
            runs.flat_map(|run| links(file, run, &has, &mut projects)).collect()
        });
        fault(&has, copy, links)
    });
    faults.next().into_iter().collect()
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
                let other = ["libcurl", "libnuma", "libnss", "libnl", "libnghttp", "libncurses"];
                let named = ["libcu", "libn", "cuda", "nvidia"].iter().any(|start| name.starts_with(start));
                !word.known || named && !other.iter().any(|start| name.starts_with(start))
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

/// Whether an instruction may copy libraries: of another stage, whole directories of the system, or files.
fn brings_libraries(one: &Instruction) -> bool {
    if !matches!(one.keyword.as_str(), "COPY" | "ADD") {
        return false;
    }
    let words = one.words();
    let target = words.last().map_or("", |target| target.trim_end_matches('/'));
    let of_system =
        matches!(target, "" | "/" | "/usr" | "/usr/local" | "/opt" | "/usr/lib" | "/usr/local/lib");
    let marks = [".so", "cuda", "/lib", "$"];
    of_system || marks.iter().any(|mark| words.iter().any(|word| word.contains(mark)))
}

fn fault(has: &Present, copy: &Instruction, links: &[Link]) -> Option<Found> {
    let from = copy.flag("from")?;
    let words = copy.words();
    let (_, sources) = words.split_last()?;
    let (source, Link { library, how, .. }) = sources.iter().find_map(|source| {
        let name = source.rsplit('/').next().filter(|name| !name.is_empty())?;
        Some((source, links.iter().find(|link| link.is_of(name))?))
    })?;
    let message = format!(
        "{source} from stage {from} links against lib{library}.so ({how}), which {} does not contain; the \
         program fails to start: `error while loading shared libraries`",
        has.image
    );
    let fix = match *library {
        "cudnn" => "Use an image with cuDNN for the last stage",
        _ => "Use the `runtime` image of nvidia/cuda for the last stage, or link the library statically",
    };
    Some(Found::error(copy.line, message, fix))
}

/// A program that a stage links with a library which the image lacks.
struct Link<'f> {
    /// The name of its file, or how the names of several begin: `llama-`.
    program: &'f str,
    library: &'f str,
    /// What links it: `-lcublas`.
    how: String,
}

impl Link<'_> {
    fn is_of(&self, name: &str) -> bool {
        name == self.program || self.program == LLAMA && name.starts_with(LLAMA)
    }
}

/// How the programs of llama.cpp are called.
const LLAMA: &str = "llama-";

/// What each CMakeLists.txt links, by its path: many commands may build the same project.
type Projects<'f> = BTreeMap<String, Vec<(&'f str, &'f str)>>;

/// What a command links with libraries that the image lacks.
fn links<'f>(
    file: &'f Dockerfile,
    run: &'f Run,
    has: &Present,
    projects: &mut Projects<'f>,
) -> Vec<Link<'f>> {
    let command = &run.command;
    let words = || command.words.iter().filter(|word| word.known).map(|word| word.text.as_str());
    match command.program() {
        _ if !command.certain => Vec::new(),
        "nvcc" | "g++" | "gcc" | "clang++" | "c++" => {
            let output = words().skip_while(|word| *word != "-o").nth(1);
            let library = words().filter_map(|word| word.strip_prefix("-l")).find(|one| has.lacks(one));
            let (Some(output), Some(library), false) = (output, library, command.has("-static")) else {
                return Vec::new();
            };
            let program = output.rsplit('/').next().unwrap_or_default();
            vec![Link { program, library, how: format!("-l{library}") }]
        }
        "cmake" => {
            let on = |word: &str| {
                let switch = word.strip_prefix("-DGGML_CUDA=");
                switch
                    .is_some_and(|value| ["ON", "1", "TRUE"].iter().any(|on| on.eq_ignore_ascii_case(value)))
            };
            let fixed = words()
                .any(|word| word.starts_with("-DGGML_STATIC=") || word.starts_with("-DGGML_BACKEND_DL="));
            let mut found = Vec::new();
            if words().any(on) && !fixed && has.lacks("cublas") {
                found.push(Link { program: LLAMA, library: "cublas", how: "GGML_CUDA".to_owned() });
            }
            let linked = build_text(file, run)
                .map(|(path, text)| projects.entry(path).or_insert_with(|| linked_by_cmake(text)));
            let linked = linked.into_iter().flat_map(|all| all.iter().copied());
            found.extend(linked.filter(|(_, library)| has.lacks(library)).map(|(program, library)| Link {
                program,
                library,
                how: format!("CUDA::{library} in CMakeLists.txt"),
            }));
            found
        }
        _ => Vec::new(),
    }
}

/// The targets that CMake links with libraries of CUDA in every configuration, each with one library.
fn linked_by_cmake(text: &str) -> Vec<(&str, &str)> {
    let all = cmake::commands(text).into_iter();
    let linked = all.filter(|one| one.name == "target_link_libraries" && one.depth == 0);
    let each = linked.flat_map(|one| {
        let target = one.arguments.first().copied().unwrap_or_default();
        let libraries = one.arguments.into_iter().filter_map(|word| word.strip_prefix("CUDA::"));
        libraries.map(move |library| (target, library))
    });
    each.collect()
}
