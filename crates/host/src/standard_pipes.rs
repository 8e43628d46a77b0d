//! Standard input and output as a connection to another program, on which nothing else may read or write.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags};

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Standard input and standard output under other numbers. In their place are an empty file and standard
/// error: no program that is started reaches the connection. Nor does a file called `/dev/stdin` or
/// `/dev/fd/4`: from now on, pipes that are open already are not read.
pub fn take() -> io::Result<(File, File)> {
    TAKEN.store(true, Ordering::SeqCst);
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let empty = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(empty)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok((input, output))
}

/// Whether [`take`] was called.
pub(crate) fn are_taken() -> bool {
    TAKEN.load(Ordering::SeqCst)
}
