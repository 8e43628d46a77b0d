//! Parsers of option values.

use std::time::Duration;

use lint::Kind;
use resolve::parse::split_requirements;

/// The most ranks on one machine.
const RANKS_MAX: usize = 256;

/// Why an option value is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidValue {
    #[error("{0:?} is not a number of seconds")]
    NotSeconds(String),
    #[error("must be greater than 0 and at most 3600")]
    SecondsOutOfRange,
    #[error("must be 2 to {}", RANKS_MAX)]
    Ranks,
    #[error("expected PHASE:SECONDS")]
    Pause,
    #[error("expected RANK:ELEMENT, two numbers")]
    Corrupt,
    #[error("it names no package")]
    NoPackage,
    #[error("expected one of {}", kind_ids().join(", "))]
    FileType,
}

/// A number of seconds, greater than zero: `2`, `0.5`.
pub(super) fn seconds(text: &str) -> Result<Duration, InvalidValue> {
    let seconds: f64 = text.parse().map_err(|_| InvalidValue::NotSeconds(text.to_owned()))?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() && seconds <= 3600.0 => Ok(duration),
        _ => Err(InvalidValue::SecondsOutOfRange),
    }
}

/// Seconds, of which 0 means off.
pub(super) fn seconds_or_off(text: &str) -> Result<Duration, InvalidValue> {
    match text.parse::<f64>() {
        Ok(0.0) => Ok(Duration::ZERO),
        _ => seconds(text),
    }
}

pub(super) fn ranks(text: &str) -> Result<usize, InvalidValue> {
    let ranks = text.parse().ok().filter(|ranks| (2..=RANKS_MAX).contains(ranks));
    ranks.ok_or(InvalidValue::Ranks)
}

/// `PHASE:SECONDS`.
pub(super) fn pause(text: &str) -> Result<(String, Duration), InvalidValue> {
    let (phase, seconds) = text.split_once(':').ok_or(InvalidValue::Pause)?;
    let seconds = seconds.parse().map_err(|_| InvalidValue::Pause)?;
    Ok((phase.to_owned(), Duration::from_secs(seconds)))
}

/// `RANK:ELEMENT`.
pub(super) fn corrupt(text: &str) -> Result<(usize, usize), InvalidValue> {
    let both = text.split_once(':').and_then(|(rank, index)| Some((rank.parse().ok()?, index.parse().ok()?)));
    both.ok_or(InvalidValue::Corrupt)
}

/// Packages with versions, separated by commas: at least one.
pub(super) fn packages(text: &str) -> Result<String, InvalidValue> {
    match split_requirements(text).is_empty() && !text.is_empty() {
        true => Err(InvalidValue::NoPackage),
        false => Ok(text.to_owned()),
    }
}

/// The type of a file to lint.
pub(super) fn file_type(text: &str) -> Result<Kind, InvalidValue> {
    let found = Kind::ALL.iter().find(|kind| kind.id() == text);
    found.copied().ok_or(InvalidValue::FileType)
}

pub(super) fn kind_ids() -> Vec<&'static str> {
    Kind::ALL.iter().map(|kind| kind.id()).collect()
}
