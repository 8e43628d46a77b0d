//! sshd that lets root in with a password.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::command::Command;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "ssh-root-login",
    severity: Severity::Warning,
    summary: "sshd allows root login by key only, and no empty passwords",
    explain: include_str!("ssh_root_login.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM ubuntu:22.04\nRUN sed -i 's/#PermitRootLogin prohibit-password/PermitRootLogin yes/' \
             /etc/ssh/sshd_config\n",
        ),
        dockerfile("FROM ubuntu:22.04\nRUN echo 'root:root' | chpasswd\n"),
        dockerfile("FROM ubuntu:22.04\nRUN passwd -d root\n"),
        dockerfile("FROM ubuntu:22.04\nRUN echo \"PermitEmptyPasswords yes\" >> /etc/ssh/sshd_config\n"),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:22.04\nRUN echo 'PermitRootLogin prohibit-password' >> /etc/ssh/sshd_config\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN sed -i 's/PermitRootLogin yes/PermitRootLogin no/' /etc/ssh/sshd_config\n\
             ",
        ),
        dockerfile("FROM ubuntu:22.04\nARG PASSWORD\nRUN echo \"root:$PASSWORD\" | chpasswd\n"),
        dockerfile(
            "FROM ubuntu:22.04\nRUN echo 'PermitRootLogin yes' >> /etc/ssh/sshd_config && echo \
             'PasswordAuthentication no' >> /etc/ssh/sshd_config\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in &file.stages {
        let keys_only = |command: &Command| written(&command.text()).contains("PasswordAuthentication no");
        let passwords = !stage.runs.iter().any(|run| keys_only(&run.command));
        for (index, run) in stage.runs.iter().enumerate() {
            let (command, line) = (&run.command, run.command.line);
            let text = written(&command.text());
            if text.contains("PermitRootLogin yes") && passwords {
                found.push(Found::warning(
                    line,
                    "sshd allows root login with a password (PermitRootLogin yes)",
                    "Set `PermitRootLogin prohibit-password`",
                ));
            }
            if text.contains("PermitEmptyPasswords yes") && passwords {
                found.push(Found::warning(
                    line,
                    "sshd allows login to accounts whose password is empty (PermitEmptyPasswords yes)",
                    "Remove the setting; the default is no",
                ));
            }
            let before = index.checked_sub(1).and_then(|index| stage.runs.get(index)).map(|run| &run.command);
            let piped = command.program() == "chpasswd" && command.piped;
            let literal = before.filter(|before| matches!(before.program(), "echo" | "printf"));
            let literal = literal
                .filter(|before| before.words.iter().all(|word| word.known) && before.text().contains(':'));
            if piped && literal.is_some() {
                found.push(Found::warning(
                    line,
                    "the file contains a password; everyone who can pull the image can read it",
                    "Use public keys mounted at run time instead of a password",
                ));
            }
            if command.program() == "passwd" && (command.has("-d") || command.has("--delete")) {
                found.push(Found::warning(
                    line,
                    "an account gets an empty password: `su` and the console need no password, nor sshd with \
                     PermitEmptyPasswords yes",
                    "Use `passwd -l` to disable the password; keys still work with `UsePAM yes`",
                ));
            }
        }
    }
    found
}

/// What is left of a text after sed's substitutions: `s/old/new/` leaves new.
fn written(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").split('/').enumerate().fold(
        String::new(),
        |mut out, (index, part)| {
            // The old text of a substitution stands between the first and the second slash.
            let old = index > 0 && out.ends_with(" s") || out == "s";
            if old {
                out.push('/');
            } else {
                out.push(' ');
                out.push_str(part);
            }
            out
        },
    )
}
