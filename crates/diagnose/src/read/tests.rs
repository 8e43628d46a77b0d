//! Reading: what is found does not depend on where blocks end.

use std::path::Path;

use proptest::prelude::*;

use super::Read;
use super::blocks::{Blocks, LIMITS, Limits};
use super::clean::Cleaner;
use super::lines::shown;
use crate::scan::Scanner;
use catalog::testing::catalog;

fn text(name: &str, text: &str) -> Read {
    super::text(catalog(), name, text)
}

fn in_pieces(bytes: &[u8], limits: Limits, piece: usize) -> Read {
    let mut blocks = Blocks::new(catalog(), "test", limits);
    bytes.chunks(piece.max(1)).for_each(|piece| blocks.feed(piece));
    blocks.end()
}

/// Number, text and ids of what is found, and the lines after.
fn summary(read: &Read) -> Vec<(u64, String, Vec<&'static str>, Vec<String>)> {
    let ids = |found: &super::Found| found.hits.iter().map(|hit| hit.signature.id).collect();
    read.found
        .iter()
        .map(|found| (found.number, found.text.clone(), ids(found), found.after.clone()))
        .collect()
}

/// What is found line by line, without blocks: for texts of at most 4 KiB.
fn line_by_line(bytes: &[u8]) -> Vec<(u64, String, Vec<&'static str>)> {
    let mut clean = bytes.to_vec();
    let length = Cleaner::default().clean(&mut clean);
    let mut found = Vec::new();
    for (number, line) in clean[..length].split(|byte| *byte == b'\n').enumerate() {
        for text in line.split(|byte| *byte == b'\r') {
            let text = String::from_utf8_lossy(text).into_owned();
            let scanner = Scanner::new(catalog());
            let hits = scanner.scan(&text);
            if !hits.is_empty() || scanner.line(&text).error_like {
                let ids = hits.iter().map(|hit| hit.signature.id).collect();
                found.push((number as u64 + 1, text, ids));
            }
        }
    }
    found
}

#[expect(clippy::disallowed_methods, reason = "tests read the source tree")]
fn logs() -> Vec<(String, Vec<u8>)> {
    let mut logs = Vec::new();
    for kind in ["failures", "healthy"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/logs").join(kind);
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            logs.push((
                entry.file_name().to_string_lossy().into_owned(),
                std::fs::read(entry.path()).unwrap(),
            ));
        }
    }
    logs.sort();
    logs
}

#[test]
fn real_logs_match_line_by_line_reading() {
    for (name, bytes) in logs() {
        let read = in_pieces(&bytes, LIMITS, usize::MAX);
        let wanted: Vec<_> =
            line_by_line(&bytes).into_iter().filter(|(_, text, _)| text.len() <= 4096).collect();
        let found: Vec<_> =
            summary(&read).into_iter().map(|(number, text, ids, _)| (number, text, ids)).collect();
        let kept = |one: &(u64, String, Vec<&str>)| found.contains(one);
        let missing = wanted.iter().filter(|one| !kept(one)).count() as u64;
        let unkept: u64 =
            read.omitted + read.remarks.iter().filter(|remark| remark.contains("more lines")).count() as u64;
        assert!(missing == 0 || unkept > 0, "{name}");
        assert!(found.iter().all(|one| wanted.contains(one) || one.1.len() > 4000), "{name}");
        assert_eq!(read.bytes, bytes.len() as u64);
        let lines = bytes.split(|byte| *byte == b'\n').count()
            - usize::from(bytes.is_empty() || bytes.ends_with(b"\n"));
        assert_eq!(read.lines, lines as u64, "{name}");
    }
}

#[test]
fn keeps_head_tail_and_lines_after_a_finding() {
    let mut log: String = (1..=100).map(|number| format!("step {number}\n")).collect();
    log.push_str("Traceback (most recent call last):\n  File \"a.py\"\nRuntimeError: no\nlast");
    let read = text("log", &log);
    assert_eq!(read.lines, 104);
    assert_eq!((read.head.len(), read.head[39].as_str()), (40, "step 40"));
    assert_eq!((read.tail.len(), read.tail[0].as_str(), read.tail[39].as_str()), (40, "step 65", "last"));
    assert_eq!(read.found[0].number, 101);
    assert_eq!(read.found[0].after, ["  File \"a.py\"", "RuntimeError: no", "last"]);
    assert_eq!(read.found[1].number, 103);
}

#[test]
fn of_many_alike_the_first_and_last_are_kept() {
    let log: String = (1..=1000)
        .map(|number| {
            format!("step {number}: RuntimeError: CUDA error: an illegal memory access was encountered\n")
        })
        .collect();
    let read = text("log", &log);
    let numbers: Vec<u64> = read.found.iter().map(|found| found.number).collect();
    assert_eq!(numbers, (1..=32).chain(997..=1000).collect::<Vec<u64>>());
    assert_eq!(read.omitted, 964);
}

#[test]
fn a_flood_is_counted_and_its_last_lines_are_kept() {
    let mut log: String = (1..=6000)
        .map(|number| format!("NVRM: Xid (PCI:0000:38:00): {}, pid={number}, name=python\n", number % 90))
        .collect();
    log.push_str(&"RuntimeError: 3 of 4\n".repeat(5000));
    let read = text("log", &log);
    let hits = read.found.iter().filter(|found| !found.hits.is_empty());
    let numbers: Vec<u64> = hits.map(|found| found.number).collect();
    assert_eq!(numbers.len() as u64 + read.omitted, 6000);
    assert!(numbers.is_sorted() && numbers.ends_with(&[5997, 5998, 5999, 6000]), "{numbers:?}");
    assert_eq!(read.found.last().map(|found| found.number), Some(11_000));
    let others = read.found.len() - numbers.len();
    assert!(
        read.remarks.iter().any(|remark| remark.starts_with(&format!("{} more", 5000 - others))),
        "{:?}",
        read.remarks
    );
}

#[test]
fn progress_bars_colours_and_long_lines() {
    let read = text(
        "log",
        "one\r 1%|x\r 2%|xx\r\u{1b}[31mRuntimeError\u{1b}[0m: CUDA out of memory. Tried to allocate 1 \
            GiB\r\ntwo\n",
    );
    assert_eq!(read.found[0].text, "RuntimeError: CUDA out of memory. Tried to allocate 1 GiB");
    assert_eq!((read.found[0].number, read.lines), (1, 2));
    assert_eq!(read.head[0], "RuntimeError: CUDA out of memory. Tried to allocate 1 GiB");
    let long = format!("{}NCCL WARN Cuda failure 'x'{}\nnext", "x".repeat(3 << 20), "y".repeat(3 << 20));
    let read = text("log", &long);
    assert_eq!((read.found[0].number, read.found[0].text.len(), read.lines), (1, 4096, 2));
    assert!(read.found[0].text[1024..].starts_with("NCCL WARN"));
}

const SMALL: Limits = Limits { block: 700, text: 128, before: 32, nuls: u64::MAX };

/// Pieces of logs, with all that makes them hard.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let words: &[&[u8]] = &[
        b"\n",
        b"\r",
        b"\r\n",
        b"\x1b[31m",
        b"\x1b[0m",
        b"\x1b]0;t\x07",
        b"\0",
        b"step 3: loss 0.1\n",
        b"RuntimeError: CUDA error: out of memory",
        b"RuntimeError: CUDA err",
        b"or: out of memory",
        b"Traceback (most recent call last):\n",
        b"  File \"train.py\", line 3\n",
        b"NCCL WARN Cuda failure 'x'",
        b"node-1:1:1 [0] ",
        b"Connection refused",
        b"Killed",
        "训练失败 ".as_bytes(),
        b"\xff\xfe",
        b"\xe8\xae",
        b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\
         xxxxxx",
    ];
    prop_oneof![
        8 => proptest::sample::select(words.to_vec()).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
    ]
}

fn log() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(piece(), 0..80).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn where_blocks_end_changes_nothing(log in log(), block in 640_usize..2000, piece in 1_usize..900) {
        let whole = in_pieces(&log, Limits { block: 1 << 16, ..SMALL }, usize::MAX);
        let cut = in_pieces(&log, Limits { block, ..SMALL }, piece);
        prop_assert_eq!(summary(&whole), summary(&cut));
        prop_assert_eq!((&whole.head, &whole.tail, &whole.remarks), (&cut.head, &cut.tail, &cut.remarks));
        prop_assert_eq!((whole.lines, whole.bytes, whole.omitted), (cut.lines, cut.bytes, cut.omitted));
    }

    #[test]
    fn block_reading_matches_line_by_line_reading(log in log()) {
        let read = in_pieces(&log, LIMITS, usize::MAX);
        let found = summary(&read).into_iter();
        let found: Vec<_> = found.map(|(number, text, ids, _)| (number, text, ids)).collect();
        let wanted = line_by_line(&log);
        if read.omitted == 0 && read.remarks.iter().all(|remark| !remark.contains("more lines")) {
            prop_assert_eq!(found, wanted);
        } else {
            prop_assert!(found.iter().all(|one| wanted.contains(one)));
        }
    }

    #[test]
    fn lines_are_numbered_as_an_editor_does(log in log()) {
        let mut clean = log.clone();
        let length = Cleaner::default().clean(&mut clean);
        let clean = &clean[..length];
        let mut lines: Vec<String> = clean.split(|byte| *byte == b'\n').map(shown).collect();
        if clean.is_empty() || clean.ends_with(b"\n") {
            lines.pop();
        }
        let read = in_pieces(&log, SMALL, usize::MAX);
        prop_assert_eq!(read.lines, lines.len() as u64);
        prop_assert_eq!(&read.head, &lines[..lines.len().min(40)]);
        prop_assert_eq!(&read.tail, &lines[lines.len().saturating_sub(40)..]);
    }

    #[test]
    fn nothing_that_is_read_makes_it_panic(
        start in start(),
        bytes in proptest::collection::vec(any::<u8>(), 0..3000),
        log in log(),
    ) {
        for rest in [bytes, log] {
            let source = super::Source::Bytes { name: "log".into(), bytes: [start, &rest].concat() };
            let read = super::read(catalog(), &source).unwrap();
            prop_assert!(read.head.len() <= 40 && read.found.is_sorted_by_key(|found| found.number));
        }
    }
}

/// How packed and special files start.
fn start() -> impl Strategy<Value = &'static [u8]> {
    const STARTS: &[&[u8]] = &[
        b"",
        &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3],
        &[0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58],
        &[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0],
        &[0xff, 0xfe],
        &[0xfe, 0xff, 0xd8, 0x3d],
        "\u{feff}".as_bytes(),
        &[0x80, 2, b'}'],
        b"{\"log\":\"x\\n\",\"stream\":\"stdout\"}\n",
        b"{\"message\": {\"message\": \"x",
    ];
    proptest::sample::select(STARTS)
}
