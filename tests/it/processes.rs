//! What the kernel shows of the processes that a test started.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests look at processes")]

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

/// A child process and its process group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Started {
    pub(crate) process: u32,
    pub(crate) group: u32,
}

/// The processes that a process has started and that still run.
fn children(parent: u32) -> Vec<Started> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let started = numbers.filter_map(|process| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let (state, of, group) = (fields.next()?, fields.next()?, fields.next()?);
        let runs = state != "Z" && of.parse() == Ok(parent);
        runs.then(|| Started { process, group: group.parse().unwrap() })
    });
    started.collect()
}

/// Whether a process has its own way to end after Ctrl-C.
fn handles_interrupts(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t"));
    caught.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & 2 != 0)
}

/// Waits until a program has started so many others, and handles Ctrl-C.
pub(crate) fn started(child: &Child, count: usize) -> Vec<Started> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let found = children(child.id());
        if found.len() == count && handles_interrupts(child.id()) {
            return found;
        }
        assert!(Instant::now() < end, "{found:?} instead of {count}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process is gone, within two seconds.
pub(crate) fn ends(process: u32) -> bool {
    (0..200).any(|_| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let is_gone = stat.is_empty() || stat.contains(") Z ");
        if !is_gone {
            std::thread::sleep(Duration::from_millis(10));
        }
        is_gone
    })
}
