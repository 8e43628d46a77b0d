//! Results that are written next to the directory that is mounted for them.

use diagnostic::suggest;

use crate::outputs::{Output, outputs};
use crate::read::compose::{Compose, Service, words};
use crate::read::dockerfile::start::started;
use crate::rule::{Found, Judge, Rule, Severity, compose, named};

pub(crate) const RULE: Rule = Rule {
    id: "output-not-mounted",
    severity: Severity::Warning,
    summary: "results go to the directory that is mounted, and not to one with almost its name",
    explain: include_str!("output_not_mounted.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  train:\n    image: b\n    command: [python, train.py, --output_dir, \
             /work/results/run7]\n    \
             volumes:\n      - ./src:/work/src:ro\n      - /nvme/results:/work/result\n",
        ),
        named(
            "eval.sh",
            "docker run --rm --gpus all -v \"$PWD/out\":/output -v /srv/data:/data:ro \
             registry.example.org/eval:2 \
             python eval.py --data /data/test --output-dir /outputs\n",
        ),
        compose(
            "services:\n  sft:\n    image: b\n    command: torchrun sft.py\n    environment:\n      \
             OUTPUT_DIR: \
             /checkpoint/a\n    volumes: [\"ckpt:/checkpoints\"]\nvolumes: {ckpt: }\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  train:\n    image: b\n    command: [python, train.py, --output_dir, \
             /work/results/run7]\n    \
             volumes:\n      - .:/work\n      - /nvme/results:/work/result\n",
        ),
        // It reads from the one and writes to the other.
        compose(
            "services:\n  train:\n    image: b\n    command: [python, t.py, --model, /model/base, \
             --output_dir, \
             /models]\n    volumes:\n      - /srv/model:/model\n",
        ),
        compose(
            "services:\n  train:\n    image: b\n    command: [python, t.py, --output_dir, /data2/out]\n    \
             volumes:\n      \
             - /srv/data1:/data1\n",
        ),
        compose(
            "services:\n  train:\n    image: b\n    command: [python, t.py, --output_dir, \
             /work/results]\n    \
             volumes:\n      - /srv/result:/work/result:ro\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let whole = |one: &&Service| !one.extends_elsewhere && one.at(&["volumes_from"]).is_none();
    file.services.iter().filter(whole).filter_map(|service| fault(file, service)).collect()
}

fn fault(file: &Compose, service: &Service) -> Option<Found> {
    let own = [words(service.at(&["entrypoint"])), words(service.at(&["command"]))].concat();
    let built = file.built(service).filter(|_| own.is_empty());
    let words = match &built {
        Some(image) => started(image).into_iter().flat_map(|one| one.words).map(|word| word.text).collect(),
        None => own,
    };
    let variables: Vec<(String, String)> =
        service.environment().into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let directory = service.text("working_dir").unwrap_or_default();
    let mounts = service.mounts();
    outputs(&words, &variables).iter().find_map(|output| {
        if mounts.iter().any(|mount| mount.holds(&output.path)) {
            return None;
        }
        // What something else uses is there for that.
        let used = |target: &str| {
            let all = words.iter().chain(variables.iter().map(|(_, value)| value)).chain([&directory]);
            all.into_iter().any(|text| names_path(text, target))
        };
        let mount = mounts.iter().find(|mount| {
            !mount.read_only && is_next_to(&output.path, &mount.target) && !used(&mount.target)
        })?;
        Some(found(file, service, output, &mount.target))
    })
}

fn found(file: &Compose, service: &Service, output: &Output, target: &str) -> Found {
    let message = format!(
        "{}: {} is in no mount, but {target} is one, which nothing uses: the results stay in the container, \
         and \
         are lost with it",
        service.title, output.set_by
    );
    let line = if file.run { service.line.clone() } else { service.line_of("volumes") };
    let depth = target.split('/').count();
    let meant: Vec<&str> = output.path.split('/').take(depth).collect();
    Found::warning(line, message, format!("Mount it at {}, or write to {target}", meant.join("/")))
}

/// Whether a text has a path, or one below it: `--dir=/a/b` has `/a`.
pub(crate) fn names_path(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| {
        let next = text[at + path.len()..].chars().next();
        next.is_none_or(|next| !next.is_alphanumeric() && !"_-.".contains(next))
    })
}

/// Whether a path has the parents of a target, and then almost its name: `/a/models/x` and `/a/model`.
pub(crate) fn is_next_to(path: &str, target: &str) -> bool {
    let Some((parent, name)) = target.rsplit_once('/') else { return false };
    let rest = path.strip_prefix(parent).and_then(|rest| rest.strip_prefix('/'));
    let Some(own) = rest.and_then(|rest| rest.split('/').next()) else { return false };
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    own != name
        && digits(own) == digits(name)
        && suggest::edits(own, name) == 1
        && suggest::is_typo(own, name)
}
