//! What runs in a container besides envdoc's own processes: what a restart would stop.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use crate::Error;
use crate::plan::SETTINGS;
use crate::worker::bundle::Bundle;
use docker::container::Found;
use docker::engine::Engine;
use docker::exec::{self, Command};
use host::process_stat::ProcessStat;

/// The longest that listing the processes may take.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// How often, and after which pause, the processes are listed again while the engine is starting one.
const LIST_TRIES: usize = 5;
const LIST_PAUSE: Duration = Duration::from_millis(200);
/// What a process is called that runc has not yet made into the program of an exec or health check.
const STARTING: &str = "runc init";
/// Prints its own process id, then one line for each process: its `stat`, the mark of the job that it belongs
/// to, its arguments, with tabs between them. `stat` is read last, so that it tells of a process that ended
/// before its arguments were read.
const LIST: &str = r#"
echo "$$"
for entry in /proc/[0-9]*; do
    mark=$(tr '\0' '\n' 2>/dev/null <"$entry/environ" | sed -n 's/^ENVDOC_JOB=//p')
    command=$(tr '\0\n' '  ' 2>/dev/null <"$entry/cmdline" | cut -c1-200)
    read -r stat 2>/dev/null <"$entry/stat" || continue
    printf '%s\t%s\t%s\n' "$stat" "$mark" "$command"
done
"#;
/// Processes that are named; the others are counted.
const NAMED_MAX: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    id: u32,
    /// 0: the engine started it in the container.
    parent: u32,
    /// When it was started, in the kernel's ticks since boot.
    start: u64,
    /// It has ended, or is just ending: its memory is gone, and with it its arguments.
    ended: bool,
    /// `sshd`.
    name: String,
    /// The mark of the run of envdoc that started it.
    mark: Option<String>,
    /// Its arguments.
    command: String,
}

/// What runs in a container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activity {
    /// The command of cluster.yaml, where one runs.
    pub command: Option<Work>,
    /// What envdoc's `up` did not start: jobs, shells, logins. Each with its children.
    pub others: Vec<Work>,
}

/// A process with its children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// Its process id in the container.
    pub id: u32,
    /// Its arguments.
    pub command: String,
    /// Its children, and theirs.
    pub children: usize,
    /// The mark of the run of envdoc that started it: `launch`, `exec`.
    pub mark: Option<String>,
}

impl Activity {
    /// Whether envdoc's `up` started everything that runs.
    pub fn idle(&self) -> bool {
        self.others.is_empty()
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {}", self.command.trim(), self.id)?;
        match self.children {
            0 => f.write_str(")"),
            1 => f.write_str(" and 1 child)"),
            count => write!(f, " and {count} children)"),
        }
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<_> = self.others.iter().chain(&self.command).map(Work::to_string).collect();
        f.write_str(&all[..all.len().min(NAMED_MAX)].join(", "))?;
        match all.len().saturating_sub(NAMED_MAX) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Lists what runs in a container that runs. Fails also where the engine cannot start a program there.
pub async fn activity(engine: &Engine, found: &Found) -> Result<Activity, Error> {
    let argv = ["sh", "-c", LIST].map(str::to_owned).to_vec();
    let command = Command { argv, user: Some("0".into()), ..Command::default() };
    let mut ran = exec::whole(engine, &found.name, &command, LIST_TIMEOUT).await?;
    for _ in 1..LIST_TRIES {
        if !is_starting(&ran.stdout) {
            break;
        }
        tokio::time::sleep(LIST_PAUSE).await;
        ran = exec::whole(engine, &found.name, &command, LIST_TIMEOUT).await?;
    }
    match ran.status {
        0 => Ok(of(&ran.stdout, !found.command.is_empty())),
        // The engine itself reports 126 and 127 with its reason on standard output.
        status => {
            let output = if ran.stderr.trim().is_empty() { ran.stdout } else { ran.stderr };
            Err(Error::Command { what: "listing the processes", status, output: output.trim().to_owned() })
        }
    }
}

/// Whether the engine is starting a program, a health check perhaps.
fn is_starting(listed: &str) -> bool {
    let starting = |process: Process| process.parent == 0 && process.command.trim() == STARTING;
    listed.lines().filter_map(process).any(starting)
}

/// From what [`LIST`] printed; `command`: whether the container has a command.
pub(crate) fn of(listed: &str, command: bool) -> Activity {
    let mut lines = listed.lines();
    let own = lines.next().and_then(|line| line.trim().parse::<u32>().ok());
    let all: Vec<Process> = lines.filter_map(process).filter(|process| !process.ended).collect();
    let sshd = |process: &Process| process.parent == 1 && process.command.contains("/run/envdoc/sshd_config");
    let has_sshd = all.iter().any(sshd);
    let log =
        |process: &Process| process.name == "grep" && process.command.contains("Connection closed by (127");
    let infrastructure = |process: &Process| {
        process.id == 1
            || sshd(process)
            || process.parent == 1 && log(process)
            || process.parent == 1 && !has_sshd && !command && process.command.trim() == "sleep 3600"
    };
    // With all of their children.
    let tools = |process: &Process| {
        Some(process.id) == own
            || process.command.contains(&format!("/{}/", Bundle::NAME))
            || process.parent == 0 && process.command.contains(&format!("{SETTINGS}/health"))
    };
    let below = |roots: BTreeSet<u32>| {
        let mut found = roots;
        loop {
            let more: Vec<u32> = all
                .iter()
                .filter(|process| found.contains(&process.parent) && !found.contains(&process.id))
                .map(|process| process.id)
                .collect();
            if more.is_empty() {
                return found;
            }
            found.extend(more);
        }
    };
    let tools = below(all.iter().filter(|process| tools(process)).map(|process| process.id).collect());
    let sessions = below(all.iter().filter(|process| sshd(process)).map(|process| process.id).collect());
    // A connection to sshd is work only when something runs in it.
    let login = |process: &Process| sessions.contains(&process.id) && process.name.starts_with("sshd");
    let rest: Vec<&Process> = all
        .iter()
        .filter(|process| !infrastructure(process) && !tools.contains(&process.id) && !login(process))
        .collect();
    // The entrypoint started it before anything could become a child of process 1.
    let first = rest.iter().filter(|process| command && process.parent == 1).min_by_key(|one| one.start);
    let work = |process: &Process| Work {
        id: process.id,
        command: if process.command.trim().is_empty() { &process.name } else { &process.command }.clone(),
        children: below([process.id].into()).len() - 1,
        mark: process.mark.clone(),
    };
    let others: Vec<&&Process> =
        rest.iter().filter(|process| first.is_none_or(|first| first.id != process.id)).collect();
    let roots = others.iter().filter(|process| others.iter().all(|other| other.id != process.parent));
    Activity {
        command: first.map(|process| Work { children: 0, ..work(process) }),
        others: roots.map(|process| work(process)).collect(),
    }
}

/// Whether a mark is one that envdoc gives ([`crate::lock::run_id`]). Any process of the container may have
/// another text in its environment, and the commands that stop a job contain its mark.
fn is_run_id(mark: &str) -> bool {
    (1..=64).contains(&mark.len())
        && mark.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && !mark.starts_with('-')
}

/// The process's `stat`, the mark and the arguments.
fn process(line: &str) -> Option<Process> {
    let (stat, rest) = line.split_once('\t').unwrap_or((line, ""));
    let (mark, command) = rest.split_once('\t').unwrap_or(("", rest));
    let stat = ProcessStat::parse(stat)?;
    Some(Process {
        id: stat.id,
        parent: stat.parent()?,
        start: stat.started()?,
        ended: matches!(stat.state(), Some('Z' | 'X'))
            || command.trim().is_empty() && stat.memory() == Some(0),
        name: stat.name.to_owned(),
        mark: is_run_id(mark).then(|| mark.to_owned()),
        command: command.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marks_of_envdoc_get_into_commands() {
        assert!(is_run_id(&crate::lock::run_id()));
        for mark in ["", "x; reboot #", "$(reboot)", "a b", "-e", "../a"] {
            assert!(!is_run_id(mark), "{mark}");
        }
    }

    fn line(id: u32, parent: u32, name: &str, command: &str) -> String {
        let rest = "0 ".repeat(17);
        format!("{id} ({name}) S {parent} {rest}{} 0\t\t{command}\n", 100 + id)
    }

    /// An idle container, as it is listed by process 90.
    fn idle() -> String {
        ["90\n".to_owned()]
            .into_iter()
            .chain([
                line(1, 0, "entrypoint", "/bin/sh /etc/envdoc/entrypoint"),
                line(20, 1, "grep", "grep --line-buffered -Ev ^Connection closed by (127[.]0[.]0[.]1|) port"),
                line(
                    21,
                    1,
                    "sshd",
                    "sshd: /usr/sbin/sshd -D -e -f /run/envdoc/sshd_config [listener] 0 of 10",
                ),
                line(30, 21, "sshd", "sshd: root [priv]"),
                line(40, 0, "health", "/bin/sh /etc/envdoc/health"),
                line(41, 40, "ssh-keyscan", "ssh-keyscan -T 4"),
                line(50, 0, "ld-linux", "/envdoc-worker/ld-linux-x86-64.so.2 /envdoc-worker/envdoc worker"),
                line(90, 0, "sh", "sh -c list"),
                line(91, 90, "tr", "tr"),
            ])
            .collect()
    }

    #[test]
    fn envdoc_processes_do_not_count_as_activity() {
        assert_eq!(of(&idle(), false), Activity::default());
        let without_sshd = format!("90\n{}{}", line(1, 0, "sh", "sh"), line(5, 1, "sleep", "sleep 3600"));
        assert!(of(&without_sshd, false).idle());
    }

    #[test]
    fn jobs_logins_and_orphans_count_as_activity() {
        let listed = idle()
            + &line(60, 0, "python3", "python3 train.py")
            + &line(61, 60, "python3 (worker) 1", "python3 worker.py")
            + &line(70, 30, "bash", "-bash")
            + &line(80, 1, "sleep", "sleep 7777");
        let activity = of(&listed, false);
        assert_eq!(
            activity.to_string(),
            "python3 train.py (pid 60 and 1 child), -bash (pid 70), sleep 7777 (pid 80)"
        );
        let zombie = idle() + &line(60, 0, "sh", "").replace(" S ", " Z ");
        assert!(of(&zombie, false).idle());
    }

    #[test]
    fn starting_or_ending_health_check_is_not_activity() {
        let ending = idle() + &line(60, 0, "health", "");
        assert!(of(&ending, false).idle());
        assert!(!is_starting(&ending));
        assert!(is_starting(&(idle() + &line(60, 0, "runc:[2:INIT]", "runc init "))));
    }

    #[test]
    fn process_without_arguments_but_with_memory_is_activity() {
        let running = idle() + &line(60, 0, "job", "").replace(" 0\t\t\n", " 4096\t\t\n");
        assert_eq!(of(&running, false).to_string(), "job (pid 60)");
    }

    #[test]
    fn configured_command_is_idle_but_its_children_are_activity() {
        let with = idle() + &line(22, 1, "serve", "serve --port 80");
        assert!(of(&with, true).idle());
        assert_eq!(of(&with, true).to_string(), "serve --port 80 (pid 22)");
        let job = with + &line(60, 22, "python3", "kernel") + &line(61, 1, "sleep", "sleep 3600");
        assert_eq!(of(&job, true).others.len(), 2);
    }
}
