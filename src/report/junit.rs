//! JUnit XML for CI systems: one test case a check, one suite a group.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::of_group;
use crate::checks::{CheckResult, Group, Verdict};
use crate::error::{Error, Kind};

/// The report of some results. Errors are failures; warnings and unknowns are skipped cases with their text as the message,
/// because JUnit knows no third state and a warning must not fail a pipeline that `--fail-on` lets pass.
pub fn report(results: &[CheckResult]) -> Result<String, Error> {
    let mut report = Report::new("envdoc check");
    for &group in Group::ALL {
        let results = of_group(results, group);
        if results.is_empty() {
            continue;
        }
        let mut suite = TestSuite::new(group.id());
        suite.add_test_cases(results.into_iter().map(case));
        report.add_test_suite(suite);
    }
    report.to_string().map_err(|error| Error::new(Kind::File, format!("cannot write JUnit XML: {error}")))
}

fn case(result: &CheckResult) -> TestCase {
    let status = match &result.verdict {
        Verdict::Pass => TestCaseStatus::success(),
        Verdict::NotApplicable(why) => skipped("not applicable", why),
        Verdict::Unknown(why) => skipped("unknown", why),
        Verdict::Finding { severity: crate::checks::Severity::Warning, says, .. } => skipped("warning", says),
        Verdict::Finding { says, evidence, fix, .. } => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let lines =
                evidence.iter().chain([&fix.text]).chain(&fix.commands).filter(|line| !line.is_empty());
            status.set_message(says.clone()).set_type("error");
            status.set_description(lines.map(String::as_str).collect::<Vec<_>>().join("\n"));
            status
        }
    };
    let mut case = TestCase::new(result.check.id, status);
    case.set_classname(format!("envdoc.{}", result.check.group.id()));
    case
}

fn skipped(word: &str, why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(format!("{word}: {why}"));
    status
}
