//! The driver's branch gets no fixes any more.

use crate::driver::loaded;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "driver-branch-end-of-life",
    group: Group::Driver,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "the driver branch still gets fixes",
    explain: include_str!("driver_branch_end_of_life.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let version = loaded(facts);
    let version = version.require("the driver is not loaded")?;
    let today = date(*facts.clock.now.require("the time is unknown")?);
    let today = today.ok_or_else(|| Verdict::unknown("could not read a date from the clock"))?;
    let Some(branch) = facts.catalog.drivers().branch(version.branch) else {
        return Ok(Verdict::NotApplicable(format!(
            "envdoc's catalog does not know branch {}",
            version.branch
        )));
    };
    let Some(end) = &branch.end_of_life else {
        return Ok(Verdict::NotApplicable(format!("no end of life is known for branch {}", branch.branch)));
    };
    if !over(end, &today) {
        return Ok(match &branch.end_of_life_disputed {
            Some(earlier) if over(earlier, &today) => Verdict::NotApplicable(format!(
                "sources disagree about the end of branch {}: {earlier} or {end}",
                branch.branch
            )),
            _ => Verdict::Pass,
        });
    }
    let latest =
        branch.latest.as_deref().filter(|latest| latest.parse().is_ok_and(|latest| *version < latest));
    let latest = latest.map(|latest| format!(" (last known release: {latest})")).unwrap_or_default();
    let message = format!(
        "driver {version} is from branch {}, which ended {end}{latest}; it gets no security fixes and no \
         support for new kernels",
        branch.branch
    );
    let supported: Vec<String> = facts
        .catalog
        .drivers()
        .all()
        .iter()
        .filter(|other| other.branch > branch.branch)
        .filter(|other| other.end_of_life.as_ref().is_some_and(|end| !over(end, &today)))
        .filter(|other| other.end_of_life_disputed.as_ref().is_none_or(|end| !over(end, &today)))
        .map(|other| match &other.kind {
            Some(kind) => {
                format!("{} ({kind}, until {})", other.branch, other.end_of_life.as_deref().unwrap_or(""))
            }
            None => other.branch.to_string(),
        })
        .collect();
    let text = match supported.is_empty() {
        true => "Install a driver from a supported branch.".to_owned(),
        false => format!("Install a driver from a supported branch: {}.", supported.join(", ")),
    };
    let mut verdict = Verdict::warning(message, Fix::needs_reboot(text, &[]));
    if let Some(earlier) = &branch.end_of_life_disputed {
        verdict = verdict.evidence(format!("sources give {earlier} and {end} as its end"));
    }
    Ok(verdict.evidence(format!("today {today}; {}", branch.source)))
}

/// Whether a day (`2026-06-01`) or a whole month (`2026-06`) is over.
fn over(end: &str, today: &str) -> bool {
    today.get(..end.len()).is_some_and(|today| today > end)
}

/// `2026-11-21` out of seconds since 1970.
fn date(seconds: i64) -> Option<String> {
    Some(jiff::Timestamp::from_second(seconds).ok()?.strftime("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::system::Wsl;
    use facts::testing::server::server;

    fn on(version: &str) -> Facts {
        server(|f| {
            f.driver.module = f.driver.module.clone().map(|mut module| {
                module.version = version.parse().unwrap();
                module
            })
        })
    }

    #[test]
    fn end_of_life_branch_is_a_warning() {
        expect(&CHECK, &on("580.95.05"), "pass", "");
        expect(&CHECK, &on("550.90.07"), "warning", "ended 2025-04-17");
        expect(&CHECK, &on("610.57.04"), "not-applicable", "disagree");
        expect(&CHECK, &on("700.10.01"), "not-applicable", "does not know branch 700");
        expect(&CHECK, &server(|f| f.clock.now = Fact::Unknown("no clock".into())), "unknown", "no clock");
        let windows = server(|f| {
            f.driver.module = Fact::Absent;
            f.system.wsl = Fact::Known(Wsl { version: 2, dxg: true });
            f.gpu.driver = Fact::Known("536.40".parse().unwrap());
        });
        expect(&CHECK, &windows, "not-applicable", "branch 536");
    }

    #[test]
    fn converts_unix_time_to_dates_and_compares_months() {
        for (seconds, day) in [
            (0, "1970-01-01"),
            (1_795_219_200, "2026-11-21"),
            (951_782_400, "2000-02-29"),
            (1_735_603_199, "2024-12-30"),
        ] {
            assert_eq!(date(seconds).as_deref(), Some(day));
        }
        assert!(
            over("2026-06", "2026-07-01")
                && !over("2026-06", "2026-06-30")
                && over("2026-06-01", "2026-06-02")
        );
    }
}
