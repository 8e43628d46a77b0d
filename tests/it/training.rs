//! The training skeleton of examples/train.py, run for real on CPUs: well, and with what goes wrong in it.
//! Needs a Python with torch (`ENVDOC_TORCH_PYTHON`, else `python3`); without one the test says so loudly and
//! counts as skipped.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::judge;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/train.py");

fn python() -> Option<String> {
    let python = std::env::var("ENVDOC_TORCH_PYTHON").unwrap_or_else(|_| "python3".into());
    let asked = Command::new(&python)
        .args(["-c", "import torch.distributed as d; assert d.is_gloo_available()"])
        .stderr(Stdio::null())
        .status();
    let found = asked.is_ok_and(|status| status.success());
    if !found {
        judge::missing("a Python with torch", "install python3-torch, or name one in ENVDOC_TORCH_PYTHON");
    }
    found.then_some(python)
}

/// Ranks as processes of their own, without torchrun, which would end the others before they can speak:
/// status and output of each, and how long it took.
fn train(python: &str, world: usize, words: &[&str]) -> (Vec<(Option<i32>, String)>, Duration) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let start = Instant::now();
    let ranks: Vec<_> = (0..world)
        .map(|rank| {
            Command::new("timeout")
                .args(["100", python, SCRIPT, "--steps", "12", "--patience", "5"])
                .args(words)
                .env("MASTER_ADDR", "127.0.0.1")
                .env("MASTER_PORT", port.to_string())
                .env("RANK", rank.to_string())
                .env("LOCAL_RANK", rank.to_string())
                .env("WORLD_SIZE", world.to_string())
                .env("USE_LIBUV", "0")
                .env("OMP_NUM_THREADS", "1")
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let ended = ranks.into_iter().map(|rank| {
        let output = rank.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    });
    (ended.collect(), start.elapsed())
}

#[test]
#[ignore = "needs a Python with torch; tests/run.sh runs it in the lab's torch image"]
fn ranks_train_and_end_together_whatever_happens() {
    let Some(python) = python() else { return };
    let (well, _) = train(&python, 2, &[]);
    assert!(well.iter().all(|(status, _)| *status == Some(0)), "{well:?}");
    assert!(well[0].1.contains("step 11 loss "), "{well:?}");

    let (dead, took) = train(&python, 3, &["--die", "1:5"]);
    assert!(took < Duration::from_secs(60), "{took:?}");
    assert_eq!((dead[0].0, dead[2].0), (Some(1), Some(1)), "{dead:?}");
    assert!(dead[0].1.contains("no heartbeat from rank 1 on "), "{dead:?}");
    assert!(dead[2].1.contains("rank 1 on ") || dead[2].1.contains("rank 0 on "), "{dead:?}");

    let (hung, took) = train(&python, 2, &["--hang", "1:5"]);
    assert!(took < Duration::from_secs(60), "{took:?}");
    assert!(hung[0].1.contains("Ranks 1 failed to pass monitoredBarrier"), "{hung:?}");
    assert!(hung[1].0 == Some(70) && hung[1].1.contains("hung in step 5: exiting"), "{hung:?}");

    let (full, _) = train(&python, 2, &["--fits", "20"]);
    assert!(full.iter().all(|(status, _)| *status == Some(0)), "{full:?}");
    assert!(full[0].1.contains("step 11 loss ") && full[0].1.contains("micro-batch 16"), "{full:?}");
    let loss = |text: &str| {
        text.lines().find_map(|line| line.strip_prefix("step 11 loss ")?.split(' ').next().map(str::to_owned))
    };
    assert_eq!(loss(&full[0].1), loss(&well[0].1), "a smaller micro-batch is the same training");

    let (sick, _) = train(&python, 2, &["--nan", "1:3"]);
    assert!(
        sick.iter()
            .all(|(status, text)| *status == Some(1) && text.contains("not finite in step 3 on rank 1 on ")),
        "{sick:?}"
    );
    let (bare, _) = train(&python, 2, &["--no-data"]);
    assert!(
        bare.iter()
            .all(|(status, text)| *status == Some(1)
                && text.contains("the data download failed on rank 0 on ")),
        "{bare:?}"
    );
}

#[test]
fn lint_finds_nothing_in_the_example() {
    let output = Command::new(env!("CARGO_BIN_EXE_envdoc")).args(["lint", SCRIPT]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(!said.contains(": warning") && !said.contains(": note"), "{said}");
}
