//! Options of docker or apptainer that the container gets as its command.

use catalog::Catalog;

use crate::gpus_option;
use crate::programs;
use crate::read::docker_run::{DockerRun, option, own_value};
use crate::read::dockerfile::command::{Command, Word};
use crate::read::handed::all_commands;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "options-behind-image",
    severity: Severity::Error,
    summary: "options of `docker run` and `apptainer exec` are before the image",
    explain: include_str!("options_behind_image.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "IMAGE=pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\ndocker run --rm --ipc=host \"$IMAGE\" \
             --gpus all \
             torchrun train.py\n",
        ),
        named("run.sh", "docker run --gpus all nvcr.io/nvidia/pytorch:24.09-py3 --ipc=host\n"),
        named(
            "run.sh",
            "docker run --gpus all vllm/vllm-openai:latest --model m --ipc=host --tensor-parallel-size 2\n",
        ),
        named("run.sh", "podman run -it my/image:1 -v /data:/data bash\n"),
        named("run.sh", "apptainer exec train.sif --nv python train.py\n"),
        named("run.sh", "ssh node1 'docker run --rm image --shm-size=8g --gpus all python train.py'\n"),
        named(
            "run.sh",
            "IMAGE=lab/seg:4\ndocker build -t \"$IMAGE\" .\ndocker run --rm -v /data:/data \"$IMAGE\" \
             --gpus all --shm-size 16g --data /data --epochs 9\n",
        ),
        named(
            "run.sh",
            "docker run --rm --gpus all lab/serve:2 --ipc=host --ulimit memlock=-1 --port 8000\n",
        ),
        named("run.sh", "podman run --rm lab/eval:1 --shm-size=8g --split test\n"),
        named("run.sh", "docker run --rm lab/train:3 --gpus device=0\n"),
        named("run.sh", "docker run --rm lab/train:3 --gpus=device=1,2 --epochs 3\n"),
        named("run.sh", "docker run lab/train:3 --gpus '\"device=0,1\"' --epochs 3\n"),
        named("run.sh", "docker run lab/train:3 --gpus=all\n"),
        named("run.sh", "docker run lab/train:3 --gpus count=2,capabilities=utility --lr 1\n"),
    ],
    silent: &[
        named(
            "run.sh",
            "docker run --rm --gpus all lab/train:1 --gpus all --epochs 3\ndocker run lab/train:1 --network \
             resnet50 --volume 3\ndocker run lab/train:1 --gpus 0,1 --shm-size auto\n",
        ),
        named("run.sh", "docker run --gpus all --ipc=host image torchrun train.py --gpus 4 --name a\n"),
        named("run.sh", "docker run --entrypoint python image --name a -v train.py\n"),
        named("run.sh", "docker run --gpus all vllm/vllm-openai:latest --model m --tensor-parallel-size 2\n"),
        named("run.sh", "docker run my/trainer --gpus 4 --epochs 3\n"),
        named("run.sh", "docker run my/trainer --gpus=4 --epochs 3\ndocker run my/trainer --gpus devices\n"),
        named("run.sh", "docker run my/trainer --name a --device cuda python\n"),
        named("run.sh", "docker run \"${opts[@]}\" $X --gpus all train\n"),
        named("run.sh", "apptainer exec --nv train.sif python train.py --nv\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    all_commands(script)
        .iter()
        .filter_map(|command| of_docker(script.catalog, command).or_else(|| of_apptainer(command)))
        .collect()
}

/// Options that no program has but the engine, as good as.
const OWN: &[&str] =
    &["gpus", "ipc", "shm-size", "ulimit", "cap-add", "rm", "privileged", "v", "volume", "mount", "network"];

/// Programs that begin the command of a container, besides those that many rules know.
const PROGRAMS: &[&str] = &["vllm", "nvidia-smi", "jupyter", "pip", "make"];

/// Images whose command is a program, or the options of a server that knows none of these.
fn is_known(image: &str) -> bool {
    [
        "vllm/vllm-openai",
        "lmsysorg/sglang",
        "nvcr.io/nvidia/",
        "nvidia/cuda",
        "pytorch/pytorch",
        "rocm/pytorch",
    ]
    .iter()
    .any(|start| image.starts_with(start) && !image.contains("nvcr.io/nvidia/k8s"))
}

fn of_docker(catalog: &Catalog, command: &Command) -> Option<Found> {
    let run = DockerRun::read(catalog, command)?;
    if run.has("entrypoint") || is_unknown_list(run.image) {
        return None;
    }
    let first = run.behind.first()?;
    let found = match first.text.starts_with('-') {
        true => leading(catalog, run.behind).or_else(|| {
            // A server's own options come first, the engine's behind them.
            let server = ["vllm/vllm-openai", "lmsysorg/sglang"];
            let is_server = server.iter().any(|start| run.image.text.starts_with(start));
            let of_engine = |word: &&Word| {
                ["--gpus", "--ipc", "--shm-size", "--ulimit", "--rm", "--privileged"].iter().any(|one| {
                    word.text == *one || word.text.strip_prefix(one).is_some_and(|rest| rest.starts_with('='))
                })
            };
            run.behind.iter().find(of_engine).filter(|_| is_server)
        }),
        false => None,
    };
    let (several, alone) = of_own_image(catalog, &run);
    let certain = found.is_some() || several || is_known(&run.image.text);
    let at = found.or(alone).or_else(|| {
        let own = option(catalog, first, run.behind.get(1)).filter(|one| OWN.contains(&one.name.as_str()))?;
        // An image with a known command: nothing else can be meant.
        let unmistakable = matches!(own.name.as_str(), "gpus" | "ipc" | "shm-size" | "ulimit" | "rm");
        (unmistakable && is_known(&run.image.text)).then_some(first)
    })?;
    let engine = command.program();
    let message = format!(
        "{} comes after the image {}: {engine} reads its options up to the image, and the container \
         gets this \
         as its command",
        at.text, run.image.text
    );
    let line = at.line.max(command.line);
    let fix = format!("Write the options of {engine} before the image");
    Some(Found::error(line, message, fix).unless_certain(certain))
}

/// The first word behind an image of one's own, where it is an option that only an engine has, and whether
/// more than one of these follows. An option that stands before the image as well is the program's.
fn of_own_image<'c>(catalog: &Catalog, run: &DockerRun<'c>) -> (bool, Option<&'c Word>) {
    let (mut at, mut names) = (0, Vec::new());
    while let Some(found) = run.behind.get(at).and_then(|word| option(catalog, word, run.behind.get(at + 1)))
    {
        let value = found.value.map(|word| own_value(&found.name, &word.text));
        if !run.has(&found.name) && is_of_engine(&found.name, &value.unwrap_or_default()) {
            names.push((at, found.name));
        }
        at += found.words;
    }
    let several = names.len() > 1;
    let strong = |name: &str| matches!(name, "ipc" | "shm-size" | "ulimit" | "gpus");
    let first = names.first().filter(|(at, name)| *at == 0 && (several || strong(name)));
    (several && first.is_some(), first.and_then(|(at, _)| run.behind.get(*at)))
}

/// Whether an option has a value that only an engine takes: `--shm-size 16g`, `--gpus all`.
fn is_of_engine(name: &str, value: &str) -> bool {
    match name {
        "shm-size" => {
            let digits = value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
            digits.len() < value.len()
                && !digits.is_empty()
                && digits.bytes().all(|byte| byte.is_ascii_digit())
        }
        "ipc" => value == "host",
        "ulimit" => true,
        "gpus" => value == "all" || gpus_option::names_field(value),
        "network" => value == "host",
        "cap-add" => value.starts_with(|letter: char| letter.is_ascii_uppercase()),
        "v" | "volume" => value.contains(":/"),
        _ => false,
    }
}

/// The first word of options of the engine that begin the command, where a program follows them.
fn leading<'w>(catalog: &Catalog, words: &'w [Word]) -> Option<&'w Word> {
    let (mut at, mut own) = (0, false);
    while let Some(found) = words.get(at).and_then(|word| option(catalog, word, words.get(at + 1))) {
        own |= OWN.contains(&found.name.as_str());
        at += found.words;
    }
    let program = words.get(at)?.text.as_str();
    let base = program.rsplit('/').next().unwrap_or(program);
    let known = programs::is_python(base) || programs::is_launcher(base) || programs::is_shell(base);
    let starts = known || PROGRAMS.contains(&base) || base.ends_with(".sh");
    (own && starts && at > 0).then(|| &words[0])
}

/// Whether a word may be several: `$ARGS`.
fn is_unknown_list(word: &Word) -> bool {
    let lower = word.text.to_ascii_lowercase();
    let named = ["image", "img", "tag", "container"].iter().any(|part| lower.contains(part));
    word.text.starts_with('$') && !word.quoted && !named
}

/// `apptainer exec image.sif --nv`: options end at the image.
fn of_apptainer(command: &Command) -> Option<Found> {
    if !matches!(command.program(), "apptainer" | "singularity") || command.word(1) != "exec" {
        return None;
    }
    let image = command.words.iter().position(|word| word.text.ends_with(".sif"))?;
    let next = command.words.get(image + 1)?;
    let own =
        ["--nv", "--nvccli", "--bind", "-B", "--cleanenv", "-e", "--pwd", "--env", "--contain", "--rocm"];
    let name = next.text.split('=').next().unwrap_or_default();
    let before = command.words[2..image].iter().all(|word| word.text != "--");
    (own.contains(&name) && before).then(|| {
        let program = command.program();
        let message = format!(
            "{} comes after the image {}: {program} takes it for the program to start, and fails",
            next.text, command.words[image].text
        );
        Found::error(
            next.line.max(command.line),
            message,
            format!("Write it before the image: `{program} exec {name} …`"),
        )
    })
}
