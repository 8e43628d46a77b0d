//! What a build found, for every renderer of `diagnostic`.

use diagnose::report::findings::fixes;
use diagnostic::report::{Outcome, Report};
use diagnostic::rule::{Group, Rule};
use diagnostic::{Diagnostic, Severity, Subject, Verdict};

use super::{BuildReport, FailureEntry, Note, Phase, step_title};
use crate::inspect::judge::GROUP;
use crate::verify::{Item, Status, Verification};

/// One rule about a build.
#[derive(Debug, PartialEq, Eq)]
pub struct BuildRule {
    /// Kebab case, names the fault.
    pub id: &'static str,
    /// What is well when it passes.
    pub summary: &'static str,
    /// What it checks, why it matters, how to fix it; Markdown.
    pub explain: &'static str,
    severity: Severity,
}

impl Rule for BuildRule {
    fn id(&self) -> &'static str {
        self.id
    }
    fn severity(&self) -> Severity {
        self.severity
    }
    fn group(&self) -> Group {
        GROUP
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
    fn explain(&self) -> &'static str {
        self.explain
    }
}

static BUILD_FAILED: BuildRule = BuildRule {
    id: "image-build-failed",
    summary: "the engine builds the image",
    explain: include_str!("rules/image-build-failed.md"),
    severity: Severity::Error,
};
static NOT_AS_EXPECTED: BuildRule = BuildRule {
    id: "image-not-as-expected",
    summary: "the image contains what was expected",
    explain: include_str!("rules/image-not-as-expected.md"),
    severity: Severity::Error,
};
static NOT_PUBLISHED: BuildRule = BuildRule {
    id: "image-not-published",
    summary: "the image is tagged and pushed",
    explain: include_str!("rules/image-not-published.md"),
    severity: Severity::Error,
};
static PLAN_WARNING: BuildRule = BuildRule {
    id: "image-plan-warning",
    summary: "nothing that is known may break the image later",
    explain: include_str!("rules/image-plan-warning.md"),
    severity: Severity::Warning,
};

/// All rules, in the order of the report.
pub static RULES: [&BuildRule; 4] = [&BUILD_FAILED, &NOT_AS_EXPECTED, &NOT_PUBLISHED, &PLAN_WARNING];

/// The findings of the builds of one command: one for each platform.
pub fn findings(reports: &[BuildReport]) -> Report {
    let several = reports.len() > 1;
    let tags = reports.iter().flat_map(|report| report.image.iter().flat_map(|image| &image.tags));
    Report {
        command: "envdoc build",
        about: tags.cloned().collect(),
        properties: reports.first().into_iter().flat_map(properties).collect(),
        overview: Vec::new(),
        results: reports.iter().flat_map(|report| outcomes(report, several)).collect(),
        sections: Vec::new(),
    }
}

fn properties(report: &BuildReport) -> Vec<(&'static str, String)> {
    let image = report.image.as_ref().map(|image| image.id.clone());
    let all =
        [("engine", Some(report.engine.clone())), ("builder", report.builder.clone()), ("image", image)];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn outcomes(report: &BuildReport, several: bool) -> Vec<Outcome> {
    let image = report.image.as_ref();
    let platform = image.and_then(|image| image.architecture.as_deref()).filter(|_| several);
    let about = |name: &str| match platform {
        Some(platform) => Subject::name(format!("{platform}: {name}")),
        None => Subject::name(name),
    };
    let outcome = |rule: &BuildRule, subject: Subject, verdict: Verdict| {
        let verdict = verdict.id(rule.id).about(subject.clone());
        Outcome::new(rule, verdict).on(subject)
    };
    let failure = report.failure.as_ref();
    let mut outcomes = vec![outcome(&BUILD_FAILED, about("build"), build(failure))];
    if let Some(verification) = &report.verification {
        let items = verification.items.iter();
        outcomes.extend(items.map(|item| outcome(&NOT_AS_EXPECTED, about(&item.what), of_item(item))));
        if verification.items.is_empty() {
            outcomes.push(outcome(&NOT_AS_EXPECTED, about("image"), without_items(verification)));
        }
    }
    if let Some(verdict) = published(report, failure) {
        outcomes.push(outcome(&NOT_PUBLISHED, about("tags"), verdict));
    }
    for note in &report.notes {
        if let Note::Warning(text) = note {
            let verdict = Diagnostic::warning(text.clone()).into();
            outcomes.push(outcome(&PLAN_WARNING, about("plan"), verdict));
        }
    }
    outcomes
}

fn build(failure: Option<&FailureEntry>) -> Verdict {
    match failure {
        Some(failure) if matches!(failure.phase, Phase::Step | Phase::Rejected) => {
            let message = match &failure.step {
                Some(step) => format!("build failed at {}: {}", step_title(step), failure.message),
                None => format!("the engine rejected the build: {}", failure.message),
            };
            let mut found = Diagnostic::error(message);
            found.evidence.clone_from(&failure.last_lines);
            found.fixes = failure.diagnosis.causes.iter().flat_map(fixes).collect();
            found.into()
        }
        _ => Verdict::Pass,
    }
}

fn of_item(item: &Item) -> Verdict {
    match item.status {
        Status::Passed => Verdict::Pass,
        Status::Failed => Diagnostic::error(format!("{}: {}", item.what, item.message)).into(),
        Status::Unknown => Verdict::unknown(item.message.clone()),
        Status::Skipped => Verdict::NotApplicable(item.message.clone()),
    }
}

fn without_items(verification: &Verification) -> Verdict {
    match verification.status {
        Status::Passed => Verdict::Pass,
        Status::Failed => Diagnostic::error(verification.message.clone()).into(),
        Status::Unknown => Verdict::unknown(verification.message.clone()),
        Status::Skipped => Verdict::NotApplicable(verification.message.clone()),
    }
}

/// `None` where the build did not get that far.
fn published(report: &BuildReport, failure: Option<&FailureEntry>) -> Option<Verdict> {
    match failure.map(|failure| (failure.phase, &failure.message)) {
        Some((Phase::Tag, message)) => {
            Some(Diagnostic::error(format!("could not tag the image: {message}")).into())
        }
        Some((Phase::Push, message)) => {
            Some(Diagnostic::error(format!("could not push the image: {message}")).into())
        }
        Some(_) => None,
        None if report.image.as_ref().is_some_and(|image| image.tags.is_empty()) => {
            Some(Verdict::NotApplicable("no tag was requested".into()))
        }
        None => Some(Verdict::Pass),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build_log::Diagnosis;
    use diagnostic::render::{github, html, json, junit, markdown, sarif};
    use diagnostic::report::Run;

    fn item(what: &str, status: Status, message: &str) -> Item {
        Item { what: what.into(), status, message: message.into() }
    }

    fn report(failure: Option<FailureEntry>) -> BuildReport {
        let items = vec![
            item("python", Status::Passed, "3.11.2"),
            item("torch", Status::Failed, "2.6.0+cpu is installed; expected 2.6.0+cu124"),
            item("import vllm", Status::Unknown, "requires the driver library"),
        ];
        let verification = Verification { status: Status::Failed, message: "failed".into(), items };
        BuildReport {
            verification: Some(verification),
            failure,
            notes: vec![
                Note::Warning("Debian 12 is past its end of life".into()),
                Note::Info("other".into()),
            ],
            ..BuildReport::default()
        }
    }

    fn statuses(report: &BuildReport) -> Vec<(String, &'static str)> {
        let found = findings(std::slice::from_ref(report));
        found.results.iter().map(|one| (one.rule.id.to_string(), one.verdict.status())).collect()
    }

    #[test]
    fn each_expectation_has_its_own_result() {
        let failure =
            FailureEntry::new(Phase::Verification, None, Vec::new(), "failed".into(), Diagnosis::default());
        let expected = [
            ("image-build-failed", "pass"),
            ("image-not-as-expected", "pass"),
            ("image-not-as-expected", "error"),
            ("image-not-as-expected", "unknown"),
            ("image-plan-warning", "warning"),
        ];
        let expected = expected.map(|(id, status)| (id.to_owned(), status));
        assert_eq!(statuses(&report(Some(failure))), expected);
    }

    #[test]
    fn a_failed_step_is_a_finding_with_its_last_lines() {
        let lines = vec!["ERROR: No matching distribution found for torch==9.9".to_owned()];
        let failure = FailureEntry::new(
            Phase::Step,
            Some("[2/3] RUN pip install".into()),
            lines,
            "exit 1".into(),
            Diagnosis::default(),
        );
        let mut report = report(Some(failure));
        report.verification = None;
        let found = findings(&[report]);
        let step = found.results[0].verdict.found().unwrap();
        assert!(step.message.contains("[2/3] RUN pip install") && step.message.contains("exit 1"));
        assert_eq!(step.evidence.len(), 1);
        assert!(found.results.iter().all(|one| one.rule.id != "image-not-published"));
    }

    #[test]
    fn a_push_that_was_denied_is_a_finding() {
        let failure = FailureEntry::new(
            Phase::Push,
            None,
            Vec::new(),
            "r.example/a:1: denied".into(),
            Diagnosis::default(),
        );
        let found = statuses(&report(Some(failure)));
        assert!(found.contains(&("image-not-published".into(), "error")), "{found:?}");
    }

    #[test]
    fn every_format_has_the_failed_expectation() {
        let found = findings(&[report(None), report(None)]);
        let texts = [
            junit::report(&found).unwrap(),
            json::text(&sarif::report(&found)).unwrap(),
            github::report(&found),
            markdown::report(&found),
            html::report(&found, &Run::default()),
        ];
        for text in texts {
            assert!(text.contains("2.6.0+cpu is installed"), "{text}");
            assert!(text.contains("image-not-as-expected"), "{text}");
        }
    }

    #[test]
    fn every_rule_is_explained() {
        for rule in RULES {
            assert!(rule.explain.starts_with("## What it checks\n"), "{}", rule.id);
            assert!(rule.explain.contains("## Why it matters\n"), "{}", rule.id);
            assert!(rule.explain.contains("## How to fix it\n"), "{}", rule.id);
        }
    }
}
