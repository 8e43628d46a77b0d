//! envdoc on a machine that is reached over SSH: found there, or copied there over the same connection, into
//! `~/.cache/envdoc/DIGEST/`. Nothing is copied without consent; that is asked for elsewhere.

use std::time::Instant;

use sha2::{Digest, Sha256};

use crate::engine::road::ssh::{Connection, Ran, quoted};
use crate::error::Error;
use crate::worker::bundle::{self, Bundle};
use crate::worker::digest::hex;

/// The line after which everything is envdoc's own.
const RUNS: &str = "envdoc-runs-from-here";

/// What was found on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// envdoc, and how a shell there starts it.
    Program(String),
    /// No envdoc of this version.
    Missing {
        /// Its processor, as the kernel says: `x86_64`.
        architecture: String,
        /// The version of another envdoc that is there.
        other: Option<String>,
    },
}

/// This program, with what it needs to run elsewhere.
pub struct Parcel {
    bundle: Bundle,
    /// SHA-256 of what is copied, the first 16 digits: the name of its folder.
    pub digest: String,
}

impl Parcel {
    /// Of the program that is running.
    pub fn pack() -> Result<Parcel, Error> {
        let bundle = Bundle::make()?;
        let digest = hex(&Sha256::digest(&bundle.tar)[..8]);
        Ok(Parcel { bundle, digest })
    }

    /// Bytes that are copied.
    pub fn bytes(&self) -> usize {
        self.bundle.tar.len()
    }
}

/// How a shell on this machine starts this program.
pub fn own() -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program's file: {error}"))?;
    Ok(quoted(&program.to_string_lossy()))
}

/// Looks for envdoc: what was brought before, else one of this version on PATH. Where it is, it is run in the same session, with these
/// words of a shell after its name, and the engine of the cluster for its own; what came of that is the second.
pub async fn find_and_run(
    connection: &Connection,
    digest: &str,
    arguments: &str,
    deadline: Instant,
) -> Result<(Found, Option<Ran>), String> {
    let engine = quoted(&format!("unix://{}", connection.address.socket));
    let own = concat!("envdoc ", env!("CARGO_PKG_VERSION"));
    let script = format!(
        "uname -m; echo \"$HOME\"; w=\"$HOME/.cache/envdoc/{digest}/whole\"; b=-; test -f \"$w\" && b=$(cat \"$w\"); echo \"$b\"; \
         v=-; command -v envdoc >/dev/null 2>&1 && v=$(envdoc --version); echo \"$v\"; \
         p=$b; if [ \"$b\" = - ]; then case $v in '{own}'|'{own} '*) p=envdoc ;; *) exit 0 ;; esac; fi; \
         echo {RUNS}; DOCKER_HOST={engine}; export DOCKER_HOST; unset DOCKER_CONTEXT; eval \"exec $p {arguments}\""
    );
    let ran = connection.run(&format!("sh -c {}", quoted(&script)), b"", deadline).await;
    let mut ran = ran.map_err(|blocked| blocked.says)?;
    let mark = format!("\n{RUNS}\n");
    let Some(at) = ran.stdout.windows(mark.len()).position(|bytes| bytes == mark.as_bytes()) else {
        return Ok((understood(&ran.text())?, None));
    };
    let printed = ran.stdout.split_off(at + mark.len());
    ran.stdout.truncate(at);
    let found = understood(&ran.text())?;
    Ok((found, Some(Ran { stdout: printed, ..ran })))
}

/// Four lines: processor, home, how what was brought is started, `envdoc 0.1.0`.
fn understood(text: &str) -> Result<Found, String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let [.., architecture, _home, brought, version] = lines[..] else {
        return Err(format!("its shell answered {text:?}"));
    };
    if brought != "-" {
        return Ok(Found::Program(brought.to_owned()));
    }
    let version = version.strip_prefix("envdoc ").and_then(|rest| rest.split_whitespace().next());
    match version {
        Some(env!("CARGO_PKG_VERSION")) => Ok(Found::Program("envdoc".into())),
        other => {
            Ok(Found::Missing { architecture: architecture.to_owned(), other: other.map(str::to_owned) })
        }
    }
}

/// Copies envdoc there, and gives back how it is started. Half a copy is never taken for a whole one.
pub async fn bring(
    connection: &Connection,
    parcel: &Parcel,
    architecture: &str,
    deadline: Instant,
) -> Result<String, String> {
    bundle::fits(architecture)?;
    let digest = &parcel.digest;
    let script = format!(
        "set -e; umask 077; d=\"$HOME/.cache/envdoc/{digest}\"; mkdir -p \"$d\"; tar -x -C \"$d\" -f -; cd \"$d\"; pwd -P"
    );
    let run = |script: String, input| async move {
        let ran = connection.run(&format!("sh -c {}", quoted(&script)), input, deadline).await;
        let ran = ran.map_err(|blocked| blocked.says)?;
        match ran.status {
            0 => Ok(ran.text().trim().to_owned()),
            status => Err(format!("copying envdoc there ended with status {status}: {}", ran.stderr.trim())),
        }
    };
    let folder = run(script, &parcel.bundle.tar).await?;
    let folder = folder.lines().last().unwrap_or_default();
    let command = parcel.bundle.command(folder, &[]);
    let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let command = command.join(" ");
    // It must run there before it counts.
    let script = format!(
        "{command} --version >/dev/null && printf %s\\\\n {} >{}",
        quoted(&command),
        quoted(&format!("{folder}/whole"))
    );
    run(script, b"").await?;
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_answers_is_understood() {
        let own = format!("envdoc {}", env!("CARGO_PKG_VERSION"));
        let found = |brought: &str, version: &str| {
            understood(&format!("Welcome!\nx86_64\n/root\n{brought}\n{version}\n")).unwrap()
        };
        assert_eq!(found("-", &own), Found::Program("envdoc".into()));
        assert_eq!(found("'/root/x' 'y'", "-"), Found::Program("'/root/x' 'y'".into()));
        let missing = |other: Option<&str>| Found::Missing {
            architecture: "x86_64".into(),
            other: other.map(str::to_owned),
        };
        assert_eq!(found("-", "-"), missing(None));
        assert_eq!(found("-", "envdoc 0.0.1"), missing(Some("0.0.1")));
        assert!(understood("nologin\n").is_err());
    }
}
