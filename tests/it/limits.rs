//! Inputs that want memory or time (`tests/hostile/limits.yaml`): each ends with an exit code of envdoc's
//! own, within a limit of CPU time and of memory. `ENVDOC_LIMITS=table` prints what each took, which is the
//! table of docs/measurements/hostile-input.md; `ENVDOC_LIMITS=ID` runs the inputs whose ids begin so.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests run the program; the table is for docs/measurements"
)]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde::Deserialize;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The most CPU time of one input, in seconds: user and system, which a busy machine does not change much.
const CPU_LIMIT_SECONDS: u64 = 10;
/// The most memory of one input, in MiB.
const PEAK_LIMIT_MIB: u64 = 300;

/// An input: arguments, files, and how the program ends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    run: Vec<String>,
    #[serde(default)]
    input: Vec<Part>,
    #[serde(default)]
    files: Vec<Input>,
    exit: i32,
    says: String,
    cpu_seconds: Option<u64>,
    peak_mib: Option<u64>,
}

/// A file, or `count` of them, in whose names and texts `{i}` is the number and `{j}` the next one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    name: String,
    count: Option<usize>,
    #[serde(default)]
    gzip: bool,
    parts: Vec<Part>,
}

/// A text, `count` times; then what is inside, then what closes, as often.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    text: String,
    count: Option<usize>,
    #[serde(default)]
    inner: String,
    #[serde(default)]
    close: String,
}

fn numbered(text: &str, number: usize) -> String {
    text.replace("{i}", &number.to_string()).replace("{j}", &(number + 1).to_string())
}

fn composed(parts: &[Part], file: Option<usize>) -> String {
    let mut all = String::new();
    for Part { text, count, inner, close } in parts {
        match (count, file) {
            (Some(count), _) if text.contains("{i}") || text.contains("{j}") => {
                (0..*count).for_each(|number| all += &numbered(text, number));
            }
            (Some(count), _) => all += &text.repeat(*count),
            (None, Some(number)) => all += &numbered(text, number),
            (None, None) => all += text,
        }
        all += inner;
        all += &close.repeat(count.unwrap_or(1));
    }
    all
}

/// Writes the files of a row; how many bytes they have.
fn write(row: &Row, dir: &Path) -> usize {
    let put = |name: &str, text: &str, gzip: bool| {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = File::create(path).unwrap();
        if gzip {
            let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
            packed.write_all(text.as_bytes()).unwrap();
            packed.finish().unwrap();
        } else {
            file.write_all(text.as_bytes()).unwrap();
        }
        text.len()
    };
    if row.run[0] == "check" {
        // A snapshot may be based on one below its folder.
        std::os::unix::fs::symlink(format!("{ROOT}/tests/servers"), dir.join("servers")).unwrap();
    }
    let mut bytes = 0;
    if !row.input.is_empty() {
        bytes += put("input", &composed(&row.input, None), false);
    }
    for Input { name, count, gzip, parts } in &row.files {
        bytes += match count {
            None => put(name, &composed(parts, None), *gzip),
            Some(count) => (0..*count)
                .map(|number| put(&numbered(name, number), &composed(parts, Some(number)), *gzip))
                .sum(),
        };
    }
    bytes
}

/// What a program took, and how it ended.
struct Took {
    seconds: f64,
    peak_mib: u64,
    /// The exit code; `None` after a signal.
    exit: Option<i32>,
    printed: String,
}

/// Runs envdoc in a directory, for at most so many seconds of CPU time.
fn run(arguments: &[String], dir: &Path, limit_seconds: u64) -> Took {
    let output = dir.join("\u{1}output");
    let file = File::create(&output).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
    command.args(arguments).current_dir(dir).stdin(Stdio::null());
    command.stdout(file.try_clone().unwrap()).stderr(file);
    command.env("ENVDOC_CATALOG_DIR", "").env("NO_COLOR", "1").env("HOME", dir).env("COLUMNS", "100");
    for name in ["CI", "DOCKER_HOST", "ENVDOC_IGNORE", "ENVDOC_LINT_IGNORE", "ENVDOC_EXPECT"] {
        command.env_remove(name);
    }
    #[expect(clippy::zombie_processes, reason = "`ended` waits for it")]
    let child = command.spawn().unwrap();
    let limit = |seconds| Rlimit { current: Some(seconds), maximum: Some(seconds) };
    let pid = Pid::from_child(&child);
    // One that has ended already has no limits any more, and needs none.
    let _ = prlimit(Some(pid), Resource::Cpu, limit(limit_seconds + 1));
    let _ = prlimit(Some(pid), Resource::Core, limit(0));
    let (exit, seconds, peak_mib) = ended(child.id());
    Took {
        seconds,
        peak_mib,
        exit,
        printed: String::from_utf8_lossy(&fs::read(output).unwrap()).into_owned(),
    }
}

/// Waits for a program: its exit code, the seconds of CPU time and the MiB that it took at most.
#[expect(
    unsafe_code,
    reason = "only wait4 tells what one child took, and the standard library has no safe one"
)]
fn ended(pid: u32) -> (Option<i32>, f64, u64) {
    // wait4 counts the memory of the process that started the program, too. Its own mark only rises, until it
    // has ended.
    let memory = format!("/proc/{pid}/status");
    let mut peak_mib = 0;
    while let Some(mark) = high_water_mib(&fs::read_to_string(&memory).unwrap()) {
        peak_mib = peak_mib.max(mark);
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut status = 0;
    // SAFETY: the structure has integers alone, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to variables of this function, and nothing else waits for this child.
    let waited = unsafe { libc::wait4(pid.try_into().unwrap(), &raw mut status, 0, &raw mut usage) };
    assert_eq!(u32::try_from(waited).ok(), Some(pid), "{}", std::io::Error::last_os_error());
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let exit = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    (exit, seconds(usage.ru_utime) + seconds(usage.ru_stime), peak_mib)
}

/// The most memory of a process so far; `None` where it has ended.
fn high_water_mib(status: &str) -> Option<u64> {
    let mark = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(mark.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10)
}

/// The first line that says something, for the table.
fn first_line(printed: &str) -> String {
    let line = printed.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing");
    let cut: String = line.chars().take(70).collect();
    cut.replace('|', "\\|")
}

#[test]
fn hostile_inputs_end_within_their_limits() {
    let text = fs::read_to_string(format!("{ROOT}/tests/hostile/limits.yaml")).unwrap();
    let rows: Vec<Row> = serde_yaml::from_str(&text).unwrap();
    let wanted = std::env::var("ENVDOC_LIMITS").ok();
    let table = wanted.as_deref() == Some("table");
    let mut wrong = Vec::new();
    let mut all_seconds = 0.0;
    for row in &rows {
        if !table && wanted.as_ref().is_some_and(|wanted| !row.id.starts_with(wanted)) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let bytes = write(row, folder.path());
        let cpu = row.cpu_seconds.unwrap_or(CPU_LIMIT_SECONDS);
        let peak = row.peak_mib.unwrap_or(PEAK_LIMIT_MIB);
        let Took { seconds, peak_mib, exit, printed } = run(&row.run, folder.path(), cpu);
        all_seconds += seconds;
        if wanted.is_some() {
            let first = first_line(&printed);
            println!("| {} | {} | {seconds:.2} | {peak_mib} | {first} |", row.id, bytes.div_ceil(1024));
        }
        let ended_well = exit == Some(row.exit) && printed.contains(&row.says);
        if !ended_well || seconds > cpu as f64 || peak_mib > peak {
            let start: String = printed.chars().take(300).collect();
            wrong.push(format!("{}: {seconds:.1} s, {peak_mib} MiB, exit code {exit:?}: {start}", row.id));
        }
    }
    if wanted.is_some() {
        println!("| all | | {all_seconds:.1} | | |");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Inputs of one shape for one type of file (`tests/hostile/shapes.yaml`).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    kind: String,
    shape: String,
    start: String,
    each: String,
    #[serde(default)]
    end: String,
    #[serde(default)]
    close: String,
}

/// The size of an input of a shape, in bytes; four times as much with `ENVDOC_LIMITS`.
const SHAPE_BYTES: usize = 50 << 10;
/// The most CPU time of such an input, in seconds; [`CPU_LIMIT_SECONDS`] with `ENVDOC_LIMITS`.
const SHAPE_CPU_LIMIT_SECONDS: u64 = 3;
/// The most memory of such an input, in MiB.
const SHAPE_PEAK_LIMIT_MIB: u64 = 1000;
/// The shapes that each type of file has.
const SHAPES: &[&str] = &["long-line", "many-lines", "nesting", "references", "blocks", "expansion"];

impl Shape {
    fn text(&self, bytes: usize) -> String {
        let mut text = self.start.clone();
        let mut count = 0;
        while text.len() + count * self.close.len() < bytes {
            text += &numbered(&self.each, count);
            count += 1;
        }
        text + &self.end + &self.close.repeat(count)
    }
}

#[test]
fn inputs_of_every_shape_are_linted_within_the_limits() {
    let text = fs::read_to_string(format!("{ROOT}/tests/hostile/shapes.yaml")).unwrap();
    let shapes: Vec<Shape> = serde_yaml::from_str(&text).unwrap();
    for kind in lint::Kind::ALL {
        let of_kind: Vec<&str> =
            shapes.iter().filter(|one| one.kind == kind.id()).map(|one| one.shape.as_str()).collect();
        assert_eq!(of_kind, SHAPES, "{}", kind.id());
    }
    let table = std::env::var("ENVDOC_LIMITS").is_ok();
    let (bytes, cpu) = match table {
        true => (4 * SHAPE_BYTES, CPU_LIMIT_SECONDS),
        false => (SHAPE_BYTES, SHAPE_CPU_LIMIT_SECONDS),
    };
    let mut wrong = Vec::new();
    let mut all_seconds = 0.0;
    for one in &shapes {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("input"), one.text(bytes)).unwrap();
        let arguments = ["lint", "--as", &one.kind, "input"].map(str::to_owned);
        let Took { seconds, peak_mib, exit, printed } = run(&arguments, folder.path(), cpu);
        all_seconds += seconds;
        if table {
            println!("| {} | {} | {seconds:.2} | {peak_mib} |", one.kind, one.shape);
        }
        let ended_well = matches!(exit, Some(0 | 1));
        if !ended_well || seconds > cpu as f64 || peak_mib > SHAPE_PEAK_LIMIT_MIB {
            let start: String = printed.chars().take(300).collect();
            let name = format!("{} {}", one.kind, one.shape);
            wrong.push(format!("{name}: {seconds:.1} s, {peak_mib} MiB, exit code {exit:?}: {start}"));
        }
    }
    if table {
        println!("| all | | {all_seconds:.1} | |");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
