//! An image of another registry that enroot looks for on Docker Hub.

use crate::read::handed::all_commands;
use crate::read::script::Script;
use crate::rule::{Change, Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "container-image-registry-lost",
    severity: Severity::Error,
    summary: "images for pyxis and enroot name their registry before `#`",
    explain: include_str!("container_image_registry_lost.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nsrun --container-image=nvcr.io/nvidia/nemo:24.09 python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --container-image=nvcr.io#nvidia/pytorch:24.09-py3\nsrun python t.py\n",
        ),
        named(
            "run.sh",
            "IMAGE=nvcr.io/nvidia/pytorch:24.09-py3\nsrun --container-image \"$IMAGE\" python t.py\n",
        ),
        named("import.sh", "enroot import -o a.sqsh docker://ghcr.io/org/trainer:1\n"),
    ],
    silent: &[
        named("run.sh", "srun --container-image=nvcr.io#nvidia/pytorch:24.09-py3 python t.py\n"),
        named("run.sh", "srun --container-image=nvcr.io\\#nvidia/pytorch:24.09-py3 python t.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --container-image=nvcr.io\\#nvidia/pytorch:24.09\nsrun python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --container-image='nvcr.io#nvidia/pytorch:24.09'\nsrun python t.py\n",
        ),
        named("run.sh", "srun --container-image=/images/nvcr.io/a.sqsh python t.py\n"),
        named(
            "run.sh",
            "srun --container-image=./a.sqsh python t.py\nsrun --container-image=nvidia/cuda:12 x\n",
        ),
        named(
            "run.sh",
            "enroot import docker://nvcr.io#nvidia/pytorch:24.09-py3\nenroot import dockerd://a.b/c\n",
        ),
        named(
            "run.sh",
            "# enroot 4.0.1\nsrun --container-image=nvcr.io/nvidia/pytorch:24.09-py3 python t.py\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let mut found: Vec<Found> = script.text.lines().enumerate().filter_map(cut).collect();
    if names_new_release(&script.text) {
        return found;
    }
    let sets = crate::read::assigned::of_script(script);
    let value = |text: &str| {
        let name = text.trim_start_matches('$').trim_matches(['{', '}']);
        let mut all = sets.iter().filter(|one| one.name == name && text.starts_with('$'));
        match (all.next(), all.next()) {
            (Some(one), None) => one.value.clone().map(|value| (value, one.line)),
            _ => None,
        }
    };
    for (at, line) in script.text.lines().enumerate() {
        let rest = line.strip_prefix("#SBATCH").and_then(|rest| rest.split_once("--container-image"));
        let Some((_, rest)) = rest.filter(|(_, rest)| rest.starts_with(['=', ' '])) else { continue };
        let image = rest.trim_start_matches(['=', ' ', '"', '\'']).split([' ', '"', '\'']).next();
        found.extend(image.and_then(|image| old_form(image, at + 1)));
    }
    for command in all_commands(script) {
        let words = &command.words;
        for (at, word) in words.iter().enumerate() {
            let line = word.line.max(command.line);
            let image = match command.program() {
                "srun" | "sbatch" | "salloc" => match word.text.strip_prefix("--container-image") {
                    Some("") => words.get(at + 1).map(|next| next.text.as_str()),
                    Some(rest) => rest.strip_prefix('='),
                    None => None,
                },
                "enroot" if command.has("import") => word.text.strip_prefix("docker://"),
                _ => None,
            };
            let Some(image) = image else { continue };
            let (image, line) = match value(image) {
                Some((value, _)) => (value, line),
                None => (image.to_owned(), line),
            };
            found.extend(old_form(image.strip_prefix("docker://").unwrap_or(&image), line));
        }
    }
    found
}

/// A registry and an image that are separated by `/`.
fn old_form(image: &str, line: usize) -> Option<Found> {
    let (registry, rest) = image.split_once('/')?;
    let host = registry.rsplit('@').next().unwrap_or(registry);
    let is_host = host.contains('.') && host.split('.').all(|part| !part.is_empty())
        || host.split_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let hub =
        ["docker.io", "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"].contains(&host);
    let path = image.contains('#') || image.ends_with(".sqsh") || host.contains('$');
    if !is_host || hub || path || image.starts_with(['.', '/']) {
        return None;
    }
    let message = format!(
        "enroot before 4.0 takes {host} for a part of the image's name and looks for it on Docker Hub, \
         unless \
         its credentials name {host}; the import fails with 401 Unauthorized"
    );
    Some(Found::warning(line, message, format!("Write `{registry}#{rest}`")).about(image))
}

/// A `#` in a directive, which begins a comment for sbatch.
fn cut((at, line): (usize, &str)) -> Option<Found> {
    let rest = line.strip_prefix("#SBATCH")?;
    let (_, image) = rest.split_once("--container-image").filter(|(_, rest)| rest.starts_with(['=', ' ']))?;
    let image = image.trim_start_matches(['=', ' ']).split(' ').next()?;
    let (registry, name) = image.split_once('#')?;
    if image.starts_with(['"', '\'']) || registry.ends_with('\\') || registry.is_empty() || name.is_empty() {
        return None;
    }
    let message = format!("sbatch takes `#{name}` for a comment; the image is {registry}");
    let change = Change::word(at + 1, &format!("{registry}#{name}"), &format!("{registry}\\#{name}"));
    let fix = format!("Write `{registry}\\#{name}`");
    Some(Found::error(at + 1, message, fix).change(change))
}

/// Whether a text says that enroot is new enough: `enroot 4.0.1`, `enroot>=4`.
fn names_new_release(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.match_indices("enroot").any(|(at, name)| {
        let rest = lower[at + name.len()..].trim_start_matches([' ', '/', '-', '=', 'v', '>', ':']);
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse::<u32>().is_ok_and(|major| major >= 4)
    })
}
