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
        let rank =
            matches!(one.name.as_str(), "RANK" | "LOCAL_RANK") || one.name.starts_with("OMPI_COMM_WORLD_");
        let local = one.name == "MASTER_ADDR"
            && matches!(value, "localhost" | "127.0.0.1")
            && settings.kind == Some(Kind::DeepspeedEnvironment);
        let message = match (rank, local) {
            (true, _) => {
                format!(
                    "{}={value} gives every process the same value; the launcher must set it per \
                     process",
                    one.name
                )
            }
            (_, true) => format!(
                "MASTER_ADDR={value} resolves to a different machine on every node; the \
                 rendezvous hangs"
            ),
            _ => return None,
        };
        // Shells set it to a default for runs without a launcher.
        (one.held != Held::Command).then(|| Found::warning(one.location.clone(), message, "Remove it"))
    });
    found.collect()
}
