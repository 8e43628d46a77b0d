//! The engine warns of something that matters.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::docker::texts;

pub(super) const CHECK: Check = Check {
    id: "docker-engine-warnings",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "the engine reports no warning that matters for GPU work",
    explain: include_str!("docker_engine_warnings.md"),
    judge,
};

/// What makes a warning worth repeating.
const MATTER: &[&str] = &[
    "API is accessible on",
    "IPv4 forwarding is disabled",
    "No memory limit support",
    "extended file attributes",
    "CDI: ",
    "CDI cache",
    "Failed to list devices",
    "without cgroups",
    "d_type",
    "loopback devices",
];

fn judge(facts: &Facts) -> Judged {
    let info = facts.docker.answering()?;
    let all = texts(info.get("Warnings"));
    let picked: Vec<String> =
        all.iter().filter(|w| MATTER.iter().any(|part| w.contains(part))).map(|w| first_line(w)).collect();
    let Some(first) = picked.first() else { return Ok(Verdict::Pass) };
    let more = if picked.len() > 1 { format!(" (and {} more)", picked.len() - 1) } else { String::new() };
    let verdict = Verdict::warning(
        format!("the Docker engine warns: {first}{more}"),
        Fix::safe("Show all warnings:", &["docker info"]),
    );
    Ok(picked.iter().fold(verdict, |verdict, line| verdict.evidence(line.clone())))
}

fn first_line(warning: &str) -> String {
    let line = warning.lines().next().unwrap_or_default();
    line.trim_start_matches("WARNING: ").trim_start_matches("[DEPRECATION NOTICE]: ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::says;
    use facts::testing::{Sparse, sparse::host};

    use facts::testing::sparse::engine;

    #[test]
    fn only_what_matters_is_repeated() {
        let of = |warning: &str| {
            let info = serde_json::json!({ "Warnings": [warning] }).to_string();
            says(&CHECK, &host(&engine(&info, &[])))
        };
        let open =
            "[DEPRECATION NOTICE]: API is accessible on http://0.0.0.0:2375 without encryption.\n  Access to";
        assert_eq!(
            of(open),
            "warning: the Docker engine warns: API is accessible on http://0.0.0.0:2375 without encryption."
        );
        assert_eq!(of("WARNING: No blkio throttle.read_bps_device support"), "pass");
        assert_eq!(says(&CHECK, &host(&engine(r#"{"Warnings":null}"#, &[]))), "pass");
        assert!(says(&CHECK, &host(&Sparse::new(&[]))).starts_with("not-applicable"));
    }
}
