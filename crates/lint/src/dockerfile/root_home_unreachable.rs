//! A user that needs files below /root, which only root may enter.

use crate::base::Base;
use crate::read::dockerfile::setup::{User, setups};
use crate::read::dockerfile::start::started;
use crate::read::dockerfile::{Dockerfile, From};
use crate::recognize::is_below;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "root-home-unreachable",
    severity: Severity::Error,
    summary: "a user that is not root needs nothing below /root",
    explain: include_str!("root_home_unreachable.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.11-slim-bookworm\nENV HF_HOME=/root/.cache/huggingface\nRUN pip install \
             transformers\n\
             RUN useradd --create-home app\nUSER app\nCMD [\"uvicorn\", \"serve:app\"]\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-venv\n\
             RUN python3 -m venv /root/venv\nUSER 1000:1000\n\
             CMD [\"/root/venv/bin/python\", \"serve.py\"]\n",
        ),
        dockerfile(
            "FROM python:3.12-slim\nWORKDIR /root/app\nCOPY . .\nUSER nobody\nENTRYPOINT [\"python\", \
             \"app.py\"]\n",
        ),
        dockerfile(
            "FROM python:3.11-slim AS b\nRUN pip install --user torch==2.4.1\nFROM python:3.11-slim\nCOPY \
             --from=b /root/.local /root/.local\nRUN useradd -m app\nUSER app\nCMD [\"python\", \"-c\", \
             \"import torch\"]\n",
        ),
        dockerfile(
            "FROM python:3.11-slim AS b\nRUN pip install --user torch==2.4.1\nFROM python:3.11-slim\nCOPY \
             --from=b [\"/root/.local\", \"/root/.local\"]\nUSER 1000\nCMD [\"python\", \"a.py\"]\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.11-slim-bookworm\nENV HF_HOME=/root/.cache/huggingface\nRUN useradd app\nUSER \
             app\n\
             RUN make\nUSER root\nCMD [\"uvicorn\", \"serve:app\"]\n",
        ),
        dockerfile(
            "FROM python:3.11-slim-bookworm\nENV HF_HOME=/root/.cache/huggingface\nRUN chmod 755 /root && \
             useradd app\n\
             USER app\nCMD [\"uvicorn\", \"serve:app\"]\n",
        ),
        dockerfile(
            "FROM python:3.11-slim-bookworm\nENV HF_HOME=/root/.cache/huggingface\nRUN useradd app\n\
             ENV HF_HOME=/home/app/hf\nUSER app\nCMD [\"uvicorn\", \"serve:app\"]\n",
        ),
        dockerfile("FROM example/base:1\nENV HF_HOME=/root/hf\nUSER app\n"),
    ],
};

/// Variables with directories in which programs keep what they download or compile.
pub(super) const CACHES: &[&str] = &[
    "HF_HOME",
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
    "TRANSFORMERS_CACHE",
    "HF_DATASETS_CACHE",
    "TORCH_HOME",
    "TORCH_EXTENSIONS_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "TRITON_HOME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "VLLM_CACHE_ROOT",
    "NLTK_DATA",
    "MPLCONFIGDIR",
    "WANDB_DIR",
    "WANDB_CACHE_DIR",
    "NUMBA_CACHE_DIR",
    "CUDA_CACHE_PATH",
    "VIRTUAL_ENV",
    "HOME",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let setups = setups(file);
    let Some(User::Other(user)) = setups.last().and_then(|all| all.last()).map(|setup| &setup.user) else {
        return Vec::new();
    };
    let shipped = file.shipped();
    // Of other bases the mode of /root is not known.
    let bare = shipped.last().is_some_and(|stage| match &stage.from {
        From::Image(image) => {
            image.known && (Base::of(&image.text).is_some() || image.text.starts_with("vllm/vllm-openai:"))
        }
        _ => false,
    });
    let opened = shipped.iter().flat_map(|stage| &stage.instructions).any(|one| {
        let text = one.text.text.as_str();
        let changes =
            ["chmod", "chown", "setfacl", "usermod", "install -d"].iter().any(|word| text.contains(word));
        one.keyword == "RUN"
            && (changes && text.contains("/root") || text.contains("chmod") && text.contains('~'))
            || one.keyword == "COPY" && one.flag("chmod").is_some() && text.contains("/root")
    });
    let Some(last) = shipped.first().filter(|_| bare && !opened) else { return Vec::new() };
    let user_line =
        shipped.iter().find_map(|stage| stage.instructions.iter().rev().find(|one| one.keyword == "USER"));
    let line = user_line.map_or(last.line, |one| one.line);
    let fix = "Put it where the user may read and write, such as /opt or the user's home, or add `RUN chmod \
        755 /root`";
    let private = "only root may enter /root (mode 0700)";
    // What starts.
    let commands = started(file);
    let program =
        commands.first().and_then(|command| command.words.first()).filter(|word| below_root(&word.text));
    if let Some(program) = program {
        let message = format!(
            "the container runs as {user} and starts {}, but {private}; permission denied",
            program.text
        );
        return vec![Found::error(line, message, fix)];
    }
    let installed = shipped.iter().flat_map(|stage| &stage.instructions).find(|one| {
        let target = one.words().last().copied().unwrap_or_default();
        one.keyword == "COPY" && one.flag("from").is_some() && target.trim_end_matches('/') == "/root/.local"
    });
    if let Some(one) = installed {
        let message = format!(
            "the container runs as {user}, but the packages are in /root/.local, where only root's Python \
             looks \
             and which only root may enter; they are not found"
        );
        let fix = "Copy them to the user's home (`--chown`), or install into a virtual environment in /opt";
        return vec![Found::error(one.line, message, fix)];
    }
    let workdir = &last.end.files.workdir;
    let variables = &last.end.variables;
    let set =
        |name: &str| variables.get(name).and_then(|value| value.text.clone()).filter(|text| below_root(text));
    if let Some((name, value)) = CACHES.iter().find_map(|name| Some((name, set(name)?))) {
        let message =
            format!("the container runs as {user}, but {name} is {value}, and {private}; PermissionError");
        return vec![Found::warning(line, message, fix)];
    }
    if below_root(workdir) {
        let message = format!(
            "the container runs as {user} in {workdir}, but {private}; what it opens there by a path fails"
        );
        return vec![Found::warning(line, message, fix)];
    }
    Vec::new()
}

fn below_root(path: &str) -> bool {
    is_below(path, "/root")
}
