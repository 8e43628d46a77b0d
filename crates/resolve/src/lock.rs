//! A stack that is kept in a file.
//!
//! The stack of a lock becomes requirements: every part exactly as written. So a lock resolves to
//! itself as long as it holds, and when it does not the conflict names the parts of it that cannot stay.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::outcome::Stack;
use super::request::{Base, Requirement, RequirementKind, Versions};
use super::requirement_keys;
use crate::parameter::Source;

/// Version of the format.
pub const SCHEMA: u32 = 2;

/// What says that a file is a lock.
const KIND: &str = "envdoc lock";

/// `envdoc.lock`: a stack that later builds use unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = requirement_keys::describe)]
pub struct Lock {
    /// Version of this format.
    pub schema: u32,
    /// Always `envdoc lock`.
    pub kind: String,
    /// The version of envdoc that wrote it.
    pub envdoc: String,
    /// What was asked for, for people.
    #[serde(flatten, with = "requirement_keys")]
    #[schemars(!flatten, with = "Vec<String>")]
    pub requirements: Vec<String>,
    /// The stack that is kept, as `envdoc resolve --format json` prints it.
    pub stack: Stack,
    /// The whole Python set with hashes, dependencies too (`envdoc render lock`); left out where only the
    /// stack is pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packages: Option<Vec<LockedPackage>>,
}

/// One package of the whole set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LockedPackage {
    /// As pip takes it: `numpy==2.5.5`.
    pub requirement: String,
    /// Hashes of the files that may be installed: `sha256:…`.
    pub hashes: Vec<String>,
}

/// Why a text is no lock that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// It is something else.
    #[error("not an envdoc lock file")]
    Other,
    /// It is a lock whose contents cannot be read.
    #[error("damaged envdoc lock file: {0}")]
    Damaged(String),
    /// A newer envdoc wrote it.
    #[error("lock file format {0}; this envdoc reads up to {SCHEMA}")]
    Newer(u32),
}

impl Lock {
    pub fn new(stack: &Stack, requirements: &[Requirement]) -> Lock {
        Lock {
            schema: SCHEMA,
            kind: KIND.into(),
            envdoc: env!("CARGO_PKG_VERSION").into(),
            requirements: requirements.iter().map(|requirement| requirement.source.to_string()).collect(),
            stack: stack.clone(),
            packages: None,
        }
    }

    pub fn parse(text: &str) -> Result<Lock, LockError> {
        #[derive(Deserialize)]
        struct Head {
            schema: u32,
            kind: String,
        }
        let head: Head = serde_json::from_str(text).map_err(|_| LockError::Other)?;
        if head.kind != KIND {
            return Err(LockError::Other);
        }
        if head.schema > SCHEMA {
            return Err(LockError::Newer(head.schema));
        }
        serde_json::from_str(text).map_err(|error| LockError::Damaged(error.to_string()))
    }

    /// Every part of the stack as a requirement; `file` is how the lock is called. A version that cannot be
    /// read is an error: nothing of a lock is left out in silence.
    pub fn requirements(&self, file: &str) -> Result<Vec<Requirement>, LockError> {
        let stack = &self.stack;
        let versions =
            |text: String| text.parse::<Versions>().map_err(|error| LockError::Damaged(error.message));
        let mut requirements = Vec::new();
        let mut add = |what: String, kind: RequirementKind| {
            requirements.push(Requirement { source: Source::Stated(format!("{what} of {file}")), kind })
        };
        let torch = format!("{}+{}", stack.torch, stack.torch_build);
        add(format!("torch {torch}"), RequirementKind::Torch(versions(torch)?));
        add(format!("python {}", stack.python), RequirementKind::Python(versions(stack.python.clone())?));
        let base = stack.base_image.clone().map_or(Base::None, Base::Image);
        let name = stack.base_image.as_ref().map_or_else(|| "no base image".into(), ToString::to_string);
        add(name, RequirementKind::Base(base));
        add(stack.architecture.clone(), RequirementKind::Architecture(stack.architecture.clone()));
        if let Some(system) = &stack.system {
            add(system.clone(), RequirementKind::System(system.clone()));
        }
        let deepspeed = stack.deepspeed.iter().map(|version| ("deepspeed", version));
        let packages = stack.packages.iter().map(|(name, version)| (name.as_str(), version));
        for (name, version) in deepspeed.chain(packages) {
            let kind = RequirementKind::Package(name.to_owned(), versions(format!("=={version}"))?);
            add(format!("{name} {version}"), kind);
        }
        Ok(requirements)
    }

    /// What differs between the kept stack and one that was resolved from it: facts about it that the catalog
    /// tells otherwise now.
    pub fn differences(&self, now: &Stack) -> Vec<String> {
        let fields = |stack: &Stack| match serde_json::to_value(stack) {
            Ok(Value::Object(mut fields)) => {
                // Made from the rest.
                fields.remove("install");
                fields
            }
            _ => serde_json::Map::new(),
        };
        let (kept, now) = (fields(&self.stack), fields(now));
        let mut found = Vec::new();
        for name in kept.keys().chain(now.keys()).collect::<BTreeSet<_>>() {
            match (kept.get(name), now.get(name)) {
                // Names with versions; a file has no empty one.
                (Some(Value::Object(_)), _) | (_, Some(Value::Object(_))) => {
                    let (kept, now) = (parts(kept.get(name)), parts(now.get(name)));
                    let names: BTreeSet<&String> = kept.keys().chain(now.keys()).collect();
                    let differing = names.into_iter();
                    found
                        .extend(differing.filter_map(|part| difference(part, kept.get(part), now.get(part))));
                }
                (Some(value), Some(other)) => found.extend(difference(name, Some(value), Some(other))),
                // A key that the envdoc of the lock did not know, or that this one does not know any more.
                _ => {}
            }
        }
        found
    }
}

fn parts(value: Option<&Value>) -> serde_json::Map<String, Value> {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

/// `numpy: 2.5.5 in the lock, none now`
fn difference(name: &str, kept: Option<&Value>, now: Option<&Value>) -> Option<String> {
    let text = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "none".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    (kept != now).then(|| format!("{name}: {} in the lock, {} now", text(kept), text(now)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use crate::parse::{self, StackOptions};
    use crate::request::Request;
    use crate::testing::universe;

    fn resolve(requirements: Vec<Requirement>) -> Outcome {
        crate::resolve(
            universe(),
            &Request { requirements, today: "2026-11-21".into(), ..Request::default() },
        )
    }

    fn locked(typed: &StackOptions) -> Lock {
        let requirements = parse::requirements(universe(), typed).unwrap().requirements;
        match resolve(requirements.clone()) {
            Outcome::Resolved(found) => Lock::new(&found.stack, &requirements),
            Outcome::Conflict(conflict) => panic!("{conflict:?}"),
        }
    }

    #[test]
    fn requirements_have_both_keys_and_are_read_from_either() {
        let lock = locked(&StackOptions { cuda: Some("12.1".into()), ..StackOptions::default() });
        let mut written = serde_json::to_value(&lock).unwrap();
        assert_eq!(written["requirements"], written["wishes"]);
        for key in ["requirements", "wishes"] {
            let removed = written.as_object_mut().unwrap().remove(key).unwrap();
            assert_eq!(Lock::parse(&written.to_string()).unwrap(), lock, "without {key}");
            written[key] = removed;
        }
        let keys = written.as_object_mut().unwrap();
        keys.retain(|key, _| key != "requirements" && key != "wishes");
        assert!(Lock::parse(&written.to_string()).is_err());
    }

    /// Schema 1 has `wishes` alone.
    #[test]
    fn lock_of_schema_1_is_read() {
        let lock = locked(&StackOptions { cuda: Some("12.1".into()), ..StackOptions::default() });
        let mut written = serde_json::to_value(&lock).unwrap();
        written["schema"] = 1.into();
        written.as_object_mut().unwrap().remove("requirements").unwrap();
        let read = Lock::parse(&written.to_string()).unwrap();
        assert_eq!((read.schema, read.stack, read.requirements), (1, lock.stack, lock.requirements));
    }

    #[test]
    fn a_lock_resolves_to_itself() {
        for typed in [
            StackOptions::default(),
            StackOptions {
                cuda: Some("12.1".into()),
                deepspeed: Some(String::new()),
                ..StackOptions::default()
            },
            StackOptions {
                torch: Some("2.3".into()),
                with: vec!["transformers<4.50,numpy<2".into()],
                ..StackOptions::default()
            },
        ] {
            let lock = locked(&typed);
            let read = Lock::parse(&serde_json::to_string(&lock).unwrap()).unwrap();
            assert_eq!(read, lock);
            let Outcome::Resolved(again) = resolve(lock.requirements("l.json").unwrap()) else {
                panic!("{lock:?}")
            };
            assert_eq!(again.stack, lock.stack);
            assert_eq!(lock.differences(&again.stack), Vec::<String>::new());
        }
    }

    #[test]
    fn outdated_lock_conflicts_or_reports_differences() {
        let mut lock = locked(&StackOptions::default());
        lock.stack.python = "3.9".into();
        assert!(matches!(resolve(lock.requirements("l.json").unwrap()), Outcome::Conflict(_)));
        let mut older = lock.stack.clone();
        older.nccl = Some("2.0.0".into());
        older.install.clear();
        older.packages.insert("einops".into(), "0.8.1".into());
        let differences = lock.differences(&older);
        assert!(differences.iter().any(|one| one.starts_with("nccl: ")), "{differences:?}");
        assert!(differences.contains(&"einops: none in the lock, 0.8.1 now".to_owned()), "{differences:?}");
    }

    #[test]
    fn other_files_are_no_locks() {
        for text in ["", "{}", r#"{"schema":1,"kind":"something"}"#, r#"{"schema":1,"kind":"envdoc lock"}"#] {
            assert!(matches!(Lock::parse(text), Err(LockError::Other | LockError::Damaged(_))), "{text}");
        }
        assert_eq!(Lock::parse(r#"{"schema":3,"kind":"envdoc lock","new":0}"#), Err(LockError::Newer(3)));
        let mut lock = locked(&StackOptions::default());
        lock.stack.torch = "newest of all".into();
        assert!(lock.requirements("l.json").is_err());
    }
}
