//! Processes of a container that a signal or a debugger has stopped: they keep their connections and never
//! answer.

use std::time::Duration;

use diagnostic::Fix;
use docker::exec;
use host::process_stat::ProcessStat;

use crate::container_probe::ContainerProbe;

/// The longest that reading the state of a process may take.
pub(super) const STATE_TIMEOUT: Duration = Duration::from_secs(5);
/// Prints the `stat` of each process of an SSH server.
const SSHD: &str = r#"
for entry in /proc/[0-9]*; do
    case $(cat "$entry/comm" 2>/dev/null) in
        sshd) cat "$entry/stat" 2>/dev/null ;;
    esac
done
"#;

/// A process that is stopped, by its id in the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stopped {
    process: u32,
    debugger: bool,
}

/// A process in `stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    /// Clock ticks from the boot of the machine to its start.
    start: u64,
    id: u32,
    state: char,
}

impl Stopped {
    /// The newest of the processes whose `stat` these are, if it is stopped.
    pub(super) fn newest(printed: &str) -> Option<Stopped> {
        Stopped::of(printed.lines().filter_map(process).max_by_key(|one| one.start)?)
    }

    /// The oldest: of a server, the one that accepts connections.
    fn oldest(printed: &str) -> Option<Stopped> {
        Stopped::of(printed.lines().filter_map(process).min_by_key(|one| one.start)?)
    }

    fn of(Process { id, state, .. }: Process) -> Option<Stopped> {
        matches!(state, 'T' | 't').then_some(Stopped { process: id, debugger: state == 't' })
    }

    /// `(pid 12 in the container) is stopped by a signal (state T)`.
    pub(super) fn message(self) -> String {
        let by = if self.debugger { "a debugger (state t)" } else { "a signal (state T)" };
        format!("(pid {} in the container) is stopped by {by}", self.process)
    }

    pub(super) fn fix(self, node: &str) -> Fix {
        Fix::run("Continue it:", format!("envdoc cluster exec {node} -- kill -CONT {}", self.process))
    }
}

/// The SSH server of a container, if it is stopped.
pub(super) async fn sshd(one: &ContainerProbe<'_>) -> Option<Stopped> {
    let ran = exec::run(one.engine, &one.node.name, &["sh", "-c", SSHD], STATE_TIMEOUT).await.ok()?;
    Stopped::oldest(&ran.stdout)
}

fn process(line: &str) -> Option<Process> {
    let stat = ProcessStat::parse(line)?;
    Some(Process { start: stat.started()?, id: stat.id, state: stat.state()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(id: u32, state: char, start: u64) -> String {
        format!("{id} (ld-linux (x) y) {state} 0 {id} {id} 0 -1 {}{start} 4096 9\n", "0 ".repeat(13))
    }

    #[test]
    fn the_newest_worker_counts() {
        let old = stat(40, 'T', 1000);
        assert_eq!(Stopped::newest(&(old.clone() + &stat(50, 'S', 2000))), None);
        assert_eq!(Stopped::newest(&old), Some(Stopped { process: 40, debugger: false }));
        let traced = stat(50, 't', 2000) + &old;
        assert_eq!(Stopped::newest(&traced), Some(Stopped { process: 50, debugger: true }));
        assert_eq!(Stopped::newest("no line\n"), None);
    }

    #[test]
    fn the_process_that_accepts_connections_is_the_oldest() {
        let session = stat(80, 'T', 5000);
        assert_eq!(Stopped::oldest(&(session.clone() + &stat(7, 'S', 400))), None);
        let server = Stopped::oldest(&(session + &stat(7, 'T', 400))).unwrap();
        assert_eq!(server.message(), "(pid 7 in the container) is stopped by a signal (state T)");
        assert_eq!(server.fix("node2").commands, ["envdoc cluster exec node2 -- kill -CONT 7"]);
    }
}
