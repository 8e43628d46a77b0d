//! A variable does not reach the ranks that are started on other machines.

use diagnostic::{Fix, shell};

use crate::read::settings::{Held, Launch, Setting, Settings};
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};
use catalog::Catalog;
use catalog::variables::Status;

pub(crate) const RULE: Rule = Rule {
    id: "variable-not-forwarded",
    severity: Severity::Warning,
    summary: "variables reach the ranks on other nodes",
    explain: include_str!("variable_not_forwarded.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("train.sh", "export GLOO_SOCKET_IFNAME=eth0\ndeepspeed --hostfile=hostfile train.py\n"),
        named("train.sh", "export NCCL_DEBUG=WARN\nmpirun --hostfile hosts -bind-to none -x PATH train\n"),
        named("train.sh", "export GLOO_SOCKET_IFNAME=eth0\ndeepspeed --include 'a:0,1@b:0,1' train.py\n"),
        named("train.sh", "export MASTER_ADDR=node1\nmpirun --host node1:4,node2:4 --bind-to none train\n"),
        named("etc/profile", "export NCCL_SOCKET_IFNAME=eth0\n"),
        named("Dockerfile", "FROM python:3.12\nRUN echo 'export NCCL_SOCKET_IFNAME=eth0' >> /etc/profile\n"),
        named(
            ".bashrc",
            "case $- in\n    *i*) ;;\n      *) return;;\nesac\nexport NCCL_SOCKET_IFNAME=eth0\n",
        ),
    ],
    silent: &[
        named(
            "train.sh",
            "export GLOO_SOCKET_IFNAME=eth0\ndeepspeed --include localhost:0,1,2,3 --master_port 29511 \
             train.py\ndeepspeed --include=\"localhost:$GPUS\" train.py\ndeepspeed --num_nodes=1 \
             --hostfile h train.py\n",
        ),
        named("train.sh", "export NCCL_SOCKET_IFNAME=eth0\ndeepspeed --hostfile=hostfile train.py\n"),
        named(
            "train.sh",
            "export GLOO_SOCKET_IFNAME=eth0\ntorchrun --nnodes 2 --node_rank $R --master_addr a train.py\n",
        ),
        named("train.sh", "export NCCL_DEBUG=WARN\nmpirun --hostfile hosts -x NCCL_DEBUG train\n"),
        named(".bashrc", "export NCCL_SOCKET_IFNAME=eth0\ncase $- in *i*) ;; *) return;; esac\n"),
        named("etc/profile", "export EDITOR=vi\n"),
        named("train.sh", "export MASTER_ADDR=node1\nmpirun --host node1:4 --bind-to none train\n"),
        named("train.sh", "export MASTER_ADDR=a\nmpirun -H a,b --bind-to none train --master $MASTER_ADDR\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nexport MASTER_ADDR=node1\nmpirun -H a,b --bind-to none train\n",
        ),
        named("train.sh", "export MASTER_ADDR=a\ndeepspeed --hostfile=hosts train.py\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    let mut found = Vec::new();
    if settings.kind == Some(Kind::Profile) {
        found.extend(in_profile(settings));
    }
    let written = settings.written.iter().filter(|one| is_of_the_stack(settings.catalog, &one.name));
    found.extend(written.map(|one| {
        let message = format!(
            "{} is written to {}, which commands run over ssh do not \
             read",
            one.name, one.file
        );
        let fix = match settings.kind {
            Some(Kind::Dockerfile) => {
                "Use ENV in the image, and .deepspeed_env or `-x` for ranks started \
                 over ssh"
            }
            _ => "Use .deepspeed_env, `mpirun -x` or /etc/nccl.conf",
        };
        Found::note(one.location.clone(), message, fix)
    }));
    for launch in &settings.launches {
        found.extend(not_forwarded(settings, launch));
    }
    found
}

fn is_of_the_stack(catalog: &Catalog, name: &str) -> bool {
    let shells = [
        "PATH",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "CUDA_HOME",
        "MAX_JOBS",
        "PIP_INDEX_URL",
        "PDSH_RCMD_TYPE",
        "PDSH_SSH_ARGS_APPEND",
        "DS_ENV_FILE",
    ];
    let runs = catalog.variable(name).is_some_and(|row| row.status != Status::Build && !row.set_by_launcher);
    let build = name.starts_with("DS_BUILD_")
        || name.to_ascii_uppercase().ends_with("_PROXY")
        || name.starts_with("OMPI_");
    runs && !shells.contains(&name) && !build
}

/// What a login shell alone reads.
fn in_profile(settings: &Settings) -> Vec<Found> {
    let bashrc = settings.name.ends_with("bashrc");
    let guard = settings
        .scopes
        .iter()
        .flat_map(|scope| &scope.settings)
        .filter(|one| is_of_the_stack(settings.catalog, &one.name));
    guard
        .filter(|one| {
            one.held == Held::Script
                && (!bashrc || settings.returns.is_some_and(|line| line < one.location.line))
        })
        .map(|one| {
            let why = if bashrc {
                "below the line that returns in non-interactive shells"
            } else {
                "which only login shells read"
            };
            let message = format!(
                "{} is set in {}, {why}; commands run over ssh do not have it",
                one.name, settings.name
            );
            Found::note(one.location.clone(), message, "Use .deepspeed_env, `mpirun -x` or /etc/nccl.conf")
        })
        .collect()
}

/// What a launcher does not hand on.
fn not_forwarded(settings: &Settings, launch: &Launch) -> Vec<Found> {
    let all = settings.scopes.iter().flat_map(|scope| &scope.settings);
    let exported = all.filter(|one| one.held == Held::Script && one.location.line < launch.line);
    let mut seen = std::collections::BTreeSet::new();
    exported
        .filter(|one| {
            let reaches = is_of_the_stack(settings.catalog, &one.name) || is_address(settings, launch, one);
            reaches && seen.insert(one.name.clone())
        })
        .filter(|one| match launch.program.as_str() {
            "deepspeed" => !settings.catalog.deepspeed_exports().forwards(&one.name),
            _ => !launch.forwards.contains(&one.name) && !one.name.starts_with("CUDA_VISIBLE"),
        })
        .map(|one| {
            let (message, fix) = match launch.program.as_str() {
                "deepspeed" => (
                    format!(
                        "{} does not reach other nodes: the DeepSpeed launcher (line {}) forwards only \
                         NCCL*, PYTHON*, MV2*, UCX* and .deepspeed_env",
                        one.name, launch.line
                    ),
                    hand_on(one),
                ),
                program => (
                    format!(
                        "{} does not reach other nodes: {program} (line {}) forwards only variables \
                         named with -x",
                        one.name, launch.line
                    ),
                    Fix::manual(format!("Use `{program} -x {} …`", one.name)),
                ),
            };
            Found::warning(one.location.clone(), message, fix)
        })
        .collect()
}

/// Whether a setting is the address of the first rank, which mpirun sets for no rank.
fn is_address(settings: &Settings, launch: &Launch, one: &Setting) -> bool {
    launch.program != "deepspeed"
        && launch.over_ssh
        && matches!(one.name.as_str(), "MASTER_ADDR" | "MASTER_PORT")
        // It may be an option of the program.
        && !settings.uses.contains(&one.name)
}

/// A line in .deepspeed_env; by a command, where the value is known.
fn hand_on(one: &Setting) -> Fix {
    let Some(value) = one.value.as_deref() else {
        return Fix::manual(format!("Add a line `{}=…` to .deepspeed_env", one.name));
    };
    let line = shell::word(&format!("{}={value}", one.name)).into_owned();
    Fix::run("Add it to .deepspeed_env:", format!("echo {line} >> .deepspeed_env"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{File, Kind, lint};

    #[test]
    fn the_line_to_paste_is_quoted_for_the_shell() {
        let text = "export TORCH_CUDA_ARCH_LIST=\"9.0a;12.5\"\ndeepspeed --hostfile=h train.py\n";
        let file = File::new(catalog::testing::catalog(), "train.sh", text, Kind::Shell);
        let found = lint(&[&RULE], &[], &file);
        let command = "echo 'TORCH_CUDA_ARCH_LIST=9.0a;12.5' >> .deepspeed_env";
        assert_eq!(found[0].found.fixes[0].commands, [command]);
    }
}
