//! `launch`: a training job over all nodes, and none of its processes left behind.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tokio::sync::Notify;

use super::jobs::{Ended, Job};
use super::not_running::NotRunning;
use super::plan::ClusterPlan;
use super::render::launch;
use super::request::Launcher;
use diagnose::torchrun::{self, TableEntry};
use diagnostic::error::{Error, Kind};
use docker::engine::Engine;
use docker::exec::{self, Command};

/// The programs that start a job, one a node or one in all.
pub fn jobs<'e>(
    plan: &ClusterPlan,
    engines: &[(String, &'e Engine)],
    launcher: Launcher,
    script: &[String],
    mark: &str,
) -> Result<Vec<Job<'e>>, Error> {
    let job = |node: &str, engine: &'e Engine, mut argv: Vec<String>, environment: Vec<String>| {
        argv.extend(script.iter().cloned());
        let user = plan.ssh.as_ref().map(|ssh| ssh.user.clone());
        let command = Command { argv, environment, user, input: false };
        Job { node: node.to_owned(), container: node.to_owned(), engine, command }
    };
    let missing = || Error::new(Kind::Engine, "some nodes are unreachable").hint("envdoc cluster status");
    match launcher {
        Launcher::None => Err(Error::new(
            Kind::Usage,
            "cluster.yaml sets `launcher: none`, so no launcher can start a script",
        )
        .hint(
            "pass --launcher torchrun or --launcher deepspeed, or run a program on every node: envdoc \
                cluster exec all -- …",
        )),
        Launcher::Deepspeed if plan.ssh.is_none() => Err(Error::new(
            Kind::Usage,
            "the DeepSpeed launcher needs an SSH server in the containers, and this cluster has none",
        )
        .hint(
            "set `launcher: deepspeed` in cluster.yaml and run `envdoc cluster up`, or pass --launcher \
            torchrun",
        )),
        Launcher::Deepspeed => {
            let (node, engine) = engines.first().ok_or_else(missing)?;
            Ok(vec![job(
                node,
                engine,
                launch::deepspeed(plan),
                vec![format!("DS_ENV_FILE={}", marked(mark))],
            )])
        }
        Launcher::Torchrun => plan
            .nodes
            .iter()
            .map(|node| {
                let (_, engine) = engines.iter().find(|(name, _)| *name == node.name).ok_or_else(missing)?;
                Ok(job(&node.name, engine, launch::torchrun(plan, node), Vec::new()))
            })
            .collect(),
    }
}

/// Where DeepSpeed's launcher reads the variables that it takes along to the other nodes.
fn marked(mark: &str) -> String {
    format!("/tmp/envdoc-job-{mark}")
}

/// Has DeepSpeed's launcher give the job's mark to the ranks on all nodes, which it starts over SSH.
pub async fn mark_ranks(engine: &Engine, container: &str, mark: &str) -> Result<(), crate::Error> {
    let write = r#"umask 022; printf 'ENVDOC_JOB=%s\n' "$1" >"$2""#;
    let argv = ["sh", "-c", write, "sh", mark, &marked(mark)];
    let ran = match exec::run(engine, container, &argv, std::time::Duration::from_secs(10)).await {
        Ok(ran) => ran,
        Err(why) => {
            let stopped = NotRunning::find(engine, container, container).await;
            return Err(stopped.map_or(why.into(), crate::Error::NotRunning));
        }
    };
    match ran.status {
        0 => Ok(()),
        status => {
            let (what, output) = ("writing DeepSpeed's variables", ran.stderr.trim().to_owned());
            Err(crate::Error::Command { what, status, output })
        }
    }
}

/// Takes that away again.
pub async fn unmark_ranks(engine: &Engine, container: &str, mark: &str) {
    let _ =
        exec::run(engine, container, &["rm", "-f", &marked(mark)], std::time::Duration::from_secs(10)).await;
}

/// Which rank failed first, as torchrun's summary or DeepSpeed's launcher tells: lines are given as they
/// come.
#[derive(Default)]
pub struct FirstFailure {
    found: RefCell<Option<Rank>>,
    root: RefCell<Option<String>>,
    /// The number of each node's first rank, and how many it has.
    ranks: BTreeMap<String, (u32, u32)>,
    /// Notified when a rank has failed: torchrun then waits up to five minutes for the other nodes before it
    /// ends, DeepSpeed's launcher for ever, and they hold their GPUs.
    pub alarm: Notify,
}

/// A rank that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rank {
    node: String,
    rank: Option<String>,
    exit: Option<String>,
    /// Whether it is ssh's own exit status: 255 where the connection broke.
    ssh: bool,
}

/// A rank that SIGKILL ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KilledRank {
    /// The node that it runs on.
    pub node: String,
    /// Its number, where the launcher tells.
    pub rank: Option<String>,
}

impl FirstFailure {
    /// For a plan's nodes.
    pub fn of(plan: &ClusterPlan) -> FirstFailure {
        let mut next = 0;
        let ranks = plan.nodes.iter().map(|node| {
            let first = next;
            next += node.slots;
            (node.name.clone(), (first, node.slots))
        });
        FirstFailure { ranks: ranks.collect(), ..FirstFailure::default() }
    }

    /// A rank of a node's own torchrun has ended.
    fn ended(&self, node: &str, line: &str) {
        let Some(ended) = torchrun::rank_ended(line) else { return };
        let rank = ended.local_rank.and_then(|local| Some(self.ranks.get(node)?.0 + local));
        self.failed(node, rank, ended.exit);
    }

    /// The words of DeepSpeed's launcher on a node, which pdsh puts that node's name before: `node2: [date]
    /// [ERROR] [launch.py:259:sigkill_handler] ['/usr/bin/python3', …, '--local_rank=0', …] exits with return
    /// code = 9`; and pdsh's own when it lost the node: `pdsh@node1: node2: ssh exited with exit code 255`.
    /// The command is that of the node's last rank whichever failed, so only a node's single rank is known by
    /// it.
    fn ended_far(&self, line: &str) {
        let number = |text: &str| text.trim().parse::<i64>().is_ok();
        if let Some((before, exit)) =
            line.split_once(" exits with return code = ").filter(|(_, exit)| number(exit))
        {
            let node = before.split(": ").next().unwrap_or_default();
            if let Some((first, count)) = self.ranks.get(node) {
                self.failed(node, (*count == 1).then_some(*first), exit.trim());
            }
        }
        if let Some((before, exit)) =
            line.split_once(": ssh exited with exit code ").filter(|(_, exit)| number(exit))
        {
            let node = before.rsplit(": ").next().unwrap_or_default();
            if before.starts_with("pdsh@") && self.ranks.contains_key(node) {
                let found =
                    Rank { node: node.to_owned(), rank: None, exit: Some(exit.trim().to_owned()), ssh: true };
                self.found.borrow_mut().get_or_insert(found);
                self.alarm.notify_one();
            }
        }
    }

    fn failed(&self, node: &str, rank: Option<u32>, exit: &str) {
        // The node's own words say more than those of pdsh, which may come first.
        if self.found.borrow().as_ref().is_none_or(|found| found.ssh) {
            let rank = rank.map(|rank| rank.to_string());
            *self.found.borrow_mut() =
                Some(Rank { node: node.to_owned(), rank, exit: Some(exit.to_owned()), ssh: false });
        }
        self.alarm.notify_one();
    }

    /// Reads a line of a node's output.
    pub fn line(&self, node: &str, line: &str) {
        self.ended(node, line);
        self.ended_far(line);
        if torchrun::names_first_failure(line) {
            // Every node's torchrun has a summary: the first one that is printed counts.
            if self.found.borrow().is_none() {
                *self.root.borrow_mut() = Some(node.to_owned());
                *self.found.borrow_mut() = Some(Rank { node: node.to_owned(), ..Rank::default() });
            }
        }
        if self.root.borrow().as_deref() == Some(node)
            && let Some(entry) = torchrun::table_entry(line)
            && let Some(rank) = self.found.borrow_mut().as_mut()
        {
            match entry {
                TableEntry::Rank(number) if rank.rank.is_none() => rank.rank = Some(number.to_owned()),
                TableEntry::Exit(exit) if rank.exit.is_none() => {
                    rank.exit = Some(exit.to_owned());
                    *self.root.borrow_mut() = None;
                }
                TableEntry::Rank(_) | TableEntry::Exit(_) => {}
            }
        }
    }

    /// Where a rank ended by SIGKILL: whoever sent it.
    pub fn killed(&self) -> Option<KilledRank> {
        let found = self.found.borrow();
        let rank = found.as_ref().filter(|rank| !rank.ssh && rank.exit.as_deref() == Some("-9"))?;
        Some(KilledRank { node: rank.node.clone(), rank: rank.rank.clone() })
    }

    /// The rank that failed, its node and how it ended; `None` while none is known to have.
    pub fn describe(&self) -> Option<String> {
        let found = self.found.borrow();
        let rank = found.as_ref()?;
        // Of torchrun's summary nothing but its first line has come.
        rank.rank.as_ref().or(rank.exit.as_ref())?;
        if rank.ssh {
            return Some(match rank.exit.as_deref() {
                Some("255") => format!("{}: the SSH connection was lost", rank.node),
                exit => {
                    format!("the launcher on {} (exit status {})", rank.node, exit.unwrap_or_default())
                }
            });
        }
        let which = rank.rank.as_ref().map_or("a rank".to_owned(), |rank| format!("rank {rank}"));
        let exit = rank.exit.as_deref().map_or(String::new(), |exit| match exit.strip_prefix('-') {
            Some(signal) => format!(" (killed by signal {signal})"),
            None => format!(" (exit status {exit})"),
        });
        Some(format!("{which} on {}{exit}", rank.node))
    }
}

/// How the job ended, in words: `None` where all is well.
pub fn verdict(ended: &[Ended], first: &FirstFailure) -> Option<String> {
    let bad =
        ended.iter().filter(|end| end.status != Ok(0)).min_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let how = match &bad.status {
        Ok(status) => format!("exited with status {status}"),
        Err(why) => format!("was lost: {why}"),
    };
    let rank = first.describe().map_or(String::new(), |message| format!("; first failure: {message}"));
    let stopped: Vec<_> = ended.iter().filter(|end| end.stopped).map(|end| end.node.as_str()).collect();
    let others = if stopped.is_empty() {
        String::new()
    } else {
        format!("; stopped afterwards: {}", stopped.join(", "))
    };
    Some(format!("{} {how} after {:.1} s{rank}{others}", bad.node, bad.seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_rank_that_failed_while_its_launcher_waits_for_the_others() {
        let first = FirstFailure { ranks: [("node2".to_owned(), (4, 4))].into(), ..FirstFailure::default() };
        first.line(
            "node2",
            "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) \
            local_rank: 1 (pid: 403) of binary: /usr/bin/python3.11",
        );
        first.line(
            "node1",
            "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) \
            local_rank: 0 (pid: 77) of binary: /usr/bin/python3.11",
        );
        assert_eq!(first.describe().as_deref(), Some("rank 5 on node2 (killed by signal 9)"));
        first.alarm.notified().await;
    }

    #[test]
    fn a_rank_that_failed_below_deepspeeds_launcher() {
        let message = |count: u32, line: &str| {
            let ranks = [("node1".to_owned(), (0, count)), ("node2".to_owned(), (count, count))].into();
            let first = FirstFailure { ranks, ..FirstFailure::default() };
            first.line("node1", line);
            first.describe()
        };
        let failed = "node2: [2026-11-22 01:06:50,137] [ERROR] [launch.py:259:sigkill_handler] \
            ['/usr/bin/python3', '-u', '/workspace/train.py', '--local_rank=0', 'fail'] exits with return \
            code = 9";
        assert_eq!(message(1, failed).as_deref(), Some("rank 1 on node2 (exit status 9)"));
        assert_eq!(message(8, failed).as_deref(), Some("a rank on node2 (exit status 9)"));
        let killed = failed.replace("= 9", "= -9");
        assert_eq!(message(1, &killed).as_deref(), Some("rank 1 on node2 (killed by signal 9)"));
        assert_eq!(
            message(1, "pdsh@node1: node2: ssh exited with exit code 255").as_deref(),
            Some("node2: the SSH connection was lost")
        );
        let ranks = [("node2".to_owned(), (1, 1))].into();
        let first = FirstFailure { ranks, ..FirstFailure::default() };
        first.line("node1", "pdsh@node1: node2: ssh exited with exit code 9");
        first.line("node1", failed);
        assert_eq!(first.describe().as_deref(), Some("rank 1 on node2 (exit status 9)"));
        assert_eq!(message(1, "node2: my script exits with return code = what"), None);
        assert_eq!(message(1, "node9: it exits with return code = 9"), None);
    }

    #[test]
    fn the_first_rank_that_failed() {
        let first = FirstFailure::default();
        for line in [
            "train.py FAILED",
            "Root Cause (first observed failure):",
            "[0]:",
            "  time      : 2026-11-21_20:14:11",
            "  host      : node2",
            "  rank      : 1 (local_rank: 0)",
            "  exitcode  : -9 (pid: 77)",
        ] {
            first.line("node2", line);
            first.line("node1", "  rank      : 0 (local_rank: 0)");
        }
        assert_eq!(first.describe().as_deref(), Some("rank 1 on node2 (killed by signal 9)"));
        let end =
            |node: &str, status, seconds, stopped| Ended { node: node.into(), status, seconds, stopped };
        let message =
            verdict(&[end("node2", Ok(1), 3.0, false), end("node1", Ok(143), 13.0, true)], &first).unwrap();
        assert_eq!(
            message,
            "node2 exited with status 1 after 3.0 s; first failure: rank 1 on node2 (killed by signal 9); \
                stopped afterwards: node1"
        );
        assert_eq!(verdict(&[end("node1", Ok(0), 1.0, false)], &first), None);
    }
}
