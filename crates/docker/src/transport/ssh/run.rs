//! Commands on the other side of a connection.

use std::process::{ExitStatus, Stdio};
use std::time::Instant;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;

use super::{ConnectError, Connection, OUTPUT_LIMIT_BYTES, fault};

/// How a command on the other side ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Its exit status; 128 and more where a signal ended it.
    pub status: i32,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it printed on standard error.
    pub stderr: String,
}

impl Ran {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

impl Connection {
    /// Runs a command line with some input, until `deadline`.
    pub fn run<'a>(
        &'a self,
        remote: &'a str,
        input: &'a [u8],
        deadline: Instant,
    ) -> BoxFuture<'a, Result<Ran, ConnectError>> {
        Box::pin(async move {
            let mut command = self.command(remote);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let child =
                command.spawn().map_err(|error| ConnectError::new(format!("cannot start ssh: {error}")))?;
            let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
            let whole = transfer(child, input, &mut stdout, &mut stderr);
            let ended = tokio::time::timeout_at(deadline.into(), whole).await.map_err(|_| {
                ConnectError::new(format!(
                    "timed out waiting for `{}` on {}",
                    short(remote),
                    self.address.ssh_arguments()
                ))
            })??;
            if stdout.len() as u64 > OUTPUT_LIMIT_BYTES {
                return Err(ConnectError::new(format!(
                    "`{}` printed more than {} MiB",
                    short(remote),
                    OUTPUT_LIMIT_BYTES >> 20
                )));
            }
            let stderr = String::from_utf8_lossy(&stderr).into_owned();
            match ended.code() {
                // ssh's own status when the connection failed; few programs end with it.
                Some(255) => Err(fault::from_messages(&self.address, &stderr, "")),
                Some(status) => Ok(Ran { status, stdout, stderr }),
                None => Err(ConnectError::new(format!("ssh was killed by a signal: {}", stderr.trim()))),
            }
        })
    }
}

/// Writes the input and reads both outputs until the program ends.
async fn transfer(
    mut child: Child,
    input: &[u8],
    stdout: &mut Vec<u8>,
    stderr: &mut Vec<u8>,
) -> Result<ExitStatus, ConnectError> {
    let (Some(mut stdin), Some(out), Some(err)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(ConnectError::new("cannot open pipes to ssh"));
    };
    let (mut out, mut err) = (out.take(OUTPUT_LIMIT_BYTES + 1), err.take(OUTPUT_LIMIT_BYTES + 1));
    let write = async {
        // A command that does not read its input says itself what is wrong.
        let _ = stdin.write_all(input).await;
        drop(stdin);
    };
    let (_, _, _) = tokio::join!(write, out.read_to_end(stdout), err.read_to_end(stderr));
    child.wait().await.map_err(|error| ConnectError::new(format!("cannot wait for ssh: {error}")))
}

fn short(command: &str) -> String {
    match command.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &command[..end]),
        None => command.to_owned(),
    }
}
