//! A plan as files: what lies in every container's `/etc/envdoc`, and what people take who type the steps
//! themselves.

mod compose;
mod ds_config;
mod elsewhere;
pub mod launch;
mod readme;
mod settings;
mod ssh;
mod stack;

use super::keys::Keys;
use super::plan::ClusterPlan;
use super::request::Launcher;
use super::secrets::Value;
use diagnostic::error::Error;
use image::render::RENDERED_BY;

pub use compose::compose;
pub use settings::settings;

/// A file of `/etc/envdoc`; it belongs to root.
#[derive(Clone, PartialEq, Eq)]
pub struct SettingsFile {
    /// Its path below `/etc/envdoc`: `ssh/sshd_config`.
    pub path: String,
    /// Its mode: 0o600.
    pub mode: u32,
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for SettingsFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SettingsFile({}, {:04o}, {} bytes)", self.path, self.mode, self.bytes.len())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path below the output directory: `node1/compose.yaml`.
    pub path: String,
    /// Its mode; what is not for everybody is 0o600.
    pub mode: u32,
    pub bytes: Vec<u8>,
}

impl File {
    fn text(path: impl Into<String>, text: String) -> File {
        File { path: path.into(), mode: 0o644, bytes: text.into_bytes() }
    }

    /// Whether it holds a key or a secret.
    pub fn secret(&self) -> bool {
        self.mode & 0o077 == 0
    }
}

/// What git must not see of the rendered files.
const IGNORED: &str =
    "*/settings/ssh/id_ed25519\n*/settings/ssh/host_ed25519\n*/settings/secrets/\n.envdoc/\n";

/// Everything that `envdoc cluster render` writes. Without keys those files are left out that hold one,
/// private or public.
pub fn files(plan: &ClusterPlan, keys: Option<&Keys>, secrets: &[Value]) -> Result<Vec<File>, Error> {
    let mut files = vec![
        File::text("README.md", readme::readme(plan)?),
        // Before the files that it is about.
        File::text(".gitignore", format!("# {}\n{IGNORED}", header(plan))),
    ];
    for node in &plan.nodes {
        files.push(File::text(format!("{}/compose.yaml", node.name), compose(plan, node)?));
        for one in settings(plan, node, keys, secrets)? {
            let path = format!("{}/settings/{}", node.name, one.path);
            files.push(File { path, mode: one.mode, bytes: one.bytes });
        }
    }
    for (name, text) in launch::scripts(plan)? {
        let mut file = File::text(name, text);
        file.mode = 0o755;
        files.push(file);
    }
    files.push(File::text("stack.yaml", stack::stack(plan)?));
    if elsewhere::alike(plan) && plan.launcher != Launcher::None {
        files.push(File::text("kubernetes.yaml", elsewhere::kubernetes(plan)?));
        files.push(File::text("slurm.sh", elsewhere::slurm(plan)?));
    }
    Ok(files)
}

/// The words of the first line: `rendered by envdoc 0.1.0 from compose/two-node/cluster.yaml`.
pub(crate) fn header(plan: &ClusterPlan) -> String {
    let from = plan.origin.as_ref().map_or(String::new(), |origin| format!(" from {origin}"));
    format!("{RENDERED_BY} {}{from}", env!("CARGO_PKG_VERSION"))
}

/// A text as YAML and JSON both write it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A text in a compose file, where a `$` begins a variable.
fn composed(text: &str) -> String {
    quoted(&text.replace('$', "$$"))
}

#[cfg(test)]
mod tests;
