//! More ranks of an MPIJob than its workers have GPUs or slots.

use crate::read::manifest::{Container, Document, Manifest, scalar};
use crate::rule::{Found, Judge, Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "mpi-slots-exceed-gpus",
    severity: Severity::Error,
    summary: "an MPIJob has at most as many slots as GPUs, and as many ranks as slots",
    explain: include_str!("mpi_slots_exceed_gpus.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        mpi!("slotsPerWorker: 8", "\"8\"", "4"),
        mpi!("slotsPerWorker: 4", "\"16\"", "4"),
        mpi!("runPolicy: {}", "\"4\"", "4"),
    ],
    silent: &[
        mpi!("slotsPerWorker: 4", "\"8\"", "4"),
        mpi!("slotsPerWorker: 4", "$(N)", "4"),
        mpi!("slotsPerWorker: 2", "\"4\"", "4"),
        mpi!("slotsPerWorker: 4", "\"16\", --oversubscribe", "4"),
        mpi!("runLauncherAsWorker: true\n  slotsPerWorker: 4", "\"16\"", "4"),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.documents.iter().filter(|one| one.kind == "MPIJob").flat_map(of_job).collect()
}

const ROLES: &[&str] = &["spec", "mpiReplicaSpecs"];

fn number(document: &Document, path: &[&str]) -> Option<u64> {
    scalar(&document.value, path)?.parse().ok()
}

fn of_job(document: &Document) -> Vec<Found> {
    let slots = match document.at(&["spec", "slotsPerWorker"]) {
        Some(_) => number(document, &["spec", "slotsPerWorker"]),
        // The operator's default.
        None => Some(1),
    };
    let Some(slots) = slots else { return Vec::new() };
    let pods = document.pods();
    let of_role = |role: &str| pods.iter().find(|pod| pod.path.iter().any(|step| step == role));
    let mut found = Vec::new();
    if let Some(pod) = of_role("Worker") {
        let containers = pod.containers();
        found.extend(containers.iter().find_map(|one| too_many_slots(document, one, slots)));
    }
    if let Some(pod) = of_role("Launcher").filter(|_| found.is_empty()) {
        let containers = pod.containers();
        found.extend(containers.iter().find_map(|one| too_many_ranks(document, one, slots)));
    }
    found
}

/// More slots than GPUs of a worker.
fn too_many_slots(document: &Document, worker: &Container, slots: u64) -> Option<Found> {
    let gpus = worker.gpus().filter(|gpus| (1..slots).contains(gpus))?;
    let message = format!(
        "slotsPerWorker is {slots}, but a worker gets {gpus} GPUs; ranks share a GPU, which NCCL refuses"
    );
    let line = document.line_of(&["spec", "slotsPerWorker"]);
    Some(Found::warning(line, message, format!("Set `slotsPerWorker: {gpus}`, or request {slots} GPUs")))
}

/// More ranks than slots of all workers.
fn too_many_ranks(document: &Document, launcher: &Container, slots: u64) -> Option<Found> {
    let words = launcher.words();
    let mpirun = words.first().is_some_and(|word| word.rsplit('/').next() == Some("mpirun"));
    // Other ways to place ranks, and other implementations of MPI, count otherwise.
    let other = words.iter().any(|word| {
        let word = word.to_ascii_lowercase();
        word.contains("oversubscribe") || ["-h", "--host", "--hostfile", "-hostfile"].contains(&word.as_str())
    });
    let implementation = scalar(&document.value, &["spec", "mpiImplementation"]);
    let open = implementation.is_none_or(|name| name == "OpenMPI");
    let as_worker = scalar(&document.value, &["spec", "runLauncherAsWorker"]).as_deref() == Some("true");
    if !mpirun || other || !open || as_worker {
        return None;
    }
    let pair = words.windows(2).find(|pair| ["-np", "-n", "--np", "-c"].contains(&pair[0].as_str()))?;
    let ranks: u64 = pair[1].parse().ok()?;
    let path = [ROLES, &["Worker", "replicas"]].concat();
    let workers = match document.at(&path) {
        Some(_) => number(document, &path)?,
        None => 1,
    };
    let all = workers.saturating_mul(slots);
    let message = format!(
        "mpirun starts {ranks} ranks on {workers} workers with {slots} slots each; `There are not enough \
         slots available`"
    );
    let fix = format!("Start {all} ranks, or set `slotsPerWorker: {}`", ranks.div_ceil(workers.max(1)));
    (ranks > all && workers > 0).then(|| Found::error(launcher.line(&["command"]), message, fix))
}
