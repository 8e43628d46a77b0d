//! What a service mounts.

use serde_yaml::Value;

use super::{Service, bare, below, text};
use crate::read::dockerfile::copied::join;

/// What is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A directory or file of the host, as written.
    Host(String),
    /// A named volume, or one without a name.
    Volume,
    /// An empty tmpfs.
    Memory,
}

/// A mount of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub source: Source,
    /// The path in the container, without a slash at its end.
    pub target: String,
    pub read_only: bool,
}

impl Mount {
    /// Whether a path of the container is this mount or lies below it.
    pub(crate) fn holds(&self, path: &str) -> bool {
        let rest = path.strip_prefix(self.target.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl Mount {
    /// The file of the host at a path of the container, from the directory of the compose file; `None` where
    /// that is elsewhere.
    pub(crate) fn on_host(&self, path: &str) -> Option<String> {
        let Source::Host(host) = &self.source else { return None };
        let rest = path.strip_prefix(self.target.as_str())?.trim_start_matches('/');
        let plain = host.starts_with('.') && !host.contains(['$', '~']);
        plain.then(|| join(host, rest))
    }
}

impl Service {
    /// Its volumes and tmpfs mounts.
    pub(crate) fn mounts(&self) -> Vec<Mount> {
        let volumes = self.at(&["volumes"]).and_then(Value::as_sequence).into_iter().flatten();
        let mut found: Vec<Mount> = volumes.filter_map(mount).collect();
        found.extend(self.list(&["tmpfs"]).iter().map(|item| {
            let mut fields = item.split(':');
            let target = fields.next().unwrap_or_default();
            let read_only = fields.any(|options| options.split(',').any(|one| one == "ro"));
            Mount { source: Source::Memory, target: clean(target), read_only }
        }));
        found
    }

    /// The mount that a path of the container is in: the deepest one.
    pub(crate) fn mount_of(&self, path: &str) -> Option<Mount> {
        self.mounts().into_iter().filter(|one| one.holds(path)).max_by_key(|one| one.target.len())
    }
}

fn clean(target: &str) -> String {
    target.trim_end_matches('/').to_owned()
}

fn mount(item: &Value) -> Option<Mount> {
    let Some(short) = text(item) else {
        let of = |path: &[&str]| below(bare(item), path).and_then(text);
        let source = match of(&["type"]).as_deref() {
            Some("bind") => Source::Host(of(&["source"]).unwrap_or_default()),
            Some("tmpfs") => Source::Memory,
            _ => Source::Volume,
        };
        let read_only = of(&["read_only"]).as_deref() == Some("true");
        return Some(Mount { source, target: clean(&of(&["target"])?), read_only });
    };
    let fields = fields(&short);
    Some(match &fields[..] {
        [target] => Mount { source: Source::Volume, target: clean(target), read_only: false },
        [source, target, options @ ..] => Mount {
            source: match source.starts_with(['.', '/', '~', '$']) {
                true => Source::Host((*source).to_owned()),
                false => Source::Volume,
            },
            target: clean(target),
            read_only: options.iter().any(|all| all.split(',').any(|one| one == "ro")),
        },
        [] => return None,
    })
}

/// The parts between colons, except in `${NAME:-default}`.
fn fields(short: &str) -> Vec<&str> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, letter) in short.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => {
                found.push(&short[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&short[start..]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_forms() {
        let of = |text: &str| {
            let one = mount(&serde_yaml::from_str::<Value>(text).unwrap()).unwrap();
            (one.source, one.target, one.read_only)
        };
        let host = |path: &str| Source::Host(path.to_owned());
        assert_eq!(of("\"./a:/b/:ro,z\""), (host("./a"), "/b".to_owned(), true));
        assert_eq!(of("\"${A:-/x}:/b\""), (host("${A:-/x}"), "/b".to_owned(), false));
        assert_eq!(of("data:/b"), (Source::Volume, "/b".to_owned(), false));
        assert_eq!(of("/b"), (Source::Volume, "/b".to_owned(), false));
        let long = "{type: bind, source: /a, target: /b, read_only: true}";
        assert_eq!(of(long), (host("/a"), "/b".to_owned(), true));
        assert_eq!(of("{type: tmpfs, target: /b}"), (Source::Memory, "/b".to_owned(), false));
    }
}
