//! A mount over the script that the container runs.

use crate::read::compose::{Compose, Service, Source};
use crate::read::dockerfile::copied::join;
use crate::read::dockerfile::start::started;
use crate::rule::{Example, Found, Judge, MISSING, Rule, Severity};

const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions }
}

const IMAGE: &str =
    "FROM python:3.12\nWORKDIR /app\nCOPY train.py conf.yaml ./\nCMD [\"python\", \"train.py\"]\n";

pub(crate) const RULE: Rule = Rule {
    id: "mount-hides-program",
    severity: Severity::Warning,
    summary: "no mount hides the script that a service runs",
    explain: include_str!("mount_hides_program.md"),
    judge: Judge::Compose(judge),
    fires: &[
        with(
            "services:\n  train:\n    build: .\n    volumes:\n      - ./data:/app\n",
            &[("Dockerfile", IMAGE), ("train.py", "import torch\n"), ("data/train.py", MISSING)],
        ),
        with(
            "services:\n  train:\n    build: .\n    command: torchrun --standalone /app/train.py\n    tmpfs: \
             [/app]\n",
            &[("Dockerfile", IMAGE), ("train.py", "import torch\n")],
        ),
        with(
            "services:\n  train:\n    build: .\n    volumes: [{type: bind, source: ./out, target: /app}]\n",
            &[("Dockerfile", IMAGE), ("train.py", "import torch\n"), ("out/train.py", MISSING)],
        ),
    ],
    silent: &[
        with(
            "services:\n  train:\n    build: .\n    volumes: [\".:/app\"]\n",
            &[("Dockerfile", IMAGE), ("train.py", "import torch\n")],
        ),
        with(
            "services:\n  train:\n    build: .\n    volumes: [\"./data:/app/data\", \
             \"out:/app\"]\nvolumes: {out: }\n",
            &[("Dockerfile", IMAGE), ("train.py", "import torch\n"), ("data/train.py", MISSING)],
        ),
        with(
            "services:\n  train:\n    build: .\n    volumes: [\"./data:/app\", \
             \"./train.py:/app/train.py\"]\n",
            &[("Dockerfile", IMAGE), ("train.py", "import torch\n"), ("data/train.py", MISSING)],
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
        false => own.iter().flat_map(|word| word.split_whitespace().map(str::to_owned)).collect(),
    };
    let directory = service.text("working_dir").unwrap_or_else(|| end.files.workdir.clone());
    let script = words.iter().find(|word| word.ends_with(".py") && !word.contains('$'))?;
    let path = join(&directory, script);
    // Only what the image certainly has is hidden.
    let context = service.build_context()?;
    let there = |copied: &String| matches!(file.files.get(&join(&context, copied)), Some(Some(_)));
    let mount = service.mount_of(&path).filter(|mount| mount.target != path)?;
    if !end.files.candidates(&path).iter().any(there) {
        return None;
    }
    let instead = match &mount.source {
        Source::Memory => "an empty tmpfs".to_owned(),
        Source::Host(host) => {
            let missing = matches!(file.files.get(&mount.on_host(&path)?), Some(None));
            missing.then(|| format!("{host}, which has no such file"))?
        }
        // A new one begins with what the image has there.
        Source::Volume => return None,
    };
    let message = format!(
        "service {}: the mount at {} hides {path} of the image; the container sees {instead}",
        service.name, mount.target
    );
    let fix = format!("Mount below {}, or at another path", mount.target);
    Some(Found::warning(
        service.line_of(if mount.source == Source::Memory { "tmpfs" } else { "volumes" }),
        message,
        fix,
    ))
}
