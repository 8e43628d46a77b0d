//! The envdoc program: parse, run, print the error with its hints, choose the exit code.

use diagnostic::terminal;
use std::process::ExitCode;

use envdoc::cli::Cli;

fn main() -> ExitCode {
    let result = match Cli::of_this_program() {
        Ok(cli) => cli.run(),
        Err(code) => return ExitCode::from(code),
    };
    host::end_programs();
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            terminal::error(&error);
            ExitCode::from(error.kind.exit_code())
        }
    }
}
