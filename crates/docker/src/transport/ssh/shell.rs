//! A connection whose own session is spoken with: one process here and one session there do all that a
//! machine is asked. Each further session costs a process here, and a shell and its start there.

use std::process::Child;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};

use crate::error::Error;

use super::{
    ConnectError, Connection, FLOOD_LIMIT_BYTES, Folder, OUTPUT_LIMIT_BYTES, Output, POLL_INTERVAL,
    READY_MARK, SshAddress, configuration, ended_early, fault, log, process, start,
};

/// The most that is kept of what was printed before the connection was ready, in bytes.
const PRINTED_LIMIT_BYTES: usize = 2000;
/// The longest line that is read at once, in bytes.
const LINE_LIMIT_BYTES: u64 = 64 << 10;
/// The longest that ssh may take to end once it has closed its output.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// The two ends of what runs there. Dropped, its input ends.
#[derive(Debug)]
pub struct Shell {
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it prints.
    pub stdout: BufReader<ChildStdout>,
}

/// [`super::open`], with a command line of the caller's for the other side's shell. It must last as long as
/// the connection is wanted.
pub async fn open_shell(
    address: SshAddress,
    remote: &str,
    deadline: Instant,
) -> Result<(Connection, Shell), ConnectError> {
    let started = Instant::now();
    let folder = Folder::new()?;
    let configuration = configuration();
    let (mut child, stderr) = start(&address, &folder, configuration.as_deref(), remote, deadline)?;
    let (mut printed, mut bytes) = (String::new(), 0);
    let shell = match child.stdin.take().zip(child.stdout.take()) {
        Some((stdin, stdout)) => ChildStdin::from_std(stdin)
            .and_then(|stdin| Ok(Shell { stdin, stdout: BufReader::new(ChildStdout::from_std(stdout)?) })),
        None => Err(std::io::Error::other("cannot open pipes to ssh")),
    };
    let ready = async {
        let mut shell = shell.map_err(|error| ConnectError::new(error.to_string()))?;
        while let Some(line) = shell.read_line().await {
            if line == READY_MARK {
                return Ok(Some(shell));
            }
            bytes += line.len() as u64 + 1;
            if bytes > FLOOD_LIMIT_BYTES {
                return Err(fault::flooded(&address, Output::Stdout, FLOOD_LIMIT_BYTES));
            }
            if printed.len() < PRINTED_LIMIT_BYTES {
                printed.push_str(&line);
                printed.push('\n');
            }
        }
        Ok(None)
    };
    let ready = async {
        tokio::select! {
            ready = ready => ready,
            () = stderr.flood() => Err(fault::flooded(&address, Output::Stderr, FLOOD_LIMIT_BYTES)),
        }
    };
    let blocked = match tokio::time::timeout_at(deadline.into(), ready).await {
        Ok(Ok(Some(shell))) => {
            let took = started.elapsed();
            return Ok((Connection { address, folder, configuration, child: child.into(), took }, shell));
        }
        Ok(Ok(None)) => {
            ended_early(&address, &folder, exit_status(&mut child).await, &stderr, &printed).await
        }
        Ok(Err(blocked)) => blocked,
        Err(_) => fault::timed_out(&address, &log(&folder), started.elapsed()),
    };
    process::stop(&mut child);
    Err(blocked)
}

/// The exit status of an ssh that has closed its output; `None` where it does not end.
async fn exit_status(child: &mut Child) -> Option<i32> {
    let end = Instant::now() + EXIT_TIMEOUT;
    while Instant::now() < end {
        if let Ok(Some(status)) = child.try_wait() {
            return status.code();
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    None
}

impl Shell {
    /// The next line that it prints, without its end, or the next part of a line that is very long; none when
    /// it has ended.
    pub async fn read_line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        match (&mut self.stdout).take(LINE_LIMIT_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned()),
        }
    }

    /// All that it prints before a line that begins with `mark`, and the rest of that line.
    pub async fn read_until(&mut self, mark: &str) -> Result<(Vec<u8>, String), Error> {
        let mut printed = Vec::new();
        loop {
            let from = printed.len();
            let left = (OUTPUT_LIMIT_BYTES + 1).saturating_sub(from as u64);
            match (&mut self.stdout).take(left).read_until(b'\n', &mut printed).await {
                Ok(0) => return Err(Error::ConnectionClosed("the SSH session ended".into())),
                Err(error) => return Err(error.into()),
                Ok(_) => {}
            }
            if let Some(rest) = printed[from..].strip_prefix(mark.as_bytes()) {
                let rest = String::from_utf8_lossy(rest).trim().to_owned();
                printed.truncate(from);
                return Ok((printed, rest));
            }
            if printed.len() as u64 > OUTPUT_LIMIT_BYTES {
                return Err(Error::TooLarge { what: "the output", limit_kib: OUTPUT_LIMIT_BYTES >> 10 });
            }
        }
    }

    /// A line for it to read.
    pub async fn send_line(&mut self, line: &str) -> Result<(), Error> {
        let line = format!("{line}\n");
        self.stdin.write_all(line.as_bytes()).await.map_err(Error::from)
    }
}
