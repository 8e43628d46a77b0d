//! From a reading to a fact.

use host::Reading;
use serde::de::DeserializeOwned;

use crate::Fact;

/// What a reading says about a value; see [`Fact`].
pub trait IntoFact: Sized {
    /// The text of a file, a list or the like. `Absent` stays absent, everything else is unknown.
    fn text(self) -> Fact<String>;
    /// The standard output of a program that ended with status 0; any other end is unknown and says how it
    /// ended.
    fn stdout(self) -> Fact<String>;
    /// The lines of a text reading, empty ones left out.
    fn lines(self) -> Fact<Vec<String>>;
    /// The JSON that `Stat`, `Space` and the engine answer in.
    fn json<T: DeserializeOwned>(self) -> Fact<T>;
}

impl IntoFact for Reading {
    fn text(self) -> Fact<String> {
        match self {
            Reading::Text(text) => Fact::Known(text),
            Reading::Absent => Fact::Absent,
            Reading::Failed(why) => Fact::Unknown(why),
            Reading::Ran { .. } => Fact::unknown("a program's output where a file's text was expected"),
        }
    }

    fn stdout(self) -> Fact<String> {
        match self {
            Reading::Ran { status: Some(0), stdout, .. } => Fact::Known(stdout),
            Reading::Ran { status, stdout, stderr } => {
                let said =
                    [stderr.trim(), stdout.trim()].into_iter().find(|s| !s.is_empty()).unwrap_or("nothing");
                let said: String =
                    said.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect();
                match status {
                    Some(status) => Fact::unknown(format!("exit status {status}: {said}")),
                    None => Fact::unknown(format!("killed by a signal: {said}")),
                }
            }
            Reading::Absent => Fact::Absent,
            Reading::Failed(why) => Fact::Unknown(why),
            Reading::Text(_) => Fact::unknown("a file's text where a program's output was expected"),
        }
    }

    fn lines(self) -> Fact<Vec<String>> {
        self.text().map(|text| text.lines().filter(|l| !l.is_empty()).map(str::to_owned).collect())
    }

    fn json<T: DeserializeOwned>(self) -> Fact<T> {
        self.text().and_then(|text| match serde_json::from_str(&text) {
            Ok(value) => Fact::Known(value),
            Err(error) => Fact::unknown(format!("unexpected JSON: {error}")),
        })
    }
}
