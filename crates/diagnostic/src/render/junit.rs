//! JUnit XML for CI systems: one test case for each result, one suite a group.

use std::fmt::Write;
use std::time::Duration;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite, XmlString};

use crate::error::{Error, Kind};
use crate::report::{Outcome, Report};
use crate::{Diagnostic, Severity, Verdict};

/// The report. Errors are failures; warnings, notes and unknown results are skipped cases with their text as
/// the message, because JUnit knows no third state and a warning must not fail a pipeline that `--fail-on`
/// lets pass. What settings files leave out is a suite of skipped cases.
pub fn report(report: &Report) -> Result<String, Error> {
    let mut xml = quick_junit::Report::new(report.command);
    for group in report.groups() {
        let mut suite = TestSuite::new(group.id);
        for (name, value) in &report.properties {
            suite.add_property((XmlString::new(*name), XmlString::new(value)));
        }
        suite.add_test_cases(report.of_group(group).map(case));
        xml.add_test_suite(suite);
    }
    xml.add_test_suites(ignored(report));
    xml.to_string().map_err(|error| Error::new(Kind::File, format!("cannot write JUnit XML: {error}")))
}

fn case(outcome: &Outcome) -> TestCase {
    let status = match &outcome.verdict {
        Verdict::Pass => TestCaseStatus::success(),
        Verdict::NotApplicable(why) => skipped("not applicable", why),
        Verdict::Unknown(why) => skipped("unknown", &why.detail),
        Verdict::Found(found) if found.severity == Severity::Error => failure(found),
        Verdict::Found(found) => skipped(found.severity.word(), &found.message),
    };
    let mut case = TestCase::new(name(outcome), status);
    case.set_classname(format!("envdoc.{}", outcome.rule.group.id));
    if let Some(step) = &outcome.step {
        case.set_time(Duration::from_secs_f64(step.seconds));
    }
    case
}

fn ignored(report: &Report) -> Option<TestSuite> {
    let mut suite = TestSuite::new("ignored");
    for entry in report.ignored() {
        let mut status = TestCaseStatus::skipped();
        status.set_message(format!("ignored by {}", entry.file));
        let mut case = TestCase::new(entry.id.as_str(), status);
        case.set_classname("envdoc.ignored");
        suite.add_test_case(case);
    }
    (!report.ignored().is_empty()).then_some(suite)
}

/// The rule, and its subject where one rule has several: `dockerfile-tag-missing Dockerfile:3`.
fn name(outcome: &Outcome) -> String {
    let mut name = outcome.rule.id.to_string();
    let subject = &outcome.subject;
    for part in [&subject.node, &subject.file].into_iter().flatten() {
        let _ = write!(name, " {part}");
    }
    if let (Some(_), Some(line)) = (&subject.file, subject.line) {
        let _ = write!(name, ":{line}");
    }
    name
}

fn failure(found: &Diagnostic) -> TestCaseStatus {
    let mut lines: Vec<&str> = found.evidence.iter().map(String::as_str).collect();
    for fix in &found.fixes {
        lines.extend(std::iter::once(fix.title.as_str()).chain(fix.commands.iter().map(String::as_str)));
    }
    lines.retain(|line| !line.is_empty());
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(found.message.clone()).set_type("error");
    status.set_description(lines.join("\n"));
    status
}

fn skipped(word: &str, why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(format!("{word}: {why}"));
    status
}
