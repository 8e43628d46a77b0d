//! Archives that are unpacked with the wrong program or option, or that are not there any more.

use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::{Dockerfile, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "archive-option-wrong",
    severity: Severity::Error,
    summary: "archives are unpacked once, with the option for their compression",
    explain: include_str!("archive_option_wrong.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:24.04\nCOPY nccl.txz /opt/\nRUN tar xzf /opt/nccl.txz -C /opt\n"),
        dockerfile("FROM ubuntu:24.04\nADD hpcx.tar.gz /opt/\nRUN cd /opt && tar xf hpcx.tar.gz\n"),
        dockerfile("FROM ubuntu:24.04\nCOPY data.zip /d/\nRUN tar -xf /d/data.zip\n"),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:24.04\nCOPY nccl.txz a.tar.gz /opt/\nRUN tar xf /opt/nccl.txz && tar -xzf \
             /opt/a.tar.gz\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nCOPY hpcx.tbz /opt/\nRUN tar -xjf /opt/hpcx.tbz && tar czf /x.tar.xz.gz \
             /opt\n",
        ),
        dockerfile("FROM ubuntu:24.04\nADD https://example.com/a.tar.gz /opt/\nRUN tar -xzf /opt/a.tar.gz\n"),
    ],
};

/// Ends of names with the letter of tar's option.
const COMPRESSED: &[(&str, char)] = &[
    (".tar.gz", 'z'),
    (".tgz", 'z'),
    (".tar.bz2", 'j'),
    (".tbz", 'j'),
    (".tbz2", 'j'),
    (".tar.xz", 'J'),
    (".txz", 'J'),
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in &file.stages {
        for run in stage.runs.iter().filter(|run| run.command.program() == "tar") {
            found.extend(option(&run.command).or_else(|| unpacked(stage, run.instruction, &run.command)));
        }
    }
    found
}

/// The letters of tar's options, and the archive that it unpacks.
fn unpacks(command: &Command) -> Option<(String, &str)> {
    let first = command.words.get(1).filter(|word| word.known)?.text.as_str();
    let grouped = command
        .words
        .iter()
        .skip(1)
        .filter(|word| word.known && word.text.starts_with('-') && !word.text.starts_with("--"));
    let mut letters: String = grouped.map(|word| word.text.trim_start_matches('-')).collect();
    if !first.starts_with('-') {
        letters.push_str(first);
    }
    let archive =
        command.words.iter().skip(1).filter(|word| word.known).map(|word| word.text.as_str()).find(
            |word| {
                let name = word.to_ascii_lowercase();
                COMPRESSED.iter().any(|(end, _)| name.ends_with(end)) || name.ends_with(".zip")
            },
        )?;
    let creates = command.has("--create") || letters.contains('c');
    (letters.contains('x') && !creates).then_some((letters, archive))
}

fn option(command: &Command) -> Option<Found> {
    let (letters, archive) = unpacks(command)?;
    if archive.to_ascii_lowercase().ends_with(".zip") {
        let message = format!("{archive} is a zip archive, which tar does not read; the command fails");
        return Some(Found::error(command.line, message, "Use `unzip`").unless_certain(command.certain));
    }
    let (_, right) = COMPRESSED.iter().find(|(end, _)| archive.to_ascii_lowercase().ends_with(end))?;
    let wrong = ['z', 'j', 'J'].into_iter().find(|letter| letters.contains(*letter) && letter != right)?;
    let message =
        format!("tar option {wrong} does not match the compression of {archive}; the command fails");
    Some(
        Found::error(command.line, message, "Remove the letter: tar detects the compression")
            .unless_certain(command.certain),
    )
}

/// An archive that ADD unpacked before.
fn unpacked(stage: &Stage, at: usize, command: &Command) -> Option<Found> {
    let (_, archive) = unpacks(command)?;
    let name = archive.rsplit('/').next()?;
    let before = &stage.instructions[..at];
    let add = before.iter().find(|one| {
        let words = one.words();
        let mut sources = words.iter().rev().skip(1);
        sources.any(|word| word.rsplit('/').next() == Some(name) && one.unpacks(word))
    })?;
    // Another one may have brought the file too.
    let again = before.iter().any(|one| one.line != add.line && one.text.text.contains(name));
    let message = format!(
        "ADD in line {} has unpacked {name} already: the archive itself is not in the image",
        add.line
    );
    (!again).then(|| Found::error(command.line, message, "Remove the command, or copy the archive with COPY"))
}
