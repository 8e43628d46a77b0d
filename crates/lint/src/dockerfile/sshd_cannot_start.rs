//! An sshd that ends as soon as the container starts.

use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::start::started;
use crate::read::dockerfile::{Dockerfile, From, Stage, apt};
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
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openssh-server\nCOPY sshd_config \
             /etc/ssh/sshd_config\nRUN ssh-keygen -A\nCMD [\"/usr/sbin/sshd\", \"-D\", \"-e\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openssh-server\nCOPY ssh/ \
             /etc/ssh/\nENTRYPOINT [\"/usr/sbin/sshd\", \"-D\"]\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openssh-server\nCOPY sshd_config \
             /etc/ssh/sshd_config\nVOLUME /run/sshd\nCMD [\"/usr/sbin/sshd\", \"-D\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openssh-server && rm -f \
             /etc/ssh/ssh_host_* && mkdir /run/sshd\nCOPY keys/ /etc/ssh/\nCMD [\"/usr/sbin/sshd\", \
             \"-D\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openssh-server\nCOPY rootfs/ /\nCMD \
             [\"/usr/sbin/sshd\", \"-D\"]\n",
        ),
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
    let instructions: Vec<&Instruction> = shipped.iter().flat_map(|stage| &stage.instructions).collect();
    let included = |marks: &[&str]| {
        instructions.iter().any(|one| {
            let copies = matches!(one.keyword.as_str(), "COPY" | "ADD");
            let whole = copies && one.words().last() == Some(&"/");
            let makes = copies || matches!(one.keyword.as_str(), "WORKDIR" | "VOLUME");
            whole || makes && marks.iter().any(|mark| one.text.text.contains(mark))
        })
    };
    // Images for development of NVIDIA may have the directory of an sshd of their own.
    let bare = shipped.last().is_some_and(|stage| match &stage.from {
        From::Image(image) => !image.text.starts_with("nvcr.io/"),
        From::Stage(_) | From::Scratch => true,
    });
    let included =
        Included { directory: included(&["run/sshd"]), keys: included(&["/etc/ssh", "ssh_host"]), bare };
    fault(sshd, &texts, &included).into_iter().collect()
}

/// What instructions other than RUN put into the image.
struct Included {
    /// `/run/sshd`.
    directory: bool,
    /// Host keys, or a configuration that may name others.
    keys: bool,
    /// Whether the base image certainly has no `/run/sshd`.
    bare: bool,
}

/// Why sshd ends when it starts. `texts` are the commands before it.
fn fault(sshd: &Command, texts: &[String], included: &Included) -> Option<Found> {
    let line = sshd.line;
    if !sshd.words[0].text.starts_with('/') {
        let message = "sshd must be started with its full path: `sshd re-exec requires execution with an \
            absolute path`";
        return Some(Found::error(line, message, "Write `/usr/sbin/sshd`"));
    }
    let marks = ["run/sshd", "service ssh", "init.d/ssh", "tmpfiles"];
    if !included.directory && !texts.iter().any(|text| marks.iter().any(|mark| text.contains(mark))) {
        let message =
            "/run/sshd does not exist; sshd ends with `Missing privilege separation directory: /run/sshd`";
        let found = Found::error(line, message, "Add `RUN mkdir -p /run/sshd`");
        return Some(found.unless_certain(included.bare));
    }
    if removed(texts) && !included.keys && !own(sshd) {
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
