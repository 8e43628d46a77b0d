//! Everything that is wrong with a request: validation goes on after a fault where the rest can be judged.

use diagnostic::error::{Error, Kind};

/// The faults found so far, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Error>);

impl Faults {
    /// The value, or `None` with its fault noted.
    pub(super) fn note<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One error with all faults; a single one is the error itself.
    pub(super) fn into_error(mut self, file: &str) -> Error {
        if self.0.len() == 1 {
            return self.0.swap_remove(0);
        }
        let lines: Vec<String> = self.0.iter().map(line).collect();
        let message = format!("{file} has {} errors:\n{}", lines.len(), lines.join("\n"));
        Error::new(Kind::Usage, message).hint("correct all of them, then run the command again")
    }
}

fn line(error: &Error) -> String {
    match error.hints.is_empty() {
        true => format!("  {}", error.message),
        false => format!("  {}; {}", error.message, error.hints.join("; ")),
    }
}
