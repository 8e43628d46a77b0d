//! The engine or its runc has known vulnerabilities.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use catalog::toolkit::Exposure;
use diagnostic::words;
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "docker-vulnerable",
    group: Group::Docker,
    severity: Severity::Warning,
    applies: Applies::Host,
    summary: "the engine and runc have no known vulnerability",
    explain: include_str!("docker_vulnerable.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    docker.answering()?;
    if !*docker.built_by_docker().require("the engine reports no version")? {
        return Err(Verdict::NotApplicable(
            "this engine is not Docker's own build; its vendor may fix vulnerabilities without a new version \
             number"
                .into(),
        ));
    }
    let engine = docker.info_text(&["ServerVersion"]);
    let engine = engine.require("the engine reports no version")?.as_str();
    let runc = docker.component("runc");
    let runc = runc.decided()?.map(String::as_str);
    let mut parts = vec![("docker-engine", "engine", engine)];
    parts.extend(runc.map(|version| ("runc", "runc", version)));
    let (mut found, mut open) = (Vec::new(), Vec::new());
    for (component, name, version) in parts {
        for cve in facts.catalog.toolkit().cves(component) {
            match cve.exposure(version) {
                Exposure::Vulnerable => found.push((name, version, cve)),
                Exposure::Unknown => open.push((format!("{name} {version}"), cve.id.as_str())),
                Exposure::Safe => {}
            }
        }
    }
    if found.is_empty() {
        return if open.is_empty() { Ok(Verdict::Pass) } else { Err(Verdict::unknown(undetermined(&open))) };
    }
    let ids: Vec<&str> = found.iter().map(|(_, _, cve)| cve.id.as_str()).collect();
    let versions =
        runc.map_or_else(|| format!("engine {engine}"), |runc| format!("engine {engine}, runc {runc}"));
    let message = format!("{versions}: affected by {}", ids.join(", "));
    let packages = "docker-ce docker-ce-cli containerd.io";
    let mut fix = Fix::restarts_service("Upgrade the engine with containerd and runc:", &[]);
    fix.commands.extend(facts.system.os.known().and_then(|os| os.install(packages)));
    let verdict = Verdict::warning(message, fix.punctuated());
    Ok(found.iter().fold(verdict, |verdict, (name, version, cve)| {
        let what = cve.summary.as_deref().unwrap_or("no description in envdoc's catalog");
        verdict.evidence(format!(
            "{}: {name} {version}, fixed in {}: {what}",
            cve.id,
            cve.fixed_in.join(", ")
        ))
    }))
}

/// How many vulnerabilities of one component are named; the others are counted.
const NAMED: usize = 2;

/// The components with the vulnerabilities that may affect them, in order.
fn undetermined(open: &[(String, &str)]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for same in open.chunk_by(|one, next| one.0 == next.0) {
        let ids: Vec<&str> = same.iter().map(|(_, id)| *id).take(NAMED).collect();
        let ids = match same.len().saturating_sub(NAMED) {
            0 => words::and(&ids),
            more => format!("{} and {more} more", ids.join(", ")),
        };
        parts.push(format!("{} is affected by {ids}", same[0].0));
    }
    format!("unknown whether {}", words::and(&parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::sparse::host;

    use facts::testing::sparse::engine;

    fn of(version: &str, runc: &str, platform: &str) -> String {
        let said = format!(
            r#"{{"Platform":{{"Name":"{platform}"}},"Components":[{{"Name":"runc","Version":"{runc}"}}]}}"#
        );
        let more = [("engine unix:///var/run/docker.sock /version", said.as_str())];
        verdict_line(&CHECK, &host(&engine(&format!(r#"{{"ServerVersion":"{version}"}}"#), &more)))
    }

    #[test]
    fn reports_cves_of_engine_and_runc() {
        let old = of("27.1.0", "1.1.11", "Docker Engine - Community");
        assert!(old.contains("CVE-2024-41110") && old.contains("CVE-2024-21626"), "{old}");
        assert!(of("27.0.3", "1.1.11", "").starts_with("not-applicable"));
        let open = [("engine 24.0.7", "CVE-1"), ("engine 24.0.7", "CVE-2"), ("engine 24.0.7", "CVE-3")];
        let open = [&open[..], &[("runc 1.1", "CVE-4")]].concat();
        let open: Vec<(String, &str)> = open.iter().map(|(of, id)| ((*of).to_owned(), *id)).collect();
        assert_eq!(
            undetermined(&open),
            "unknown whether engine 24.0.7 is affected by CVE-1, CVE-2 and 1 more and runc 1.1 is affected \
             by CVE-4"
        );
        let new = of("29.7.2", "1.5.1", "Docker Engine - Community");
        assert_eq!(new, "pass");
    }
}
