//! A private key in a layer.

use crate::read::dockerfile::Dockerfile;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "private-key-in-image",
    severity: Severity::Error,
    summary: "no private key is copied into or generated in a layer",
    explain: include_str!("private_key_in_image.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:22.04\nCOPY id_rsa /root/.ssh/id_rsa\n"),
        dockerfile("FROM ubuntu:22.04\nCOPY --chown=1000:1000 .ssh/ /home/u/.ssh/\n"),
        dockerfile(
            "FROM ubuntu:22.04\nRUN ssh-keygen -t rsa -f /root/.ssh/id_rsa -N '' && cat \
             /root/.ssh/id_rsa.pub >> /root/.ssh/authorized_keys\n",
        ),
        dockerfile("FROM ubuntu:22.04\nRUN <<EOF\necho '-----BEGIN OPENSSH PRIVATE KEY-----' > /k\nEOF\n"),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:22.04\nCOPY id_rsa.pub /root/.ssh/authorized_keys\n\
             RUN --mount=type=ssh git clone git@h:x\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN ssh-keygen -A && rm -f /etc/ssh/ssh_host_* && ssh-keyscan github.com >> \
             /k && ssh-keygen -R host\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04 AS fetch\nCOPY id_rsa /root/.ssh/id_rsa\nFROM ubuntu:22.04\n\
             COPY --from=fetch /src /src\n",
        ),
    ],
};

const KEYS: &[&str] = &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk"];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in file.shipped() {
        for copy in stage.instructions.iter().filter(|one| matches!(one.keyword.as_str(), "COPY" | "ADD")) {
            let words: Vec<&str> = match &copy.json {
                Some(words) => words.iter().map(String::as_str).collect(),
                None => copy.text.text.split_whitespace().collect(),
            };
            let sources = words.split_last().map_or(&[][..], |(_, sources)| sources);
            let base = |path: &str| {
                path.trim_end_matches(['/', '*']).rsplit('/').next().unwrap_or_default().to_owned()
            };
            if let Some(source) = sources.iter().find(|path| KEYS.contains(&base(path).as_str())) {
                let message =
                    format!("{source} is a private key; everyone who can pull the image can read it");
                found.push(Found::error(
                    copy.line,
                    message,
                    "Use `RUN --mount=type=ssh` for the build and a mounted secret at run time",
                ));
            } else if let Some(source) = sources.iter().find(|path| base(path) == ".ssh") {
                let message = format!("{source} is copied into the image with every private key in it");
                found.push(Found::warning(copy.line, message, "Copy only public keys"));
            }
        }
        for instruction in &stage.instructions {
            let bodies = instruction.heredocs.iter().map(|one| &one.text).chain([&instruction.text]);
            for text in bodies {
                let mark = text
                    .text
                    .match_indices("PRIVATE KEY-----")
                    .find(|(offset, _)| text.text[..*offset].contains("-----BEGIN "));
                if let Some((offset, _)) = mark {
                    found.push(Found::error(
                        text.line_at(offset),
                        "the file contains a private key; everyone who can read it has the key",
                        "Replace the key, and mount it as a secret",
                    ));
                }
            }
        }
        for run in stage.runs.iter().filter(|run| run.command.program() == "ssh-keygen") {
            let other =
                ["-A", "-R", "-F", "-l", "-y", "-H", "-r"].iter().any(|option| run.command.has(option));
            let host = run.command.text().contains("ssh_host");
            if !other && !host {
                let message = "the key is generated during the build; every container of the image has the \
                    same \
                    key";
                found.push(Found::warning(
                    run.command.line,
                    message,
                    "Generate the key at container start, or mount one",
                ));
            }
        }
    }
    found
}
