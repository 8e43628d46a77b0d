//! Dumps of PyTorch's flight recorder, given together, name the rank that did not come.

#![expect(clippy::unwrap_used, reason = "tests")]

use catalog::testing::catalog;
use diagnose::read::{self, Source};
use diagnose::root_cause::{self, Whose};

fn dump(sequence: u32, state: &str, enqueued: u32, completed: u32) -> Vec<u8> {
    serde_json::json!({
        "version": "2.10",
        "nccl_version": "2.27.5",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}},
        "pg_status": {"0": {
            "last_enqueued_collective": enqueued.to_string(),
            "last_started_collective": enqueued.to_string(),
            "last_completed_collective": completed.to_string(),
        }},
        "entries": [{
            "frames": [],
            "record_id": 1,
            "pg_id": 0,
            "process_group": ["0", "default_pg"],
            "collective_seq_id": sequence,
            "p2p_seq_id": 0,
            "op_id": 9,
            "profiling_name": "nccl:all_reduce",
            "state": state,
            "is_p2p": false,
        }],
    })
    .to_string()
    .into_bytes()
}

fn diagnose(dumps: &[(u32, Vec<u8>)]) -> root_cause::Diagnosis {
    let reads: Vec<read::Read> = dumps
        .iter()
        .map(|(rank, bytes)| {
            let source = Source::Bytes { name: format!("/tmp/nccl_trace_rank_{rank}"), bytes: bytes.clone() };
            read::read(catalog(), &source).unwrap()
        })
        .collect();
    root_cause::diagnose(catalog(), &reads, None)
}

#[test]
fn the_rank_that_lags_is_named() {
    let waits = dump(12, "started", 12, 11);
    let late = dump(11, "completed", 11, 11);
    let diagnosis = diagnose(&[(0, waits.clone()), (1, waits.clone()), (2, late), (3, waits)]);
    let cause = &diagnosis.causes[0];
    assert_eq!((cause.id.as_str(), &cause.whose), ("torch-desync", &Some(Whose::ranks(&[2]))), "{cause:?}");
    assert!(
        cause.message.contains("last called number 11 and 3 others wait in number 12"),
        "{}",
        cause.message
    );
}

#[test]
fn a_rank_without_a_dump_is_named() {
    let waits = dump(12, "scheduled", 12, 11);
    let diagnosis = diagnose(&[(0, waits.clone()), (1, waits.clone()), (3, waits)]);
    assert_eq!(diagnosis.causes[0].whose, Some(Whose::ranks(&[2])), "{:?}", diagnosis.causes[0]);
}

#[test]
fn ranks_that_all_completed_raise_nothing() {
    let done = dump(12, "completed", 12, 12);
    let diagnosis = diagnose(&[(0, done.clone()), (1, done.clone()), (2, done.clone()), (3, done)]);
    assert!(!diagnosis.failed(), "{:?}", diagnosis.causes);
}

/// Only a dump is one: a line of a log that looks as reports show a dump is a line like others.
#[test]
fn a_log_line_is_no_dump() {
    let waits = dump(12, "started", 12, 11);
    let source = Source::Bytes { name: "nccl_trace_rank_0".into(), bytes: waits };
    let shown = read::read(catalog(), &source).unwrap().recorded[0].to_string();
    assert!(shown.starts_with("flight recorder: group 0 (default_pg) of 4 ranks"), "{shown}");
    let log = |rank: u32| read::text(catalog(), &format!("rank_{rank}.log"), &format!("{shown}\n"));
    let diagnosis = root_cause::diagnose(catalog(), &[log(0), log(1), log(3)], None);
    assert!(!diagnosis.failed() && diagnosis.timeline.is_empty(), "{diagnosis:?}");
    let [line] = diagnosis.last.get(..1).unwrap() else { panic!("{diagnosis:?}") };
    assert_eq!(line.text, shown, "the line is shown as what the log ends with");
}

/// A dump names its operation in any words, and has as many groups as it has.
#[test]
fn dumps_with_odd_names_are_compared_too() {
    let odd = |sequence: u32, enqueued: u32| {
        let text = String::from_utf8(dump(sequence, "started", enqueued, 10)).unwrap();
        text.replace("nccl:all_reduce", "nccl: all reduce (2 of 3)").into_bytes()
    };
    let diagnosis = diagnose(&[(0, odd(12, 12)), (1, odd(12, 12)), (2, odd(11, 11)), (3, odd(12, 12))]);
    assert_eq!(diagnosis.causes[0].whose, Some(Whose::ranks(&[2])), "{:?}", diagnosis.causes);
    assert!(diagnosis.causes[0].message.contains("nccl: all reduce (2 of 3)"), "{:?}", diagnosis.causes[0]);
}

/// The same dump as Python's own pickler writes it.
#[test]
fn pickles_are_read_too() {
    let pickle = include_bytes!("../../../../tests/logs_recorder/nccl_trace_rank_0");
    let source = Source::Bytes { name: "nccl_trace_rank_0".into(), bytes: pickle.to_vec() };
    let read = read::read(catalog(), &source).unwrap();
    let numbers: Vec<i64> = read.recorded.iter().map(|group| group.sequence).collect();
    assert_eq!(numbers, [12], "{:?}", read.remarks);
}

/// Dumps of a real run: PyTorch 2.15.0 with Gloo and three ranks, of which rank 1 slept while the others
/// called their sixth all-reduce and gave up after 8 s; written by
/// `torch._C._distributed_c10d._dump_fr_trace` (`TORCH_FR_BUFFER_SIZE=200`).
#[test]
fn real_gloo_dumps_name_the_lagging_rank() {
    let dumps: [&[u8]; 3] = [
        include_bytes!("../../../../tests/logs_recorder/gloo_rank_0"),
        include_bytes!("../../../../tests/logs_recorder/gloo_rank_1"),
        include_bytes!("../../../../tests/logs_recorder/gloo_rank_2"),
    ];
    let named = |index: usize| (u32::try_from(index).unwrap(), dumps[index].to_vec());
    let first = diagnose(&[named(0), named(1), named(2)]);
    assert_eq!(first.causes[0].id, "torch-desync", "{:?}", first.causes);
    assert_eq!(first.causes[0].whose, Some(Whose::ranks(&[1])));
    assert!(
        first.causes[0].message.contains("rank 1 last called number 5 and 2 others called number 6"),
        "{}",
        first.causes[0].message
    );
    // Where all called the same, and where a dump is missing, nothing is wrong: what is put away has ended.
    let two = (1, dumps[2].to_vec());
    assert!(!diagnose(&[named(0), two, named(2)]).failed());
    assert!(!diagnose(&[named(0), named(2)]).failed());
}
