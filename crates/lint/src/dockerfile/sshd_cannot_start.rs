//! An sshd that ends as soon as the container starts.

use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::start::started;
use crate::read::dockerfile::{Dockerfile, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "sshd-cannot-start",
    severity: Severity::Error,
    summary: "sshd has its directory and host keys when the container starts it",
    explain: include_str!("sshd_cannot_start.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openssh-server\nCMD \
             [\"/usr/sbin/sshd\", \"-D\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openssh-server && mkdir -p \
             /run/sshd \
             && rm -f /etc/ssh/ssh_host_*\nCMD [\"/usr/sbin/sshd\", \"-D\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openssh-server && mkdir -p \
             /run/sshd\nCMD sshd -D\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openssh-server && mkdir -p \
             /run/sshd\nCMD [\"/usr/sbin/sshd\", \"-D\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openssh-server && mkdir \
             /var/run/sshd\nCMD /usr/sbin/sshd -D\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openssh-server\nCMD service ssh \
             start && sleep infinity\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openssh-server && rm -f \
             /etc/ssh/ssh_host_*\n\
             CMD mkdir -p /run/sshd && ssh-keygen -A && /usr/sbin/sshd -D\n",
        ),
        dockerfile("FROM example/base:1\nCMD [\"/usr/sbin/sshd\", \"-D\"]\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let shipped = file.shipped();
    let commands = started(file);
    let Some(at) = commands.iter().position(|command| command.program() == "sshd") else { return Vec::new() };
    let sshd = &commands[at];
    let installs = |stage: &&&Stage| {
        stage.runs.iter().any(|run| {
            apt::packages(run.state.catalog, &run.command)
                .iter()
                .any(|word| matches!(apt::name(word), "openssh-server" | "ssh"))
        })
    };
    if shipped.iter().filter(installs).count() == 0 || shipped.iter().any(|stage| stage.end.opaque) {
        return Vec::new();
    }
    // What the image and the commands before it do.
    let built = shipped.iter().flat_map(|stage| &stage.runs).map(|run| run.command.text());
    let texts: Vec<String> = built.chain(commands[..at].iter().map(|command| command.text())).collect();
    let copied = shipped.iter().flat_map(|stage| &stage.instructions).any(|one| {
        matches!(one.keyword.as_str(), "COPY" | "ADD" | "WORKDIR" | "VOLUME")
            && ["run/sshd", "/etc/ssh", "ssh_host"].iter().any(|mark| one.text.text.contains(mark))
    });
    fault(sshd, &texts, copied).into_iter().collect()
}

/// Why sshd ends when it starts. `texts` are the commands before it; `copied`: some of its files are copied.
fn fault(sshd: &Command, texts: &[String], copied: bool) -> Option<Found> {
    let line = sshd.line;
    if !sshd.words[0].text.starts_with('/') {
        let message = "sshd must be started with its full path: `sshd re-exec requires execution with an \
            absolute path`";
        return Some(Found::error(line, message, "Write `/usr/sbin/sshd`"));
    }
    let marks = ["run/sshd", "service ssh", "init.d/ssh", "tmpfiles"];
    if !copied && !texts.iter().any(|text| marks.iter().any(|mark| text.contains(mark))) {
        let message =
            "/run/sshd does not exist; sshd ends with `Missing privilege separation directory: /run/sshd`";
        return Some(Found::error(line, message, "Add `RUN mkdir -p /run/sshd`"));
    }
    if removed(texts) && !copied && !own(sshd) {
        let message = "the build removes the host keys and nothing makes new ones; sshd ends with `no \
            hostkeys available`";
        return Some(Found::error(line, message, "Start `ssh-keygen -A` before sshd in an entry script"));
    }
    None
}

/// Whether host keys are removed and not made again.
fn removed(texts: &[String]) -> bool {
    let removed = texts.iter().rposition(|text| text.starts_with("rm") && text.contains("ssh_host"));
    let made = texts.iter().rposition(|text| text.contains("ssh-keygen") || text.contains("reconfigure"));
    removed.is_some() && made < removed
}

/// Whether sshd gets other keys, or a configuration that may name them.
fn own(sshd: &Command) -> bool {
    sshd.words.iter().any(|word| word.text.starts_with("-h") || word.text.starts_with("-f"))
}
