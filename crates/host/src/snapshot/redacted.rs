//! The redacted form of a snapshot.

use std::collections::btree_map::Entry;

use super::{Kept, Snapshot};
use crate::redact::Redactor;
use crate::sensitivity::Sensitivity;
use crate::{Missing, MissingKind};

impl Snapshot {
    /// The same snapshot without what names people and machines, and without readings that are not known to
    /// be harmless.
    pub fn redact(mut self) -> Snapshot {
        let mut redactor = Redactor::new(|ask| match self.readings.get(ask) {
            Some(Kept::Text(text)) => text.trim().to_owned(),
            _ => String::new(),
        });
        for (ask, kept) in std::mem::take(&mut self.readings) {
            let kept = without_names(&mut redactor, &ask, kept);
            match self.readings.entry(redactor.question(&ask)) {
                Entry::Vacant(entry) => {
                    entry.insert(kept);
                }
                // Two paths that differ only in what was hidden: which answer is right is unknown.
                Entry::Occupied(mut entry) if *entry.get() != kept => {
                    entry.insert(Kept::Failed(left_out()));
                }
                Entry::Occupied(_) => {}
            }
        }
        for text in self.about.iter_mut().chain(&mut self.sources) {
            *text = redactor.text(Sensitivity::Settings, "", text);
        }
        self.redacted = true;
        self
    }
}

fn without_names(redactor: &mut Redactor, ask: &str, kept: Kept) -> Kept {
    let sensitivity = Sensitivity::of(ask);
    match kept {
        Kept::Text(_) | Kept::Ran { .. } if sensitivity == Sensitivity::Private => Kept::Failed(left_out()),
        Kept::Text(text) => Kept::Text(redactor.text(sensitivity, ask, &text)),
        // Messages of errors have another form than what the program writes.
        Kept::Ran { status, stdout, stderr } => Kept::Ran {
            status,
            stdout: redactor.text(sensitivity, ask, &stdout),
            stderr: redactor.text(Sensitivity::Settings, "", &stderr),
        },
        Kept::Failed(Missing { kind, detail }) => {
            Kept::Failed(Missing { kind, detail: redactor.detail(ask, &detail) })
        }
        other => other,
    }
}

fn left_out() -> Missing {
    Missing::new(MissingKind::NotRecorded, "left out of the redacted snapshot")
}
