//! Ranks that make no progress, in words: which, in what state, what shows more, and only with evidence which
//! one the others wait for.

use std::time::Duration;

/// A rank, and for how long it has done nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quiet {
    pub node: String,
    /// Its number in the job (`RANK`).
    pub rank: u32,
    /// Its process id in the container.
    pub process: u32,
    /// The state of its process, as in /proc/PID/stat.
    pub state: char,
    /// The kernel function that it sleeps in, where the kernel shows it.
    pub sleeps_in: Option<String>,
    /// For how long, in seconds.
    pub seconds: u64,
}

/// A job that makes no progress, or a rank of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    /// The ranks to look at.
    pub ranks: Vec<Quiet>,
    /// Ranks that do nothing either, and in whose state nothing differs.
    pub waiting: usize,
    /// Ranks that work.
    pub working: usize,
    /// Ranks that were not seen.
    pub unseen: usize,
    /// Whether the job's other ranks all wait, and the state of these differs.
    pub likely: bool,
}

impl Quiet {
    /// Neither waiting nor working: stopped by a signal or a debugger, or in the kernel.
    fn is_stuck(&self) -> bool {
        matches!(self.state, 'T' | 't' | 'D')
    }

    fn state_in_words(&self) -> String {
        let function = self.sleeps_in.as_ref().map(|name| format!(" in {name}")).unwrap_or_default();
        match self.state {
            'T' => "is stopped by a signal (state T)".to_owned(),
            't' => "is stopped by a debugger (state t)".to_owned(),
            'D' => format!("waits in the kernel{function} (state D: disk, NFS or a driver)"),
            'R' => "is runnable (state R)".to_owned(),
            state => format!("sleeps{function} (state {state})"),
        }
    }
}

impl Stall {
    /// From all ranks that were seen; `None` where nothing speaks for a stall.
    pub(super) fn of(observed: Vec<Quiet>, expected: usize, stall: Duration) -> Option<Stall> {
        let unseen = expected.saturating_sub(observed.len());
        // The others begin to wait after the one that they wait for.
        let (still, working): (Vec<Quiet>, Vec<Quiet>) =
            observed.into_iter().partition(|rank| rank.seconds >= stall.as_secs() / 2);
        let quiet = still.iter().filter(|rank| rank.seconds >= stall.as_secs()).count();
        let (count, working) = (still.len(), working.len());
        let evidence = working == 0 && unseen == 0;
        let stall = |ranks: Vec<Quiet>, likely| {
            let waiting = count - ranks.len();
            Some(Stall { ranks, waiting, working, unseen, likely })
        };
        let long = |rank: &&Quiet| rank.seconds >= stall_seconds(&still, quiet);
        let stuck: Vec<Quiet> = still.iter().filter(long).filter(|rank| rank.is_stuck()).cloned().collect();
        if quiet == 0 {
            None
        } else if !stuck.is_empty() {
            let likely = evidence && stuck.len() < count;
            stall(stuck, likely)
        } else if working == 0 {
            match differs(&still) {
                Some(one) => stall(vec![one], evidence),
                None => stall(still.clone(), false),
            }
        } else if quiet * 2 <= expected {
            // A rank that waits for one that works does nothing either: more than half of them say nothing.
            stall(still.iter().filter(long).cloned().collect(), false)
        } else {
            None
        }
    }

    /// Whether it names the same ranks in the same states.
    pub(super) fn is_like(&self, other: &Stall) -> bool {
        let named = |stall: &Stall| {
            let one = |rank: &Quiet| (rank.rank, rank.process, rank.state);
            (stall.ranks.iter().map(one).collect::<Vec<_>>(), stall.likely)
        };
        named(self) == named(other)
    }

    /// A warning: the ranks, the evidence, and what shows more.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .ranks
            .iter()
            .map(|rank| {
                let state = rank.state_in_words();
                format!(
                    "warning: rank {} on {} (pid {}) {state} and has made no progress for {} s",
                    rank.rank, rank.node, rank.process, rank.seconds
                )
            })
            .collect();
        let mut others = Vec::new();
        if self.waiting > 0 {
            others.push(format!("{} wait (almost no CPU time, I/O or network traffic)", self.waiting));
        }
        if self.working > 0 {
            others.push(format!("{} use CPU time or transfer data", self.working));
        }
        if self.unseen > 0 {
            others.push(format!("{} could not be checked", self.unseen));
        }
        if !others.is_empty() {
            lines.push(format!("  other ranks: {}", others.join(", ")));
        }
        if self.likely {
            lines.push("  likely cause: the other ranks wait for it in a collective operation".into());
        }
        lines.extend(self.ranks.first().into_iter().flat_map(hints));
        lines
    }
}

fn stall_seconds(still: &[Quiet], quiet: usize) -> u64 {
    let mut all: Vec<u64> = still.iter().map(|rank| rank.seconds).collect();
    all.sort_unstable_by(|one, other| other.cmp(one));
    quiet.checked_sub(1).and_then(|last| all.get(last)).copied().unwrap_or(u64::MAX)
}

/// The one rank that sleeps somewhere else than all others, of three or more.
fn differs(all: &[Quiet]) -> Option<Quiet> {
    let location = |rank: &Quiet| (rank.state, rank.sleeps_in.clone());
    let alone = |one: &&Quiet| all.iter().filter(|other| location(other) == location(one)).count() == 1;
    let mut odd = all.iter().filter(alone);
    let one = odd.next()?;
    let mut rest = all.iter().filter(|other| *other != one).map(location);
    let first = rest.next()?;
    (all.len() > 2 && rest.all(|other| other == first)).then(|| one.clone())
}

fn hints(rank: &Quiet) -> Vec<String> {
    let (node, process) = (&rank.node, rank.process);
    let mut hints = vec![format!(
        "  Show its stack (py-spy in the image): `envdoc cluster exec {node} -- py-spy dump --nonblocking \
         --pid {process}`; C and C++ frames: `envdoc cluster exec {node} -- gdb -p {process} -batch -ex \
         'thread apply all bt'`"
    )];
    if rank.state == 'T' {
        hints.push(format!("  Continue it: `envdoc cluster exec {node} -- kill -CONT {process}`"));
    }
    hints.push(
        "  To record what each rank's NCCL collectives do, set TORCH_NCCL_TRACE_BUFFER_SIZE=2000 and \
         TORCH_NCCL_DUMP_ON_TIMEOUT=1 (PyTorch's flight recorder) under `environment` in cluster.yaml"
            .into(),
    );
    hints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet(rank: u32, state: char, sleeps_in: &str, seconds: u64) -> Quiet {
        let (node, process) = (format!("node{}", rank + 1), 400 + rank);
        Quiet { node, rank, process, state, sleeps_in: Some(sleeps_in.into()), seconds }
    }

    fn stall(observed: &[Quiet], expected: usize) -> Option<Stall> {
        Stall::of(observed.to_vec(), expected, Duration::from_secs(60))
    }

    #[test]
    fn stall_is_likely_only_with_evidence() {
        let stopped = [quiet(0, 'S', "futex_wait", 55), quiet(1, 'T', "do_signal_stop", 62)];
        let found = stall(&stopped, 2).unwrap();
        assert!(found.likely && found.ranks == stopped[1..], "{found:?}");
        let lines = found.lines().join("\n");
        assert!(lines.contains("rank 1 on node2 (pid 401) is stopped by a signal (state T)"), "{lines}");
        assert!(lines.contains("py-spy dump --nonblocking --pid 401"), "{lines}");
        // One was not seen; one works.
        assert!(!stall(&stopped, 3).unwrap().likely);
        let works = [quiet(0, 'R', "0", 2), stopped[1].clone()];
        assert!(!stall(&works, 2).unwrap().likely);
    }

    #[test]
    fn equally_sleeping_ranks_have_no_suspect() {
        let alike = [quiet(0, 'S', "futex_wait", 90), quiet(1, 'S', "futex_wait", 80)];
        let found = stall(&alike, 2).unwrap();
        assert!(!found.likely && found.ranks.len() == 2, "{found:?}");
        let odd = [alike[0].clone(), alike[1].clone(), quiet(2, 'S', "hrtimer_nanosleep", 90)];
        let found = stall(&odd, 3).unwrap();
        assert!(found.likely && found.ranks == odd[2..], "{found:?}");
    }

    #[test]
    fn ranks_waiting_for_a_working_one_are_not_a_stall() {
        let waits = [quiet(0, 'R', "0", 1), quiet(1, 'S', "futex_wait", 90), quiet(2, 'S', "futex_wait", 90)];
        assert_eq!(stall(&waits, 3), None);
        assert_eq!(stall(&[quiet(0, 'S', "futex_wait", 30), quiet(1, 'S', "futex_wait", 20)], 2), None);
    }
}
