//! A program that sudo starts without the variables that the script set for it.

use crate::programs;
use crate::read::assigned;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};
use catalog::Catalog;
use catalog::variables::Owner;

pub(crate) const RULE: Rule = Rule {
    id: "sudo-drops-variables",
    severity: Severity::Warning,
    summary: "sudo keeps the variables that ranks read",
    explain: include_str!("sudo_drops_variables.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "start.sh",
            "export MASTER_ADDR=10.8.0.3 MASTER_PORT=29500\nexport WORLD_SIZE=2 RANK=$1\nsudo \
             /opt/venv/bin/python \
             train.py\n",
        ),
        named("start.sh", "export NCCL_SOCKET_IFNAME=eno1\nsudo -u train torchrun --standalone train.py\n"),
        named("start.sh", "export CUDA_VISIBLE_DEVICES=0,1\nsudo -H bash -c 'cd /x && python train.py'\n"),
        named("start.sh", "NCCL_DEBUG=INFO RANK=0 WORLD_SIZE=2 sudo python3 train.py\n"),
    ],
    silent: &[
        named("start.sh", "export RANK=0\nsudo -E python train.py\n"),
        named("start.sh", "export RANK=0\nsudo --preserve-env=RANK python train.py\n"),
        named("start.sh", "export RANK=0\nsudo RANK=$RANK python train.py\n"),
        named("start.sh", "export RANK=0\nsudo env RANK=0 python train.py\n"),
        named("start.sh", "export RANK=0\nsudo nvidia-smi -pm 1\npython train.py\n"),
        named("start.sh", "export NCCL_DEBUG=INFO\nsudo -u train ./start_python.sh\n"),
        named("start.sh", "export HF_HOME=/x\nsudo python setup.py install\n"),
    ],
};

/// What torch, NCCL and CUDA read in each rank.
const OF_RANKS: &[&str] =
    &["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "CUDA_VISIBLE_DEVICES"];

fn judge(script: &Script) -> Vec<Found> {
    let exported: Vec<(String, usize)> = assigned::of_script(script)
        .into_iter()
        .filter(|one| one.exported)
        .map(|one| (one.name, one.line))
        .collect();
    let mut found = Vec::new();
    for command in script.commands.iter().filter(|command| command.sudo && starts_ranks(command)) {
        let keeps = |word: &String| word.starts_with("--preserve-env") || word == "-E" || is_cluster(word);
        if command.sudo_options.iter().any(keeps) {
            continue;
        }
        let set_by_sudo = &command.sudo_sets;
        let before = command.sets.iter().map(|(name, _)| name).filter(|name| !set_by_sudo.contains(name));
        let above = exported.iter().filter(|(_, line)| *line < command.line).map(|(name, _)| name);
        let mut lost: Vec<&str> = Vec::new();
        for name in above.chain(before).map(String::as_str) {
            let given = set_by_sudo.iter().any(|one| one == name);
            if !given && is_of_ranks(script.catalog, name) && !lost.contains(&name) {
                lost.push(name);
            }
        }
        let Some(first) = lost.first() else { continue };
        let more = if lost.len() > 1 { format!(" and {} more", lost.len() - 1) } else { String::new() };
        let message = format!(
            "sudo does not pass on {first}{more}: it starts {} with a new environment, unless sudoers keeps \
             the variables",
            command.program()
        );
        let fix = format!("Write `sudo --preserve-env={} {} …`", lost.join(","), command.program());
        found.push(Found::warning(command.line, message, fix).about(*first));
    }
    found
}

/// `-HE`.
fn is_cluster(word: &str) -> bool {
    word.starts_with('-')
        && !word.starts_with("--")
        && word.contains('E')
        && word[1..].chars().all(char::is_alphabetic)
}

/// Whether a command starts a program that reads the variables of ranks.
fn starts_ranks(command: &crate::read::dockerfile::command::Command) -> bool {
    let program = command.program();
    let setup = command.words.iter().any(|word| {
        let base = word.text.rsplit('/').next().unwrap_or_default();
        matches!(base, "setup.py" | "pip" | "venv" | "manage.py") || base.starts_with("get-pip")
    });
    if programs::is_shell(program) {
        // A script of its own may set them itself.
        let text = command.text();
        return command
            .words
            .get(1)
            .is_some_and(|word| word.text.ends_with('c') && word.text.starts_with('-'))
            && (text.contains("python") || programs::names_launcher(&text));
    }
    (programs::is_launcher(program) || programs::is_python(program) || program == "vllm") && !setup
}

/// Whether it is a variable that each rank reads.
fn is_of_ranks(catalog: &Catalog, name: &str) -> bool {
    let owner = |owner: Owner| matches!(owner, Owner::Nccl | Owner::Gloo | Owner::Ucx);
    OF_RANKS.contains(&name) || catalog.variable(name).is_some_and(|row| owner(row.owner))
}
