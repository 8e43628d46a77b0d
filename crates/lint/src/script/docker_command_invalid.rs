//! Commands of docker that it refuses, or whose options exclude each other.

use catalog::Catalog;
use catalog::docker_options::DockerCommand;

use crate::read::docker_run::{DockerRun, option};
use crate::read::dockerfile::command::{Command, Word};
use crate::read::handed::all_commands;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "docker-command-invalid",
    severity: Severity::Error,
    summary: "docker takes the commands of a script",
    explain: include_str!("docker_command_invalid.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "docker run -d --rm --restart always --gpus all my/train\n"),
        named(
            "run.sh",
            "docker run --rm --gpus all -v $PWD:/workspace -w workspace my/train python train.py\n",
        ),
        named("run.sh", "docker run --rm --volume=/data:data my/train\n"),
        named("run.sh", "docker run --rm --mount type=bind,source=/data,target=data my/train\n"),
        named("run.sh", "docker build -t MyTeam/Trainer:latest .\n"),
        named("run.sh", "docker run --rm ghcr.io/MyTeam/trainer:1 train\n"),
        named("run.sh", "docker build -t trainer -f docker/Dockerfile\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:1\ndocker run -it --rm --gpus all image python t.py\n",
        ),
        named("run.sh", "docker run --rm --gpus all --network host -p 8000:80 vllm/vllm-openai --model m\n"),
        named("run.sh", "ssh node1 'docker run -it --rm image python train.py'\n"),
        named("run.sh", "docker run --gpus all --shm-size=16 img python t.py\n"),
    ],
    silent: &[
        named(
            "run.sh",
            "docker run --rm --restart no my/train\ndocker run -d --restart=unless-stopped my/train\n",
        ),
        named("run.sh", "docker run -v /data -v name:/x -v $A:$B -w $W -w /work my/train\n"),
        named("run.sh", "docker build -t my/a:Latest --build-arg A=B .\ndocker build - < Dockerfile\n"),
        named(
            "run.sh",
            "docker build $ARGS\ndocker build \"$@\"\ndocker buildx bake\ndocker build -t a $DIR\n",
        ),
        named(
            "run.sh",
            "docker build --provenance false --sbom false -t a .\ndocker run -it --rm image bash\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --gres=gpu:1\nsrun --pty docker run -it image bash\ndocker run -t i a\n",
        ),
        named(
            "run.sh",
            "docker run --network bridge -p 1:1 localhost:5000/a/b:X c\nssh -t a 'docker run -it i'\n",
        ),
        named("run.sh", "docker run --rm $IMAGE:$TAG a\ndocker run --rm ${REGISTRY}/Team a\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let batch = script.text.lines().any(|line| line.starts_with("#SBATCH"));
    let mut found: Vec<Found> = Vec::new();
    for command in all_commands(script) {
        if let Some(run) = DockerRun::read(script.catalog, &command) {
            let one = conflict(&command, &run)
                .or_else(|| relative(&command, &run))
                .or_else(|| shared_memory(&command, &run))
                .or_else(|| capitals(command.line, run.image))
                .or_else(|| host_ports(&command, &run));
            found.extend(one);
        } else if command.program() == "docker" {
            found.extend(build(script.catalog, &command));
        }
    }
    found.extend(terminal(script, batch));
    found
}

fn value<'c>(run: &DockerRun<'c>, names: &[&str]) -> Vec<(&'c Word, String)> {
    let given = run.options.iter().filter(|(name, _)| names.contains(&name.as_str()));
    given
        .filter_map(|(name, word)| {
            let word = (*word)?;
            let long = word.text.strip_prefix(&format!("--{name}="));
            Some((word, long.unwrap_or(&word.text).to_owned()))
        })
        .collect()
}

fn conflict(command: &Command, run: &DockerRun) -> Option<Found> {
    let restart =
        value(run, &["restart"]).into_iter().find(|(_, value)| !matches!(value.as_str(), "no" | ""))?;
    let known = restart.0.known && run.has("rm");
    let message =
        format!("--rm and --restart {} exclude each other; docker refuses to start the container", restart.1);
    known.then(|| Found::error(restart.0.line.max(command.line), message, "Remove one of them"))
}

/// A size of shared memory without a unit.
fn shared_memory(command: &Command, run: &DockerRun) -> Option<Found> {
    let (word, text) = value(run, &["shm-size"]).into_iter().next()?;
    let bytes: u64 = text.parse().ok()?;
    let message = format!("--shm-size {text} is a number of bytes; programs that use /dev/shm fail");
    let fix = format!("Write `--shm-size {text}g`");
    (bytes < LEAST_BYTES).then(|| Found::warning(word.line.max(command.line), message, fix))
}

/// Less is no size that somebody wants for /dev/shm.
const LEAST_BYTES: u64 = 1 << 20;

/// A directory in the container that is not absolute.
fn relative(command: &Command, run: &DockerRun) -> Option<Found> {
    let line = |word: &Word| word.line.max(command.line);
    let windows = |text: &str| text.contains('\\') || text.as_bytes().get(1) == Some(&b':');
    for (word, text) in value(run, &["w", "workdir"]) {
        if !text.is_empty() && !text.starts_with(['/', '$', '~', '-']) && !windows(&text) {
            let message = format!("the working directory {text} is not an absolute path; docker refuses it");
            return Some(Found::error(line(word), message, format!("Write `-w /{text}`")));
        }
    }
    for (word, text) in value(run, &["v", "volume"]) {
        let mut parts = text.split(':');
        let (Some(source), Some(target)) = (parts.next(), parts.next()) else { continue };
        let plain = !target.is_empty()
            && !source.is_empty()
            && !target.contains(['$', '{', '}', '\\'])
            && !source.contains("${");
        if plain && !target.starts_with(['/', '~']) && !windows(&text) {
            let message =
                format!("the target {target} of the mount is not an absolute path; docker refuses it");
            return Some(Found::error(line(word), message, format!("Write `-v {source}:/{target}`")));
        }
    }
    for (word, text) in value(run, &["mount"]) {
        let target = text.split(',').find_map(|part| {
            ["target=", "dst=", "destination="].iter().find_map(|name| part.strip_prefix(name))
        });
        let Some(target) = target.filter(|target| !target.starts_with(['/', '$']) && !windows(target)) else {
            continue;
        };
        let message = format!("the target {target} of the mount is not an absolute path; docker refuses it");
        return Some(Found::error(line(word), message, format!("Write `target=/{target}`")));
    }
    None
}

/// Capital letters in the path of an image.
fn capitals(line: usize, word: &Word) -> Option<Found> {
    let text = word.text.as_str();
    if text.contains('$') || text.contains('`') || text.starts_with('-') {
        return None;
    }
    let name = text.split('@').next().unwrap_or(text);
    let (host, path) = match name.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (host, path),
        _ => ("", name),
    };
    let path = path.split(':').next().unwrap_or(path);
    // `IMAGE` stands for a name.
    let placeholder = host.is_empty() && !path.chars().any(|letter| letter.is_ascii_lowercase());
    let upper = path.chars().any(|letter| letter.is_ascii_uppercase()) && !placeholder;
    let lower = path.to_ascii_lowercase();
    let fixed = if host.is_empty() { lower } else { format!("{host}/{lower}") };
    let message =
        format!("the repository {path} has capital letters; docker refuses it (`must be lowercase`)");
    upper.then(|| Found::error(word.line.max(line), message, format!("Write `{fixed}`")))
}

/// Ports that are published on the network of the host.
fn host_ports(command: &Command, run: &DockerRun) -> Option<Found> {
    let host = value(run, &["net", "network"]).iter().any(|(_, value)| value == "host");
    let (word, port) = value(run, &["p", "publish"]).into_iter().next().filter(|_| host)?;
    let mut parts = port.rsplit(':');
    let (inner, outer) = (parts.next()?, parts.next());
    let differ = outer.is_some_and(|outer| outer != inner);
    let message = format!(
        "docker ignores -p {port} with the network of the host: the server is on its own port, {}",
        inner.split('/').next().unwrap_or(inner)
    );
    let (line, fix) = (word.line.max(command.line), "Remove -p, or the network of the host");
    Some(if differ { Found::warning(line, message, fix) } else { Found::note(line, message, fix) })
}

/// A `docker build` without a directory to build from, or with several.
fn build(catalog: &Catalog, command: &Command) -> Option<Found> {
    let at = match (command.word(1), command.word(2)) {
        ("build", _) => 2,
        ("buildx" | "image", "build") => 3,
        _ => return None,
    };
    let words = &command.words[at..];
    let known = catalog.docker_options();
    let takes_value = |name: &str| known.option(DockerCommand::Build, name).map(|row| row.value);
    let (mut contexts, mut index) = (Vec::new(), 0);
    while let Some(word) = words.get(index) {
        index += 1;
        let text = word.text.as_str();
        let name = text.split('=').next().unwrap_or(text);
        let attached =
            text.contains('=') || (text.starts_with("-t") || text.starts_with("-f")) && text.len() > 2;
        if text == "-" || !text.starts_with('-') {
            // A variable may be options.
            if text.starts_with('$') && !(word.quoted && !text.contains('@') && !text.contains('*')) {
                return None;
            }
            contexts.push(word);
        } else if takes_value(name) == Some(true) || text.starts_with("-t") || text.starts_with("-f") {
            let given = if attached { None } else { words.get(index) };
            index += usize::from(!attached);
            if let Some(tag) = given.filter(|_| matches!(name, "-t" | "--tag"))
                && let Some(found) = capitals(command.line, tag)
            {
                return Some(found);
            }
        } else if takes_value(name).is_none() {
            return None;
        }
    }
    let piped = command.piped || command.heredoc.is_some();
    match contexts.len() {
        0 if !piped => {
            let message = "docker build has no directory to build from; docker refuses the command";
            Some(Found::error(command.line, message, "Add the build context: `.`"))
        }
        0 | 1 => None,
        _ => {
            let message = format!(
                "docker build takes one directory and gets {}: {} and {}; docker refuses the command",
                contexts.len(),
                contexts[0].text,
                contexts[1].text
            );
            Some(Found::error(contexts[0].line.max(command.line), message, "Leave one build context"))
        }
    }
}

/// A terminal for a container where there is none.
fn terminal(script: &Script, batch: bool) -> Vec<Found> {
    let wants = |command: &Command| {
        let verb = 1 + usize::from(command.word(1) == "container");
        if command.program() != "docker" || !matches!(command.word(verb), "run" | "exec") {
            return false;
        }
        let (mut inner, mut tty, mut detached, mut at) = (false, false, false, verb + 1);
        while let Some(found) =
            command.words.get(at).and_then(|word| option(script.catalog, word, command.words.get(at + 1)))
        {
            let long = found.name.len() > 1 && !found.name.chars().all(|letter| "ditPq".contains(letter));
            inner |= found.name == "interactive" || !long && found.name.contains('i');
            tty |= found.name == "tty" || !long && found.name.contains('t');
            detached |= found.name == "detach" || !long && found.name.contains('d');
            at += found.words;
        }
        inner && tty && !detached
    };
    let message = |place: &str| {
        format!("docker -it needs a terminal, and {place} has none: `the input device is not a TTY`")
    };
    let fix = "Leave -t out, or both";
    let own = script.commands.iter().filter(|command| (batch || command.piped) && wants(command));
    let mut found: Vec<Found> = own
        .map(|command| {
            let place = if batch { "a batch job" } else { "the end of a pipe" };
            Found::error(command.line, message(place), fix).unless_certain(command.certain)
        })
        .collect();
    for command in script.commands.iter().filter(|command| command.program() == "ssh") {
        let host = crate::read::handed::host_of_ssh(command).unwrap_or(1);
        let terminal = command.words[1..host.max(1)].iter().any(|word| {
            word.text.starts_with('-') && word.text.contains('t')
                || word.text.starts_with('$')
                || word.text.contains("RequestTTY")
        });
        let texts = crate::read::handed::of_command(command);
        if !terminal && texts.iter().flat_map(|text| text.commands()).any(|one| wants(&one)) {
            found.push(Found::error(
                command.line,
                message("ssh with a command"),
                "Use `ssh -t`, or leave -t of docker out",
            ));
        }
    }
    found
}
