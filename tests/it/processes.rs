//! What the kernel shows of the processes that a test started.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests look at processes")]

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

/// How often a process is looked at.
const POLL: Duration = Duration::from_millis(10);

/// A child process and its process group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Started {
    pub(crate) process: u32,
    pub(crate) group: u32,
}

/// State, parent and process group of a process; `None` if there is none.
fn stat(process: u32) -> Option<(String, u32, u32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in front may hold brackets and blanks itself.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?.to_owned();
    Some((state, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn is_running(process: u32) -> bool {
    stat(process).is_some_and(|(state, ..)| state != "Z")
}

/// The program that a process runs, as the kernel names it.
fn program(process: u32) -> String {
    fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// The processes with this program that a process has started and that still run.
fn children(parent: u32, of: &str) -> Vec<Started> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let started = numbers.filter_map(|process| {
        let (state, by, group) = stat(process)?;
        let counts = state != "Z" && by == parent && program(process) == of;
        counts.then_some(Started { process, group })
    });
    started.collect()
}

/// Whether a process has its own way to end after Ctrl-C.
fn handles_interrupts(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t"));
    caught.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & 2 != 0)
}

/// Waits until a program has started another so many times, and handles Ctrl-C. Helpers that it starts for a
/// moment do not count.
pub(crate) fn started(child: &Child, program: &str, count: usize) -> Vec<Started> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let found = children(child.id(), program);
        if found.len() == count && handles_interrupts(child.id()) {
            return found;
        }
        assert!(Instant::now() < end, "{found:?} instead of {count} {program}");
        std::thread::sleep(POLL);
    }
}

/// Whether a process is gone, or goes within 20 seconds.
pub(crate) fn ends(process: u32) -> bool {
    let end = Instant::now() + Duration::from_secs(20);
    while is_running(process) {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(POLL);
    }
    true
}
