//! Standard input and output as a connection to another program, on which nothing else may read or write.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags};

/// Standard input and standard output under other numbers. In their place are an empty file and standard
/// error: neither a program that is started nor a file called `/dev/stdin` reaches the connection.
pub fn take() -> io::Result<(File, File)> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let empty = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(empty)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok((input, output))
}
