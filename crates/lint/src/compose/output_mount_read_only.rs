//! A service that writes its results to a mount that it may only read.

use crate::outputs::{Output, outputs};
use crate::read::compose::{Compose, Service};
use crate::rule::{Found, Judge, Rule, Severity, compose, composes};

pub(crate) const RULE: Rule = Rule {
    id: "output-mount-read-only",
    severity: Severity::Warning,
    summary: "services write results only to mounts that they may write to",
    explain: include_str!("output_mount_read_only.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  train:\n    image: b\n    volumes:\n      - /srv/run:/data:ro\n    command: \
             torchrun --standalone train.py --data /data/set --save-dir /data/ckpt\n",
        ),
        compose(
            "services:\n  train:\n    image: b\n    volumes:\n      - {type: bind, source: /srv/out, target: \
             /out, read_only: true}\n    command: [\"python\", \"train.py\", \"--output_dir=/out/run1\"]\n",
        ),
        compose(
            "services:\n  train:\n    image: b\n    environment: {OUTPUT_DIR: /results}\n    volumes: \
             [\"runs:/results:ro\"]\n    command: python train.py\nvolumes: {runs: }\n",
        ),
        compose(
            "services:\n  train:\n    image: b\n    read_only: true\n    tmpfs: [/tmp]\n    command: bash -c \
             \"python train.py --output-dir /workspace/out\"\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  train:\n    image: b\n    volumes:\n      - /srv/run:/data:ro\n      - \
             /srv/run/ckpt:/data/ckpt\n    command: torchrun --standalone train.py --data /data/set \
             --save-dir /data/ckpt\n",
        ),
        compose(
            "services:\n  board:\n    image: b\n    volumes: [\"runs:/runs:ro\"]\n    command: tensorboard \
             --logdir /runs\n  chat:\n    image: b\n    volumes: [\"/models:/models:ro\"]\n    command: \
             torchrun chat.py --ckpt_dir /models/llama\nvolumes: {runs: }\n",
        ),
        composes(
            "services:\n  train:\n    image: b\n    read_only: true\n    volumes: \
             [\"/srv/out:/out:rw\"]\n    \
             command: python train.py --output-dir /out --save-dir $SAVE\n",
            &[],
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let whole = |one: &&Service| !one.extends_elsewhere && one.at(&["volumes_from"]).is_none();
    file.services.iter().filter(whole).flat_map(|service| faults(file, service)).collect()
}

fn faults(file: &Compose, service: &Service) -> Vec<Found> {
    let (words, variables) = (file.started_words(service), service.variables());
    let fault = |output: &Output| {
        let why = read_only(service, &output.path)?;
        let message = format!(
            "service {}: {} is {why}; the first write fails (`Read-only file system`)",
            service.name, output.set_by
        );
        let key =
            if variables.iter().any(|(_, value)| *value == output.path) { "environment" } else { "command" };
        let fix = "Mount a writable directory there, or write to another one";
        Some(Found::warning(service.line_of(key), message, fix))
    };
    outputs(&words, &variables).iter().filter_map(fault).collect()
}

/// Why a path may not be written to.
fn read_only(service: &Service, path: &str) -> Option<String> {
    match service.mount_of(path) {
        Some(mount) if mount.read_only => Some(format!("below {}, which is mounted read-only", mount.target)),
        Some(_) => None,
        // An image that is not known may declare a volume there.
        None => (service.text("read_only").as_deref() == Some("true"))
            .then(|| "in the image, which `read_only: true` makes read-only".to_owned()),
    }
}
