//! A private key in a layer.

use crate::read::dockerfile::copied::join;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::{Dockerfile, Stage};
use crate::read::dockerignore::Ignored;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};
use crate::tokens::{asks_for_value, begins_as_token, is_literal, login, looks_random, shaped};

pub(crate) const RULE: Rule = Rule {
    id: "private-key-in-image",
    severity: Severity::Error,
    summary: "no private key and no file of credentials gets into a layer",
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
        dockerfile(
            "FROM python:3.12-slim\nCOPY .netrc /root/.netrc\nRUN pip install --extra-index-url \
             https://pypi.example.org/simple ours\nRUN rm -f /root/.netrc\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04 AS base\nADD --chmod=600 ci/.git-credentials /home/u/\nFROM base\nRUN git \
             clone https://git.example.org/a/b\n",
        ),
        dockerfile("FROM ubuntu:24.04\nCOPY deploy/.aws/credentials /root/.aws/credentials\n"),
        with(
            "FROM python:3.12-slim\nCOPY ci/pip.conf /etc/pip.conf\nRUN pip install ours\n",
            &[(
                "ci/pip.conf",
                "[global]\nextra-index-url = https://reader:7eiZ2kqv@pypi.example.org/simple\n",
            )],
        ),
        with(
            "FROM python:3.12-slim\nWORKDIR /app\nCOPY app.py .env ./\nCMD [\"python\", \"app.py\"]\n",
            &[(".env", "PORT=8000\nHF_TOKEN=hf_Zq3vTn8Kd1LpXw5RyB0mJc7Gh2SfWt4Nx9\n")],
        ),
        with(
            "FROM python:3.12-slim\nCOPY .env /app/\nCMD [\"python\", \"app.py\"]\n",
            &[(".env", "NGC_API_KEY=\"nvapi-Zq3vTn8Kd1LpXw5RyB0mJc7Gh2\"\n")],
        ),
        with(
            "FROM python:3.12-slim\nCOPY .env /app/\nCMD [\"python\", \"app.py\"]\n",
            &[(".env", "API_KEY=nvapi-Zq3vTn8Kd1LpXw5RyB0mJc7Gh2\n")],
        ),
        with(
            "FROM python:3.12-slim\nCOPY .env /app/\nCMD [\"python\", \"app.py\"]\n",
            &[(".env", "OPENAI_KEY=sk-Zq3vTn8Kd1LpXw5RyB0mJc7Gh2SfWt4Nx9aa\n")],
        ),
        with(
            "FROM python:3.12-slim\nCOPY pip.conf /etc/pip.conf\n",
            &[("pip.conf", "[global]\nindex-url = https://ci:s3cret9@pypi.example.org/simple\n")],
        ),
    ],
    silent: &[
        with(
            "FROM python:3.12-slim\nCOPY .env /app/\nCMD [\"python\", \"app.py\"]\n",
            &[(".env", "HF_TOKEN=hf_YourHuggingFaceAccessTokenGoesRightHere\n")],
        ),
        with(
            "FROM python:3.12-slim\nCOPY pip.conf /etc/pip.conf\n",
            &[("pip.conf", "[global]\nindex-url = https://u:YOUR_PASSWORD_HERE@pypi.example.org/simple\n")],
        ),
        with(
            "FROM python:3.12-slim\nWORKDIR /app\nCOPY app.py .env ./\nCMD [\"python\", \"app.py\"]\n",
            &[(
                ".env",
                "PORT=8000\nHF_TOKEN=\nAPI_KEY=sk-your-key-here-replace-it\n\
                 OPENAI_API_KEY=sk-1234567890abcdefghij\n",
            )],
        ),
        with(
            "FROM python:3.12-slim\nCOPY pip.conf /etc/pip.conf\nCOPY .npmrc ./\n",
            &[
                ("pip.conf", "[global]\nindex-url = https://user:password@pypi.example.org/simple\n"),
                (
                    ".npmrc",
                    "//npm.example.org/:_authToken=xxxxxxxx\n//b.example.org/:_password=%NPM_PASSWORD2%\n",
                ),
            ],
        ),
        dockerfile(
            "FROM python:3.12-slim AS build\nCOPY .netrc /root/.netrc\nRUN pip wheel -w /w ours\nFROM \
             python:3.12-slim\nCOPY --from=build /w /w\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nRUN --mount=type=secret,id=netrc,target=/root/.netrc pip install ours\n\
             COPY .netrc.example /usr/share/doc/\n",
        ),
        with(
            "FROM python:3.12-slim\nCOPY pip.conf /etc/pip.conf\nCOPY .npmrc ./\n",
            &[
                ("pip.conf", "[global]\nindex-url = https://${USER}:${PASSWORD}@pypi.example.org/simple\n"),
                (".npmrc", "//npm.example.org/:_authToken=${NPM_TOKEN}\n"),
            ],
        ),
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

/// Files with nothing but credentials, and who reads them.
const CREDENTIALS: &[(&str, &str)] = &[
    (".netrc", "passwords of hosts"),
    ("_netrc", "passwords of hosts"),
    (".git-credentials", "passwords of git"),
    (".pypirc", "passwords of package indexes"),
    (".aws/credentials", "keys of AWS"),
    (".huggingface/token", "a token of Hugging Face"),
];

/// Files that also hold other things: their text tells.
const SETTINGS: &[&str] = &["pip.conf", ".npmrc", ".env"];

/// Whether a path of the build context is one of those files, whose text tells more.
pub(crate) fn may_hold_password(path: &str) -> bool {
    SETTINGS.contains(&path.rsplit('/').next().unwrap_or_default())
}

const OF_ENV_FILE: &str = "Do not copy it; pass it at run time (`docker run --env-file`, a Kubernetes \
    Secret). If the image was pushed, revoke the credentials";
const OF_BUILD: &str = "Mount it where it is needed: `RUN --mount=type=secret,id=…,target=…`. If the \
    image was pushed, revoke the credentials";

/// A file of credentials that an instruction copies.
fn credentials(
    file: &Dockerfile,
    stage: &Stage,
    (index, copy): (usize, &Instruction),
    source: &str,
    ignored: Option<&Ignored>,
) -> Option<Found> {
    let path = join("", source.trim_start_matches('/'));
    let from = copy.flag("from").is_some();
    let is = |name: &&(&str, &str)| path == name.0 || path.ends_with(&format!("/{}", name.0));
    let of_variables = path.rsplit('/').next() == Some(".env");
    let what = match CREDENTIALS.iter().find(is) {
        Some((_, what)) => *what,
        None if may_hold_password(&path) && !from => {
            let text = file.context_text(&path)?;
            let line = |line: &str| if of_variables { has_token(line) } else { has_password(line) };
            text.lines().any(line).then_some(if of_variables { "a token" } else { "a password" })?
        }
        None => return None,
    };
    if path.contains(['*', '?', '$']) || !from && ignored.is_some_and(|ignored| ignored.by(&path).is_some()) {
        return None;
    }
    let base = path.rsplit('/').next().unwrap_or_default();
    let removal = stage.runs.iter().find(|run| {
        let words = &run.command.words;
        let names_it = words.iter().any(|word| word.text.rsplit('/').next() == Some(base));
        run.instruction > index && run.command.program() == "rm" && names_it
    });
    let stays = match removal {
        Some(run) => format!("; the `rm` in line {} does not remove it from this layer", run.command.line),
        None => String::new(),
    };
    let message = format!("{source} holds {what}; everyone who can pull the image can read it{stays}");
    let fix = if of_variables { OF_ENV_FILE } else { OF_BUILD };
    Some(Found::error(copy.line, message, fix))
}

/// Whether a line of settings of pip or npm holds a password.
fn has_password(line: &str) -> bool {
    let line = line.trim();
    let of_npm = || ["_authToken=", "_password="].iter().find_map(|key| Some(line.split_once(key)?.1));
    !line.starts_with(['#', ';'])
        && (login(line).is_some() || of_npm().is_some_and(|value| is_literal(value.trim().trim_matches('"'))))
}

/// Whether a line of an env file holds a token.
fn has_token(line: &str) -> bool {
    let line = line.trim();
    // Tokens without a fixed length: `NGC_API_KEY=nvapi-…`.
    let named = || {
        let (name, value) = line.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        let random = looks_random(value) && !value.contains("1234");
        let name = name.trim().to_ascii_uppercase();
        let named = ["KEY", "TOKEN", "_PASSWORD", "_SECRET"].iter().any(|end| name.ends_with(end));
        (named && begins_as_token(value) && random && !asks_for_value(value)).then_some(())
    };
    !line.starts_with('#') && (shaped(line).is_some() || named().is_some())
}

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    let ignored = file.context_text(".dockerignore").map(Ignored::read);
    for stage in file.shipped() {
        let copies = stage.instructions.iter().enumerate();
        for (index, copy) in copies.filter(|(_, one)| matches!(one.keyword.as_str(), "COPY" | "ADD")) {
            let words = copy.words();
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
            let of_source = |source: &&str| credentials(file, stage, (index, copy), source, ignored.as_ref());
            found.extend(sources.iter().find_map(of_source));
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
