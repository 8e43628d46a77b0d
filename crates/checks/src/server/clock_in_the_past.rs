//! The clock stands before the time that this program was made.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "clock-in-the-past",
    group: Group::System,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "the clock is not years behind",
    explain: include_str!("clock_in_the_past.md"),
    judge,
};

/// 2025-01-01T00:00:00Z.
const EARLIEST: i64 = 1_735_689_600;

fn judge(facts: &Facts) -> Judged {
    let now = *facts.clock.now.require("the machine has no clock")?;
    if now >= EARLIEST {
        return Ok(Verdict::Pass);
    }
    let days = (EARLIEST - now) / 86_400;
    let message = format!(
        "the clock is at least {days} days behind; certificates count as not yet valid, so TLS connections \
         fail"
    );
    let fix = match facts.system.container.decided() {
        Ok(Some(_)) => Fix::manual("Set the clock of the host; containers share it."),
        _ => Fix::safe(
            "Set the clock (replace the example with the current UTC time):",
            &["sudo date -u -s '2026-11-21 12:00:00'"],
        ),
    };
    Ok(Verdict::error(message, fix).evidence(format!("{now} seconds since 1970-01-01 UTC")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    #[test]
    fn a_clock_in_the_past_is_found() {
        let mut facts = build_host();
        facts.clock.now = Fact::Known(1_600_000_000);
        expect(&CHECK, &facts, "error", "days behind");
        facts.clock.now = Fact::Known(1_795_000_000);
        expect(&CHECK, &facts, "pass", "");
        facts.clock.now = Fact::Unknown("no clock".into());
        expect(&CHECK, &facts, "unknown", "");
    }
}
