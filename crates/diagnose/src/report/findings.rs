//! The diagnosis as findings, for the formats that every command has: JUnit, SARIF, GitHub annotations, HTML.

use super::sections::sections;
use super::{confirmation, nothing, sentences, title};
use crate::root_cause::{Cause, Confidence, Diagnosis, Evidence};
use catalog::signatures::Cause as Choice;
use diagnostic::report::{Outcome, Report, RuleInfo};
use diagnostic::rule::Group;
use diagnostic::{Diagnostic, Fix, Severity, Subject, Verdict};

const LOG: Group = Group { id: "log", title: "Logs" };

/// The report: an outcome for each cause, the root cause first, and for each error line that no signature
/// matches. A log without either passes; lines that only resemble errors are notes. The timeline is a section
/// of it where it is asked for.
pub fn report(diagnosis: &Diagnosis, timeline: bool) -> Report {
    let causes = diagnosis.causes.iter().enumerate().map(|(index, one)| cause(index, one));
    let unmatched = diagnosis.unmatched_errors.iter().map(|line| {
        let message = format!("error that matches no signature: {}", line.text);
        outcome(unmatched_line(), Diagnostic::error(message), line)
    });
    let suspicious = diagnosis.suspicious.iter().map(|line| {
        let message = format!("line that resembles an error: {}", line.text);
        outcome(unmatched_line(), Diagnostic::note(message), line)
    });
    let unread = diagnosis.unread.iter().map(|(name, why)| {
        let found = Diagnostic::error(format!("cannot read {name}: {why}; it was not searched"));
        Outcome::new(
            rule("log-unreadable", "every log can be read"),
            found.subject(Subject::file(name)).into(),
        )
    });
    let mut results: Vec<Outcome> = causes.chain(unmatched).chain(suspicious).chain(unread).collect();
    if !diagnosis.failed() && diagnosis.unread.is_empty() {
        results.insert(0, Outcome::new(rule("known-failure", "the logs show no failure"), Verdict::Pass));
    }
    let mut about = vec![match diagnosis.lines {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }];
    if !diagnosis.failed() {
        about.push(nothing(diagnosis));
    }
    about.extend(diagnosis.remarks.iter().cloned());
    let properties = vec![("lines", diagnosis.lines.to_string())];
    let sections = sections(diagnosis, timeline);
    Report { command: "envdoc diagnose", about, properties, overview: Vec::new(), results, sections }
}

/// A rule about the logs as a whole.
fn rule(id: &'static str, summary: &'static str) -> RuleInfo {
    RuleInfo {
        id: id.into(),
        group: LOG,
        severity: Severity::Error,
        summary: summary.into(),
        explain: "".into(),
    }
}

fn unmatched_line() -> RuleInfo {
    rule("unmatched-error", "every error line matches a signature")
}

/// A finding at a line of a log.
fn outcome(rule: RuleInfo, found: Diagnostic, line: &Evidence) -> Outcome {
    let subject = Subject::line(&line.file, usize::try_from(line.line).unwrap_or(usize::MAX));
    Outcome::new(rule, found.subject(subject).into())
}

fn cause(index: usize, cause: &Cause) -> Outcome {
    // A candidate is shown with others: a pipeline must not take each for the failure.
    let severity = match cause.confidence {
        Confidence::Certain | Confidence::Likely => Severity::Error,
        Confidence::Candidate if index == 0 => Severity::Error,
        Confidence::Candidate => Severity::Warning,
    };
    let component = cause.component;
    let group = Group { id: component.id(), title: component.title() };
    let message = format!("{}: {}", title(index, cause), sentences(cause));
    let mut found = Diagnostic::new(severity, message).id(cause.id.clone());
    for line in &cause.evidence {
        found = found.evidence(format!("{}:{}: {}", line.file, line.line, line.text));
    }
    for one in &cause.machine_evidence {
        found = found.evidence(format!("{} by {}: {}", one.outcome.word(), one.check, one.message));
    }
    found.fixes = fixes(cause);
    let rule = RuleInfo {
        id: cause.id.clone().into(),
        group,
        severity: Severity::Error,
        summary: format!("the logs show no failure `{}`", cause.id).into(),
        explain: explanation(cause).into(),
    };
    match cause.evidence.first() {
        Some(line) => outcome(rule, found, line),
        None => Outcome::new(rule, found.into()),
    }
}

/// What to do about each possible cause of a failure. Whether it disturbs the machine depends on what runs
/// there: a person decides.
pub fn fixes(cause: &Cause) -> Vec<Fix> {
    let fix = |choice: &Choice| {
        let commands = choice.commands.iter().map(|&command| command.to_owned()).collect();
        Fix { commands, ..Fix::manual(choice.fix) }.punctuated()
    };
    cause.choices.iter().map(fix).collect()
}

/// Markdown: what it means, and the possible causes with how to confirm each.
fn explanation(cause: &Cause) -> String {
    let mut text = format!("{}\n", cause.meaning);
    for choice in cause.choices {
        text += &format!("\n- {}", confirmation(choice, "`"));
    }
    text + &format!("\n\nSource: {}\n", cause.source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root_cause::diagnose_text;
    use diagnostic::render::{junit, sarif};

    const FAILED: &str = "RuntimeError: CUDA error: no kernel image is available for execution on the \
        device\n\
                          frobnicator: fatal error 17\n";

    #[test]
    fn a_failure_fails_a_pipeline_and_names_its_line() {
        let report = report(&diagnose_text(catalog::testing::catalog(), "job.log", FAILED), false);
        let xml = junit::report(&report).unwrap();
        assert!(xml.contains("<failure") && xml.contains("root cause: "), "{xml}");
        let first = &report.results[0];
        assert_eq!((first.subject.line, first.verdict.status()), (Some(1), "error"));
        let sarif = sarif::report(&report);
        let region = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
        assert_eq!(region["startLine"], 1, "{sarif:#}");
    }

    #[test]
    fn a_log_without_a_failure_passes() {
        let log = "epoch 1: loss 0.5\nepoch 2: loss 0.4\n";
        let report = report(&diagnose_text(catalog::testing::catalog(), "job.log", log), false);
        let statuses: Vec<&str> = report.results.iter().map(|one| one.verdict.status()).collect();
        assert_eq!(statuses, ["pass"]);
        assert!(!junit::report(&report).unwrap().contains("<failure"));
    }
}
