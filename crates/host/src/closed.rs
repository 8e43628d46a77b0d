//! A machine that a person composed: what is not in its snapshot is not there.
//!
//! A recorded machine answers "not in this snapshot" to a question that was not asked when it was recorded. A
//! composed one is all there is of it, so the answer is known: no such file, program or engine. What follows
//! from the files that it has (directories, names in them, what stands at a path) need not be written down.

use std::collections::{BTreeMap, BTreeSet};

use super::{Ask, FileKind, Host, Missing, Reading, Stat};

/// Answers from the readings of a composed machine.
pub struct Closed {
    readings: BTreeMap<String, Reading>,
    directories: BTreeMap<String, BTreeSet<String>>,
}

impl Closed {
    /// A machine that has these readings and nothing else.
    pub fn new(readings: BTreeMap<String, Reading>) -> Self {
        let mut directories: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let there = readings.iter().filter(|(_, reading)| **reading != Reading::Absent);
        for path in there.filter_map(|(key, _)| path_of(key)) {
            let mut path = path.trim_end_matches('/');
            while let Some((parent, name)) = path.rsplit_once('/') {
                let parent = if parent.is_empty() { "/" } else { parent };
                directories.entry(parent.to_owned()).or_default().insert(name.to_owned());
                path = if parent == "/" { "" } else { parent };
            }
        }
        Closed { readings, directories }
    }

    fn names(&self, dir: &str, prefixes: &[&str]) -> Reading {
        let wanted =
            |name: &&str| prefixes.is_empty() || prefixes.iter().any(|prefix| name.starts_with(prefix));
        let names: Vec<&str> =
            match (self.readings.get(&Ask::List(dir).to_string()), self.directories.get(dir)) {
                (Some(Reading::Text(listed)), _) => listed.lines().filter(wanted).collect(),
                (Some(other), _) => return other.clone(),
                (None, Some(names)) => names.iter().map(String::as_str).filter(wanted).collect(),
                (None, None) => return Reading::Absent,
            };
        Reading::Text(names.join("\n"))
    }

    fn stat(&self, path: &str) -> Reading {
        let (kind, mode, size) = match self.readings.get(&Ask::Read(path).to_string()) {
            Some(Reading::Text(text)) => (FileKind::File, "0644", text.len() as u64),
            Some(Reading::Failed(_)) => (FileKind::File, "0600", 0),
            _ if self.directories.contains_key(path) => (FileKind::Directory, "0755", 4096),
            _ => return Reading::Absent,
        };
        let stat = Stat { kind, mode: mode.into(), uid: 0, gid: 0, size, mtime: 0, path: path.into() };
        serde_json::to_string(&stat).map_or_else(|error| Reading::failed(error.to_string()), Reading::Text)
    }

    /// What a program answers whatever its arguments are: a key that ends in `*`, `run dpkg-query *`.
    fn run_as_any(&self, key: &str) -> Reading {
        let any = |kept: &str| kept.strip_suffix('*').is_some_and(|start| key.starts_with(start));
        let found = self.readings.iter().filter(|(kept, _)| any(kept)).max_by_key(|(kept, _)| kept.len());
        found.map_or(Reading::Absent, |(_, reading)| reading.clone())
    }

    /// The file system of the nearest folder above that says its space.
    fn space(&self, path: &str) -> Reading {
        let mut above = path;
        while let Some((parent, _)) = above.rsplit_once('/') {
            above = if parent.is_empty() { "/" } else { parent };
            if let Some(reading) = self.readings.get(&Ask::Space(above).to_string()) {
                return reading.clone();
            }
            if above == "/" {
                break;
            }
        }
        Reading::Absent
    }
}

impl Host for Closed {
    fn ask(&self, ask: Ask<'_>) -> Reading {
        let key = ask.to_string();
        if let Some(reading) = self.readings.get(&key) {
            return reading.clone();
        }
        if let Ask::Run(..) = ask {
            return self.run_as_any(&key);
        }
        match ask {
            Ask::Read(path) if self.directories.contains_key(path) => {
                Reading::failed("is a directory, not a file")
            }
            Ask::List(dir) => self.names(dir, &[]),
            Ask::Find(dir, prefixes) => self.names(dir, prefixes),
            Ask::Stat(path) => self.stat(path),
            Ask::Space(path) => self.space(path),
            Ask::Clock => Reading::Failed(Missing::not_recorded()),
            Ask::Environment => Reading::Text(String::new()),
            _ => Reading::Absent,
        }
    }
}

/// The path that a reading shows to exist.
fn path_of(key: &str) -> Option<&str> {
    let (kind, rest) = key.split_once(' ')?;
    match kind {
        "read" | "hex" | "stat" | "list" | "space" => Some(rest),
        "find" => rest.split(' ').next(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derives_listings_and_reports_other_files_as_absent() {
        let text = |text: &str| Reading::Text(text.into());
        let host = Closed::new(BTreeMap::from([
            ("read /sys/bus/pci/devices/0000:41:00.0/vendor".into(), text("0x10de\n")),
            ("stat /dev/nvidia0".into(), text("{}")),
            ("stat /dev/nvidiactl".into(), text("{}")),
            ("read /dev/gone".into(), Reading::Absent),
            ("list /opt".into(), text("a\nb")),
            ("space /".into(), text("root")),
            ("run dpkg-query *".into(), text("packages")),
        ]));
        assert_eq!(host.list("/sys/bus/pci/devices"), text("0000:41:00.0"));
        assert_eq!(host.find("/dev", &["nvidia"]), text("nvidia0\nnvidiactl"));
        assert_eq!(host.list("/"), text("dev\nopt\nsys"));
        assert_eq!(host.find("/opt", &["b"]), text("b"));
        assert_eq!(host.space("/var/lib/docker"), text("root"));
        assert_eq!(host.read("/dev/gone"), Reading::Absent);
        assert_eq!(host.stat("/dev/gone"), Reading::Absent);
        assert_eq!(host.list("/home"), Reading::Absent);
        assert!(matches!(host.read("/sys/bus"), Reading::Failed(why) if why.detail.contains("directory")));
        let Reading::Text(stat) = host.stat("/sys/bus") else { panic!("no stat") };
        assert_eq!(serde_json::from_str::<Stat>(&stat).unwrap().kind, FileKind::Directory);
        assert_eq!(host.run(&["dpkg-query", "-W"], std::time::Duration::ZERO), text("packages"));
        assert_eq!(host.run(&["true"], std::time::Duration::ZERO), Reading::Absent);
        assert!(matches!(host.clock(), Reading::Failed(_)));
    }
}
