//! Results that are written next to the directory that is mounted for them.

use crate::outputs::{Output, meant, outputs};
use crate::read::compose::{Compose, Service};
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
    let (words, variables) = (file.started_words(service), service.variables());
    let directory = service.text("working_dir").unwrap_or_default();
    let mounts = service.mounts();
    let values = variables.iter().map(|(_, value)| value);
    let texts: Vec<&str> = words.iter().chain(values).chain([&directory]).map(String::as_str).collect();
    outputs(&words, &variables).iter().find_map(|output| {
        if mounts.iter().any(|mount| mount.holds(&output.path)) {
            return None;
        }
        let writable = mounts.iter().filter(|mount| !mount.read_only);
        let target = meant(output, writable.map(|mount| mount.target.as_str()), &texts)?;
        Some(found(file, service, output, target))
    })
}

fn found(file: &Compose, service: &Service, output: &Output, target: &str) -> Found {
    let message = format!(
        "{}: {} is not mounted, but {target} is, and nothing uses it: the results stay in the container and \
         are lost with it",
        service.title, output.set_by
    );
    let line = if file.run { service.line.clone() } else { service.line_of("volumes") };
    let depth = target.split('/').count();
    let meant: Vec<&str> = output.path.split('/').take(depth).collect();
    Found::warning(line, message, format!("Mount it at {}, or write to {target}", meant.join("/")))
}
