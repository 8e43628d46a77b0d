//! OOM kills in words.

use super::{Evidence, Finding, Kill, Limit, Unread};
use diagnostic::Fix;
use diagnostic::units::memory;
use docker::container::Found;

fn subject(container: Option<&str>) -> String {
    container.map_or("the cgroup of this session".to_owned(), |name| format!("container {name}"))
}

impl Finding {
    /// What to add of a process that SIGKILL ended where there is no evidence of an OOM kill; `None` where
    /// there is. `container`: its name, `None` for this machine.
    pub(crate) fn no_evidence(&self, container: Option<&str>) -> Option<String> {
        match self {
            Finding::Killed(_) => None,
            Finding::Nothing => {
                Some(format!("not by the OOM killer: its counter did not change in {}", subject(container)))
            }
            Finding::Unread(why) => Some(unread(why)),
        }
    }
}

/// That the check for OOM kills failed.
pub(crate) fn unread(why: &Unread) -> String {
    format!("could not check for an OOM kill: {why}")
}

impl Kill {
    /// A sentence without its end; `container`: its name, `None` for this machine.
    pub fn message(&self, container: Option<&str>) -> String {
        let subject = subject(container);
        let limit = self.limit(if container.is_some() { "the container" } else { "the cgroup" });
        match &self.evidence {
            Evidence::Counter { file, before, after } => {
                let count = after - before;
                let processes = if count == 1 { "process" } else { "processes" };
                format!(
                    "the kernel's OOM killer killed {count} {processes} in {subject} (oom_kill in {file} \
                     went from {before} to {after}); {limit}"
                )
            }
            Evidence::Engine => format!(
                "the engine reports that the kernel's OOM killer killed a process in {subject} \
                 (State.OOMKilled is true); {limit}"
            ),
        }
    }

    fn limit(&self, whose: &str) -> String {
        match (self.limit, self.own_limit) {
            (Limit::Bytes(bytes), Some(true)) => {
                format!("{whose} reached its memory limit of {}", memory(bytes))
            }
            (Limit::Bytes(bytes), None) => format!("the memory limit of {whose} is {}", memory(bytes)),
            (Limit::Bytes(bytes), Some(false)) => format!(
                "{whose} did not reach its own memory limit of {}, so a parent cgroup or the machine ran out \
                 of memory",
                memory(bytes)
            ),
            (Limit::Unlimited, _) => format!(
                "{whose} has no memory limit of its own, so a parent cgroup or the machine ran out of memory"
            ),
            (Limit::Unknown, _) => format!("the memory limit of {whose} could not be read"),
        }
    }

    /// The commands that confirm it, and what to do.
    pub fn fixes(&self, container: Option<&str>) -> Vec<Fix> {
        let kernel = "sudo dmesg -T | grep -i 'killed process'".to_owned();
        let counter = match &self.evidence {
            Evidence::Counter { file, .. } => Some(format!("cat {file}")),
            Evidence::Engine => None,
        };
        let Some(name) = container else {
            let commands: Vec<String> = counter.into_iter().chain([kernel]).collect();
            return vec![
                Fix {
                    commands,
                    ..Fix::safe("Confirm the OOM kill; the kernel log names the processes:", &[])
                },
                Fix::manual("Use fewer ranks or smaller sizes, or raise the memory limit of the cgroup"),
            ];
        };
        let counter = counter.map(|cat| format!("docker exec {name} {cat}"));
        let confirm = format!(
            "Confirm the OOM kill on the machine of {name}; the kernel log names the processes{}:",
            match self.evidence {
                Evidence::Counter { .. } => {
                    " (engines set OOMKilled for the container's first process, and for others only in part)"
                }
                Evidence::Engine => "",
            }
        );
        let commands = counter.into_iter().chain([inspect(name), kernel]).collect();
        let needs = "reduce what its processes need (batch size, data loader workers)";
        let raise = match self.limit {
            Limit::Bytes(_) => Fix::run(
                format!("Raise the memory limit on the machine of {name}, or {needs}:"),
                format!("docker update --memory SIZE --memory-swap SIZE {name}"),
            ),
            Limit::Unlimited | Limit::Unknown => {
                Fix::manual(format!("Free memory on the machine of {name}, or {needs}"))
            }
        };
        vec![Fix { commands, ..Fix::safe(confirm, &[]) }, raise]
    }
}

/// The command that shows the engine's word and the limit in bytes.
pub(crate) fn inspect(name: &str) -> String {
    format!("docker inspect -f '{{{{.State.OOMKilled}}}} {{{{.HostConfig.Memory}}}}' {name}")
}

/// Of a container that the engine reports an OOM kill of: an addition to `exited with status 137`. Empty for
/// any other, whatever its exit status.
pub(crate) fn reported(found: &Found) -> String {
    if !found.out_of_memory {
        return String::new();
    }
    let limit = match found.memory_limit {
        Some(bytes) => format!("its memory limit is {}", memory(bytes)),
        None => "it has no memory limit of its own".to_owned(),
    };
    format!(
        ", killed by the kernel (out of memory; {limit}; `{}` prints true and the limit)",
        inspect(&found.name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_names_the_counter_the_limit_and_the_commands() {
        let file = "/sys/fs/cgroup/memory.events".to_owned();
        let evidence = Evidence::Counter { file, before: 0, after: 1 };
        let kill = Kill { evidence, limit: Limit::Bytes(512 << 20), own_limit: Some(true) };
        assert_eq!(
            kill.message(Some("node2")),
            "the kernel's OOM killer killed 1 process in container node2 (oom_kill in \
             /sys/fs/cgroup/memory.events went from 0 to 1); the container reached its memory limit of 512 \
             MiB"
        );
        let fixes = kill.fixes(Some("node2"));
        assert_eq!(
            fixes[0].commands,
            [
                "docker exec node2 cat /sys/fs/cgroup/memory.events",
                "docker inspect -f '{{.State.OOMKilled}} {{.HostConfig.Memory}}' node2",
                "sudo dmesg -T | grep -i 'killed process'",
            ]
        );
        let other = Kill { limit: Limit::Unlimited, own_limit: Some(true), ..kill };
        assert!(
            other.message(None).contains("the cgroup has no memory limit of its own"),
            "{}",
            other.message(None)
        );
    }

    #[test]
    fn an_exit_status_alone_is_no_kill() {
        let found = |out_of_memory| Found { exit: Some(137), out_of_memory, ..Found::default() };
        assert_eq!(reported(&found(false)), "");
        assert!(reported(&found(true)).contains("it has no memory limit of its own"));
    }
}
