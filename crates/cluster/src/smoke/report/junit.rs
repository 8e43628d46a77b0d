//! The report as JUnit XML.

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use crate::smoke::outcome::{Outcome, Status, Verdict};
use diagnostic::error::{Error, Kind};

/// JUnit XML for CI systems: a case for each phase and one for the verdict.
pub fn junit(outcome: &Outcome) -> Result<String, Error> {
    let mut suite = TestSuite::new("smoke");
    let failure = |says: &str| {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(says.to_owned()).set_type("error");
        status
    };
    for phase in &outcome.phases {
        let status = match phase.status {
            Status::Passed => TestCaseStatus::success(),
            Status::Failed => failure(&phase.says),
            Status::Skipped | Status::Unknown => {
                let mut status = TestCaseStatus::skipped();
                status.set_message(phase.says.clone());
                status
            }
        };
        let id = phase.id.id();
        let name = phase.node.as_ref().map_or(id.to_owned(), |node| format!("{id} {node}"));
        let mut case = TestCase::new(name, status);
        case.set_classname("envdoc.smoke").set_time(std::time::Duration::from_secs_f64(phase.seconds));
        suite.add_test_case(case);
    }
    let fine = outcome.verdict == Verdict::Ok;
    let mut case =
        TestCase::new("verdict", if fine { TestCaseStatus::success() } else { failure(&outcome.says) });
    case.set_classname("envdoc.smoke");
    suite.add_test_case(case);
    let mut report = quick_junit::Report::new("envdoc smoke");
    report.add_test_suite(suite);
    report.to_string().map_err(|error| Error::new(Kind::File, format!("cannot write JUnit XML: {error}")))
}
