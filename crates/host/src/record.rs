//! A host that keeps every answer it passes on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::redact::without_credentials;
use super::{Ask, Host, Missing, Reading};

/// Keeps what `inner` answers. Cloning shares the record.
#[derive(Clone)]
pub struct Recorder {
    inner: Arc<dyn Host>,
    readings: Arc<Mutex<BTreeMap<String, Reading>>>,
}

impl Recorder {
    /// Records what `inner` answers.
    pub fn new(inner: Arc<dyn Host>) -> Self {
        Recorder { inner, readings: Arc::default() }
    }

    /// What was asked and answered so far.
    pub fn readings(&self) -> BTreeMap<String, Reading> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Host for Recorder {
    fn ask(&self, ask: Ask<'_>) -> Reading {
        let key = ask.to_string();
        let readings = || self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        // A second question of the same kind must not see another machine than the first.
        if let Some(reading) = readings().get(&key) {
            return reading.clone();
        }
        let reading = self.inner.ask(ask);
        readings().insert(key, reading.clone());
        reading
    }
}

/// Answers from a record; what is not in it is `Failed` with `reason`.
pub struct Replay {
    readings: BTreeMap<String, Reading>,
    reason: Missing,
    /// Credentials in questions are hidden: a question that holds one is looked up without it, too.
    redacted: bool,
}

impl Replay {
    /// Replays `readings`; anything else fails with `reason`.
    pub fn new(readings: BTreeMap<String, Reading>, reason: impl Into<Missing>) -> Self {
        Replay { readings, reason: reason.into(), redacted: false }
    }

    /// The same for a redacted record.
    pub fn redacted(self, redacted: bool) -> Self {
        Replay { redacted, ..self }
    }
}

impl Host for Replay {
    fn ask(&self, ask: Ask<'_>) -> Reading {
        let key = ask.to_string();
        let hidden = || self.readings.get(&without_credentials(&key)).filter(|_| self.redacted);
        let found = self.readings.get(&key).or_else(hidden);
        found.cloned().unwrap_or_else(|| Reading::Failed(self.reason.clone()))
    }
}
