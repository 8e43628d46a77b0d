//! Real logs with random damage: bits, cuts, doubled parts, other encodings, half packed files. Nothing
//! panics, and what is kept stays bounded. The seed is fixed; `ENVDOC_FUZZ_ROUNDS` and `ENVDOC_FUZZ_SEED` ask
//! for more and for others.

#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read the source tree")]

use catalog::testing::catalog;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use diagnose::read::{self, Source};
use diagnose::root_cause;

/// A small generator (xorshift), so that a seed gives the same damage everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap()
    }
}

fn logs() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut paths: Vec<PathBuf> = ["logs/failures", "logs/healthy", "logs_recorder"]
        .iter()
        .flat_map(|kind| std::fs::read_dir(folder.join(kind)).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).filter(|bytes| bytes.len() < 64 << 10).collect()
}

fn damaged(random: &mut Random, logs: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = logs[random.below(logs.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(9) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(..at)),
            3 => {
                let other = &logs[random.below(logs.len())];
                let from = random.below(other.len());
                bytes.splice(at..at, other[from..].iter().copied());
            }
            4 => {
                let junk: Vec<u8> =
                    (0..random.below(300)).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
                bytes.splice(at..at, junk);
            }
            5 => bytes.iter_mut().filter(|byte| **byte == b'\n').step_by(7).for_each(|byte| *byte = b'\r'),
            6 => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                bytes = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
                bytes.truncate(bytes.len() - random.below(3).min(bytes.len()));
            }
            7 => {
                let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                packed.write_all(&bytes).unwrap();
                bytes = packed.finish().unwrap();
                let cut = random.below(bytes.len() * 2);
                bytes.truncate(cut);
            }
            _ => {
                let line = [&b"x".repeat(random.below(20_000))[..], b"ncclSystemError: "].concat();
                bytes.splice(at..at, line);
            }
        }
    }
    bytes
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn damage_never_panics() {
    let logs = logs();
    let mut random = Random(number("ENVDOC_FUZZ_SEED", 0x9e37_79b9_7f4a_7c15).max(1));
    for round in 0..number("ENVDOC_FUZZ_ROUNDS", 1500) {
        let bytes = damaged(&mut random, &logs);
        let size = bytes.len();
        let name = ["log", "rank_3.log", "nccl_trace_rank_1"][random.below(3)].to_owned();
        let read = read::read(catalog(), &Source::Bytes { name, bytes }).unwrap();
        let kept: usize = read.found.iter().map(|found| found.text.len()).sum();
        assert!(kept < 32 << 20, "round {round}: {kept} bytes are kept of {size}");
        let diagnosis = root_cause::diagnose(catalog(), &[read], None);
        assert!(diagnosis.causes.len() <= 4, "round {round}");
    }
}
