//! How long a uv.lock of 300 packages takes to read: `cargo bench -p envdoc-project --bench lock`. Another file: with `ENVDOC_LOCK=FILE`
//! before it.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "the result of the benchmark")]

use std::path::Path;
use std::time::Instant;
use std::{env, fs};

use project::{LockFormat, Target, read_lock};

const TIMES: u32 = 100;
/// The packages of the recorded lock, and how often they are repeated under other names.
const COPIES: usize = 7;

/// A lock with the packages of a recorded one, several times.
fn repeated() -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/projects/16-uv-workspace-lock/uv.lock");
    let text = fs::read_to_string(path).expect("the lock of a project");
    let start = text.find("[[package]]").expect("packages");
    let (head, packages) = text.split_at(start);
    let copy = |number: usize| packages.replace("name = \"", &format!("name = \"copy{number}-"));
    head.to_owned() + packages + &(1..COPIES).map(copy).collect::<String>()
}

fn main() {
    let text = match env::var_os("ENVDOC_LOCK") {
        Some(path) => fs::read_to_string(path).expect("a lock"),
        None => repeated(),
    };
    let choice = Target { python: 12, architecture: "x86_64", extras: &[], groups: &[], declared: &[] };
    let each = |what: &dyn Fn() -> usize| {
        what();
        let start = Instant::now();
        let counts: usize = (0..TIMES).map(|_| std::hint::black_box(what())).sum();
        (start.elapsed().as_secs_f64() * 1e3 / f64::from(TIMES), counts)
    };
    let lock = read_lock(LockFormat::Uv, "uv.lock", &text).expect("a lock");
    let (read, _) =
        each(&|| read_lock(LockFormat::Uv, "uv.lock", &text).map_or(0, |lock| lock.packages.len()));
    let (select, _) = each(&|| lock.selected(choice).map_or(0, |selected| selected.len()));
    println!("{} packages, {} bytes", lock.packages.len(), text.len());
    println!("read: {read:.2} ms each of {TIMES}; selected: {select:.2} ms");
}
