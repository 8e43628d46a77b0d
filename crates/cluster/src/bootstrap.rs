//! envdoc on a machine that is reached over SSH: found there, or copied there over the same connection, into
//! `~/.cache/envdoc/DIGEST/`. Nothing is copied without consent; that is asked for elsewhere.

use std::time::Instant;

use sha2::{Digest, Sha256};

use crate::worker::bundle::{self, Bundle};
use crate::worker::digest::hex;
use diagnostic::error::Error;
use diagnostic::shell::quoted;
use docker::transport::ssh::{Connection, Ran, Shell};
use docker::transport::{Endpoint, SshAddress};

/// Before how envdoc is started there; what it prints follows.
const RUNS: &str = "envdoc-runs-from-here ";
/// Before the status with which it ended.
const ENDED: &str = "envdoc-ended-there ";
/// Before the processor and the version of another envdoc, `-` where there is none.
const MISSING: &str = "envdoc-is-missing ";

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
pub fn own() -> Result<String, crate::Error> {
    let program = host::process::own_program()
        .map_err(|error| crate::Error::Other(format!("cannot find envdoc's own executable: {error}")))?;
    Ok(quoted(&program.to_string_lossy()))
}

/// What a machine's shell is given to do in the one session that there is: it reads the digest of what could
/// have been brought, looks for envdoc (what was brought before, else one of this version on PATH), runs it
/// with these words of a shell after its name and the engine of the cluster for its own, and then becomes its
/// worker, or only holds the connection. [`answers`] understands what it prints.
pub fn script(address: &SshAddress, arguments: &str, worker: bool) -> String {
    let engine = quoted(Endpoint::unix(&address.socket).as_str());
    let own = concat!("envdoc ", env!("CARGO_PKG_VERSION"));
    let last = if worker { "eval \"exec $p worker\"" } else { "exec cat >/dev/null" };
    let script = format!(
        "read -r d; p=; w=\"$HOME/.cache/envdoc/$d/whole\"; test -f \"$w\" && read -r p <\"$w\"; \
         if test -z \"$p\"; then v=-; command -v envdoc >/dev/null 2>&1 && v=$(envdoc --version); \
         case $v in '{own}'|'{own} '*) p=envdoc ;; *) echo \"{MISSING}$(uname -m) $v\"; exec cat \
         >/dev/null ;; esac; fi; \
         echo \"{RUNS}$p\"; \
         (DOCKER_HOST={engine}; export DOCKER_HOST; unset DOCKER_CONTEXT; eval \"exec $p {arguments}\") \
         </dev/null; \
         s=$?; echo; echo \"{ENDED}$s\"; {last}"
    );
    format!("exec sh -c {}", quoted(&script))
}

/// Tells [`script`] the digest, and takes what it prints up to its last step: what was found, and what envdoc
/// printed there.
pub async fn answers(talk: &mut Shell, digest: &str) -> Result<(Found, Option<Ran>), crate::Error> {
    talk.send_line(digest).await.map_err(broken_connection)?;
    let found = loop {
        let line = talk.read_line().await;
        let line =
            line.ok_or_else(|| broken_connection("the remote shell exited before it looked for envdoc"))?;
        if let Some(found) = understood(&line) {
            break found;
        }
    };
    if let Found::Missing { .. } = found {
        return Ok((found, None));
    }
    let (stdout, status) = talk.read_until(ENDED).await.map_err(broken_connection)?;
    let status = status.parse().map_err(|_| {
        broken_connection(format!(
            "the remote shell reported an unreadable exit status of envdoc: {status:?}"
        ))
    })?;
    Ok((found, Some(Ran { status, stdout, stderr: String::new() })))
}

fn broken_connection(message: impl std::fmt::Display) -> crate::Error {
    crate::Error::Connection(message.to_string())
}

/// A line of [`script`], where it is one of those that tell whether envdoc is there.
pub(crate) fn understood(line: &str) -> Option<Found> {
    if let Some(command) = line.strip_prefix(RUNS) {
        return Some(Found::Program(command.to_owned()));
    }
    let (architecture, version) = line.strip_prefix(MISSING)?.split_once(' ')?;
    let other = version.strip_prefix("envdoc ").and_then(|rest| rest.split_whitespace().next());
    Some(Found::Missing { architecture: architecture.to_owned(), other: other.map(str::to_owned) })
}

/// Copies envdoc there, and gives back how it is started. Half a copy is never taken for a whole one.
pub async fn deploy_worker(
    connection: &Connection,
    parcel: &Parcel,
    architecture: &str,
    deadline: Instant,
) -> Result<String, crate::Error> {
    bundle::fits(architecture)?;
    let digest = &parcel.digest;
    let script = format!(
        "set -e; umask 077; d=\"$HOME/.cache/envdoc/{digest}\"; mkdir -p \"$d\"; tar -x -C \"$d\" -f -; \
            cd \"$d\"; pwd -P"
    );
    let run = |script: String, input| async move {
        let ran = connection.run(&format!("sh -c {}", quoted(&script)), input, deadline).await;
        let ran = ran.map_err(|blocked| broken_connection(blocked.message))?;
        match ran.status {
            0 => Ok(ran.text().trim().to_owned()),
            status => Err(crate::Error::Command {
                what: "copying envdoc to the node",
                status: status.into(),
                output: ran.stderr.trim().to_owned(),
            }),
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
    fn parses_bootstrap_shell_replies() {
        let program = |command: &str| Some(Found::Program(command.into()));
        assert_eq!(understood("envdoc-runs-from-here envdoc"), program("envdoc"));
        assert_eq!(understood("envdoc-runs-from-here '/root/x' 'y'"), program("'/root/x' 'y'"));
        let missing = |other: Option<&str>| {
            Some(Found::Missing { architecture: "x86_64".into(), other: other.map(str::to_owned) })
        };
        assert_eq!(understood("envdoc-is-missing x86_64 -"), missing(None));
        assert_eq!(understood("envdoc-is-missing x86_64 envdoc 0.0.1"), missing(Some("0.0.1")));
        assert_eq!(understood("Welcome!"), None);
    }
}
