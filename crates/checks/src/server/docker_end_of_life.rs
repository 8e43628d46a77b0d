//! The engine gets no more fixes.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "docker-end-of-life",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "the Docker Engine release series is still maintained",
    explain: include_str!("docker_end_of_life.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    docker.answering()?;
    if !*docker.built_by_docker().require("the engine reports no version")? {
        return Err(Verdict::NotApplicable("this engine is not Docker's own build".into()));
    }
    let text = docker.info_text(&["ServerVersion"]);
    let text = text.require("the engine reports no version")?;
    let now = facts.clock.now.require("no clock")?;
    let Some(row) = facts.catalog.toolkit().engine_series(text) else {
        return Err(Verdict::unknown(format!("envdoc does not know the end of life of Docker {text}")));
    };
    let Some(end) = &row.end_of_life else { return Ok(Verdict::Pass) };
    let Ok(today) = jiff::Timestamp::from_second(*now) else {
        return Err(Verdict::Unknown("could not read a date from the clock".into()));
    };
    if *end >= today.strftime("%Y-%m-%d").to_string() {
        return Ok(Verdict::Pass);
    }
    let newest = facts.catalog.toolkit().all_engine_series().iter().find(|row| row.end_of_life.is_none());
    let newest = newest
        .and_then(|row| row.latest.as_deref())
        .map(|latest| format!("; the current release is {latest}"));
    let message = format!(
        "Docker {text} is out of support: series {} got its last fixes on {end}{}",
        row.series,
        newest.unwrap_or_default()
    );
    let fix = Fix::restarts_service("Upgrade Docker Engine: https://docs.docker.com/engine/install/", &[]);
    Ok(Verdict::warning(message, fix).evidence(format!("end of life {end} ({})", row.source)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::sparse::host;

    use facts::testing::sparse::engine;

    #[test]
    fn reports_series_after_its_end_of_life_date() {
        let of = |version: &str, now: &str| {
            verdict_line(
                &CHECK,
                &host(&engine(&format!(r#"{{"ServerVersion":"{version}"}}"#), &[("clock", now)])),
            )
        };
        // 2026-11-21 and 2025-01-01.
        assert!(
            of("24.0.9", "1795219200").starts_with("warning: Docker 24.0.9 is out of support: series 24.0")
        );
        assert!(of("28.5.2", "1795219200").contains("2026-05-13"));
        assert_eq!(of("28.5.2", "1735689600"), "pass");
        assert_eq!(of("29.7.2", "1795219200"), "pass");
        assert!(of("31.0.0", "1795219200").starts_with("unknown: "));
    }
}
