//! Secrets of a cluster: read when they are needed, kept nowhere.

use std::fmt;
use std::path::Path;

use super::plan::{ClusterPlan, SecretFrom};
use diagnostic::error::{Error, Kind};
use host::file;

/// A secret's value; `Debug` shows its length alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Value {
    /// The name of the secret in cluster.yaml.
    pub name: String,
    /// What it is.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({}, {} bytes)", self.name, self.bytes.len())
    }
}

/// Reads all secrets of a plan: files are seen from the plan's file.
pub fn read(plan: &ClusterPlan) -> Result<Vec<Value>, Error> {
    let above = plan.origin.as_deref().and_then(|origin| Path::new(origin).parent()).unwrap_or(Path::new(""));
    let value = |secret: &super::plan::Secret| {
        let bytes = match &secret.from {
            SecretFrom::File(path) => file::read(&above.join(path))?
                .ok_or_else(|| missing(&secret.name, &file::missing(&above.join(path)).message))?,
            SecretFrom::Variable(name) => host::variables::text(name).ok_or_else(|| {
                missing(&secret.name, &format!("{name} is not set in envdoc's environment"))
            })?,
        };
        if bytes.trim().is_empty() {
            return Err(missing(&secret.name, "it is empty"));
        }
        Ok(Value { name: secret.name.clone(), bytes: bytes.into_bytes() })
    };
    plan.secrets.iter().map(value).collect()
}

fn missing(name: &str, why: &str) -> Error {
    Error::new(Kind::File, format!("secret {name:?}: {why}"))
        .hint("provide the secret, or remove it from `secrets`")
}
