//! Open MPI's mpirun as root.

use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::setup::{User, setups};
use crate::read::dockerfile::start::started;
use crate::read::dockerfile::{Dockerfile, Stage, apt};
use crate::read::entry_scripts::{EntryScript, entry_scripts};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};

pub(crate) const RULE: Rule = Rule {
    id: "mpirun-as-root",
    severity: Severity::Error,
    summary: "mpirun of Open MPI runs as another user or is allowed to run as root",
    explain: include_str!("mpirun_as_root.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openmpi-bin\n\
             CMD [\"mpirun\", \"-np\", \"2\", \"hostname\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nENV OMPI_ALLOW_RUN_AS_ROOT=1\nRUN apt-get update && apt-get install -y \
             libopenmpi-dev\n\
             RUN mpirun -np 2 ./test\n",
        ),
        with(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openmpi-bin\nCOPY bench.sh \
             /usr/local/bin/bench\nENTRYPOINT [\"/usr/local/bin/bench\"]\n",
            &[("bench.sh", "#!/usr/bin/env bash\nset -e\nmpirun -np 8 ./all_reduce_perf\n")],
        ),
    ],
    silent: &[
        with(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openmpi-bin\nCOPY . /app\nWORKDIR \
             /app\n\
             CMD [\"bash\", \"bench.sh\"]\n",
            &[(
                "bench.sh",
                "export OMPI_ALLOW_RUN_AS_ROOT=1\nexport OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\nmpirun -np 8 x\n",
            )],
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openmpi-bin\n\
             CMD [\"mpirun\", \"--allow-run-as-root\", \"-np\", \"2\", \"hostname\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openmpi-bin\n\
             ENV OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\nCMD mpirun hostname\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y openmpi-bin && mpirun --version\n\
             USER nobody\n\
             CMD mpirun hostname\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y mpich\nCMD mpirun hostname\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let setups = setups(file);
    let mut found = Vec::new();
    for (stage, setups) in file.stages.iter().zip(&setups) {
        if !has_open_mpi(stage) {
            continue;
        }
        for run in &stage.runs {
            let root = setups.get(run.instruction).is_some_and(|setup| setup.user == User::Root);
            let allowed = VARIABLES.iter().all(|name| run.variable(name).is_some());
            found.extend(fault(&run.command).filter(|_| root && !allowed && !run.state.opaque));
        }
    }
    let last = file.stages.last().zip(setups.last().and_then(|setups| setups.last()));
    if let Some((stage, setup)) = last {
        let allowed = VARIABLES.iter().all(|name| stage.end.variables.has(name));
        let judged = setup.user == User::Root && !allowed && has_open_mpi(stage);
        found.extend(started(file).iter().filter(|_| judged).filter_map(fault));
        let scripts = if judged { entry_scripts(file) } else { Vec::new() };
        found.extend(scripts.iter().filter_map(in_script));
    }
    found
}

const VARIABLES: &[&str] = &["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];

/// The same in a script that the image starts.
fn in_script(script: &EntryScript) -> Option<Found> {
    // It may change to another user, or set the variables.
    let set = |command: &Command| {
        matches!(command.program(), "gosu" | "su" | "su-exec" | "setpriv" | "runuser")
            || command.sudo
            || command.sets.iter().any(|(name, _)| VARIABLES.contains(&name.as_str()))
            || command.exports.iter().any(|name| VARIABLES.contains(&name.as_str()))
    };
    if script.commands.iter().any(set) {
        return None;
    }
    let found = script.commands.iter().find_map(fault)?;
    let message = format!("{} (line {} of {})", found.message, found.line, script.path);
    Some(Found { line: script.line, message, ..found })
}

fn has_open_mpi(stage: &Stage) -> bool {
    stage.runs.iter().any(|run| {
        let packages = apt::packages(run.state.catalog, &run.command);
        packages.iter().any(|word| matches!(apt::name(word), "openmpi-bin" | "libopenmpi-dev"))
    })
}

fn fault(command: &Command) -> Option<Found> {
    let starts = matches!(command.program(), "mpirun" | "mpiexec" | "orterun");
    let harmless = ["--allow-run-as-root", "-allow-run-as-root", "--version", "-V", "--help", "-h"];
    if !starts || command.words.len() < 2 || harmless.iter().any(|word| command.has(word)) {
        return None;
    }
    let message = format!("{} of Open MPI refuses to run as root", command.program());
    let fix = "Add --allow-run-as-root, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1";
    Some(Found::error(command.line, message, fix).unless_certain(command.certain))
}
