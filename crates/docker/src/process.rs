//! Programs that asynchronous code starts: each is killed when its handle is dropped.

use std::io;

pub use tokio::process::{Child, Command};

/// A program, such as one that `host::program::command` found.
pub fn command(program: std::process::Command) -> Command {
    let mut command = Command::from(program);
    command.kill_on_drop(true);
    command
}

/// This program. An error where its file cannot be named.
#[expect(clippy::disallowed_methods, reason = "this program itself")]
pub fn own() -> io::Result<Command> {
    Ok(command(std::process::Command::new(host::process::own_program()?)))
}
