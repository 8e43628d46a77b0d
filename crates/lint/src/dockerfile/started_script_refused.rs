//! A script that the kernel does not start.

use diagnostic::Fix;

use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::{Dockerfile, From, start};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};

pub(crate) const RULE: Rule = Rule {
    id: "started-script-refused",
    severity: Severity::Error,
    summary: "scripts that a container starts have a first line that the kernel takes",
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
    ],
    silent: &[
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
    script(file, one, program, alpine).into_iter().collect()
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
