//! `envdoc explain`.

use crate::checks::CHECKS;
use crate::error::{Error, Kind};
use crate::report::{explain, screen};

/// Tell what a check looks at, why it matters and how to fix what it finds.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id of a check; `envdoc checks` lists them.
    id: String,
}

impl Args {
    /// Prints the explanation.
    pub fn run(self) -> Result<u8, Error> {
        let id = self.id.trim().to_ascii_lowercase();
        let Some(check) = CHECKS.iter().find(|check| check.id == id) else {
            let error = Error::new(Kind::Usage, format!("there is no check {:?}", self.id));
            let error = match super::nearest(&id, CHECKS.iter().map(|check| check.id)) {
                Some(near) => error.hint(format!("did you mean {near}?")),
                None => error,
            };
            return Err(error.hint("`envdoc checks` lists them all"));
        };
        screen::print(&explain::check(check)).map(|()| 0)
    }
}
