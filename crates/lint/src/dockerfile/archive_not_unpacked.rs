//! An archive that is used as if ADD or COPY had unpacked it.

use crate::read::dockerfile::archives::TAR_ENDS;
use crate::read::dockerfile::copied::join;
use crate::read::dockerfile::expand::expand;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::stage::unquoted;
use crate::read::dockerfile::start::started;
use crate::read::dockerfile::{Dockerfile, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "archive-not-unpacked",
    severity: Severity::Error,
    summary: "archives that ADD and COPY leave packed are unpacked before they are used",
    explain: include_str!("archive_not_unpacked.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n\
             ADD https://download.example/openmpi-5.0.6.tar.bz2 /opt/src/\n\
             RUN cd /opt/src/openmpi-5.0.6 && ./configure && make -j8 install\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nARG V=1.17.0\nWORKDIR /build\n\
             ADD https://github.com/openucx/ucx/archive/refs/tags/v${V}.tar.gz .\nRUN cd ucx-${V} && \
             ./autogen.sh && ./configure\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nCOPY hpcx-v2.18.tbz /opt/\nENV HPCX_HOME=/opt/hpcx-v2.18\n\
             RUN /opt/hpcx-v2.18/utils/hpcx_rebuild.sh\n",
        ),
        dockerfile(
            "FROM nvcr.io/nvidia/tritonserver:24.05-py3\nARG R=1\nADD \
             https://artifacts.example.com/models-${R}.tar.gz /models/\nEXPOSE 8000\nCMD [\"tritonserver\", \
             \"--model-repository=/models/repository\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nADD https://download.example/nccl.txz /opt/nccl\nWORKDIR /opt/nccl\nRUN \
             make\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM nvcr.io/nvidia/tritonserver:24.05-py3\nADD --unpack=true https://a.example/models.tar.gz \
             /models/\nCMD [\"tritonserver\", \"--model-repository=/models/repository\"]\n",
        ),
        dockerfile(
            "FROM nvcr.io/nvidia/tritonserver:24.05-py3\nADD https://a.example/models.tar.gz /models/\nRUN \
             tar xzf \
             /models/models.tar.gz -C /models\nCMD [\"tritonserver\", \
             \"--model-repository=/models/repository\"]\n",
        ),
        dockerfile(
            "FROM nvcr.io/nvidia/tritonserver:24.05-py3\nADD https://a.example/models.tar.gz /models/\nCOPY \
             repository /models/repository\nCMD [\"tritonserver\", \
             \"--model-repository=/models/repository\"]\n",
        ),
        dockerfile(
            "FROM nvcr.io/nvidia/tritonserver:24.05-py3\nADD https://a.example/models.tar.gz /models/\nCOPY \
             start.sh /\nENTRYPOINT [\"/start.sh\"]\nCMD [\"--model-repository=/models/repository\"]\n",
        ),
        dockerfile(
            "# syntax=docker/dockerfile:1.17\nFROM ubuntu:24.04\n\
             ADD --unpack=true https://download.example/openmpi-5.0.6.tar.bz2 /opt/src/\n\
             WORKDIR /opt/src/openmpi-5.0.6\nRUN ./configure\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nADD https://download.example/openmpi-5.0.6.tar.bz2 /opt/src/\n\
             RUN cd /opt/src && tar xf openmpi-5.0.6.tar.bz2 && cd /opt/src/openmpi-5.0.6 && ./configure\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nADD openmpi-5.0.6.tar.bz2 /opt/src/\nRUN cd /opt/src/openmpi-5.0.6 && \
             ./configure\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nADD https://github.com/openucx/ucx.git#v1.17.0 /src/ucx\nRUN cd /src/ucx && \
             make\n\
             ADD https://download.example/models.tar.gz /models/\nRUN ls /models\n",
        ),
    ],
};

const UNPACK_DOWNLOAD: &str = "Write `ADD --unpack=true` (docker/dockerfile:1.17), or unpack it in a RUN: \
                               `curl -fsSL URL | tar xz`";

/// What unpacks archives.
const UNPACK: &[&str] =
    &["tar", "unzip", "bsdtar", "7z", "7za", "tarfile", "zipfile", "gunzip", "unpack_archive"];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in &file.stages {
        for (at, one) in stage.instructions.iter().enumerate() {
            if matches!(one.keyword.as_str(), "ADD" | "COPY") && one.flag("from").is_none() {
                found.extend(fault(file, stage, at, one));
            }
        }
    }
    found
}

fn fault(file: &Dockerfile, stage: &Stage, at: usize, one: &Instruction) -> Option<Found> {
    let [source, target] = one.words()[..] else { return None };
    let value = |text: &str| expand(&unquoted(text), &stage.end.variables);
    let (source, target) = (value(source), value(target));
    let remote = source.text.starts_with("http://") || source.text.starts_with("https://");
    let path = source.text.split(['?', '#']).next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    let end = TAR_ENDS.iter().chain(&[".zip"]).find(|end| name.ends_with(**end))?;
    let said = one.flags.iter().any(|flag| flag.starts_with("--unpack"));
    if said || one.unpacks(&source.text) || !source.known || !target.known || name.contains('*') {
        return None;
    }
    let stem = name.strip_suffix(end)?;
    let place = join(&working_directory(stage, at), &target.text);
    let whole = target.text.ends_with('/') || matches!(target.text.as_str(), "." | "./");
    let roots: Vec<String> = match whole {
        true => names(path, stem, remote).iter().map(|name| join(&place, name)).collect(),
        false => vec![place.clone()],
    };
    let what = match (one.keyword.as_str(), remote) {
        ("COPY", _) => "COPY unpacks nothing",
        (_, true) => "ADD does not unpack what it downloads",
        _ => "ADD unpacks only tar archives",
    };
    let fix = match (*end, remote) {
        (".zip", _) => "Unpack it in a RUN with `unzip`",
        (_, true) => UNPACK_DOWNLOAD,
        _ => "Unpack it in a RUN with `tar xf`, or use ADD for a tar archive",
    };
    let Some((used, line)) = first_use(stage, at, &roots) else {
        let last = file.stages.last().is_some_and(|last| std::ptr::eq(stage, last));
        return match whole && last {
            true => started_from(file, stage, at, &join(&place, name), (what, fix)),
            false => None,
        };
    };
    let message = match whole {
        true => format!("{what}, and line {line} uses {used}, which does not exist; only {name} is there"),
        false => format!("{what}, and line {line} uses {used} as a directory; it is the archive itself"),
    };
    Some(Found::error(one.line, message, fix))
}

/// Directories of images that have nothing in them but what the file puts there.
const OWN: &[&str] = &["/model", "/models", "/model_repository", "/weights", "/checkpoints", "/dataset"];

/// Whether an instruction may put files into a directory, or unpacks something.
fn puts(one: &Instruction, directory: &str) -> bool {
    let mut texts =
        std::iter::once(&one.text.text).chain(one.heredocs.iter().map(|heredoc| &heredoc.text.text));
    let unpacks = |text: &String| {
        let mut words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        words.any(|word| UNPACK.contains(&word))
    };
    let plain = matches!(one.keyword.as_str(), "ENV" | "LABEL" | "EXPOSE" | "HEALTHCHECK");
    !plain && texts.any(|text| text.contains(directory) || unpacks(text))
}

/// A path below the directory of an archive that the container starts with, although nothing else puts a file
/// there.
fn started_from(
    file: &Dockerfile,
    stage: &Stage,
    at: usize,
    archive: &str,
    (what, fix): (&str, &str),
) -> Option<Found> {
    let (directory, name) = archive.rsplit_once('/')?;
    if !OWN.iter().any(|own| directory == *own || directory.starts_with(&format!("{own}/"))) {
        return None;
    }
    let starts = |one: &Instruction| matches!(one.keyword.as_str(), "CMD" | "ENTRYPOINT");
    let others = stage.instructions.iter().enumerate().filter(|(index, one)| *index != at && !starts(one));
    let lineage = file.lineage(stage).into_iter().skip(1).flat_map(|one| &one.instructions);
    if others.map(|(_, one)| one).chain(lineage).any(|one| puts(one, directory)) {
        return None;
    }
    let commands = started(file);
    let words = commands.iter().flat_map(|one| &one.words).filter(|word| word.known);
    // A script may unpack it first.
    let mut script = commands.iter().filter_map(|one| one.words.first());
    if script.any(|word| word.text.contains('/') || UNPACK.contains(&word.text.as_str())) {
        return None;
    }
    let below = |text: &str| text.starts_with(&format!("{directory}/")) && text != archive;
    let word = words.into_iter().find_map(|word| {
        let value = word.text.split_once('=').map_or(word.text.as_str(), |(_, value)| value);
        below(value).then(|| value.to_owned())
    })?;
    let one = &stage.instructions[at];
    let message = format!(
        "{what}: {directory} has only {name}, and {word}, which the container starts with, \
         does not exist"
    );
    Some(Found::warning(one.line, message, fix))
}

/// The directories that an archive of this name has in it: its own name, and for those of GitHub that of the
/// repository with the tag.
fn names(path: &str, stem: &str, remote: bool) -> Vec<String> {
    let mut names = vec![stem.to_owned()];
    let mut parts = path.split("/archive/");
    if remote && let (Some(before), Some(_)) = (parts.next(), parts.next()) {
        let repository = before.rsplit('/').next().unwrap_or_default();
        let version =
            stem.strip_prefix('v').filter(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
        names.push(format!("{repository}-{}", version.unwrap_or(stem)));
    }
    names
}

/// The working directory before an instruction.
fn working_directory(stage: &Stage, at: usize) -> String {
    let before = stage.instructions[..at].iter().filter(|one| one.keyword == "WORKDIR");
    before.fold(String::new(), |directory, one| {
        join(&directory, &expand(&unquoted(one.text.text.trim()), &stage.end.variables).text)
    })
}

/// The first place behind an instruction that uses one of these directories; `None` where something may have
/// made it before.
fn first_use(stage: &Stage, at: usize, roots: &[String]) -> Option<(String, usize)> {
    let below = |path: &str, directory: &str| {
        let path = join(directory, path);
        roots.iter().find(|root| {
            path.strip_prefix(root.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    for (index, one) in stage.instructions.iter().enumerate().skip(at + 1) {
        let texts =
            std::iter::once(&one.text.text).chain(one.heredocs.iter().map(|heredoc| &heredoc.text.text));
        let unpacks = |text: &String| {
            let mut words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            words.any(|word| UNPACK.contains(&word))
        };
        match one.keyword.as_str() {
            "RUN" if texts.into_iter().any(unpacks) => return None,
            "RUN" => {
                let mut directory = working_directory(stage, index);
                for run in stage.commands_of(index) {
                    let command = &run.command;
                    let words = command.words.iter().filter(|word| word.known);
                    let mut found = words.filter_map(|word| below(&word.text, &directory));
                    let program = command.program();
                    match found.next() {
                        // A file, as such: `sha256sum /opt/a.tar.gz`, `mkdir /opt/a`.
                        Some(root) => {
                            let enters =
                                matches!(program, "cd" | "pushd" | "make" | "cmake" | "pip" | "pip3");
                            let runs = command
                                .words
                                .first()
                                .is_some_and(|word| below(&word.text, &directory).is_some());
                            return ((enters || runs) && command.certain)
                                .then(|| (root.clone(), command.line));
                        }
                        None if program == "cd" => directory = join(&directory, command.word(1)),
                        None => {}
                    }
                }
            }
            "WORKDIR" => {
                let directory = working_directory(stage, index);
                let path = expand(&unquoted(one.text.text.trim()), &stage.end.variables).text;
                if let Some(root) = below(&path, &directory) {
                    // It makes the directory, which is empty.
                    let unpacked = stage.instructions[index..].iter().any(|one| unpacks(&one.text.text));
                    let runs = stage.instructions[index..].iter().any(|one| one.keyword == "RUN");
                    return (!unpacked && runs).then(|| (root.clone(), one.line));
                }
            }
            "COPY" | "ADD" => {
                let target = one.words().last().copied().unwrap_or_default();
                if below(target, &working_directory(stage, index)).is_some() {
                    return None;
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{File, Kind, lint};

    #[test]
    fn a_local_zip_is_not_downloaded() {
        let text = "FROM nvcr.io/nvidia/tritonserver:24.05-py3\nADD models.zip /models/\n\
                    CMD [\"tritonserver\", \"--model-repository=/models/repository\"]\n";
        let file = File::new(catalog::testing::catalog(), "Dockerfile", text, Kind::Dockerfile);
        let found = lint(&[&RULE], &[], &file);
        let shown = format!("{:?}", found[0].found);
        assert!(shown.contains("ADD unpacks only tar archives") && shown.contains("`unzip`"), "{shown}");
        assert!(!shown.contains("download") && !shown.contains("curl"), "{shown}");
    }
}
