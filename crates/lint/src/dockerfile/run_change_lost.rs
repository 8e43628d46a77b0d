//! A RUN that changes only its own shell, or a file that is not part of the image.

use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::{Dockerfile, Run, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "run-change-lost",
    severity: Severity::Warning,
    summary: "no RUN ends with a change that only its own shell or build container sees",
    explain: include_str!("run_change_lost.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:24.04\nRUN cd /srv\nRUN make\n"),
        dockerfile("FROM ubuntu:24.04\nRUN export PATH=/opt/x/bin:$PATH\nRUN x\n"),
        dockerfile("FROM ubuntu:24.04\nRUN make install && export CC=gcc-12\n"),
        dockerfile("FROM ubuntu:24.04\nRUN . /opt/venv/bin/activate\nRUN pip install x\n"),
        dockerfile("FROM ubuntu:24.04\nRUN ulimit -l unlimited\n"),
        dockerfile("FROM ubuntu:24.04\nRUN service ssh start\n"),
        dockerfile("FROM ubuntu:24.04\nRUN echo '10.0.0.1 node1' >> /etc/hosts\n"),
        dockerfile("FROM ubuntu:24.04\nRUN ./server &\nRUN true\n"),
        dockerfile("FROM python:3.11\nRUN git clone https://example.com/x && cd x\nRUN pip install .\n"),
    ],
    silent: &[
        dockerfile("FROM ubuntu:24.04\nRUN cd /srv && make\nRUN export A=1 && make && cd / && rm -r /x\n"),
        dockerfile("FROM ubuntu:24.04\nRUN export A=1; cd /x; make\nRUN service mysql start && load\n"),
        dockerfile("FROM ubuntu:24.04\nRUN . /clone.sh apex https://github.com/NVIDIA/apex main\nRUN x\n"),
        dockerfile("FROM ubuntu:24.04\nRUN set -x && echo done\nENV A=1\n"),
        dockerfile("FROM ubuntu:24.04\nRUN (cd /srv && make) && ls\nRUN ./server & sleep 1 && ./test\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in &file.stages {
        for (index, one) in stage.instructions.iter().enumerate() {
            if one.keyword == "RUN" && one.json.is_none() {
                let runs = stage.commands_of(index);
                found.extend(ending(runs).or_else(|| written(runs)));
            }
        }
        found.extend(alone(stage));
    }
    found
}

/// Commands after which nothing needs what was changed before them.
const NOTHING: &[&str] =
    &["echo", "true", ":", "ldconfig", "printf", "mkdir", "hash", "pwd", "env", "printenv"];

/// What the last command that matters changes, where that ends with the RUN.
fn ending(runs: &[Run]) -> Option<Found> {
    let matters = |run: &Run| !NOTHING.contains(&run.command.program()) || !run.command.writes.is_empty();
    let last = runs.iter().rposition(matters)?;
    let command = &runs[last].command;
    // In an `if`, a loop or a group it may be for what stands behind it.
    let what = if last + 1 == runs.len() { lost(command) } else { None };
    let what = what.or_else(|| exported(&runs[..=last])).or_else(|| shell_only(command, runs.len() == 1));
    let (message, fix) = what.filter(|_| command.certain)?;
    Some(Found::warning(command.line, message, fix))
}

/// The variables that the last commands of a RUN export.
fn exported(runs: &[Run]) -> Option<(String, String)> {
    let only =
        |run: &&Run| run.command.words.is_empty() && run.command.exports.iter().any(|one| !one.is_empty());
    let at_end: Vec<&Run> = runs.iter().rev().take_while(only).collect();
    let of = |run: &&Run| run.command.exports.clone();
    let names: Vec<String> = at_end.iter().rev().flat_map(of).filter(|name| !name.is_empty()).collect();
    let set: Vec<String> = names.iter().map(|name| format!("{name}=…")).collect();
    let them = if names.len() > 1 { "them" } else { "it" };
    let message = format!(
        "`export {}` ends with this RUN; later instructions and the container do not see {them}",
        names.join(" ")
    );
    (!names.is_empty()).then(|| (message, format!("Use `ENV {}`", set.join(" "))))
}

/// What only the shell of the RUN keeps.
fn shell_only(command: &Command, alone: bool) -> Option<(String, String)> {
    let first = command.word(1);
    match command.program() {
        "cd" if alone || !first.is_empty() && !first.starts_with(['/', '.', '-', '~', '$']) => {
            let message = format!(
                "`cd {first}` ends with this RUN; the next instruction runs in the old \
                directory"
            );
            Some((message, format!("Use `WORKDIR {first}`")))
        }
        // With arguments it is a program that does something, such as to fetch what they name.
        "source" | "." if alone && command.words.len() == 2 => {
            let message = format!(
                "what {first} sets ends with this RUN; the next instruction does not see \
                it"
            );
            Some((message, "Set it with ENV, or source the file in the same RUN".to_owned()))
        }
        _ => None,
    }
}

/// What the last command of a RUN changes, and nothing keeps.
fn lost(command: &Command) -> Option<(String, String)> {
    let program = command.program();
    let starts = |at: usize| matches!(command.word(at), "start" | "restart");
    match program {
        "alias" | "ulimit" | "umask" => {
            let message = format!(
                "`{program}` ends with this RUN; no later instruction or container sees \
                it"
            );
            Some((
                message,
                "Set it where the container starts: `docker run --ulimit`, an entry \
                script"
                    .to_owned(),
            ))
        }
        "service" if starts(2) => Some(service(command.word(1))),
        "systemctl" if starts(1) => Some(service(command.word(2))),
        _ if command.after == "&" && !program.is_empty() => {
            let message = format!("{program} runs in the background and ends with this RUN");
            Some((message, "Start it in CMD, ENTRYPOINT or an entry script".to_owned()))
        }
        _ => None,
    }
}

fn service(name: &str) -> (String, String) {
    let message = format!("processes end with their RUN; {name} does not run in the container");
    (message, "Start it in CMD, ENTRYPOINT or an entry script".to_owned())
}

/// Files that Docker mounts into each container, so that what a build writes there is lost.
const MOUNTED: &[&str] = &["/etc/hosts", "/etc/resolv.conf", "/etc/hostname"];

fn written(runs: &[Run]) -> Option<Found> {
    let name = |command: &'_ Command| {
        let file = command.writes.iter().find(|word| MOUNTED.contains(&word.text.as_str()));
        file.map(|word| word.text.clone())
    };
    // What follows in the same RUN may need it.
    let last = runs.last().filter(|run| run.command.certain)?;
    let file = name(&last.command)?;
    let message = format!("{file} belongs to each container; what a build writes to it is lost");
    let fix = "Use `docker run --add-host`, `--dns` or `--hostname`, or `extra_hosts` in compose";
    Some(Found::warning(last.command.line, message, fix))
}

/// Limits of the kernel, which a build cannot set.
fn alone(stage: &Stage) -> Option<Found> {
    let run = stage.runs.iter().find(|run| {
        let command = &run.command;
        command.certain && command.program() == "sysctl" && (command.has("-w") || command.has("-p"))
    })?;
    let message = "sysctl changes the kernel of the machine, not the image; in a build it is read-only";
    Some(Found::warning(run.command.line, message, "Use `docker run --sysctl`, or set it on the host"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{File, Kind, lint};

    #[test]
    fn all_exported_variables_are_named() {
        let text = "FROM a\nRUN export FORCE_CUDA=1 && export MAX_JOBS=4\nRUN make\n";
        let file = File::new(catalog::testing::catalog(), "Dockerfile", text, Kind::Dockerfile);
        let found = lint(&[&RULE], &[], &file);
        assert_eq!(found.len(), 1);
        assert!(found[0].found.message.starts_with("`export FORCE_CUDA MAX_JOBS` ends with this RUN"));
        assert!(found[0].found.message.ends_with("do not see them"));
    }
}
