//! Files of lines `NAME=value`.

use super::interfaces::interfaces;
use super::{Held, Scope, Setting, Settings};
use crate::file::File;
use crate::kind::Kind;
use crate::location::Location;

impl Settings {
    /// Reads an env file, `.deepspeed_env`, `nccl.conf`, or the running environment.
    pub(crate) fn of_lines(file: &File) -> Settings {
        let (torch, nccl) = Settings::versions(file.facts.as_deref());
        let mut scope = Scope { torch, nccl, ..Scope::default() };
        let mut others = Vec::new();
        for (index, line) in file.text.lines().enumerate() {
            match pair(line, file.kind) {
                Some((name, value)) => scope.settings.push(Setting {
                    written: line.split_once('=').map_or("", |(_, value)| value).to_owned(),
                    location: Location::from(index + 1).named(&name),
                    name,
                    value,
                    held: held(line),
                    certain: true,
                }),
                None => others.push((index + 1, line.to_owned())),
            }
        }
        let interfaces = interfaces(&file.over);
        Settings { scopes: vec![scope], others, interfaces, ..Settings::empty(file) }
    }
}

/// A line that exports is for a shell.
fn held(line: &str) -> Held {
    if line.trim_start().starts_with("export ") { Held::Script } else { Held::Always }
}

/// Name and value of a line; `None` where it sets nothing. DeepSpeed takes every line as it stands, the
/// others leave comments and quotes out.
fn pair(line: &str, kind: Kind) -> Option<(String, Option<String>)> {
    let trimmed = line.trim();
    if kind != Kind::DeepspeedEnvironment && trimmed.starts_with('#') {
        return None;
    }
    let (name, value) = trimmed.split_once('=')?;
    let name = match kind {
        // NCCL takes everything before `=` for the name.
        Kind::NcclConf => line.split('=').next()?,
        Kind::Environment => name.strip_prefix("export ").unwrap_or(name).trim(),
        _ => name.trim_end(),
    };
    let fits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !fits {
        return None;
    }
    if kind == Kind::DeepspeedEnvironment {
        return Some((name.to_owned(), Some(value.to_owned())));
    }
    let value = value.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let inner = value.strip_prefix(quote)?;
        inner.find(quote).map(|end| &inner[..end])
    });
    let value = quoted.unwrap_or_else(|| value.split(" #").next().unwrap_or_default().trim_end());
    Some((name.to_owned(), (!value.contains('$')).then(|| value.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs() {
        let of = |line: &str| pair(line, Kind::Environment);
        let set = |name: &str, value: &str| Some((name.to_owned(), Some(value.to_owned())));
        assert_eq!(of("A=1"), set("A", "1"));
        assert_eq!(of("export A='x y' # why"), set("A", "x y"));
        assert_eq!(of("A=x # why"), set("A", "x"));
        assert_eq!(of("A=${B}"), Some(("A".to_owned(), None)));
        assert_eq!((of("# A=1"), of("A"), of("")), (None, None, None));
        assert_eq!(pair("A=\"1\"", Kind::DeepspeedEnvironment), set("A", "\"1\""));
    }
}
