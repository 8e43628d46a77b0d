//! /dev/shm, through which processes of one node talk: it is there, has a size, and takes a file.

use std::time::{Duration, Instant};

use diagnostic::Fix;
use diagnostic::units::memory;
use docker::fan_out;

use super::outcome::{Outcome, PhaseFailed};
use super::phase::PhaseId;
use crate::fixes;
use crate::worker::session::Session;
use crate::worker::{Answer, Failure, SPACE_TRIAL_BYTES, Task, Unusable, Why};

/// Bytes of /dev/shm that Docker gives where nobody asks: less was asked for by mistake.
const SHM_MIN_BYTES: u64 = 64 << 20;

/// Where a /dev/shm is.
#[derive(Clone, Copy)]
pub(super) struct Endpoint<'p> {
    /// As findings name it.
    pub(super) name: &'p str,
    /// The container; `None` for this machine.
    pub(super) container: Option<&'p str>,
    /// The worker there.
    pub(super) session: &'p Session,
}

/// What is wrong with one.
enum Fault {
    TooSmall(u64),
    Unusable(Unusable),
    Missing,
    /// The worker is gone, or could not look.
    Unknown(Failure),
}

/// Has every worker try its /dev/shm.
pub(super) async fn check(
    endpoints: &[Endpoint<'_>],
    deadline: Duration,
    start: Instant,
    outcome: &mut Outcome,
) -> Result<(), PhaseFailed> {
    let ask = || Task::Space { path: "/dev/shm".into() };
    let found = fan_out(
        endpoints
            .iter()
            .copied()
            .map(|endpoint| async move { judged(endpoint.session.ask(ask(), deadline).await) }),
    )
    .await;
    let (mut failed, mut least) = (Vec::new(), u64::MAX);
    for (endpoint, found) in endpoints.iter().zip(found) {
        match found {
            Ok(total) => least = least.min(total),
            Err(fault) => {
                failed.push((endpoint.name.to_owned(), format!("{}: {}", endpoint.name, fault.message())));
                for fix in fault.fixes(endpoint.container) {
                    if !outcome.fixes.contains(&fix) {
                        outcome.fixes.push(fix);
                    }
                }
            }
        }
    }
    outcome.finish_phase(PhaseId::Shm, start, failed, &format!("/dev/shm has at least {}", memory(least)))
}

/// Its size in bytes, or what is wrong.
fn judged(answer: Result<Answer, Failure>) -> Result<u64, Fault> {
    match answer {
        // One that is too small is full as well.
        Ok(Answer::Space { total, unusable: None | Some(Unusable::Full), .. }) if total < SHM_MIN_BYTES => {
            Err(Fault::TooSmall(total))
        }
        Ok(Answer::Space { unusable: Some(why), .. }) => Err(Fault::Unusable(why)),
        Ok(Answer::Space { total, .. }) => Ok(total),
        Ok(other) => Err(Fault::Unknown(crate::worker::unexpected(&other))),
        Err(failure) if failure.why == Why::NotFound => Err(Fault::Missing),
        Err(failure) => Err(Fault::Unknown(failure)),
    }
}

impl Fault {
    fn message(&self) -> String {
        let uses = "NCCL and data loader processes exchange data through it and fail";
        match self {
            Fault::TooSmall(bytes) => {
                format!("/dev/shm has {}, less than Docker's default of 64 MiB; {uses}", memory(*bytes))
            }
            Fault::Unusable(Unusable::ReadOnly) => format!("/dev/shm is read-only; {uses}"),
            Fault::Unusable(Unusable::Full) => {
                format!(
                    "/dev/shm is full: it has no room for a file of {}; {uses}",
                    memory(SPACE_TRIAL_BYTES)
                )
            }
            Fault::Unusable(Unusable::Denied) => {
                format!("no file can be created in /dev/shm (permission denied); {uses}")
            }
            Fault::Unusable(Unusable::Other(why)) => {
                format!("no file can be created in /dev/shm ({why}); {uses}")
            }
            Fault::Missing => format!("/dev/shm does not exist; {uses}"),
            Fault::Unknown(failure) if matches!(failure.why, Why::Gone | Why::Unanswered) => {
                failure.message.clone()
            }
            Fault::Unknown(failure) => format!("could not check /dev/shm: {failure}"),
        }
    }

    /// The command that confirms it, and what to do.
    fn fixes(&self, container: Option<&str>) -> Vec<Fix> {
        if matches!(self, Fault::Unknown(_)) {
            return Vec::new();
        }
        let confirm = match container {
            Some(name) => Fix::run(
                format!("Confirm on the machine of {name}:"),
                format!("docker exec {name} sh -c 'mount | grep /dev/shm; df -h /dev/shm; touch /dev/shm/x'"),
            ),
            None => Fix::safe("Confirm:", &["mount | grep /dev/shm", "df -h /dev/shm", "touch /dev/shm/x"]),
        };
        match self {
            Fault::TooSmall(_) => larger(container),
            Fault::Unusable(Unusable::Full) => {
                let delete = Fix::manual("Delete files in /dev/shm that ended jobs left");
                [vec![confirm, delete], larger(container)].concat()
            }
            _ => vec![confirm, self.remedy(container)],
        }
    }

    /// What to do where no file can be made.
    fn remedy(&self, container: Option<&str>) -> Fix {
        match (self, container) {
            (Fault::Unusable(Unusable::ReadOnly), Some(name)) => Fix::run(
                format!(
                    "Mount it for writing on the machine of {name} (a volume or tmpfs of the container on \
                        /dev/shm that is read-only must be changed in its configuration):"
                ),
                format!(
                    "sudo nsenter --target $(docker inspect -f '{{{{.State.Pid}}}}' {name}) --mount mount -o \
                        remount,rw /dev/shm"
                ),
            ),
            (Fault::Unusable(Unusable::ReadOnly), None) => {
                Fix::run("Mount it for writing:", "sudo mount -o remount,rw /dev/shm")
            }
            (Fault::Missing, Some(_)) => fixes::recreate("Recreate the cluster:"),
            (Fault::Missing, None) => Fix::run(
                "Mount it:",
                "sudo mkdir -m 1777 /dev/shm && sudo mount -t tmpfs -o mode=1777 shm /dev/shm",
            ),
            (_, Some(name)) => Fix::run(
                "Give it the usual mode:",
                format!("docker exec --user 0 {name} chmod 1777 /dev/shm"),
            ),
            (_, None) => Fix::run("Give it the usual mode:", "sudo chmod 1777 /dev/shm"),
        }
    }
}

fn larger(container: Option<&str>) -> Vec<Fix> {
    match container {
        Some(_) => vec![Fix::restarts_service(
            "Set `limits: { shm: 16g }` in cluster.yaml (memory is used only on demand), then apply:",
            &["envdoc cluster up"],
        )],
        None => vec![
            Fix::run("Enlarge it, outside of containers:", "sudo mount -o remount,size=16g /dev/shm"),
            Fix::manual("In a container, start it again with `docker run --shm-size 16g`"),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_shared_memory_that_takes_a_file_passes() {
        let space = |total, unusable| judged(Ok(Answer::Space { total, free: total, unusable }));
        assert_eq!(space(64 << 20, None).ok(), Some(64 << 20));
        let message =
            |judged: Result<u64, Fault>| judged.err().map(|fault| fault.message()).unwrap_or_default();
        assert!(message(space(1 << 20, None)).starts_with("/dev/shm has 1 MiB, less than Docker's default"));
        // A full one of 64 KiB: its size is what is wrong.
        assert!(message(space(64 << 10, Some(Unusable::Full))).starts_with("/dev/shm has 64 KiB, less than"));
        assert!(message(space(1 << 30, Some(Unusable::ReadOnly))).starts_with("/dev/shm is read-only"));
        let full = message(space(1 << 30, Some(Unusable::Full)));
        assert!(full.starts_with("/dev/shm is full: it has no room for a file of 4 MiB"), "{full}");
        let failed = |why| message(judged(Err(Failure { why, message: "x".into() })));
        assert!(failed(Why::NotFound).starts_with("/dev/shm does not exist"));
        assert!(failed(Why::Other).starts_with("could not check /dev/shm: "));
        assert_eq!(failed(Why::Gone), "x");
    }
}
