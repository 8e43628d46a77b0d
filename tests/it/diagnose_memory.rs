//! `envdoc diagnose` in bounded memory: the most that the program ever held, as the kernel tells it, for
//! input that is no ordinary log.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests start the program")]

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The promise, in KiB.
const MOST: u64 = 64 << 10;

/// The most memory that reading and weighing `input` took, in KiB, and what the program said.
fn peak(input: &mut dyn FnMut(&mut dyn Write)) -> (u64, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_envdoc"))
        .args(["diagnose", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = program.stdout.take().unwrap();
    let said = std::thread::spawn(move || {
        let mut said = String::new();
        output.read_to_string(&mut said).map(|_| said)
    });
    let mut pipe = program.stdin.take().unwrap();
    input(&mut pipe);
    drop(pipe);
    // The mark only rises, until the program is gone.
    let status = format!("/proc/{}/status", program.id());
    let mut peak = 0;
    while program.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let mark = mark.and_then(|mark| mark.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(mark.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(peak > 0, "the program was never looked at");
    (peak, said.join().unwrap().unwrap())
}

#[test]
fn one_line_of_a_hundred_megabytes() {
    let part = "x".repeat(1 << 20);
    let (peak, said) = peak(&mut |pipe| {
        for number in 0..100 {
            pipe.write_all(part.as_bytes()).unwrap();
            if number == 50 {
                pipe.write_all(b" RuntimeError: CUDA error: an illegal memory access was encountered ")
                    .unwrap();
            }
        }
    });
    assert!(peak < MOST, "{peak} KiB");
    assert!(said.contains("root cause cuda-illegal-access"), "{said}");
}

#[test]
fn a_hundred_megabytes_of_different_errors() {
    let (peak, said) = peak(&mut |pipe| {
        for number in 0..500_u64 {
            let lines: String = (0..1000)
                .map(|line| {
                    let other = (number * 1000 + line).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    format!(
                        "NVRM: Xid (PCI:0000:{:02x}:00): {}, pid={other}, name=p{other:x}, Traceback \
                        (most recent call last): ValueError: {other:x} {}\n",
                        line % 200,
                        line % 150,
                        "word ".repeat(20)
                    )
                })
                .collect();
            pipe.write_all(lines.as_bytes()).unwrap();
        }
    });
    assert!(peak < MOST, "{peak} KiB");
    assert!(!said.is_empty());
}
