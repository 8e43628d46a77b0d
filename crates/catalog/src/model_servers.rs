//! Servers whose options and defaults are known: `catalog/model_servers.yaml`.

use serde::Deserialize;

use super::file;
use crate::Sources;

/// A server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelServer {
    /// `vLLM`.
    pub name: String,
    /// Programs that start it.
    pub programs: Vec<ServerProgram>,
    /// Modules that `python -m` starts.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Repositories of images whose entrypoint is the server.
    #[serde(default)]
    pub images: Vec<String>,
    /// Where it listens, the port for clients first.
    pub ports: Vec<ServerPort>,
    /// Options with an address alone.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Options with address and port.
    #[serde(default)]
    pub binds: Vec<String>,
    /// Options that let it listen on every interface where no address follows: `--listen`.
    #[serde(default)]
    pub opens: Vec<String>,
    /// Variables with an address.
    #[serde(default)]
    pub host_variables: Vec<String>,
    /// Options that name a file with more options, or a socket in place of a port.
    pub files: Vec<String>,
    /// Variables that add options.
    #[serde(default)]
    pub hiding: Vec<String>,
    /// Whether a file that images bring may set its address, although the command does not.
    #[serde(default)]
    pub by_file: bool,
    /// Whether it listens on 127.0.0.1 by default.
    #[serde(default)]
    pub loopback: bool,
    /// Whether it loads a large model before it answers.
    #[serde(default)]
    pub loads_model: bool,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

/// A program that starts a server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerProgram {
    /// `vllm`; `ComfyUI:main.py` for a script in a checkout of a repository.
    pub program: String,
    /// The commands of the program that start the server; none: it has no commands.
    #[serde(default)]
    pub commands: Vec<String>,
}

/// A port on which a server listens.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerPort {
    /// Options that set it.
    #[serde(default)]
    pub options: Vec<String>,
    /// Variables that set it.
    #[serde(default)]
    pub variables: Vec<String>,
    /// The port without them; `None` where something decides that is not visible.
    pub default: Option<u16>,
    /// The default in its own image, where that is another one.
    pub in_image: Option<u16>,
}

file::table!(ModelServer, "model_servers.yaml");

#[cfg(test)]
mod tests {
    #[test]
    fn every_server_has_a_program_and_a_port() {
        for row in crate::testing::catalog().model_servers().all() {
            assert!(!row.programs.is_empty() && !row.ports.is_empty(), "{}", row.name);
            let options = row.hosts.iter().chain(&row.binds).chain(&row.files);
            let options = options.chain(row.ports.iter().flat_map(|port| &port.options));
            assert!(options.into_iter().all(|option| option.starts_with('-')), "{}", row.name);
        }
    }
}
