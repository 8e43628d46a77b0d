//! Lines of an env file that its readers take differently.

use std::collections::{BTreeMap, BTreeSet};

use crate::comments::denies;
use crate::read::script::used;
use crate::read::settings::{Held, Setting, Settings};
use crate::recognize::base_name;
use crate::rule::{Change, Found, Judge, Kind, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "env-file-line-misread",
    severity: Severity::Error,
    summary: "lines of an env file mean the same to every reader",
    explain: include_str!("env_file_line_misread.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("docker.env", "# docker run --env-file docker.env x\nMASTER_PORT=29500  # open it\n"),
        named("train.env", "NCCL_DEBUG = INFO\n"),
        named("train.env", "NCCL_DEBUG=INFO\nNCCL_DEBUG=WARN\n"),
        named("train.env", "NCCL_DEBUG: INFO\n"),
        named("docker.env", "# docker run --env-file docker.env x\nNCCL_DEBUG=\"INFO\"\n"),
        named("docker.env", "# docker run --env-file docker.env x\nA=b\nexport NCCL_DEBUG=INFO\n"),
        named("train.env", "NCCL_IB_GID_INDEX=3\nexport NCCL_DEBUG=INFO\n"),
        named_with(
            "train.env",
            "CUDA_VISIBLE_DEVICES=\"0,1\"\n",
            &[("run.sh", "docker run --gpus all --env-file train.env image train\n")],
        ),
        named_with(
            "serve.env",
            "CARDS=2   # both\n",
            &[(
                "serve.service",
                "[Service]\nExecStart=/usr/bin/docker run --rm --gpus all \\\n  --env-file \
                 /etc/serve/serve.env \
                 serve:1\n",
            )],
        ),
        named_with(
            "vllm.env",
            "PATH=/opt/vllm/bin:$PATH\nMODEL=/srv/m\n",
            &[(
                "vllm.service",
                "[Service]\nEnvironmentFile=/etc/vllm/vllm.env\nExecStart=/opt/vllm/serve.sh\n",
            )],
        ),
        named_with(
            "train.env",
            "DATA=/data\nCACHE=${DATA}/cache\n",
            &[("run.sh", "docker run --gpus all --env-file train.env image train\n")],
        ),
    ],
    silent: &[
        named_with(
            "cluster.env",
            "# sourced by run.sh, not for docker --env-file\nNCCL_DEBUG=\"INFO\"\nBASE=/gpfs # shared\n",
            &[("run.sh", "set -a\n. ./cluster.env\nset +a\ntorchrun train.py\n")],
        ),
        named_with(
            "serve.env",
            "PORT=8000 # open it\nexport MODEL=\"a/b\"\n",
            &[("serve.sh", "ssh gpu-1 'source /opt/serve/serve.env && vllm serve $MODEL'\n")],
        ),
        named("paths.env", "ROOT=/srv # a volume\nexport CACHE=${ROOT}/cache\n"),
        named_with(
            "serve.env",
            "HF_HOME=/data # a volume\nexport NCCL_DEBUG=\"INFO\"\nMODEL: a/b\n",
            &[("compose.yaml", "services:\n  a:\n    image: b\n    env_file: ./serve.env\n")],
        ),
        named_with(
            "train.env",
            "DATA=/data\nCACHE=${DATA}/cache\n",
            &[("run.sh", "docker compose --env-file train.env up\n")],
        ),
        named_with(
            "vllm.env",
            "PATH=/opt/vllm/bin:/usr/bin:/bin\nPRICE=5$\nARGS=\"--port 8000\"\n",
            &[(
                "vllm.service",
                "[Service]\nEnvironmentFile=/etc/vllm/vllm.env\nExecStart=/opt/vllm/serve.sh\n",
            )],
        ),
        named("train.env", "# comment\n\nNCCL_DEBUG=INFO\nEMPTY=\nCOLOR=#fff\nHOST\n"),
        named("docker.env", "# docker run --env-file docker.env x\nRUN_NAME=ablation #7\nLOG=green #0f0\n"),
        named(
            "docker.env",
            "# docker run --env-file takes everything after = literally\nTITLE=fine-tuning # 2\n",
        ),
        named("setenv.env", "export NCCL_DEBUG=INFO # sourced\n"),
        named("cluster.env", "# Don't pass it with docker run --env-file\nexport NCCL_DEBUG=\"INFO\"\n"),
        named("setenv.env", "export NCCL_DEBUG=INFO\nexport NCCL_IB_GID_INDEX=3\n"),
        named(".env", "A=b\nexport NCCL_DEBUG=INFO\n"),
        named_with(
            "train.env",
            "CUDA_VISIBLE_DEVICES=\"0,1\"\n",
            &[("run.sh", "docker compose --env-file train.env up\n. ./train.env\n")],
        ),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    if settings.kind != Some(Kind::Environment) {
        return Vec::new();
    }
    let comments = || settings.others.iter().filter(|(_, text)| text.trim_start().starts_with('#'));
    let docker = settings.passed_by.is_some() || comments().any(|(_, text)| is_said(text, "--env-file"));
    // A file that exports is for a shell; one that says so is for docker run.
    let sourced = settings.others.iter().any(|(_, text)| text.contains("source ") || text.contains("set -a"))
        || comments().any(|(_, text)| is_said(text, "sourced"))
        || settings.sourced && settings.passed_by.is_none() && settings.unit.is_none()
        || !docker && settings.unit.is_none() && uses_own(settings);
    // docker compose reads it as a shell would.
    let plain = !sourced && (docker || !settings.read_by_compose);
    // compose and most libraries read `export` in .env.
    let mixed = plain
        && !settings.name.rsplit('/').next().is_some_and(|name| name.starts_with(".env"))
        && settings.scopes.iter().flat_map(|scope| &scope.settings).any(|one| one.held == Held::Always);
    // Somebody knows that the reader keeps what looks like a comment.
    let literal = comments().map(|(_, text)| text.to_ascii_lowercase()).any(|text| {
        ["as it is", "as is", "as-is", "literal", "verbatim", "part of the value"]
            .iter()
            .any(|words| text.contains(words))
    });
    let mut seen: BTreeMap<&str, &Setting> = BTreeMap::new();
    let mut found = Vec::new();
    for one in settings.scopes.iter().flat_map(|scope| &scope.settings) {
        if plain && one.held == Held::Always {
            found.extend(of_docker(one, docker, literal));
            let reader = match (&settings.unit, &settings.passed_by) {
                (Some(unit), _) => Some(format!("systemd ({})", base_name(unit))),
                (None, Some(_)) => Some("docker run --env-file".to_owned()),
                _ => None,
            };
            found.extend(reader.and_then(|reader| not_replaced(one, &reader)));
        }
        if one.held == Held::Script && (docker || mixed) {
            found.push(exported(one, docker));
        }
        if let Some(first) = seen.insert(&one.name, one).filter(|first| first.value != one.value) {
            let message = format!(
                "{} is set again, after line {}; the last value counts",
                one.name, first.location.line
            );
            found.push(Found::warning(one.location.clone(), message, "Remove one of them"));
        }
    }
    let others = settings.others.iter().filter(|_| docker || !settings.read_by_compose);
    found.extend(others.filter_map(|(line, text)| other(*line, text)));
    found
}

/// Whether a comment has this word, and does not say the contrary: `not for docker --env-file`.
fn is_said(comment: &str, word: &str) -> bool {
    comment.split_once(word).is_some_and(|(before, _)| !denies(before))
}

/// Whether a value names a variable that the file has set before, or has a default: only a shell reads that.
fn uses_own(settings: &Settings) -> bool {
    settings.scopes.iter().any(|scope| {
        let mut names: BTreeSet<&str> = BTreeSet::new();
        scope.settings.iter().any(|one| {
            let own = !one.written.starts_with('\'')
                && (one.written.contains(":-") && one.written.contains("${")
                    || used(&one.written).iter().any(|name| names.contains(name.as_str())));
            names.insert(&one.name);
            own
        })
    })
}

/// A variable in a value, which only a shell and Compose replace.
fn not_replaced(one: &Setting, reader: &str) -> Option<Found> {
    let written = one.written.trim();
    let at = written.find('$')?;
    let rest = written[at + 1..].trim_start_matches('{');
    if !rest.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
        return None;
    }
    let message = format!("{reader} replaces no variables: {} is the text {written:?}", one.name);
    let search = matches!(one.name.as_str(), "PATH" | "LD_LIBRARY_PATH" | "PYTHONPATH");
    let fix = match search {
        true => "Write out all directories: `/opt/venv/bin:/usr/local/bin:/usr/bin:/bin`",
        false => "Write out the value",
    };
    Some(Found::error(one.location.clone(), message, fix).unless_certain(one.name == "PATH"))
}

/// `export` in a file of plain lines.
fn exported(one: &Setting, docker: bool) -> Found {
    let message = format!(
        "docker run --env-file takes only NAME=value and refuses `export {}` (variable contains \
         whitespaces)",
        one.name
    );
    let (old, new) = (format!("export {}", one.name), &one.name);
    let change = docker.then(|| Change::word(one.location.line, &old, new));
    Found::error(one.location.clone(), message, "Remove `export`").change_if(change).unless_certain(docker)
}

/// What `docker run --env-file` keeps and others remove.
/// `literal`: a comment of the file says that its values are taken as they are written.
fn of_docker(one: &Setting, docker: bool, literal: bool) -> Option<Found> {
    let written = one.written.trim_end();
    let name = &one.name;
    let quoted = written.len() > 1
        && ['"', '\''].iter().any(|quote| written.starts_with(*quote) && written.ends_with(*quote));
    let (what, fix) = if written.starts_with(' ') {
        ("the space after =", format!("Write `{name}={}`", written.trim()))
    } else if has_comment(written) && !literal && !quoted && !written.starts_with(['"', '\'']) {
        ("the comment", "Put the comment on a line of its own".to_owned())
    } else if quoted && docker {
        ("the quotes", format!("Write `{name}={}`", one.value.as_deref().unwrap_or_default()))
    } else {
        return None;
    };
    let message = format!("docker run --env-file keeps {what} as part of the value of {name}: {written:?}");
    let found = Found::warning(one.location.clone(), message, fix);
    Some(if docker { found } else { Found { severity: Severity::Note, ..found } })
}

/// Whether a value has a comment behind it: `b # why`. `run #7` and `green #0f0` are text.
fn has_comment(written: &str) -> bool {
    written.match_indices(" #").any(|(at, mark)| {
        let rest = &written[at + mark.len()..];
        rest.is_empty() || rest.starts_with([' ', '\t', '#'])
    })
}

fn other(line: usize, text: &str) -> Option<Found> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('#') {
        return None;
    }
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let (name, value) = text.split_once(": ")?;
    let message = format!("{text:?} sets no variable: an env file has `NAME=value`");
    is_name(name)
        .then(|| Found::warning(line, message, format!("Write `{name}={}`", value.trim())).about(name))
}
