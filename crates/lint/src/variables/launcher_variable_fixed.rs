//! A variable that the launcher sets for each rank is fixed in a file.

use crate::read::settings::{Held, Settings};
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "launcher-variable-fixed",
    severity: Severity::Warning,
    summary: "no file sets variables that the launcher sets per rank",
    explain: include_str!("launcher_variable_fixed.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named(".deepspeed_env", "MASTER_ADDR=localhost\nLOCAL_RANK=0\n"),
        named("Dockerfile", "FROM python:3.12\nENV RANK=0\n"),
        named(".deepspeed_env", "OMPI_COMM_WORLD_RANK=0\n"),
    ],
    silent: &[
        named(".deepspeed_env", "MASTER_ADDR=node1\n"),
        named("node1.env", "NODE_RANK=0\nRANK=0\n"),
        named("train.sh", "export MASTER_ADDR=localhost\nexport RANK=0\npython train.py\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    let lasting =
        matches!(settings.kind, Some(Kind::DeepspeedEnvironment | Kind::Dockerfile | Kind::Profile));
    if !lasting {
        return Vec::new();
    }
    let found = settings.known().filter_map(|(_, one, value)| {
        let name = one.name.as_str();
        let rank = matches!(name, "RANK" | "LOCAL_RANK");
        let local = name == "MASTER_ADDR" && matches!(value, "localhost" | "127.0.0.1");
        let deepspeed = settings.kind == Some(Kind::DeepspeedEnvironment);
        // Shells set it to a default for runs without a launcher.
        if one.held == Held::Command {
            return None;
        }
        if deepspeed && (rank || local) {
            let message = format!("{name} has no effect: DeepSpeed's launcher sets it itself on every node");
            return Some(Found::note(one.location.clone(), message, "Remove it"));
        }
        let message = match rank {
            true => format!("{name}={value}: processes started without a launcher all take this rank"),
            false if name.starts_with("OMPI_COMM_WORLD_") => {
                format!("{name}={value} gives every process the same value; mpirun must set it per process")
            }
            false => return None,
        };
        Some(Found::warning(one.location.clone(), message, "Remove it"))
    });
    found.collect()
}
