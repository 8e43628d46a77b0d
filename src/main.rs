//! The envdoc program: parse, run, print the error with its hints, choose the exit code.

use std::process::ExitCode;

use envdoc::cli::Cli;
use envdoc::host;
use envdoc::report::screen;

fn main() -> ExitCode {
    let result = Cli::of_this_program().run();
    host::end_programs();
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            screen::error(&error);
            ExitCode::from(error.kind.exit_code())
        }
    }
}
