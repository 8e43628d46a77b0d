//! Results that are written next to the directory that is mounted for them.

use crate::outputs::{Output, meant, outputs};
use crate::read::compose::{Compose, Service};
use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::copied::join;
use crate::read::script::Script;
use crate::read::script_values;
use crate::rule::{Example, Found, Judge, Rule, Severity, compose, named};

/// A compose file with a script next to it as an example.
const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions }
}

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
        with(
            "services:\n  fit:\n    image: b\n    working_dir: /srv\n    command: [bash, \
             go.sh]\n    volumes:\n      - \
             ./go.sh:/srv/go.sh:ro\n      - ./ckpt:/srv/ckpt\n",
            &[("go.sh", "accelerate launch train.py --output_dir /srv/checkpoints --steps 9\n")],
        ),
        with(
            "services:\n  fit:\n    image: b\n    volumes:\n      - /nvme/results:/srv/result\n",
            &[(
                "all.sh",
                "docker compose run --rm -e A=b fit python fit.py --output-dir \"/srv/results/$1\"\n",
            )],
        ),
        compose(
            "services:\n  sft:\n    image: b\n    command: torchrun sft.py\n    environment:\n      \
             OUTPUT_DIR: \
             /checkpoint/a\n    volumes: [\"ckpt:/checkpoints\"]\nvolumes: {ckpt: }\n",
        ),
    ],
    silent: &[
        with(
            "services:\n  fit:\n    image: b\n    working_dir: /srv\n    command: [bash, \
             go.sh]\n    volumes:\n      - \
             ./go.sh:/srv/go.sh:ro\n      - ./ckpt:/srv/ckpt\n",
            &[(
                "go.sh",
                "CKPT=/srv/ckpt\naccelerate launch train.py --resume $CKPT --output_dir /srv/checkpoints\n",
            )],
        ),
        // It mounts more, and another service.
        with(
            "services:\n  fit:\n    image: b\n    volumes:\n      - \
             /nvme/results:/srv/result\n  other:\n    image: \
             b\n",
            &[(
                "all.sh",
                "docker compose run --rm -v /nvme/r:/srv/results fit python fit.py --output-dir \
                 /srv/results\n\
                 docker compose run --rm other python fit.py --output-dir /srv/results\n",
            )],
        ),
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
    // Commands can be long.
    if service.mounts().is_empty() {
        return None;
    }
    let own = file.started_words(service);
    let scripts = scripts(service).into_iter();
    let started: Vec<&str> = scripts.filter_map(|path| file.files.get(&path)?.as_deref()).collect();
    let words = [own.clone(), started.iter().flat_map(|text| words_of(file, text)).collect()].concat();
    let runs = runs_by_hand(file, service).into_iter();
    std::iter::once(words).chain(runs).find_map(|words| of_words(file, service, &words, &started))
}

/// `texts`: scripts that the service runs.
fn of_words(file: &Compose, service: &Service, words: &[String], texts: &[&str]) -> Option<Found> {
    let variables = service.variables();
    let directory = service.text("working_dir").unwrap_or_default();
    let mounts = service.mounts();
    let values = variables.iter().map(|(_, value)| value);
    let own = words.iter().chain(values).chain([&directory]).map(String::as_str);
    let texts: Vec<&str> = own.chain(texts.iter().copied()).collect();
    outputs(words, &variables).iter().find_map(|output| {
        if mounts.iter().any(|mount| mount.holds(&output.path)) {
            return None;
        }
        let writable = mounts.iter().filter(|mount| !mount.read_only);
        let target = meant(output, writable.map(|mount| mount.target.as_str()), &texts)?;
        Some(found(file, service, output, target))
    })
}

/// The shell scripts that a service runs, as far as they are mounted, from the directory of the compose file.
pub(crate) fn scripts(service: &Service) -> Vec<String> {
    let directory = service.text("working_dir").unwrap_or_default();
    let words =
        service.words().into_iter().filter(|word| word.ends_with(".sh") && !word.contains(['$', ' ']));
    let on_host = words.filter_map(|word| {
        let path = join(&directory, &word);
        service.mount_of(&path)?.on_host(&path)
    });
    on_host.collect()
}

/// The words of the commands of a script, with what its variables hold.
fn words_of(file: &Compose, text: &str) -> Vec<String> {
    let commands = script_values::commands(&Script::read(file.catalog, text));
    commands.into_iter().flat_map(|one| one.words).map(|word| word.text).collect()
}

/// Options of `docker compose run` with a value.
const VALUED: &[&str] = &[
    "-e",
    "--env",
    "--env-from-file",
    "-l",
    "--label",
    "--name",
    "-p",
    "--publish",
    "-u",
    "--user",
    "-w",
    "--workdir",
    "--cap-add",
    "--cap-drop",
    "--pull",
];

/// The commands that scripts next to the file run in a service, with the mounts of the file alone.
fn runs_by_hand(file: &Compose, service: &Service) -> Vec<Vec<String>> {
    let scripts = file.files.iter().filter(|(path, _)| path.ends_with(".sh") && !path.contains('/'));
    let texts = scripts.filter_map(|(_, text)| text.as_deref()).filter(|text| text.contains("compose"));
    let commands = texts.flat_map(|text| script_values::commands(&Script::read(file.catalog, text)));
    commands.filter_map(|command| run_in(&command, &service.name)).collect()
}

/// The command behind `docker compose run … SERVICE`.
fn run_in(command: &Command, service: &str) -> Option<Vec<String>> {
    let engine = command.program() == "docker" && command.word(1) == "compose";
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let run = words.iter().position(|word| *word == "run");
    let run = run.filter(|_| engine || command.program() == "docker-compose")?;
    let mut at = run + 1;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        // It brings another program, or more mounts.
        if ["-v", "--volume", "--entrypoint"].iter().any(|option| word.starts_with(option)) {
            return None;
        }
        at += 1 + usize::from(VALUED.contains(word));
    }
    let rest = words.get(at + 1..).filter(|_| words.get(at).copied() == Some(service))?;
    Some(rest.iter().map(|word| (*word).to_owned()).collect())
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
