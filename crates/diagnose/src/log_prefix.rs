//! Which rank and node logged a line, and when: what launchers, engines, libraries and the kernel put before
//! the message.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use regex::Regex;

use super::expression::constant;

/// The prefixes of a line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogPrefix {
    /// The rank in the job.
    pub rank: Option<u32>,
    /// The rank on its node, if the line has only that.
    pub local_rank: Option<u32>,
    /// The machine or container.
    pub node: Option<String>,
    /// The time stamp in the prefix of the line.
    pub time: Option<Time>,
    /// The level that the line states.
    pub level: Option<Level>,
}

/// The level of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Info,
    Warning,
    Error,
}

/// A moment by one of the clocks that logs use; moments of different clocks cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Time {
    /// Seconds since 1970 as the machine's own wall clock tells them.
    Wall(f64),
    /// A line without a year: seconds since the start of a leap year.
    Yearless(f64),
    /// Seconds of one day, of which the line does not say which.
    Daily(f64),
    /// Seconds since the kernel started.
    Kernel(f64),
}

impl Time {
    /// Seconds from another moment of the same clock to this one.
    pub fn since(self, other: Time) -> Option<f64> {
        match (self, other) {
            (Time::Wall(a), Time::Wall(b))
            | (Time::Yearless(a), Time::Yearless(b))
            | (Time::Daily(a), Time::Daily(b))
            | (Time::Kernel(a), Time::Kernel(b)) => Some(a - b),
            _ => None,
        }
    }
}

/// `[rank3]:`, `[default3]:`, `[1,3]<stdout>:` (mpirun), `3: ` (srun -l, pdsh of numbers), `[rank 3]`.
static RANK: LazyLock<Regex> =
    LazyLock::new(|| constant(r"^\[rank ?(\d{1,6})\]:? ?|^\[\d+,(\d{1,6})\]<std(?:out|err)>:? ?"));
static LOCAL_RANK: LazyLock<Regex> = LazyLock::new(|| constant(r"^\[[a-z_]*[a-z](\d{1,3})\]: ?"));
static TASK: LazyLock<Regex> = LazyLock::new(|| constant(r"^ {0,4}(\d{1,5}): "));
/// `node-1  | ` of compose.
static COMPOSE: LazyLock<Regex> = LazyLock::new(|| constant(r"^([A-Za-z0-9][\w.-]*) +\| ?"));
/// `node-1: ` of pdsh, DeepSpeed and ansible.
static PDSH: LazyLock<Regex> = LazyLock::new(|| constant(r"^([A-Za-z0-9][A-Za-z0-9.-]*): ?"));
/// `host:pid:tid [device] NCCL`.
static NCCL: LazyLock<Regex> =
    LazyLock::new(|| constant(r"^([A-Za-z0-9][\w.-]*):\d+:\d+ \[(\d+)\] (?:[\w./]+:\d+ (?:\(\w+\) )?)?NCCL"));
/// ISO: `2026-11-21 21:28:51,770`, with T, Z, brackets, an underscore as elastic's table has it.
static ISO: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r#"^(?:time=)?["\[(]?(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,"#,
        r#"9}))?(Z|[+-]\d\d:?\d\d)?["\])]?:?,? ?"#,
    ))
});
/// glog: `E1122 10:11:12.000000`, `[E817 17:40:34.227531918`.
static GLOG: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"^\[?([IWEF])(\d{1,2})(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{1,9})(?: +\d+ [\w./\\-]+:\d+\] ?)?")
});
/// dmesg: `[12345.678901]`, and dmesg -T: `[Fri Aug 30 11:43:09 2024]`.
static KERNEL: LazyLock<Regex> = LazyLock::new(|| constant(r"^(?:<\d+>)?\[ *(\d+\.\d+)\] ?"));
static KERNEL_DATE: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"^\[?(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (\w{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\]? ?")
});
/// syslog: `Nov 22 10:11:12 host kernel:`.
static SYSLOG: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r"^(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (?:",
        r"([\w.-]+) (?:kernel|[\w./-]+(?:\[\d+\])?): ?)?",
    ))
});
/// What a part of a job puts before its worker's lines: `(EngineCore_0 pid=123) `, `(RayTrainWorker pid=9,
/// ip=10.0.0.2) `.
static WORKER: LazyLock<Regex> =
    LazyLock::new(|| constant(r"^\((?:[\w.:<>-]+ )?pid=\d+(?:, ip=([\w.:-]+))?\) ?"));
/// vLLM's `ERROR 02-07 11:28:26 engine.py:389] ` and `ERROR 02-07 11:28:26 [core.py:367] `.
static LEVELLED: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"^(DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[?[\w./-]+:\d+\] ?")
});
/// A test runner's or accelerate's `stderr: `, containerd's `stderr F ` (after the time), kubectl's
/// `[pod/train-0/pytorch] `, a quotation's `> `, a build's `#12 34.567 ` and `34.56 `.
static PASSED: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r"^(?:std(?:err|out)(?:: ?| [FP] )|\[pod/[\w.-]+/[\w.-]+\] |> |#\d{1,3} \d{1,5}\.\d{1,3} ",
        r"|\d{1,5}\.\d{2,3} )",
    ))
});
/// How names of logs end.
const LOG_NAMES: &[&str] = &[".log", ".out", ".err", ".txt"];
/// What `grep -n` puts before the lines of several files: `logs/rank3.log:812:`.
static FOUND_IN: LazyLock<Regex> =
    LazyLock::new(|| constant(r"^[\w./-]{1,120}\.(?:log|out|err|txt):\d{1,9}:"));
/// loguru's `| ERROR    | module:function:12 - `, after its time.
static BARRED: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"^\| (DEBUG|INFO|SUCCESS|WARNING|ERROR|CRITICAL) +\| [^|\n]{1,80}?(?: - | \| ?)")
});
static CLOCK: LazyLock<Regex> = LazyLock::new(|| constant(r"^\[?(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\]? "));
/// A rank that the words themselves name: `[Rank 3]`, `[PG 1 Rank 0]`, `[PG ID 2 PG GUID 9 Rank 4]`, `[rank
/// 3]`.
static NAMED: LazyLock<Regex> =
    LazyLock::new(|| constant(r"\[(?:[^\[\]]{0,60} )?[Rr]ank[ :](\d{1,6})\]|\[rank(\d{1,6})\]:"));
static NODE_IN: LazyLock<Regex> =
    LazyLock::new(|| constant(r"\b([A-Za-z0-9][\w.-]*):\d+:\d+ \[\d+\] (?:[\w./]+:\d+ (?:\(\w+\) )?)?NCCL"));
static LEVEL: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r"\blevel=(info|debug|warning|warn|error|fatal)\b|\[(INFO|DEBUG|WARNING|ERROR|CRITICAL)\]",
        r"|\b(INFO|DEBUG|WARN(?:ING)?|ERROR?|FATAL?|CRITICAL)\b ?[:\[\]\-]|^\S{0,40} ?\b(INFO",
        r"|WARN(?:ING)?|ERROR)\b ",
    ))
});

/// The prefixes of a line, and the rest of it. `nodes` tells whether a word before a colon is a node name.
pub fn parse<'l>(line: &'l str, nodes: &dyn Fn(&str) -> bool) -> (LogPrefix, &'l str) {
    let mut prefix = LogPrefix::default();
    let mut rest = line;
    // Prefixes nest: pdsh's before torchrun's before the program's own.
    for _ in 0..6 {
        let before = rest.len();
        rest = one(&mut prefix, rest, nodes);
        if rest.len() == before {
            break;
        }
    }
    if prefix.rank.is_none()
        && line.contains("ank")
        && let Some(named) = NAMED.captures(line)
    {
        prefix.rank = number(&named, 1).or_else(|| number(&named, 2));
    }
    if prefix.node.is_none()
        && line.contains("NCCL")
        && let Some(named) = NODE_IN.captures(line)
    {
        prefix.node = Some(named[1].to_owned());
    }
    if prefix.level.is_none() {
        prefix.level = LEVEL.captures(rest.get(..160).unwrap_or(rest)).and_then(|found| {
            let word = (1..=4).find_map(|group| found.get(group))?.as_str().to_ascii_lowercase();
            Some(match word.as_str() {
                "info" | "debug" => Level::Info,
                "warning" | "warn" => Level::Warning,
                _ => Level::Error,
            })
        });
    }
    (prefix, rest)
}

/// Takes one prefix off.
fn one<'l>(prefix: &mut LogPrefix, line: &'l str, nodes: &dyn Fn(&str) -> bool) -> &'l str {
    let first = line.as_bytes().first().copied().unwrap_or(0);
    if first == b'[' {
        if let Some(found) = RANK.captures(line) {
            prefix.rank = prefix.rank.or_else(|| number(&found, 1)).or_else(|| number(&found, 2));
            return &line[found[0].len()..];
        }
        if let Some(found) = LOCAL_RANK.captures(line) {
            prefix.local_rank = number(&found, 1);
            return &line[found[0].len()..];
        }
    }
    if first == b'('
        && let Some(found) = WORKER.captures(line)
    {
        prefix.node = prefix.node.take().or_else(|| found.get(1).map(|name| name.as_str().to_owned()));
        return &line[found[0].len()..];
    }
    if matches!(first, b'D' | b'I' | b'W' | b'E' | b'C' | b'|')
        && let Some(found) = LEVELLED.captures(line).or_else(|| BARRED.captures(line))
    {
        prefix.level = prefix.level.or(Some(match &found[1] {
            "DEBUG" | "INFO" | "SUCCESS" => Level::Info,
            "WARNING" => Level::Warning,
            _ => Level::Error,
        }));
        return &line[found[0].len()..];
    }
    if (matches!(first, b's' | b'>' | b'#') || first.is_ascii_digit() || line.starts_with("[pod/"))
        && let Some(found) = PASSED.captures(line)
    {
        return &line[found[0].len()..];
    }
    if line.split_once(':').is_some_and(|(name, _)| LOG_NAMES.iter().any(|ending| name.ends_with(ending)))
        && let Some(found) = FOUND_IN.captures(line)
    {
        return &line[found[0].len()..];
    }
    if let Some((length, time, level)) = moment(line) {
        prefix.time = prefix.time.or(time);
        prefix.level = prefix.level.or(level);
        return &line[length..];
    }
    if line.contains("NCCL")
        && let Some(found) = NCCL.captures(line)
    {
        prefix.node = prefix.node.take().or_else(|| Some(found[1].to_owned()));
        prefix.local_rank = prefix.local_rank.or_else(|| number(&found, 2));
        return line;
    }
    if matches!(first, b'J' | b'F' | b'M' | b'A' | b'S' | b'O' | b'N' | b'D')
        && let Some(found) = SYSLOG.captures(line)
    {
        let start = start_in_leap_year(month(&found[1]), value(&found, 2));
        prefix.time = prefix.time.or(start.map(|start| Time::Yearless(start + of_day(&found, 3))));
        prefix.node = prefix.node.take().or_else(|| found.get(6).map(|name| name.as_str().to_owned()));
        return &line[found[0].len()..];
    }
    if line.contains(" |")
        && let Some(found) = COMPOSE.captures(line)
    {
        prefix.node = prefix.node.take().or_else(|| Some(found[1].to_owned()));
        return &line[found[0].len()..];
    }
    if prefix.node.is_none()
        && let Some(found) = PDSH.captures(line)
        && nodes(&found[1])
    {
        prefix.node = Some(found[1].to_owned());
        return &line[found[0].len()..];
    }
    if prefix.rank.is_none()
        && (first == b' ' || first.is_ascii_digit())
        && let Some(found) = TASK.captures(line)
        && nodes(&found[1])
    {
        prefix.rank = number(&found, 1);
        return &line[found[0].len()..];
    }
    line
}

/// A time at the start of a line: how long it is, the moment, and the level that glog puts before it.
fn moment(line: &str) -> Option<(usize, Option<Time>, Option<Level>)> {
    // What a line may start with is looked at before an expression is compiled for it.
    let first = line.bytes().find(|byte| !matches!(byte, b'[' | b'"' | b'('))?;
    let bracket = line.starts_with('[');
    if (first.is_ascii_digit() || first == b't')
        && let Some(found) = ISO.captures(line)
    {
        let midnight = midnight(value(&found, 1), value(&found, 2), value(&found, 3));
        let time = midnight.map(|start| Time::Wall(start + of_day(&found, 4) + fraction(found.get(7))));
        return Some((found[0].len(), time, None));
    }
    if matches!(first, b'I' | b'W' | b'E' | b'F')
        && let Some(found) = GLOG.captures(line)
    {
        let level = match &found[1] {
            "I" => Level::Info,
            "W" => Level::Warning,
            _ => Level::Error,
        };
        let start = start_in_leap_year(value(&found, 2), value(&found, 3));
        let time = start.map(|start| Time::Yearless(start + of_day(&found, 4) + fraction(found.get(7))));
        return Some((found[0].len(), time, Some(level)));
    }
    if (bracket || first == b'<')
        && let Some(found) = KERNEL.captures(line)
    {
        return Some((found[0].len(), found[1].parse().ok().map(Time::Kernel), None));
    }
    if matches!(first, b'M' | b'T' | b'W' | b'F' | b'S')
        && let Some(found) = KERNEL_DATE.captures(line)
    {
        let midnight = midnight(value(&found, 6), month(&found[1]), value(&found, 2));
        return Some((found[0].len(), midnight.map(|start| Time::Wall(start + of_day(&found, 3))), None));
    }
    let found = if first.is_ascii_digit() { CLOCK.captures(line)? } else { return None };
    Some((found[0].len(), Some(Time::Daily(of_day(&found, 1) + fraction(found.get(4)))), None))
}

fn number(found: &regex::Captures<'_>, group: usize) -> Option<u32> {
    found.get(group)?.as_str().parse().ok()
}

fn value(found: &regex::Captures<'_>, group: usize) -> i16 {
    found.get(group).and_then(|text| text.as_str().parse().ok()).unwrap_or(0)
}

/// Seconds of three groups: hours, minutes, seconds.
fn of_day(found: &regex::Captures<'_>, group: usize) -> f64 {
    let [hours, minutes, seconds] = [0, 1, 2].map(|offset| f64::from(value(found, group + offset)));
    hours * 3600.0 + minutes * 60.0 + seconds
}

fn fraction(digits: Option<regex::Match<'_>>) -> f64 {
    digits.and_then(|digits| format!("0.{}", digits.as_str()).parse().ok()).unwrap_or(0.0)
}

fn month(name: &str) -> i16 {
    const MONTHS: &[&str] =
        &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    (1..).zip(MONTHS).find(|(_, known)| **known == name).map_or(1, |(number, _)| number)
}

/// Seconds from 1970 to the start of a day; `None` where the date does not exist.
fn midnight(year: i16, month: i16, day: i16) -> Option<f64> {
    let date = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second() as f64)
}

/// A leap year: every date without a year exists in it.
const LEAP_YEAR: i16 = 2000;

/// Seconds from the start of [`LEAP_YEAR`] to the start of a day.
fn start_in_leap_year(month: i16, day: i16) -> Option<f64> {
    Some(midnight(LEAP_YEAR, month, day)? - midnight(LEAP_YEAR, 1, 1)?)
}

/// The year of a moment.
pub fn year_of(seconds: f64) -> Option<i16> {
    Some(date_of(seconds)?.year())
}

fn date_of(seconds: f64) -> Option<Date> {
    Some(Timestamp::from_second(seconds as i64).ok()?.to_zoned(TimeZone::UTC).date())
}

/// A moment without a year ([`Time::Yearless`]) in a year; 29 February becomes 1 March where the year has
/// none.
pub fn in_year(seconds: f64, year: i16) -> Option<f64> {
    let moment = midnight(LEAP_YEAR, 1, 1)? + seconds;
    let date = date_of(moment)?;
    let of_day = moment - midnight(LEAP_YEAR, date.month().into(), date.day().into())?;
    let start = midnight(year, date.month().into(), date.day().into()).or_else(|| midnight(year, 3, 1))?;
    Some(start + of_day)
}

/// Whether a word before a colon may be the name of a machine: it has a digit or a dash and is no library,
/// program or number of a launcher's own.
pub fn like_a_node(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    let telling = word.bytes().any(|byte| byte.is_ascii_digit() || byte == b'-');
    let known = [
        "python",
        "pip",
        "lib",
        "c10d",
        "nvidia-smi",
        "docker-",
        "apt-",
        "nvidia-",
        "torch",
        "gcc",
        "g++",
        "uv",
        "cc1",
        "sm_",
    ];
    let ending = [
        ".so",
        ".py",
        ".c",
        ".cc",
        ".cpp",
        ".cu",
        ".h",
        ".go",
        ".json",
        ".yaml",
        ".yml",
        ".deb",
        ".whl",
        "error",
        "exception",
    ];
    let glog = word.len() == 5
        && word.starts_with(['I', 'W', 'E', 'F'])
        && word[1..].bytes().all(|b| b.is_ascii_digit());
    !glog
        && (digits || telling)
        && !known.iter().any(|start| lower.starts_with(start))
        && !lower.contains(".so.")
        && !ending.iter().any(|end| lower.ends_with(end))
}

/// The rank that a file's name tells: `rank3.log`, `worker_3/stderr.log`, `attempt_0/3/stdout.log`,
/// `attempt_0/3/error.json`.
pub fn rank_of_file(name: &str) -> Option<u32> {
    static FILE: LazyLock<Regex> = LazyLock::new(|| {
        constant(concat!(
            r"(?i)(?:^|[/_.-])rank[_.-]?(\d{1,5})(?:[/_.-]|$)|attempt_\d+/(\d{1,5})/(?:std(?:out",
            r"|err)\.log|error\.json)$",
        ))
    });
    if !name.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let found = FILE.captures(name)?;
    number(&found, 1).or_else(|| number(&found, 2))
}

#[cfg(test)]
mod tests {
    use super::{Level, LogPrefix, Time, like_a_node, parse, rank_of_file};

    fn of(line: &str) -> (LogPrefix, &str) {
        parse(line, &|word| like_a_node(word) && !word.bytes().all(|byte| byte.is_ascii_digit()))
    }

    #[test]
    fn parses_prefixes_of_launchers() {
        let (from, rest) = of("node-2: [rank3]: RuntimeError: no");
        assert_eq!((from.rank, from.node.as_deref(), rest), (Some(3), Some("node-2"), "RuntimeError: no"));
        let (from, rest) =
            of("[default2]:[rank12]:[E817 17:40:34.227531918 ProcessGroupNCCL.cpp:1515] [PG 0 Rank 12] x");
        assert_eq!((from.rank, from.local_rank, from.level), (Some(12), Some(2), Some(Level::Error)));
        assert!(rest.starts_with(" ProcessGroupNCCL"), "{rest}");
        let (from, _) = of("[1,7]<stderr>:boom");
        assert_eq!(from.rank, Some(7));
        let (from, rest) = of("worker1  | 2026-11-21 21:28:51,770 [rank 1] INFO train: x");
        assert_eq!(
            (from.node.as_deref(), from.rank, from.level),
            (Some("worker1"), Some(1), Some(Level::Info))
        );
        assert!(rest.contains("INFO train"), "{rest}");
        let (from, _) = of("[E ProcessGroupNCCL.cpp:458] [Rank 7] Watchdog caught");
        assert_eq!(from.rank, Some(7));
        let (from, _) =
            of("[rank4]:[E318 07:39:53.792772442 ProcessGroupNCCL.cpp:1785] [PG ID 2 PG GUID 9 Rank 4] x");
        assert_eq!(from.rank, Some(4));
        let (from, _) = of("gpu07:123:456 [5] NCCL WARN x");
        assert_eq!((from.node.as_deref(), from.local_rank), (Some("gpu07"), Some(5)));
        let (from, _) = of("gpu07:123:456 [5] include/alloc.h:320 (ncclCuMemAlloc) NCCL WARN x");
        assert_eq!((from.node.as_deref(), from.local_rank), (Some("gpu07"), Some(5)));
        let (from, _) = of("[2025-03-01 12:00:00] gpu07:123:456 [5] misc/socket.cc:12 NCCL WARN x");
        assert_eq!((from.node.as_deref(), from.local_rank), (Some("gpu07"), Some(5)));
        assert!(from.time.is_some());
    }

    #[test]
    fn strips_prefixes_of_worker_processes() {
        for line in [
            "(EngineCore_DP0 pid=6880) ValueError: no",
            "(VllmWorkerProcess pid=21) ERROR 01-12 08:36:38 multiproc_worker_utils.py:233] ValueError: no",
            "(EngineCore_0 pid=1) ERROR 03-27 22:19:40 [core.py:367] ValueError: no",
            "[rank1]:E0207 07:54:31.862000 4712 site-packages/torch/x.py:939] ValueError: no",
            "stderr: [rank0]: ValueError: no",
            "> ValueError: no",
            "2025-05-09 09:44:06 | ERROR | stderr | ValueError: no",
            "2025-05-09 09:44:06.123 | ERROR    | train:main:12 - ValueError: no",
            "#12 34.567 ValueError: no",
            "2024-05-01T10:00:00.123456789Z stderr F ValueError: no",
            "[pod/train-0/pytorch] ValueError: no",
            "logs/rank3.log:812:ValueError: no",
        ] {
            assert_eq!(of(line).1, "ValueError: no", "{line}");
        }
        let (from, _) = of("(RayWorkerVllm pid=23, ip=198.51.100.163) INFO 04-17 09:00:32 pynccl.py:45] x");
        assert_eq!((from.node.as_deref(), from.level), (Some("198.51.100.163"), Some(Level::Info)));
    }

    #[test]
    fn does_not_mistake_words_for_node_names() {
        for line in [
            "RuntimeError: x",
            "libcuda.so.1: cannot open",
            "python3: can't open file",
            "E1121: x",
            "docker: x",
        ] {
            let (from, rest) = of(line);
            assert_eq!((from.node, rest), (None, line));
        }
    }

    #[test]
    fn parses_timestamps_of_log_formats() {
        let wall = |line: &str| match of(line).0.time {
            Some(Time::Wall(seconds)) => seconds,
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(wall("2026-11-21T21:28:51.5Z x"), 1_795_296_531.5);
        assert_eq!(wall("[2026-11-21 21:28:51,500] [INFO] x"), 1_795_296_531.5);
        assert_eq!(wall("time=\"2026-11-21T21:28:51.500000000Z\" level=warning msg=x"), 1_795_296_531.5);
        assert_eq!(wall("[Fri Aug 30 11:43:09 2024] NVRM: x"), 1_725_018_189.0);
        assert!(matches!(of("[12345.678901] NVRM: x").0.time, Some(Time::Kernel(s)) if s > 12345.6));
        let (from, rest) = of("Nov 22 10:11:12 gpu-3 kernel: NVRM: x");
        assert_eq!((from.node.as_deref(), rest), (Some("gpu-3"), "NVRM: x"));
        let one = of("E1122 10:11:13.000000 123 a.cc:1] x").0.time.unwrap();
        let two = of("W1122 10:11:12.000000 123 a.cc:1] x").0.time.unwrap();
        assert_eq!(one.since(two), Some(1.0));
        assert_eq!(one.since(Time::Kernel(1.0)), None);
        assert_eq!(of("time=\"2026-11-21T21:28:51Z\" level=warning msg=x").0.level, Some(Level::Warning));
    }

    #[test]
    fn adds_the_year_to_timestamps_without_one() {
        let (glog, _) = of("E1121 21:28:51.500000 123 a.cc:1] x");
        let Some(Time::Yearless(seconds)) = glog.time else { panic!("{glog:?}") };
        assert_eq!(super::in_year(seconds, 2026), Some(1_795_296_531.5));
        assert_eq!(super::year_of(1_795_296_531.5), Some(2026));
        let (leap, _) = of("E0229 00:00:01.000000 123 a.cc:1] x");
        let Some(Time::Yearless(seconds)) = leap.time else { panic!("{leap:?}") };
        assert_eq!(super::in_year(seconds, 2024), Some(1_709_164_801.0));
        assert_eq!(super::in_year(seconds, 2026), super::midnight(2026, 3, 1).map(|start| start + 1.0));
        assert_eq!(of("2026-02-30 10:00:00 x"), (LogPrefix::default(), "x"), "no such day");
    }

    #[test]
    fn reads_rank_from_log_file_names() {
        assert_eq!(rank_of_file("logs/rank_3.log"), Some(3));
        assert_eq!(rank_of_file("job/attempt_0/5/stderr.log"), Some(5));
        assert_eq!(rank_of_file("frank7.log"), None);
        assert_eq!(rank_of_file("train.log"), None);
    }
}
