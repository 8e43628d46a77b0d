//! A script that the kernel does not start.

use diagnostic::Fix;

use crate::base::Base;
use crate::outputs::is_below;
use crate::read::dockerfile::copied::join;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::{Dockerfile, From, Run, start};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};

pub(crate) const RULE: Rule = Rule {
    id: "started-script-refused",
    severity: Severity::Error,
    summary: "scripts that a container starts can be executed, by their mode and their first line",
    explain: include_str!("started_script_refused.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        with(
            "FROM python:3.11-slim\nCOPY entrypoint.sh /entrypoint.sh\nRUN chmod +x /entrypoint.sh\n\
             ENTRYPOINT [\"/entrypoint.sh\"]\n",
            &[("entrypoint.sh", "set -e\nexec \"$@\"\n")],
        ),
        with(
            "FROM python:3.11-slim\nWORKDIR /app\nCOPY . .\nENTRYPOINT [\"./docker/start.sh\"]\n",
            &[("docker/start.sh", "#!/bin/bash\r\nexec \"$@\"\r\n")],
        ),
        dockerfile("FROM alpine:3.20\nCOPY run.sh /run.sh\nCMD [\"/bin/bash\", \"/run.sh\"]\n"),
        with(
            "FROM python:3.11-alpine\nCOPY run.sh /run.sh\nENTRYPOINT [\"/run.sh\"]\n",
            &[("run.sh", "#!/usr/bin/env bash\necho ok\n")],
        ),
        with(
            "FROM python:3.11-slim\nCOPY --chmod=0644 bin/serve.sh /usr/local/bin/serve.sh\nENTRYPOINT \
             [\"/usr/local/bin/serve.sh\", \"--port\", \"80\"]\n",
            &[("bin/serve.sh", "#!/bin/sh\nexec python -m serve \"$@\"\n")],
        ),
        dockerfile(
            "FROM example.org/base:3\nWORKDIR /srv\nADD start.sh run.sh ./\nRUN chmod 644 *.sh\nENTRYPOINT \
             [\"./start.sh\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nWORKDIR /app\nCOPY --chmod=644 . .\nENTRYPOINT \
             [\"/app/start.sh\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nCOPY start.sh /tmp/\nRUN install -m 600 /tmp/start.sh \
             /usr/local/bin/start.sh\nCMD \
             [\"/usr/local/bin/start.sh\"]\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.11-slim\nCOPY --chmod=644 start.sh /start.sh\nRUN chmod u+x /start.sh\nENTRYPOINT \
             [\"/start.sh\"]\n",
        ),
        dockerfile(
            "FROM python:3.11-slim\nCOPY --chmod=644 start.sh /start.sh\nENTRYPOINT [\"bash\", \
             \"/start.sh\"]\n",
        ),
        dockerfile(
            "FROM python:3.11-slim\nWORKDIR /app\nCOPY --chmod=644 . .\nCOPY --chmod=755 bin/ bin/\nRUN \
             chmod -R a-x data\nENTRYPOINT [\"/app/bin/start.sh\"]\n",
        ),
        dockerfile(
            "FROM python:3.11-slim\nCOPY start.sh /app/\nRUN chmod +x /app/start.sh\nCOPY --chmod=644 \
             config.yaml /app/\nENTRYPOINT [\"/app/start.sh\"]\n",
        ),
        dockerfile(
            "FROM python:3.11-slim\nCOPY --chmod=644 . /\nENTRYPOINT \
             [\"/usr/local/bin/python3\", \"/a.py\"]\n",
        ),
        dockerfile(
            "FROM python:3.11-slim\nCOPY --chmod=755 docker/start.sh /app/start.sh\nCOPY --chmod=644 . \
             /app/\nENTRYPOINT [\"/app/start.sh\"]\n",
        ),
        dockerfile(
            "FROM python:3.11-slim\nCOPY --chmod=644 a.sh /app/a.sh\nRUN find /app -name '*.sh' -exec chmod \
             755 {} +\nENTRYPOINT [\"/app/a.sh\"]\n",
        ),
        with(
            "FROM python:3.11-slim\nCOPY entrypoint.sh /entrypoint.sh\nENTRYPOINT [\"/entrypoint.sh\"]\n",
            &[("entrypoint.sh", "#!/bin/sh\nset -e\nexec \"$@\"\n")],
        ),
        with(
            "FROM python:3.11-slim\nCOPY entrypoint.sh /entrypoint.sh\nENTRYPOINT [\"bash\", \
             \"/entrypoint.sh\"]\n",
            &[("entrypoint.sh", "set -e\nexec \"$@\"\n")],
        ),
        with(
            "FROM python:3.11-slim\nCOPY entrypoint.sh /entrypoint.sh\nRUN dos2unix /entrypoint.sh\n\
             ENTRYPOINT [\"/entrypoint.sh\"]\n",
            &[("entrypoint.sh", "#!/bin/bash\r\nexec \"$@\"\r\n")],
        ),
        with(
            "FROM python:3.11-slim\nCOPY entrypoint.sh /entrypoint.sh\nENTRYPOINT /entrypoint.sh\n",
            &[("entrypoint.sh", "exec python train.py\n")],
        ),
        dockerfile(
            "FROM alpine:3.20\nRUN apk add --no-cache bash\nCOPY run.sh /run.sh\nCMD [\"/bin/bash\", \
             \"/run.sh\"]\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let first = start::entrypoint(file).or_else(|| start::command(file));
    let Some((one, words)) = first.and_then(|one| Some((one, one.json.as_ref()?))) else { return Vec::new() };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // `tini -- /start.sh`
    let init = matches!(words.first().and_then(|word| word.rsplit('/').next()), Some("tini" | "dumb-init"));
    let skip = if init {
        words
            .iter()
            .take_while(|word| word.starts_with('-') || word.contains("init") || word.contains("tini"))
            .count()
    } else {
        0
    };
    let Some(program) = words.get(skip) else { return Vec::new() };
    let alpine = is_alpine(file) && !brings_bash(file);
    if matches!(*program, "bash" | "/bin/bash" | "/usr/bin/bash") && alpine {
        let message = format!("{program} is not in an image of Alpine; the container does not start");
        return vec![Found::error(one.line, message, "Install bash with `apk add bash`, or use sh")];
    }
    script(file, one, program, alpine).or_else(|| not_executable(file, one, program)).into_iter().collect()
}

/// The program that a container starts was copied, or made, without the right to execute it.
fn not_executable(file: &Dockerfile, one: &Instruction, program: &str) -> Option<Found> {
    if !program.contains('/') || program.contains('$') {
        return None;
    }
    // The entrypoint of an unknown base may hand a command to an interpreter.
    let plain = || file.base(file.stages.last()?).filter(|base| base.known && Base::of(&base.text).is_some());
    if one.keyword == "CMD" && plain().is_none() {
        return None;
    }
    let program = join(&file.stages.last()?.end.files.workdir, program);
    let mut workdir = String::new();
    let mut mode: Option<(usize, String)> = None;
    // Whether something may have put the program there.
    let mut before = false;
    for stage in file.shipped().into_iter().rev() {
        for (index, instruction) in stage.instructions.iter().enumerate() {
            match instruction.keyword.as_str() {
                "WORKDIR" => workdir = join(&workdir, instruction.text.text.trim()),
                "COPY" | "ADD" => {
                    let put = put(instruction, &workdir, &program, before);
                    let given = instruction.flag("chmod").unwrap_or_default();
                    let without = put == Put::Surely && executes(given) == Some(false);
                    if put > Put::No {
                        mode = without.then(|| (instruction.line, format!("--chmod={given}")));
                        before = true;
                    }
                }
                "RUN" => {
                    for run in stage.commands_of(index) {
                        let change = changed_mode(run, &program);
                        before |= !matches!(change, Change::None);
                        match change {
                            Change::None => {}
                            Change::Unknown => mode = None,
                            Change::To(given) => {
                                let without = executes(&given) == Some(false);
                                mode = without.then(|| (run.command.line, format!("mode {given}")));
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }
    let (line, how) = mode?;
    let message = format!(
        "{program} has no execute permission ({how}), and no later instruction adds it; the container does \
         not start (`permission denied`)"
    );
    let fix = format!("Use `COPY --chmod=755`, or add `RUN chmod 755 {program}` after it");
    Some(Found::error(line, message, fix))
}

/// Whether COPY or ADD puts a file at a path of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Put {
    No,
    Maybe,
    Surely,
}

/// What an instruction does to a program, which something before it may have put there.
fn put(instruction: &Instruction, workdir: &str, program: &str, before: bool) -> Put {
    let words = instruction.words();
    let Some((target, sources)) = words.split_last() else { return Put::No };
    let place = join(workdir, target);
    if place.contains('$') {
        return Put::Maybe;
    }
    if place == program {
        return Put::Surely;
    }
    // A relative path may be anywhere if the working directory of the base image is unknown.
    let below = place.is_empty() || is_below(program, &place) || !place.starts_with('/');
    let top = place.trim_start_matches('/').split('/').next().unwrap_or_default();
    let of_system = matches!(top, "" | "bin" | "etc" | "lib" | "opt" | "sbin" | "usr");
    let of_source = |source: &&str| {
        let base = source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let name = program.rsplit('/').next();
        let whole = matches!(*source, "." | "./" | "/");
        match () {
            () if !whole && join(&place, base) == program => Put::Surely,
            () if !below => Put::No,
            // The build context need not have the program: the base image or an earlier instruction may.
            () if whole && !before && !of_system && instruction.flag("from").is_none() => Put::Surely,
            () if whole || source.ends_with('/') || name == Some(base) || !is_file(base) => Put::Maybe,
            () => Put::No,
        }
    };
    sources.iter().map(of_source).max().unwrap_or(Put::No)
}

/// Whether a name is that of a file which COPY and ADD put somewhere as it is, and not of a directory, of
/// several files or of an archive.
fn is_file(name: &str) -> bool {
    let archive = [".tar", ".tgz", ".tbz", ".txz", ".gz", ".bz2", ".xz", ".zst"];
    let plain = !name.contains(['*', '?', '[', '$']) && !archive.iter().any(|end| name.ends_with(end));
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    plain && end.len() > 1 && end.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

/// Whether somebody may execute a file of a mode: `644`, `a-x`, `u+x`; `None` where it does not say.
fn executes(mode: &str) -> Option<bool> {
    let octal = !mode.is_empty() && mode.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    if octal {
        let digits = mode.as_bytes().iter().rev().take(3);
        return Some(digits.into_iter().any(|digit| (digit - b'0') & 1 == 1));
    }
    match mode {
        "-x" | "a-x" | "ugo-x" => Some(false),
        _ => None,
    }
}

/// What a command does to the mode of a file.
enum Change {
    None,
    Unknown,
    To(String),
}

fn changed_mode(run: &Run, program: &str) -> Change {
    let command = &run.command;
    let base = program.rsplit('/').next().unwrap_or_default();
    let words: Vec<&str> = command.words.iter().skip(1).map(|word| word.text.as_str()).collect();
    let given: Vec<&str> =
        words.iter().filter(|word| !word.starts_with('-') || **word == "-x").copied().collect();
    let of = |path: &str| join(&run.state.files.workdir, path);
    let known = command.certain && command.words.iter().all(|word| word.known);
    match command.program() {
        "chmod" => {
            let Some((mode, paths)) = given.split_first() else { return Change::Unknown };
            let exact = paths.iter().any(|path| of(path) == program);
            let near = paths.iter().any(|path| {
                let (folder, last) = path.rsplit_once('/').unwrap_or(("", path));
                let start = last.split('*').next().unwrap_or_default();
                let glob = last.contains('*') && join(&of(folder), base) == program;
                let fits =
                    || base.starts_with(start) && base.ends_with(last.rsplit('*').next().unwrap_or_default());
                glob && last.matches('*').count() == 1 && fits()
            });
            let above = paths.iter().any(|path| program.starts_with(of(path).trim_end_matches('/')));
            match (exact || near, above) {
                (true, _) if known => Change::To((*mode).to_owned()),
                (false, false) if known => Change::None,
                _ => Change::Unknown,
            }
        }
        "install" => {
            let at = words.iter().position(|word| *word == "-m");
            let mode = at.and_then(|at| words.get(at + 1).copied());
            let mode = mode.or_else(|| words.iter().find_map(|word| word.strip_prefix("--mode=")));
            let target = words.last().map(|target| of(target)).unwrap_or_default();
            let source = given.iter().any(|path| path.rsplit('/').next() == Some(base));
            let puts = target == program || source && join(&target, base) == program;
            match mode.filter(|_| known && !words.contains(&"-d")) {
                Some(mode) if puts => Change::To(mode.to_owned()),
                _ if puts => Change::Unknown,
                _ => Change::None,
            }
        }
        // It may be a file with the mode of another one, or a program that changes modes.
        _ if command.text().contains(base) || command.text().contains("chmod") || !known => Change::Unknown,
        _ if command.writes.iter().any(|word| word.text.ends_with(base)) => Change::Unknown,
        _ => Change::None,
    }
}

fn script(file: &Dockerfile, one: &Instruction, program: &str, alpine: bool) -> Option<Found> {
    if !program.contains('/') || program.contains('$') {
        return None;
    }
    let end = &file.stages.last()?.end;
    let places = end.files.candidates(program);
    let (place, text) =
        places.iter().find_map(|place| Some((place, file.context.get(place)?.as_deref()?)))?;
    let runs = file.stages.iter().flat_map(|stage| &stage.instructions).filter(|one| one.keyword == "RUN");
    let mended = runs
        .into_iter()
        .any(|one| ["dos2unix", "\\r", "fromdos"].iter().any(|word| one.text.text.contains(word)));
    let first = text.lines().next().unwrap_or_default();
    let shebang = text.starts_with("#!");
    let (message, fix) = if shebang
        && text.split('\n').next().is_some_and(|line| line.ends_with('\r'))
        && !mended
    {
        let message = format!(
            "{place} has DOS line ends: the kernel looks for the interpreter `{}\\r`; the container does not \
             start (`no such file or directory`)",
            first.trim_start_matches("#!").trim()
        );
        let command = format!("sed -i 's/\\r$//' {}", diagnostic::shell::word(place));
        (message, Fix::run("Set `*.sh text eol=lf` in .gitattributes, and convert the file:", command))
    } else if !shebang && place.ends_with(".sh") && !text.is_empty() && !text.starts_with('\u{feff}') {
        let message = format!(
            "{place} does not begin with `#!`, and no shell starts it here; the container does not start \
             (`exec format error`)"
        );
        (message, Fix::manual("Add `#!/bin/sh` or `#!/bin/bash` as its first line"))
    } else if shebang && first.contains("bash") && alpine {
        let message =
            format!("{place} needs bash, which is not in an image of Alpine; the container does not start");
        (message, Fix::manual("Install bash with `apk add bash`, or begin the script with `#!/bin/sh`"))
    } else {
        return None;
    };
    Some(Found::error(one.line, message, fix))
}

fn is_alpine(file: &Dockerfile) -> bool {
    file.shipped().into_iter().any(|stage| match &stage.from {
        From::Image(image) => {
            let bases = ["python:", "node:", "golang:"];
            let variant =
                bases.iter().any(|base| image.text.starts_with(base)) && image.text.contains("-alpine");
            image.known && (variant || image.text.starts_with("alpine:") || image.text == "alpine")
        }
        _ => false,
    })
}

fn brings_bash(file: &Dockerfile) -> bool {
    let instructions = file.shipped().into_iter().flat_map(|stage| &stage.instructions);
    instructions.into_iter().any(|one| match one.keyword.as_str() {
        "RUN" => {
            one.text.text.contains("bash") || one.text.text.contains('$') && one.text.text.contains("apk add")
        }
        "COPY" | "ADD" => one.text.text.contains("bash") || one.flag("from").is_some(),
        _ => false,
    })
}
