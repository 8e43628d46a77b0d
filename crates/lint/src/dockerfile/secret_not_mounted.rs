//! A secret that a RUN reads and that is not mounted under that name.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::instructions::Instruction;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "secret-not-mounted",
    severity: Severity::Error,
    summary: "secrets that RUN reads are mounted in it, under that name",
    explain: include_str!("secret_not_mounted.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.12\nRUN --mount=type=secret,id=hf_token HF_TOKEN=$(cat /run/secrets/hf) python \
             get.py\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN --mount=type=secret,id=a make\nRUN cat /run/secrets/a > /dev/null\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN --mount=type=secret,id=a,target=/root/.netrc git clone $(cat \
             /run/secrets/a)\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12\nRUN --mount=type=secret,id=hf_token HF_TOKEN=$(cat /run/secrets/hf_token) \
             make\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN --mount=type=secret,id=a,target=/run/secrets/b cat /run/secrets/b\n\
             RUN --mount=type=secret,target=/run/secrets/c cat /run/secrets/c\nCMD cat /run/secrets/x\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN test ! -f /run/secrets/a || cat /run/secrets/a\nRUN ls /run/secrets/\n",
        ),
    ],
};

const DIRECTORY: &str = "/run/secrets/";

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.instructions.iter().filter(|one| one.keyword == "RUN").filter_map(fault).collect()
}

fn fault(one: &Instruction) -> Option<Found> {
    let heredocs = one.heredocs.iter().map(|heredoc| &heredoc.text);
    let texts: Vec<_> = std::iter::once(&one.text).chain(heredocs).collect();
    // A script that looks first, or makes the file.
    let looks = ["test ", "[ ", "if ", "|| ", "> /run/secrets", "mkdir"];
    if texts.iter().any(|text| looks.iter().any(|word| text.text.contains(word))) {
        return None;
    }
    let mounted = mounted(one);
    if mounted.iter().any(|name| name.contains('$')) {
        return None;
    }
    let (name, line) = texts.iter().find_map(|text| {
        text.text.match_indices(DIRECTORY).find_map(|(at, _)| {
            let rest = &text.text[at + DIRECTORY.len()..];
            let end = rest
                .find(|letter: char| !letter.is_alphanumeric() && !"_-.".contains(letter))
                .unwrap_or(rest.len());
            let name = &rest[..end];
            let known = mounted.contains(&format!("{DIRECTORY}{name}"));
            (!name.is_empty() && !rest[end..].starts_with(['$', '*']) && !known)
                .then(|| (name.to_owned(), text.line_at(at)))
        })
    })?;
    let message = match mounted.first() {
        Some(path) => format!("{DIRECTORY}{name} does not exist here: the secret of this RUN is {path}"),
        None => format!(
            "{DIRECTORY}{name} does not exist here: this RUN mounts no secret, and mounts last for one RUN"
        ),
    };
    let fix =
        format!("Write `RUN --mount=type=secret,id={name}`, and build with `--secret id={name},src=FILE`");
    Some(Found::error(line, message, fix))
}

/// The paths of the secrets that a RUN mounts.
fn mounted(one: &Instruction) -> Vec<String> {
    let mounts = one.flags.iter().filter_map(|flag| flag.strip_prefix("--mount="));
    let secrets = mounts.filter(|mount| mount.split(',').any(|pair| pair == "type=secret"));
    let path = |mount: &str| {
        let value = |names: &[&str]| {
            let mut pairs = mount.split(',').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| names.contains(name)).map(|(_, value)| value.to_owned())
        };
        let target = value(&["target", "dst", "destination"]);
        target.or_else(|| value(&["id"]).map(|id| format!("{DIRECTORY}{id}"))).unwrap_or_default()
    };
    secrets.map(path).collect()
}
