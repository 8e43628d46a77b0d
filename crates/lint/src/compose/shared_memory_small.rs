//! Several processes and 64 MiB of shared memory.

use crate::programs;
use crate::read::compose::{Compose, Gpus, IsStack, Service, bare, text};
use crate::read::dockerfile::copied::join;
use crate::read::dockerfile::start::started;
use crate::recognize::base_name;
use crate::rule::{Example, Found, Judge, Rule, Severity, compose, named, stack};

/// A compose file with files next to it as an example.
const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions }
}

pub(crate) const RULE: Rule = Rule {
    id: "shared-memory-small",
    severity: Severity::Warning,
    summary: "services with several processes have enough shared memory",
    explain: include_str!("shared_memory_small.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    shm_size: 64m\n    command: torchrun \
             --nproc_per_node=8 t.py\n",
        ),
        compose(
            "services:\n  a:\n    build:\n      context: .\n      shm_size: 32gb\n    gpus: all\n    \
             command: torchrun --standalone --nproc_per_node=8 t.py\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    command: torchrun --nproc_per_node=8 \
             train.py\n",
        ),
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.10.0\n    gpus: all\n    command: \
             [\"--tensor-parallel-size\", \"4\"]\n",
        ),
        stack(
            "services:\n  a:\n    image: b\n    shm_size: 8g\n    command: torchrun --nproc_per_node=8 \
             train.py\n",
        ),
        compose("services:\n  a:\n    image: b\n    gpus: all\n    command: python t.py --num_workers 8\n"),
        with(
            "services:\n  a:\n    image: b\n    working_dir: /app\n    volumes: \
             [\"./:/app\"]\n    command: \
             python t.py\n",
            &[("t.py", "loader = DataLoader(data, num_workers=8, batch_size=4)\n")],
        ),
        with(
            "services:\n  a:\n    build: ./trainer\n",
            &[
                ("trainer/Dockerfile", "FROM b:1\nWORKDIR /app\nCOPY . .\nCMD [\"python\", \"t.py\"]\n"),
                ("trainer/t.py", "loader = DataLoader(data, num_workers=8, batch_size=4)\n"),
            ],
        ),
        named(
            "run.sh",
            "docker run --rm --gpus all my/train torchrun --standalone --nproc_per_node=8 train.py\n",
        ),
        compose(
            "services:\n  a:\n    image: t:1\n    gpus: all\n    command: torchrun --standalone \
             --nproc-per-node=8 t.py\n    tmpfs: [\"/dev/shm:size=64m\"]\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    build: {context: ., shm_size: 8gb}\n    shm_size: 8gb\n    gpus: \
             all\n    command: torchrun --nproc_per_node=8 t.py\n  web:\n    build:\n      context: \
             web\n      shm_size: 1gb\n    command: node server.js\n",
        ),
        named(
            "run.sh",
            "docker run --rm --gpus all --shm-size=16g my/train torchrun --standalone --nproc_per_node=8 \
             t.py\n",
        ),
        with(
            "services:\n  a:\n    image: b\n    gpus: all\n    command: torchrun --nproc_per_node=8 t.py\n",
            &[("daemon.json", "{\"default-shm-size\": \"8G\"}\n")],
        ),
        with(
            "services:\n  a:\n    image: b\n    working_dir: /app\n    volumes: \
             [\"./:/app\"]\n    command: \
             python t.py\n  c:\n    image: b\n    shm_size: 8g\n    command: python t.py --num_workers 8\n",
            &[(
                "t.py",
                "loader = DataLoader(data, num_workers=0)\nother = DataLoader(data, num_workers=args.n)\n",
            )],
        ),
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    shm_size: 8g\n    command: torchrun \
             --nproc_per_node=8 train.py\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    ipc: host\n    command: deepspeed \
             --num_gpus \
             4 train.py\n",
        ),
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.10.0\n    gpus: all\n    command: \
             [\"--tensor-parallel-size\", \"1\"]\n",
        ),
        stack(
            "services:\n  a:\n    image: b\n    command: torchrun --nproc_per_node=8 train.py\n    \
             volumes:\n      - type: tmpfs\n        target: /dev/shm\n        tmpfs: {size: 8589934592}\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    gpus: all\n    tmpfs: [\"/dev/shm:size=8g\"]\n    command: \
             torchrun --nproc_per_node=8 train.py\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    if engine_gives_more(file) {
        return Vec::new();
    }
    let lacking =
        file.services.iter().filter(|service| !service.extends_elsewhere && !has_memory(file, service));
    lacking.filter_map(|service| finding(file, service)).collect()
}

/// Whether the engine's configuration next to it gives containers another size, or the memory of the host.
fn engine_gives_more(file: &Compose) -> bool {
    let daemon = file.files.iter().find(|(name, _)| base_name(name) == "daemon.json");
    let Some(text) = daemon.and_then(|(_, text)| text.as_deref()) else { return false };
    text.contains("default-shm-size") || text.contains("default-ipc-mode")
}

fn finding(file: &Compose, service: &Service) -> Option<Found> {
    let known = workers(service).or_else(|| loaders(file, service));
    if let Some(size) = of_build(file, service) {
        let several = known.map(|(_, several)| several).or_else(|| service.gpus().map(|_| false))?;
        return Some(for_build(file, service, &size, several));
    }
    let (why, several) = known?;
    let size = service.text("shm_size").filter(|_| file.stack == IsStack::No);
    let is_set = size.is_some();
    let memory = match size {
        Some(size) if size.bytes().all(|digit| digit.is_ascii_digit()) => {
            format!("only {size} bytes of shared memory (shm_size)")
        }
        Some(size) => format!("only {size} of shared memory (shm_size)"),
        None => "the default 64 MiB of shared memory".to_owned(),
    };
    let message = format!("{} {why} with {memory}; NCCL and data loaders may run out of it", service.title);
    let fix = match file.stack {
        _ if file.run && is_set => "Set `--shm-size 8g`, or add `--ipc=host`",
        _ if file.run => "Add `--shm-size 8g` or `--ipc=host`",
        IsStack::No if is_set => "Set `shm_size: 8gb`, or add `ipc: host`",
        IsStack::No => "Add `shm_size: 8gb` or `ipc: host`",
        _ => "Add the volume `{type: tmpfs, target: /dev/shm, tmpfs: {size: 8589934592}}`",
    };
    Some(match several {
        true => Found::warning(service.line.clone(), message, fix),
        false => Found::note(service.line.clone(), message, fix),
    })
}

/// The size that a service gives to the steps of its build alone.
fn of_build(file: &Compose, service: &Service) -> Option<String> {
    let own = file.stack == IsStack::No && service.at(&["shm_size"]).is_none();
    service.at(&["build", "shm_size"]).and_then(text).filter(|size| own && !is_default(size))
}

fn for_build(file: &Compose, service: &Service, size: &str, several: bool) -> Found {
    let message = format!(
        "{}: `shm_size: {size}` under `build` applies only to RUN steps; the container has the default \
         64 MiB of shared memory",
        service.title
    );
    let line = file.line(&["services", &service.name, "build", "shm_size"]);
    let fix = "Move it to the service level, next to `build`";
    match several {
        true => Found::warning(line, message, fix),
        false => Found::note(line, message, fix),
    }
}

fn has_memory(file: &Compose, service: &Service) -> bool {
    // A stack ignores the two keys.
    let size = service.text("shm_size").is_some_and(|size| !is_default(&size));
    let keys = file.stack == IsStack::No && (size || service.at(&["ipc"]).is_some());
    let mounted = service
        .list(&["tmpfs"])
        .iter()
        .chain(&service.list(&["volumes"]))
        .any(|one| one.contains("/dev/shm") && !is_default(size_of_tmpfs(one)));
    let long = match service.at(&["volumes"]) {
        Some(serde_yaml::Value::Sequence(items)) => items
            .iter()
            .filter_map(|item| bare(item).as_mapping()?.get("target").and_then(text))
            .any(|target| target == "/dev/shm"),
        _ => false,
    };
    keys || mounted || long
}

/// The size of `/dev/shm:size=64m`; without one a tmpfs takes half of the memory.
fn size_of_tmpfs(mount: &str) -> &str {
    let options = mount.rsplit(':').next().unwrap_or_default().split(',');
    options.into_iter().find_map(|option| option.strip_prefix("size=")).unwrap_or_default()
}

/// Whether a size is not above the default: `64m`, `67108864`.
fn is_default(size: &str) -> bool {
    let end = size.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(size.len());
    let Ok(number) = size[..end].parse::<u64>() else { return false };
    let bytes = match size[end..].to_ascii_lowercase().trim_end_matches(['b', 'i']).trim() {
        "" => number,
        "k" => number << 10,
        "m" => number << 20,
        _ => return false,
    };
    bytes <= 64 << 20
}

/// The data loader with workers that a service's command or script starts.
fn loaders(file: &Compose, service: &Service) -> Option<(String, bool)> {
    const OPTIONS: &[&str] = &["--num_workers", "--num-workers", "--dataloader_num_workers"];
    let command = service.command();
    let mut words = command.split(|c: char| c.is_whitespace() || c == '=').filter(|word| !word.is_empty());
    let option = words.position(|word| OPTIONS.contains(&word)).and_then(|_| words.next());
    if let Some(count) = option.and_then(|word| word.parse::<u64>().ok()) {
        return (count > 0).then(|| (format!("loads data with {count} workers"), true));
    }
    scripts(file, service).iter().find_map(|path| {
        let text = file.files.get(path)?.as_deref()?;
        let count = text.lines().find_map(set_workers).filter(|_| text.contains("DataLoader("))?;
        Some((format!("runs {path}, whose data loader has num_workers={count},"), true))
    })
}

/// The number of workers that a line of Python gives to a data loader, if it is more than none.
fn set_workers(line: &str) -> Option<u64> {
    let code = line.split('#').next()?;
    let (_, rest) = code.split_once("num_workers")?;
    let value = rest.trim_start().strip_prefix('=')?.trim_start();
    let end = value.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(value.len());
    let ends = value[end..].trim_start();
    let whole = ends.is_empty() || ends.starts_with([',', ')']);
    value[..end].parse().ok().filter(|count| whole && *count > 0)
}

/// The scripts in Python that a service runs, as paths on the host from the directory of the file.
pub(crate) fn scripts(file: &Compose, service: &Service) -> Vec<String> {
    let built = file.built(service);
    let own = crate::read::compose::words(service.at(&["command"]));
    let words: Vec<String> = match (own.is_empty(), &built) {
        (true, Some(built)) => {
            let commands = started(built).into_iter();
            commands.flat_map(|command| command.words.into_iter().map(|word| word.text)).collect()
        }
        _ => own.iter().flat_map(|word| word.split_whitespace().map(str::to_owned)).collect(),
    };
    let words = words.iter().filter(|word| word.ends_with(".py") && !word.contains('$'));
    let directory = service.text("working_dir");
    let mut found = Vec::new();
    for word in words {
        let end = built.as_ref().and_then(|built| built.stages.last()).map(|stage| &stage.end);
        let in_image = directory.as_deref().or(end.map(|end| end.files.workdir.as_str())).unwrap_or_default();
        let path = join(in_image, word);
        let mounted = service.mount_of(&path).and_then(|mount| mount.on_host(&path));
        let copied = end.map(|end| end.files.candidates(&path)).unwrap_or_default();
        let folder = service.build_context().unwrap_or_default();
        found.extend(mounted);
        found.extend(copied.iter().map(|path| join(&folder, path)));
    }
    found
}

/// What starts several processes, and whether they are certainly several.
fn workers(service: &Service) -> Option<(String, bool)> {
    let command = service.command();
    let words: Vec<&str> =
        command.split(|c: char| c.is_whitespace() || c == '=').filter(|word| !word.is_empty()).collect();
    let number = |names: &[&str]| {
        let index = words.iter().position(|word| names.contains(word))?;
        words.get(index + 1)?.trim_matches(['"', '\'']).parse::<u64>().ok()
    };
    let parallel = number(&[
        "--tensor-parallel-size",
        "-tp",
        "--tp",
        "--tp-size",
        "--num-shard",
        "--pipeline-parallel-size",
    ]);
    if let Some(count) = parallel.filter(|count| *count > 1) {
        return Some((format!("splits a model across {count} GPUs"), true));
    }
    if !programs::launches(&command) {
        return None;
    }
    let processes = number(&["--nproc_per_node", "--nproc-per-node", "--num_gpus", "--num_processes"]);
    match (processes, service.gpus()) {
        (Some(1), _) | (None, Some(Gpus::Count(1))) => None,
        (Some(count), _) => Some((format!("starts {count} processes"), true)),
        (None, Some(Gpus::Ids(ids))) if ids.len() == 1 => None,
        _ => Some(("starts a process on each GPU".to_owned(), false)),
    }
}
