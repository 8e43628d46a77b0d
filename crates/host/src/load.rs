//! How long reading a machine may take. A limit that is enough on an idle machine runs out on a busy one
//! while envdoc itself waits for a CPU, and then shows nothing about what was read.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::file;

/// Without `--timeout`, on an idle machine.
const LIMIT: Duration = Duration::from_secs(2);
/// How many times as long on a busy one: somebody waits for the answer.
const FACTOR_MAX: f64 = 4.0;
/// From here on a limit that ran out may be the load's fault.
const BUSY: f64 = 2.0;

/// What shares the CPUs of this machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Threads that run or wait for a CPU now.
    pub threads: usize,
    /// CPUs that envdoc may use.
    pub cpus: usize,
}

impl Load {
    /// `None` where the kernel does not tell.
    pub fn now() -> Option<Load> {
        let threads = runnable(&file::text_of(Path::new("/proc/loadavg")).ok()?)?;
        Some(Load { threads, cpus: thread::available_parallelism().ok()?.get() })
    }

    fn per_cpu(self) -> f64 {
        self.threads as f64 / self.cpus as f64
    }

    /// Whether threads wait for CPUs more than they run.
    pub fn is_busy(self) -> bool {
        self.per_cpu() >= BUSY
    }
}

/// What `--timeout` says, or else as much more than on an idle machine as threads share each CPU.
pub fn limit(timeout: Option<Duration>, load: Option<Load>) -> Duration {
    timeout.unwrap_or_else(|| stretched(LIMIT, load))
}

/// A limit that is enough on an idle machine, on this one.
pub fn stretched(limit: Duration, load: Option<Load>) -> Duration {
    limit.mul_f64(load.map_or(1.0, |load| load.per_cpu().clamp(1.0, FACTOR_MAX)))
}

/// The number before the slash in `0.20 0.18 0.12 21/80 11206` (proc(5)). Threads that wait for a disk or a
/// file server, which count in the load average, are not in it.
fn runnable(loadavg: &str) -> Option<usize> {
    loadavg.split_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_grows_with_the_threads_that_share_a_cpu() {
        let of = |threads: usize| limit(None, Some(Load { threads, cpus: 2 })).as_secs_f64();
        assert_eq!([of(0), of(1), of(2)], [2.0; 3], "a CPU for each thread");
        assert_eq!(of(6), 6.0);
        assert_eq!(of(60), 8.0, "at most four times as long");
        assert_eq!(limit(None, None), LIMIT);
        let busy = Some(Load { threads: 60, cpus: 2 });
        assert_eq!(limit(Some(Duration::from_millis(500)), busy), Duration::from_millis(500), "as asked");
    }

    #[test]
    fn running_threads_are_read_and_not_the_load_average() {
        assert_eq!(runnable("97.20 88.18 60.12 21/80 11206\n"), Some(21));
        assert_eq!(runnable("97.20 88.18 60.12\n"), None);
        assert_eq!(runnable(""), None);
        assert!(!Load { threads: 3, cpus: 2 }.is_busy());
        assert!(Load { threads: 4, cpus: 2 }.is_busy());
    }
}
