//! The daemon's command line: of the running one, and of the one that systemd would start.

use crate::Fact;
use crate::IntoFact;
use catalog::Catalog;
use catalog::docker_daemon::Kind;
use host::Host;
use host::process_stat::ProcessStat;

/// What a unit starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The file whose `ExecStart` counts: the unit, or the drop-in that replaces it.
    pub path: String,
    /// The words of that `ExecStart`, the program first.
    pub argv: Vec<String>,
}

/// The engine's process id; a rootless engine keeps it in its user's runtime directory.
pub(super) fn pid(host: &dyn Host, rootless: Option<&str>) -> Fact<u32> {
    if let Some(run) = rootless {
        return parse_pid(host.read(&format!("{run}/docker.pid")).text());
    }
    parse_pid(host.read("/var/run/docker.pid").text().or_else(|| host.read("/run/docker.pid").text()))
}

fn parse_pid(text: Fact<String>) -> Fact<u32> {
    text.about("docker.pid").and_then(|text| match text.trim().parse() {
        Ok(pid) => Fact::Known(pid),
        Err(_) => Fact::unknown(format!("docker.pid holds {:?}, not a process id", text.trim())),
    })
}

/// Its command line; absent when that process is gone or is something else.
pub(super) fn of(host: &dyn Host, pid: u32) -> Fact<Vec<String>> {
    let path = format!("/proc/{pid}/cmdline");
    host.read(&path).text().about(&path).and_then(|text| {
        let argv: Vec<String> =
            text.split('\0').filter(|argument| !argument.is_empty()).map(str::to_owned).collect();
        match argv.first() {
            Some(program) if program.rsplit('/').next().is_some_and(|name| name.contains("dockerd")) => {
                Fact::Known(argv)
            }
            _ => Fact::Absent,
        }
    })
}

/// When a process started: `/proc/PID/stat` counts in hundredths of a second since boot (field 22), `btime`
/// of `/proc/stat` is boot in seconds since 1970.
pub(super) fn started(host: &dyn Host, pid: u32) -> Fact<i64> {
    let path = format!("/proc/{pid}/stat");
    let ticks = host.read(&path).text().and_then(|text| {
        match ProcessStat::parse(&text).and_then(|stat| i64::try_from(stat.started()?).ok()) {
            Some(ticks) => Fact::Known(ticks),
            None => Fact::unknown(format!("{path} has no start time")),
        }
    });
    ticks.and_then(|ticks| {
        host.read("/proc/stat").text().must_exist("/proc/stat").and_then(|text| {
            let boot = text.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse::<i64>().ok());
            boot.map_or_else(
                || Fact::unknown("/proc/stat has no btime"),
                |boot| Fact::Known(boot + ticks / 100),
            )
        })
    })
}

/// The unit file that counts.
pub(super) fn unit_file(host: &dyn Host) -> Fact<String> {
    let mut found = Fact::Absent;
    for dir in [
        "/etc/systemd/system",
        "/run/systemd/system",
        "/usr/local/lib/systemd/system",
        "/lib/systemd/system",
        "/usr/lib/systemd/system",
    ] {
        let path = format!("{dir}/docker.service");
        found = found.or_else(|| host.stat(&path).text().map(|_| path.clone()));
    }
    found
}

/// The command that the unit starts, drop-ins applied: an empty `ExecStart=` forgets what stood before.
pub(super) fn unit(host: &dyn Host, path: &str) -> Fact<Unit> {
    let mut files = vec![path.to_owned()];
    for dir in ["/lib/systemd/system/docker.service.d", "/etc/systemd/system/docker.service.d"] {
        let names = match host.list(dir).lines() {
            Fact::Unknown(why) => return Fact::Unknown(why.clone().about(dir.to_string())),
            other => other.known().cloned().unwrap_or_default(),
        };
        files.extend(names.iter().filter(|name| name.ends_with(".conf")).map(|name| format!("{dir}/{name}")));
    }
    let mut command = Fact::Absent;
    for file in files {
        let text = match host.read(&file).text() {
            Fact::Known(text) => text,
            Fact::Absent => continue,
            Fact::Unknown(why) => return Fact::Unknown(why.clone().about(file.to_string())),
        };
        for value in exec_starts(&text) {
            command = if value.is_empty() {
                Fact::Absent
            } else {
                Fact::Known(Unit { path: file.clone(), argv: words(&value) })
            };
        }
    }
    command
}

/// The values of `ExecStart=` in order, lines that end in a backslash joined.
fn exec_starts(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let values = joined.lines().filter_map(|line| line.trim().strip_prefix("ExecStart="));
    values.map(|value| value.trim().to_owned()).collect()
}

/// Words of a systemd command line; quotes hold words together. Variables stay as they are: what they hold is
/// not known.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, c) => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The flags of a dockerd command line: long name without dashes, and value. Short ones are written out.
pub fn flags(catalog: &Catalog, argv: &[String]) -> Vec<(String, String)> {
    let mut flags = Vec::new();
    let mut rest = argv.iter().skip(1).peekable();
    while let Some(argument) = rest.next() {
        let (name, value) = if let Some(long) = argument.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v.to_owned())));
            (name.to_owned(), value)
        } else if let Some(short) = argument.strip_prefix('-').filter(|short| !short.is_empty()) {
            let (letter, value) = short.split_at(short.chars().next().map_or(0, char::len_utf8));
            let row = catalog.docker_daemon().all().iter().find(|row| row.short.as_deref() == Some(letter));
            let Some(name) = row.and_then(|row| row.flag.clone()) else { continue };
            let value = value.strip_prefix('=').unwrap_or(value);
            (name, (!value.is_empty()).then(|| value.to_owned()))
        } else {
            continue;
        };
        let boolean = catalog.docker_daemon().flag(&name).is_some_and(|row| row.kind == Kind::Boolean);
        let value = match value {
            Some(value) => value,
            None if boolean => "true".to_owned(),
            None => rest.next_if(|next| !next.starts_with('-')).cloned().unwrap_or_default(),
        };
        flags.push((name, value));
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::testing::catalog;

    fn argv(line: &str) -> Vec<String> {
        words(line)
    }

    #[test]
    fn flags_are_read_in_every_form() {
        // The second line of the running process in
        // docker/docker-status-and-runtimes-of-host-with-failing-gpu-containers.txt.
        let read =
            flags(catalog(), &argv("/usr/bin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock"));
        assert_eq!(
            read,
            [
                ("host".to_owned(), "fd://".to_owned()),
                ("containerd".to_owned(), "/run/containerd/containerd.sock".to_owned())
            ]
        );
        let read = flags(
            catalog(),
            &argv("dockerd -D --debug --data-root /data -Hunix:///x.sock --live-restore=false $DOCKER_OPTS"),
        );
        let names: Vec<(&str, &str)> = read.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(
            names,
            [
                ("debug", "true"),
                ("debug", "true"),
                ("data-root", "/data"),
                ("host", "unix:///x.sock"),
                ("live-restore", "false")
            ]
        );
    }

    #[test]
    fn empty_exec_start_resets_earlier_ones() {
        let text = "[Service]\nExecStart=\nExecStart=/usr/bin/dockerd \\\n  -H fd:// \\\n  --debug\n";
        assert_eq!(exec_starts(text), ["", "/usr/bin/dockerd    -H fd://    --debug"]);
    }
}
