//! A program that was compiled in a newer distribution, or for another CUDA, than the one in which it runs.

use crate::read::dockerfile::copied::join;
use crate::read::dockerfile::{Dockerfile, Run, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};

pub(crate) const RULE: Rule = Rule {
    id: "built-for-other-system",
    severity: Severity::Warning,
    summary: "compiled programs run with the glibc and the CUDA libraries that they were built with",
    explain: include_str!("built_for_other_system.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM ubuntu:24.04 AS build\nWORKDIR /src\nCOPY . .\nRUN cmake -B build && cmake --build \
             build\nFROM \
             ubuntu:22.04\nCOPY --from=build /src/build/server /usr/local/bin/server\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nCOPY a.cu .\nRUN nvcc a.cu -o /out/gemm \
             -lcublas\nFROM nvidia/cuda:11.8.0-runtime-ubuntu22.04\nCOPY --from=build /out/gemm \
             /usr/local/bin/\n",
        ),
        with(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nWORKDIR /src\nCOPY . .\nRUN cmake -B \
             build && cmake \
             --build build\nFROM nvidia/cuda:11.8.0-runtime-ubuntu22.04\nCOPY --from=build /src/build/gemm \
             /usr/local/bin/\n",
            &[("CMakeLists.txt", "target_link_libraries(gemm CUDA::cublas)\n")],
        ),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:22.04 AS build\nWORKDIR /src\nCOPY . .\nRUN cmake -B build && cmake --build \
             build\nFROM \
             ubuntu:24.04\nCOPY --from=build /src/build/server /usr/local/bin/server\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04 AS build\nWORKDIR /src\nCOPY . .\nRUN g++ -static a.cpp -o /out/a\nFROM \
             ubuntu:22.04\nCOPY --from=build /out/a /usr/local/bin/a\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04 AS build\nWORKDIR /src\nCOPY . .\nRUN make -C tool && ./tool/x > \
             /out/table.json\n\
             FROM ubuntu:22.04\nCOPY --from=build /out/table.json /data/\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nCOPY a.cu .\nRUN nvcc a.cu -o \
             /out/gemm\nFROM \
             nvidia/cuda:11.8.0-runtime-ubuntu22.04\nCOPY --from=build /out/gemm /usr/local/bin/\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nCOPY a.cu .\nRUN nvcc a.cu -o /out/gemm \
             -lcublas\nFROM nvidia/cuda:12.6.3-runtime-ubuntu22.04\nCOPY --from=build /out/gemm \
             /usr/local/bin/\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let Some(last) = file.stages.last() else { return Vec::new() };
    let mut found = Vec::new();
    for one in last.instructions.iter().filter(|one| one.keyword == "COPY") {
        let Some(made) = file.stage_of(one) else { continue };
        let words = one.words();
        let Some((_, sources)) = words.split_last() else { continue };
        let product = sources.iter().find_map(|source| Some((*source, product(made, source)?)));
        let Some((source, by)) = product else { continue };
        let message = newer_glibc(made, last, source).or_else(|| other_cuda(file, made, last, source, by));
        let fix = "Build it in the same release of the distribution and of CUDA as the last stage";
        found.extend(message.map(|message| Found::warning(one.line, message, fix)));
    }
    found
}

/// The command that compiled a path of a stage.
fn product<'s>(made: &'s Stage, source: &str) -> Option<&'s Run> {
    let path = source.trim_end_matches('/');
    let base = path.rsplit('/').next()?;
    let binary = !base.contains('.') || base.ends_with(".so") || base.contains(".so.");
    let below = |directory: &str| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
    let writes = |run: &&Run| outputs(run).iter().any(|output| output == path || below(output));
    (path.starts_with('/') && binary).then(|| made.runs.iter().find(writes)).flatten()
}

/// The files and directories that a compiler writes in a command.
fn outputs(run: &Run) -> Vec<String> {
    let words: Vec<&str> = run.command.words.iter().map(|word| word.text.as_str()).collect();
    if words.iter().any(|word| *word == "-c" || word.contains("-static") || word.contains("musl")) {
        return Vec::new();
    }
    let after = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1).copied()
    };
    let named = match run.command.program() {
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "nvcc" => after("-o").map(str::to_owned),
        "cmake" => ["--prefix", "--build", "-B"].iter().find_map(|name| after(name)).map(str::to_owned),
        "make" | "ninja" => after("-C").or(Some(".")).map(str::to_owned),
        "cargo" if words.contains(&"build") => Some("target".to_owned()),
        _ => None,
    };
    let plain = named.filter(|path| !path.contains('$'));
    plain.map(|path| join(&run.state.files.workdir, &path)).into_iter().collect()
}

/// A glibc that is older than the one of the build.
fn newer_glibc(made: &Stage, last: &Stage, source: &str) -> Option<String> {
    let (build, here) = (made.end.system?, last.end.system?);
    let (wanted, has) = (build.glibc.as_deref()?, here.glibc.as_deref()?);
    (number(wanted)? > number(has)?).then(|| {
        format!(
            "{source} was compiled in {} (glibc {wanted}) and runs in {} (glibc {has}); it fails where it \
             uses what \
             is newer than {has}: `version GLIBC_2.x not found`",
            build.name, here.name
        )
    })
}

fn number(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Libraries of CUDA that programs load at their start.
const LIBRARIES: &[&str] =
    &["cublas", "cufft", "curand", "cusolver", "cusparse", "cudnn", "nccl", "nppi", "nvrtc"];

/// The libraries of another major release of CUDA.
fn other_cuda(file: &Dockerfile, made: &Stage, last: &Stage, source: &str, by: &Run) -> Option<String> {
    let (built, here) = (made.end.cuda()?, last.end.cuda()?);
    let major = |version: &'static str| version.split('.').next().unwrap_or_default();
    if major(built) == major(here) || brings_cuda(last) {
        return None;
    }
    let library = linked(file, made, by)?;
    Some(format!(
        "{source} was built with CUDA {built} and loads lib{library}.so of CUDA {}, but the last stage \
         has CUDA \
         {here}; the program does not start",
        major(built)
    ))
}

/// A library of CUDA with which a command or its CMakeLists.txt links a program.
fn linked(file: &Dockerfile, made: &Stage, by: &Run) -> Option<String> {
    let words = by.command.words.iter().map(|word| word.text.as_str());
    let options: Vec<&str> = words.filter_map(|word| word.strip_prefix("-l")).collect();
    let named = LIBRARIES.iter().find(|name| options.contains(*name));
    let shared =
        by.command.words.iter().any(|word| matches!(word.text.as_str(), "-cudart=shared" | "shared"));
    // llama.cpp links cuBLAS.
    let ggml = made.runs.iter().any(|run| run.command.text().contains("-DGGML_CUDA=ON"));
    let lists = file.context_text("CMakeLists.txt").unwrap_or_default();
    let listed = LIBRARIES.iter().find(|name| {
        lists.contains(&format!("CUDA::{name}")) && !lists.contains(&format!("CUDA::{name}_static"))
    });
    let runtime = lists.contains("CMAKE_CUDA_RUNTIME_LIBRARY Shared") || lists.contains("CUDA::cudart)");
    let found = named.or(listed).map(|name| (*name).to_owned());
    found
        .or_else(|| ggml.then(|| "cublas".to_owned()))
        .or_else(|| (shared || runtime).then(|| "cudart".to_owned()))
}

/// Whether a stage may get libraries of CUDA in another way.
fn brings_cuda(stage: &Stage) -> bool {
    let copies = stage.instructions.iter().filter(|one| matches!(one.keyword.as_str(), "COPY" | "ADD"));
    let copied = copies.into_iter().any(|one| {
        let text = &one.text.text;
        text.contains("cuda") || text.contains(".so") || text.contains("/lib")
    });
    let installed = stage.runs.iter().any(|run| {
        apt::packages(run.state.catalog, &run.command).iter().any(|word| {
            !word.known || LIBRARIES.iter().chain(&["cuda"]).any(|name| apt::name(word).contains(name))
        })
    });
    copied || installed || stage.end.opaque || stage.end.toolkit
}
