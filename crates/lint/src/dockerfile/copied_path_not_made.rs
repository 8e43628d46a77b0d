//! COPY --from of a path at which the stage has nothing.

use std::collections::BTreeSet;

use crate::read::dockerfile::copied::join;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::{Dockerfile, From, Run, Stage};
use crate::recognize::is_below;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "copied-path-not-made",
    severity: Severity::Error,
    summary: "COPY --from names a path that the stage makes",
    explain: include_str!("copied_path_not_made.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.12-slim AS build\nRUN python -m venv /opt/venv\nRUN /opt/venv/bin/pip install \
             numpy\n\
             FROM python:3.12-slim\nCOPY --from=build /venv /venv\n",
        ),
        dockerfile(
            "FROM python:3.12 AS build\nWORKDIR /src\nCOPY . .\nRUN pip wheel -w wheels .\n\
             FROM python:3.12-slim\nCOPY --from=build /wheels /wheels\n",
        ),
        dockerfile(
            "FROM python:3.12 AS builder\nWORKDIR /workspace\nCOPY kernels/ kernels/\nRUN pip wheel \
             --no-deps -w \
             /wheels ./kernels/moe\nFROM python:3.12-slim\nCOPY --from=builder /workspace/dist/*.whl \
             /tmp/wheels/\n",
        ),
        dockerfile(
            "FROM python:3.12 AS builder\nRUN pip install --no-cache-dir build wheel\nWORKDIR /src\nCOPY . \
             .\nRUN python -m build --wheel\nFROM python:3.12-slim\nCOPY --from=builder /dist/*.whl /tmp/\n",
        ),
        dockerfile(
            "FROM python:3.12-slim AS build\nWORKDIR /app\nRUN python -m venv /opt/venv && /opt/venv/bin/pip \
             install --no-cache-dir numpy\nFROM python:3.12-slim\nCOPY --from=build /app/venv /venv\n",
        ),
        dockerfile(
            "FROM python:3.12-slim AS build\nRUN python -m venv /opt/venv\nFROM python:3.12-slim\n\
             COPY --from=build [\"/venv\", \"/venv\"]\n",
        ),
    ],
    silent: &[
        // The directory of the context may have it.
        dockerfile(
            "FROM python:3.12-slim AS build\nWORKDIR /app\nCOPY [\"deps/\", \"/app/\"]\nRUN python -m venv \
             /opt/venv\nFROM python:3.12-slim\nCOPY --from=build /app/venv /venv\n",
        ),
        dockerfile(
            "FROM python:3.12 AS builder\nWORKDIR /workspace\nCOPY kernels/ kernels/\nRUN pip wheel \
             --no-deps -w \
             /wheels ./kernels/moe && mkdir dist && cp /wheels/*.whl dist/\nFROM python:3.12-slim\nCOPY \
             --from=builder /workspace/dist/*.whl /tmp/wheels/\n",
        ),
        // The context may have a directory of wheels.
        dockerfile(
            "FROM python:3.12 AS builder\nWORKDIR /workspace\nCOPY . .\nRUN pip wheel --no-deps -w /wheels \
             ./kernels/moe\nFROM python:3.12-slim\nCOPY --from=builder /workspace/dist/*.whl /tmp/wheels/\n",
        ),
        dockerfile(
            "FROM python:3.12 AS builder\nWORKDIR /src\nCOPY . .\nRUN python setup.py bdist_wheel\nFROM \
             python:3.12-slim\nCOPY --from=builder /src/dist/*.whl /tmp/\n",
        ),
        dockerfile(
            "FROM python:3.12-slim AS build\nRUN python -m venv /opt/venv\nFROM python:3.12-slim\n\
             COPY --from=build /opt/venv /opt/venv\n",
        ),
        dockerfile(
            "FROM python:3.12 AS build\nWORKDIR /src\nCOPY . .\nRUN pip wheel -w wheels . && mv wheels \
             /wheels\n\
             FROM python:3.12-slim\nCOPY --from=build /wheels /wheels\n",
        ),
        dockerfile(
            "FROM python:3.12 AS build\nWORKDIR /src\nCOPY . .\nRUN pip wheel -w wheels .\n\
             FROM python:3.12-slim\nCOPY --from=build /src/wheels /wheels\n",
        ),
        dockerfile(
            "FROM python:3.12 AS build\nRUN make\nFROM python:3.12-slim\nCOPY --from=build /venv /venv\n",
        ),
    ],
};

/// Directories that base images have.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/lib", "/etc", "/root", "/home", "/var", "/sbin", "/tmp", "/opt/conda", "/opt/nvidia"];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in &file.stages {
        for one in stage.instructions.iter().filter(|one| one.keyword == "COPY") {
            let Some(made) = file.stage_of(one) else { continue };
            let words = one.words();
            let Some((_, sources)) = words.split_last() else { continue };
            found.extend(sources.iter().find_map(|source| fault(file, made, one, source)));
        }
    }
    found
}

fn fault(file: &Dockerfile, made: &Stage, one: &Instruction, source: &str) -> Option<Found> {
    if let Some((directory, pattern)) = source.rsplit_once('/')
        && matches!(pattern, "*.whl" | "*.tar.gz")
    {
        return wheels(file, made, one, directory);
    }
    let path = source.trim_end_matches('/');
    let plain = path.starts_with('/') && path.len() > 1 && !path.contains(['$', '*', '?', '[', '"', '\'']);
    let system = SYSTEM.iter().any(|start| path == *start || path.starts_with(&format!("{start}/")));
    if !plain || system {
        return None;
    }
    let chain = file.lineage(made);
    let outputs: BTreeSet<String> =
        chain.iter().flat_map(|stage| stage.runs.iter().flat_map(outputs)).collect();
    let base = path.rsplit('/').next()?;
    let is_environment = |name: &str| matches!(name, "venv" | ".venv" | "env" | "virtualenv");
    let environment = |made: &&String| {
        let own = made.rsplit('/').next().unwrap_or_default();
        is_environment(base) && is_environment(own)
    };
    let near = outputs.iter().find(|made| {
        let own = made.rsplit('/').next().unwrap_or_default();
        (own == base || environment(made)) && made.as_str() != path
    })?;
    let mentions = is_mentioned(&chain, path);
    let within = outputs.iter().any(|made| is_below(path, made) || is_below(made, path));
    if mentions || within {
        return None;
    }
    let stage = one.flag("from").unwrap_or_default();
    let message = format!("stage {stage} creates {near}, not {path}; the COPY fails with `not found`");
    let found = Found::error(one.line, message, format!("Write `COPY --from={stage} {near} …`"));
    Some(found.unless_certain(is_bare(&chain) && !made.end.opaque))
}

/// Whether the first stage of a chain begins with an image that has nothing of the project.
fn is_bare(chain: &[&Stage]) -> bool {
    chain.last().is_some_and(|first| match &first.from {
        From::Image(image) => image.is_official(),
        From::Stage(_) | From::Scratch => false,
    })
}

/// Wheels that a COPY looks for in a directory, where every command of the stage that makes some writes them
/// to another one.
fn wheels(file: &Dockerfile, made: &Stage, one: &Instruction, directory: &str) -> Option<Found> {
    let plain = directory.starts_with('/') && !directory.contains(['$', '*', '?', '[', '"', '\'']);
    let system = SYSTEM.iter().any(|start| is_below(directory, start));
    if !plain || system || directory.len() < 2 {
        return None;
    }
    let chain = file.lineage(made);
    let runs = || chain.iter().flat_map(|stage| &stage.runs);
    // A program that is not known may write anywhere.
    let unknown = runs().any(|run| writes_unknown(run, directory));
    let all: Vec<Option<String>> = runs().filter_map(wheel_output).collect();
    let outputs: BTreeSet<String> = all.into_iter().collect::<Option<_>>()?;
    let near = outputs.first()?;
    let within = outputs.iter().any(|made| is_below(directory, made));
    if unknown || within || is_mentioned(&chain, directory) {
        return None;
    }
    let stage = one.flag("from").unwrap_or_default();
    let message = format!("stage {stage} writes its wheels to {near}; the COPY finds none in {directory}");
    let found = Found::error(one.line, message, format!("Write `COPY --from={stage} {near}/*.whl …`"));
    Some(found.unless_certain(is_bare(&chain) && !made.end.opaque))
}

/// Whether a command may write wheels to a directory: a program that is not known, a move there.
fn writes_unknown(run: &Run, directory: &str) -> bool {
    const ELSEWHERE: &[&str] = &[
        "apt-get",
        "apt",
        "dpkg",
        "pip",
        "pip3",
        "uv",
        "poetry",
        "rm",
        "mkdir",
        "echo",
        "printf",
        "export",
        "set",
        "cd",
        "chmod",
        "chown",
        "ldconfig",
        "update-alternatives",
        "test",
        "[",
        "true",
        "useradd",
        "groupadd",
        "sed",
        "cat",
        "find",
        "which",
        "nvcc",
        "locale-gen",
        "auditwheel",
    ];
    const MOVES: &[&str] = &["cp", "mv", "ln", "tar", "unzip", "wget", "curl"];
    let (program, words) = (run.command.program(), &run.command.words);
    let near = |path: String| is_below(&path, directory) || is_below(directory, &path);
    match program {
        "" => !words.is_empty(),
        "python" | "python3" => {
            let first = words.get(1).map_or("", |word| word.text.as_str());
            !matches!(first, "-m" | "-V" | "--version") && !first.ends_with("setup.py")
        }
        _ if MOVES.contains(&program) => {
            words.iter().skip(1).any(|word| near(join(&run.state.files.workdir, &word.text)))
        }
        _ => !ELSEWHERE.contains(&program),
    }
}

/// The directory into which a command writes wheels, where it writes some; `Some(None)`: not known.
fn wheel_output(run: &Run) -> Option<Option<String>> {
    let words: Vec<&str> = run.command.words.iter().map(|word| word.text.as_str()).collect();
    let program = run.command.program();
    let python = program.starts_with("python");
    let module = |name: &str| python && words.windows(2).any(|pair| pair == ["-m", name]);
    let pip = matches!(program, "pip" | "pip3") || module("pip");
    // The options that name it, and its default.
    // `pip install wheel` writes none.
    let builds = words.contains(&"wheel") && !words.contains(&"install");
    let (options, default): (&[&str], &str) = if pip && builds {
        (&["-w", "--wheel-dir"], ".")
    } else if pip && words.contains(&"download") {
        (&["-d", "--dest"], ".")
    } else if module("build") {
        (&["-o", "--outdir"], "dist")
    } else if program == "uv" && words.get(1) == Some(&"build") {
        (&["-o", "--out-dir"], "dist")
    } else if program == "poetry" && words.get(1) == Some(&"build") {
        (&["-o", "--output"], "dist")
    } else if python && words.iter().any(|word| word.ends_with("setup.py")) && words.contains(&"bdist_wheel")
    {
        (&["-d", "--dist-dir"], "dist")
    } else if program == "auditwheel" {
        (&["-w", "--wheel-dir"], "wheelhouse")
    } else {
        return None;
    };
    let given = value(&words, options);
    // Without the option it is next to the project that is built, which is not always the working directory.
    let elsewhere = given.is_none()
        && default == "dist"
        && words.iter().skip(1).any(|word| word.contains('/') && !word.starts_with('-'));
    let directory = given.unwrap_or(default);
    let plain = !elsewhere && !directory.contains(['$', '`']) && !run.state.files.workdir.contains('$');
    let path = join(&run.state.files.workdir, directory);
    Some((plain && path.starts_with('/')).then_some(path))
}

/// The value of an option, behind `=` or in the next word.
fn value<'w>(words: &[&'w str], names: &[&str]) -> Option<&'w str> {
    words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some((name, value)) if names.contains(&name) => Some(value),
        _ => names.contains(word).then(|| words.get(at + 1).copied())?,
    })
}

/// Whether an instruction of a chain of stages names a path, or puts what nobody sees here above it.
fn is_mentioned(chain: &[&Stage], path: &str) -> bool {
    // Base images have working directories of their own.
    let mut workdir: Option<String> = None;
    chain.iter().rev().flat_map(|stage| &stage.instructions).any(|one| {
        if one.keyword == "WORKDIR" {
            let given = one.text.text.trim();
            workdir = match (given.contains('$'), given.starts_with('/'), &workdir) {
                (true, ..) | (false, false, None) => None,
                (false, true, _) => Some(join("/", given)),
                (false, false, Some(before)) => Some(join(before, given)),
            };
        }
        mentions(one, path, workdir.as_deref())
    })
}

/// Whether an instruction names a path, or puts what nobody sees here into a directory above it.
fn mentions(one: &Instruction, path: &str, workdir: Option<&str>) -> bool {
    let names = |text: &str| {
        text.match_indices(path).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            !before.is_some_and(|letter| letter.is_alphanumeric() || "/.-_}".contains(letter))
        })
    };
    let target = one.words().last().copied().unwrap_or_default();
    // A working directory above the path has nothing in it before something is copied there.
    let places = matches!(one.keyword.as_str(), "COPY" | "ADD");
    let whole = match (target.starts_with('/'), workdir) {
        (true, _) => Some(join("/", target)),
        (false, Some(workdir)) => Some(join(workdir, target)),
        (false, None) => None,
    };
    let above = |whole: &String| is_below(path, whole);
    let hidden = target.contains('$') || whole.is_none_or(|whole| above(&whole));
    names(&one.text.text) || one.heredocs.iter().any(|body| names(&body.text.text)) || places && hidden
}

/// The directories that a command makes.
fn outputs(run: &Run) -> Vec<String> {
    let words: Vec<&str> = run.command.words.iter().map(|word| word.text.as_str()).collect();
    let value = |names: &[&str]| value(&words, names);
    let program = run.command.program();
    let made: Vec<&str> = match program {
        "pip" | "pip3" | "python" | "python3" if words.contains(&"wheel") => {
            value(&["-w", "--wheel-dir"]).into_iter().collect()
        }
        "pip" | "pip3" if words.contains(&"download") => value(&["-d", "--dest"]).into_iter().collect(),
        "python" | "python3" if words.contains(&"venv") => words.last().copied().into_iter().collect(),
        "virtualenv" => words.last().copied().into_iter().collect(),
        "uv" if words.get(1) == Some(&"venv") => {
            vec![
                words
                    .get(2..)
                    .unwrap_or_default()
                    .iter()
                    .rfind(|word| word.starts_with('/'))
                    .copied()
                    .unwrap_or(".venv"),
            ]
        }
        "uv" if words.get(1) == Some(&"sync") => match run.state.variables.get("UV_PROJECT_ENVIRONMENT") {
            Some(value) => return value.text.clone().into_iter().collect(),
            None => vec![".venv"],
        },
        _ => Vec::new(),
    };
    let plain =
        made.into_iter().filter(|path| !path.contains('$') && !path.starts_with('-') && !path.is_empty());
    plain.map(|path| join(&run.state.files.workdir, path)).filter(|path| path.starts_with('/')).collect()
}
