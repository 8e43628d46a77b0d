//! Standard input, read whole.

use std::io;

use diagnostic::error::{Error, Kind};

use super::{text, whole};

/// The whole of standard input, of at most so many bytes.
pub fn standard_input(limit_bytes: u64) -> Result<String, Error> {
    text(standard_input_bytes(limit_bytes)?).map_err(|error| unreadable(&error))
}

/// [`standard_input`], in whatever encoding.
pub(crate) fn standard_input_bytes(limit_bytes: u64) -> Result<Vec<u8>, Error> {
    whole(io::stdin().lock(), limit_bytes).map_err(|error| unreadable(&error))
}

fn unreadable(error: &io::Error) -> Error {
    Error::new(Kind::File, format!("cannot read standard input: {error}"))
}
