//! A mount over the virtual environment of the image.

use crate::programs;
use crate::read::compose::{Compose, Service, Source};
use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::copied::join;
use crate::read::dockerfile::start::started;
use crate::rule::{Example, Found, Judge, Rule, Severity};
use crate::uv_environments::environments;

const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions }
}

const UV: &str = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nCOPY --from=ghcr.io/astral-sh/uv:0.6.3 /uv \
     /bin/uv\nENV \
                  UV_PYTHON_INSTALL_DIR=/opt/python\nWORKDIR /app\nCOPY pyproject.toml uv.lock ./\nRUN uv \
                  sync \
                  --frozen --no-install-project\nCOPY . .\nCMD [\"/app/.venv/bin/python\", \"-m\", \
                  \"detr.train\"]\n";

const VENV: &str = "FROM python:3.12\nWORKDIR /srv\nRUN python -m venv .venv\nENV \
     PATH=/srv/.venv/bin:$PATH\nCOPY . .\n\
                    CMD [\"python\", \"train.py\"]\n";

pub(crate) const RULE: Rule = Rule {
    id: "mount-hides-environment",
    severity: Severity::Warning,
    summary: "no mount hides the virtual environment that a service uses",
    explain: include_str!("mount_hides_environment.md"),
    judge: Judge::Compose(judge),
    fires: &[
        with(
            "services:\n  dev:\n    build: .\n    command: [\"/app/.venv/bin/python\", \"-m\", \
             \"detr.train\"]\n    \
             volumes:\n      - ./:/app\n",
            &[("Dockerfile", UV)],
        ),
        with(
            "services:\n  dev:\n    build: .\n    volumes: [{type: bind, source: ., target: /app}]\n",
            &[("Dockerfile", UV)],
        ),
        with(
            "services:\n  dev:\n    build: .\n    command: python train.py\n    volumes: [\".:/srv\"]\n",
            &[("Dockerfile", VENV)],
        ),
        with(
            "services:\n  dev:\n    build: .\n    command: .venv/bin/uvicorn app:app\n    volumes: \
             [\"./src:/app\"]\n",
            &[("Dockerfile", UV)],
        ),
        with(
            "services:\n  dev:\n    build: {context: ., target: Base}\n    command: python train.py\n    \
             volumes: [\".:/srv\"]\n",
            &[(
                "Dockerfile",
                "FROM python:3.12 AS base\nWORKDIR /srv\nRUN python -m venv .venv\nENV \
                 PATH=/srv/.venv/bin:$PATH\nFROM scratch AS wheels\nCOPY --from=base /srv /srv\n",
            )],
        ),
    ],
    silent: &[
        // What is built has no environment.
        with(
            "services:\n  dev:\n    build: {context: ., target: base}\n    command: python train.py\n    \
             volumes: [\".:/srv\"]\n",
            &[(
                "Dockerfile",
                "FROM python:3.12 AS base\nWORKDIR /srv\nFROM base\nRUN python -m venv .venv\nENV \
                 PATH=/srv/.venv/bin:$PATH\n",
            )],
        ),
        with(
            "services:\n  dev:\n    build: .\n    volumes:\n      - .:/app\n      - /app/.venv\n",
            &[("Dockerfile", UV)],
        ),
        with(
            "services:\n  dev:\n    build: .\n    volumes: [\".:/app\", \"venv:/app/.venv\"]\nvolumes: \
             {venv: }\n",
            &[("Dockerfile", UV)],
        ),
        with(
            "services:\n  dev:\n    build: .\n    volumes: [\"./src:/app/src\", \"app:/app\"]\nvolumes: \
             {app: }\n",
            &[("Dockerfile", UV)],
        ),
        with(
            "services:\n  dev:\n    build: .\n    command: uv run python -m detr.train\n    volumes: \
             [\".:/app\"]\n",
            &[("Dockerfile", UV)],
        ),
        with(
            "services:\n  dev:\n    build: .\n    command: sleep infinity\n    volumes: [\".:/app\"]\n",
            &[("Dockerfile", UV)],
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().filter(|one| !one.extends_elsewhere).filter_map(|one| fault(file, one)).collect()
}

fn fault(file: &Compose, service: &Service) -> Option<Found> {
    let image = file.built(service)?;
    let end = &image.stages.last()?.end;
    let own = service.words();
    let words: Vec<String> = match own.is_empty() {
        true => started(&image).into_iter().flat_map(|one| one.words).map(|word| word.text).collect(),
        false => own,
    };
    let directory = service.text("working_dir").unwrap_or_else(|| end.files.workdir.clone());
    let path = end.variables.get("PATH").and_then(|value| value.text.clone()).unwrap_or_default();
    let first = path.split(':').next().unwrap_or_default();
    made(&image, &directory).into_iter().find_map(|environment| {
        let folder = format!("{environment}/bin");
        let program = words.iter().take(3).find(|word| {
            word.contains('/') && join(&directory, word).starts_with(&format!("{folder}/"))
                || first == folder && is_of_environment(word)
        })?;
        let mount = service.mount_of(&environment).filter(|mount| mount.target != environment)?;
        let Source::Host(host) = &mount.source else { return None };
        let message = format!(
            "service {}: the mount of {host} at {} hides {environment}, which the image makes; `{program}` \
             comes from \
             the host's directory, or is missing",
            service.name, mount.target
        );
        let fix = format!(
            "Add the volume `- {environment}`, which keeps the image's, or make the environment outside of \
             {}",
            mount.target
        );
        Some(Found::warning(service.line_of("volumes"), message, fix))
    })
}

/// Programs that an image starts from its environment, where PATH begins with it.
fn is_of_environment(word: &str) -> bool {
    programs::is_python(word)
        || programs::is_server(word)
        || matches!(word, "torchrun" | "accelerate" | "deepspeed" | "jupyter")
}

/// The environments that an image makes below its working directory.
fn made(image: &Dockerfile, directory: &str) -> Vec<String> {
    let Some(stage) = image.stages.last() else { return Vec::new() };
    let of_uv = environments(image, stage).into_iter().map(|one| one.path);
    let others = stage.end.pythons.environments.iter().map(|(path, _)| join(&stage.end.files.workdir, path));
    let mut found: Vec<String> = of_uv.chain(others).collect();
    found.retain(|path| path.starts_with(&format!("{}/", directory.trim_end_matches('/'))));
    found.dedup();
    found
}
