//! The machine's time and whether something keeps it.

use super::Fact;
use crate::host::Host;

/// Time and its keeper.
#[derive(Debug, Clone)]
pub struct Clock {
    /// Seconds since 1970-01-01 UTC when the machine was looked at.
    pub now: Fact<i64>,
    /// Whether the kernel's clock is synchronised: the file `/run/systemd/timesync/synchronized`, else the state of chronyd or
    /// ntpd; see `gather` for the order.
    pub synchronised: Fact<bool>,
    /// The service that keeps it: `systemd-timesyncd`, `chronyd`, `ntpd`; absent when none runs.
    pub keeper: Fact<String>,
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Clock {
    let now = host.clock().text().and_then(|text| match text.trim().parse() {
        Ok(seconds) => Fact::Known(seconds),
        Err(_) => Fact::Unknown(format!("the clock answered {text:?}")),
    });
    Clock { now, synchronised: Fact::Unknown("not yet".into()), keeper: Fact::Unknown("not yet".into()) }
}
