//! Commands on the other side of a connection.

use std::process::{ExitStatus, Stdio};
use std::time::Instant;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;

use super::{ConnectError, Connection, OUTPUT_LIMIT_BYTES, Output, fault};

/// How a command on the other side ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Its exit status; 128 and more where a signal ended it.
    pub status: i32,
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
            })?;
            let ended = ended.map_err(|stopped| stopped.of(remote))?;
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

/// Why a command was not waited for.
#[derive(Debug)]
enum Stopped {
    /// It printed more than is read, on this output.
    Flooded(Output),
    Failed(ConnectError),
}

impl Stopped {
    fn of(self, remote: &str) -> ConnectError {
        match self {
            Stopped::Flooded(output) => {
                let on = if output == Output::Stderr { " on standard error" } else { "" };
                let limit = OUTPUT_LIMIT_BYTES >> 20;
                ConnectError::new(format!("`{}` printed more than {limit} MiB{on}", short(remote)))
            }
            Stopped::Failed(error) => error,
        }
    }
}

/// Writes the input and reads both outputs until the program ends, or prints too much.
async fn transfer(
    mut child: Child,
    input: &[u8],
    stdout: &mut Vec<u8>,
    stderr: &mut Vec<u8>,
) -> Result<ExitStatus, Stopped> {
    let failed = |message: String| Stopped::Failed(ConnectError::new(message));
    let (Some(mut stdin), Some(out), Some(err)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(failed("cannot open pipes to ssh".into()));
    };
    let write = async {
        // A command that does not read its input says itself what is wrong.
        let _ = stdin.write_all(input).await;
        drop(stdin);
        Ok(())
    };
    tokio::try_join!(write, limited(out, stdout, Output::Stdout), limited(err, stderr, Output::Stderr))?;
    child.wait().await.map_err(|error| failed(format!("cannot wait for ssh: {error}")))
}

/// Reads an output to its end, or to the limit: a program that prints without end never ends by itself.
async fn limited(pipe: impl AsyncRead + Unpin, into: &mut Vec<u8>, output: Output) -> Result<(), Stopped> {
    let _ = pipe.take(OUTPUT_LIMIT_BYTES + 1).read_to_end(into).await;
    match into.len() as u64 > OUTPUT_LIMIT_BYTES {
        true => Err(Stopped::Flooded(output)),
        false => Ok(()),
    }
}

fn short(command: &str) -> String {
    match command.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &command[..end]),
        None => command.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the program is the shell of this test")]
    async fn ran(script: &str) -> Result<ExitStatus, Stopped> {
        let mut command = tokio::process::Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.kill_on_drop(true).spawn().unwrap();
        transfer(child, b"", &mut Vec::new(), &mut Vec::new()).await
    }

    #[tokio::test]
    async fn a_command_that_prints_without_end_is_named_and_not_waited_for() {
        assert!(ran("echo a; echo b >&2").await.unwrap().success());
        let stdout = ran("yes").await.unwrap_err();
        assert!(matches!(stdout, Stopped::Flooded(Output::Stdout)), "{stdout:?}");
        assert_eq!(stdout.of("yes").message, "`yes` printed more than 64 MiB");
        let stderr = ran("yes >&2").await.unwrap_err();
        assert_eq!(stderr.of("yes").message, "`yes` printed more than 64 MiB on standard error");
    }
}
