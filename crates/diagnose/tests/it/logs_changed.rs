//! What does not matter to a cause must not change it: lines that stand twice, other times, other orders of
//! ranks, a start that is missing, and what other programs put before each line.

#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read the source tree")]

use catalog::testing::catalog;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use diagnose::root_cause;
use proptest::prelude::*;
use regex::Regex;
use serde::Deserialize;

#[derive(Deserialize)]
struct Failure {
    file: String,
    set: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/logs")
}

/// A log's name, its lines, the id of its first cause, and the line of the first evidence.
type Log = (String, Vec<String>, Option<String>, usize);

/// The logs of the tune set.
static LOGS: LazyLock<Vec<Log>> = LazyLock::new(|| {
    let listed = std::fs::read_to_string(folder().join("truths.yaml")).unwrap();
    let failures: Vec<Failure> = serde_yaml::from_str(&listed).unwrap();
    let tune = failures.into_iter().filter(|failure| failure.set == "tune");
    tune.map(|failure| {
        let bytes = std::fs::read(folder().join(&failure.file)).unwrap();
        let lines: Vec<String> = String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect();
        let diagnosis = root_cause::diagnose_text(catalog(), "log", &lines.join("\n"));
        let evidence = diagnosis.causes.iter().flat_map(|cause| &cause.evidence).map(|line| line.line).min();
        let first = usize::try_from(evidence.unwrap_or(1)).unwrap();
        (failure.file, lines, diagnosis.causes.first().map(|cause| cause.id.clone()), first)
    })
    .collect()
});

fn cause(lines: &[String]) -> Option<String> {
    root_cause::diagnose_text(catalog(), "log", &lines.join("\n"))
        .causes
        .first()
        .map(|cause| cause.id.clone())
}

/// The rank at the start of a line, where a launcher put it there.
fn rank(line: &str) -> String {
    static RANK: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:[\w.-]+: )?(\[(?:rank|default)\d+\]:)|\[rank (\d+)\] INFO").unwrap()
    });
    let found = RANK.captures(line);
    found
        .and_then(|found| found.get(1).or(found.get(2)))
        .map_or(String::new(), |found| found.as_str().to_owned())
}

/// The lines with those of each rank in their order, and the ranks mixed otherwise.
fn mixed(lines: &[String], mut seed: u64) -> Vec<String> {
    let mut ranks: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    lines.iter().for_each(|line| ranks.entry(rank(line)).or_default().push(line));
    let mut queues: Vec<std::vec::IntoIter<&String>> = ranks.into_values().map(Vec::into_iter).collect();
    let mut mixed = Vec::new();
    while !queues.is_empty() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let index = usize::try_from(seed >> 33).unwrap() % queues.len();
        let count = 1 + usize::try_from(seed >> 45 & 31).unwrap();
        mixed.extend(queues[index].by_ref().take(count).cloned());
        queues.retain(|queue| !queue.as_slice().is_empty());
    }
    mixed
}

/// What the order of lines alone tells: which rank went elsewhere is read from tracebacks that others must
/// not tear apart.
const TORN: &[&str] = &["torch-desync"];

/// What programs that pass a log on put before each of its lines, by the line's number.
type Prefix = fn(usize) -> String;

const PREFIXES: &[(&str, Prefix)] = &[
    ("kubectl logs --timestamps", |line| format!("2024-05-01T10:00:{:02}.123456789Z ", line % 60)),
    ("kubectl logs --prefix", |_| "[pod/train-0/pytorch] ".into()),
    ("a file of containerd", |line| format!("2024-05-01T10:00:{:02}.123456789Z stderr F ", line % 60)),
    ("journalctl", |line| format!("May 01 10:00:{:02} gpu-01 train[4711]: ", line % 60)),
    ("docker compose", |_| "worker-1  | ".into()),
    ("srun --label", |_| "0: ".into()),
    ("GitHub's actions", |line| format!("2024-05-01T10:00:{:02}.1234567Z ", line % 60)),
    ("a quotation", |_| "> ".into()),
    ("grep -n", |line| format!("logs/train.log:{}:", line + 1)),
    ("pdsh", |_| "node1: ".into()),
    ("Ray", |_| "(RayTrainWorker pid=4711, ip=10.0.0.2) ".into()),
];

/// A log of two nodes, whose names at the start of its lines are not looked for behind another prefix.
const OF_NODES: &str = "failures/torch-two-nodes-raises-1.log";

#[test]
fn line_prefixes_do_not_change_the_cause() {
    for (who, prefix) in PREFIXES {
        for (file, lines, id, _) in LOGS.iter().filter(|log| log.0 != OF_NODES) {
            let put: Vec<String> =
                lines.iter().enumerate().map(|(number, line)| prefix(number) + line).collect();
            assert_eq!(&cause(&put), id, "{who}: {file}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn duplicated_lines_do_not_change_the_cause(index in 0..LOGS.len()) {
        let (file, lines, id, _) = &LOGS[index];
        let doubled: Vec<String> = lines.iter().flat_map(|line| [line.clone(), line.clone()]).collect();
        prop_assert_eq!(&cause(&doubled), id, "{}", file);
    }

    #[test]
    fn shifted_timestamps_do_not_change_the_cause(
        index in 0..LOGS.len(),
        day in 10..29_u32,
        year in 2019..2031_u32,
    ) {
        let (file, lines, id, _) = &LOGS[index];
        let iso = Regex::new(r"20\d\d-\d\d-\d\d").unwrap();
        let glog = Regex::new(r"([IWEF])1121 ").unwrap();
        let moved: Vec<String> = lines
            .iter()
            .map(|line| iso.replace_all(line, format!("{year}-03-{day}")).into_owned())
            .map(|line| glog.replace_all(&line, format!("${{1}}03{day} ")).into_owned())
            .collect();
        prop_assert_eq!(&cause(&moved), id, "{}", file);
    }

    #[test]
    fn interleaving_of_ranks_does_not_change_the_cause(index in 0..LOGS.len(), seed: u64) {
        let (file, lines, id, _) = &LOGS[index];
        if !id.as_deref().is_some_and(|id| TORN.contains(&id)) {
            prop_assert_eq!(&cause(&mixed(lines, seed)), id, "{}", file);
        }
    }

    #[test]
    fn missing_start_does_not_change_the_cause(index in 0..LOGS.len(), part in 0.0..1.0_f64) {
        let (file, lines, id, first) = &LOGS[index];
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a part of a few lines"
        )]
        let cut = (part * (*first - 1) as f64) as usize;
        prop_assert_eq!(&cause(&lines[cut..]), id, "{}", file);
    }
}
