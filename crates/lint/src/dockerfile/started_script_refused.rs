//! A script that the kernel does not start.

use diagnostic::Fix;

use crate::read::dockerfile::copied::join;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::modes::{Change, Put, changed_mode, executes, put};
use crate::read::dockerfile::{Dockerfile, From, start};
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
        with(
            "FROM python:3.11-slim\nWORKDIR /app\nRUN pip install ours\nCOPY --chmod=644 . .\n\
             ENTRYPOINT [\"/app/start.sh\"]\n",
            &[("start.sh", "#!/bin/sh\nexec python -m serve\n")],
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.11-slim\nWORKDIR /app\nCOPY requirements.txt .\nRUN python -m venv /app/venv && \
             /app/venv/bin/pip install -r requirements.txt\nCOPY --chmod=644 . .\nENTRYPOINT \
             [\"/app/venv/bin/uvicorn\", \"serve:app\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nRUN git clone --depth 1 https://example.org/a/launcher /srv/launcher\n\
             COPY --chmod=644 . /srv/launcher\nENTRYPOINT [\"/srv/launcher/start.sh\"]\n",
        ),
        dockerfile(
            "FROM registry.example.org/base:3\nWORKDIR /app\nCOPY --chmod=644 . .\n\
             ENTRYPOINT [\"/app/entrypoint.sh\"]\n",
        ),
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
        with(
            "FROM python:3.11-slim\nCOPY --chmod=755 docker/start.sh /app/start.sh\nCOPY --chmod=644 . \
             /app/\nENTRYPOINT [\"/app/start.sh\"]\n",
            &[("docker/start.sh", "#!/bin/sh\nexec python -m serve\n")],
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
    let plain = || file.base(file.stages.last()?).filter(|base| base.is_official());
    if one.keyword == "CMD" && plain().is_none() {
        return None;
    }
    let files = &file.stages.last()?.end.files;
    let candidates = files.candidates(program);
    let program = join(&files.workdir, program);
    // The build context is known to have the program, and a copy of all of it puts it there.
    let is_there = |path: &&String| file.context_text(path).is_some();
    let in_context = candidates.iter().filter(is_there).any(|path| program.ends_with(&format!("/{path}")));
    // Something else may have put the program there: an unknown base, any command.
    let before = plain().is_none();
    let WithoutRight { line, how, instead } = without_right(file, &program, before, in_context)?;
    let message = format!(
        "{program} has no execute permission ({how}), and no later instruction adds it; the container does \
         not start (`permission denied`)"
    );
    let fix = match instead {
        Some(instead) => format!("Use {instead}, or add `RUN chmod 755 {program}` after it"),
        None => format!("Add `RUN chmod 755 {program}` after it"),
    };
    Some(Found::error(line, message, fix))
}

/// What leaves a program without the right to execute it at the end.
fn without_right(file: &Dockerfile, program: &str, before: bool, in_context: bool) -> Option<WithoutRight> {
    let mut before = before;
    let mut workdir = String::new();
    let mut mode: Option<WithoutRight> = None;
    for stage in file.shipped().into_iter().rev() {
        for (index, instruction) in stage.instructions.iter().enumerate() {
            match instruction.keyword.as_str() {
                "WORKDIR" => workdir = join(&workdir, instruction.text.text.trim()),
                "COPY" | "ADD" => {
                    let put = put(instruction, &workdir, program, before && !in_context);
                    let given = instruction.flag("chmod").unwrap_or_default();
                    let without = put == Put::Surely && executes(given) == Some(false);
                    if put > Put::No {
                        mode = without.then(|| WithoutRight::copied(instruction, program, given));
                        before = true;
                    }
                }
                "RUN" => {
                    before = true;
                    for run in stage.commands_of(index) {
                        match changed_mode(run, program) {
                            Change::None => {}
                            Change::Unknown => mode = None,
                            Change::To(given) => {
                                let without = executes(&given) == Some(false);
                                mode = without.then(|| WithoutRight::changed(run.command.line, &given));
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }
    mode
}

/// What leaves a program without the right to execute it.
struct WithoutRight {
    line: usize,
    how: String,
    /// What gives the right in the same place, where that is for this file.
    instead: Option<String>,
}

impl WithoutRight {
    /// The mode of COPY or ADD. Of a whole directory it would make every file executable.
    fn copied(copy: &Instruction, program: &str, mode: &str) -> WithoutRight {
        let words = copy.words();
        let base = program.rsplit('/').next();
        let own = matches!(&words[..], [source, _] if source.rsplit('/').next() == base);
        let instead = own.then(|| format!("`{} --chmod=755`", copy.keyword));
        WithoutRight { line: copy.line, how: format!("--chmod={mode}"), instead }
    }

    /// The mode that a command gives.
    fn changed(line: usize, mode: &str) -> WithoutRight {
        let instead = Some(format!("mode 755 in line {line}"));
        WithoutRight { line, how: format!("mode {mode}"), instead }
    }
}

fn script(file: &Dockerfile, one: &Instruction, program: &str, alpine: bool) -> Option<Found> {
    if !program.contains('/') || program.contains('$') {
        return None;
    }
    let end = &file.stages.last()?.end;
    let (place, text) = file.text_at(end, program)?;
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
        let command = format!("sed -i 's/\\r$//' {}", diagnostic::shell::word(&place));
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

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::testing::catalog;
    use std::collections::BTreeMap;

    fn fix(text: &str) -> String {
        judge(&Dockerfile::read(catalog(), text, &BTreeMap::new()))[0].fixes[0].title.clone()
    }

    #[test]
    fn the_fix_is_where_the_right_is_lost() {
        let start = "ENTRYPOINT [\"/app/start.sh\"]\n";
        let run = "FROM python:3.11-slim\nCOPY start.sh /app/\nRUN chmod 644 /app/*.sh\n";
        assert!(fix(&format!("{run}{start}")).starts_with("Use mode 755 in line 3"));
        let one = "FROM python:3.11-slim\nCOPY --chmod=644 start.sh /app/\n";
        assert!(fix(&format!("{one}{start}")).starts_with("Use `COPY --chmod=755`"));
        let all = "FROM python:3.11-slim\nCOPY --chmod=644 . /app/\n";
        assert!(fix(&format!("{all}{start}")).starts_with("Add `RUN chmod 755 /app/start.sh`"));
    }
}
