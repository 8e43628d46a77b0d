//! Failures that the job recovered from: attempts that were retried, errors that tests provoke, build steps
//! that tolerated an error, programs that succeeded in the end. Their events become context: they are
//! reported where nothing else failed, and are no cause.

use std::collections::{HashMap, HashSet};

use super::ranks;
use super::timeline::{Event, EventId, Timeline, Unknown};
use crate::torchrun;
use catalog::severity::Severity;
use catalog::signatures::{Component, Report, Role};

/// curl announces a retry at most this many lines after an error.
const RETRY_LINES: u64 = 6;

/// torchrun reports within fewer lines that it gave up.
const RESTART_LINES: u64 = 120;

/// A connection error that is followed by this many lines without a failure was retried, or the connection
/// was not needed.
const QUIET_LINES: u64 = 200;

/// Turns events that the job recovered from into context.
pub fn downgrade(timeline: &mut Timeline) {
    let marks = Marks::of(timeline);
    // Restarted attempts first: how they ended is not how the job ended.
    let restarted = Recovery::of(timeline, &marks).events(Recovery::restarted);
    to_context(timeline, &restarted);
    let recovered = Recovery::of(timeline, &marks).events(Recovery::recovered);
    to_context(timeline, &recovered);
    let recovery = Recovery::of(timeline, &marks);
    let quiet = |line: &Unknown| {
        recovery.tested(line.read, line.number) || recovery.built(&line.text, line.read, line.number)
    };
    let quiet: Vec<bool> = timeline.unknown.iter().map(quiet).collect();
    for (line, quiet) in timeline.unknown.iter_mut().zip(quiet) {
        line.sure &= !quiet;
    }
}

fn to_context(timeline: &mut Timeline, ids: &[EventId]) {
    for id in ids {
        timeline[*id].role = Role::Context;
    }
}

/// What does not depend on the roles of events.
struct Marks {
    /// Events that report a success, a retry or failed tests.
    reports: Vec<(Report, EventId)>,
    /// Events of torchrun's agent, by source.
    agents: HashMap<usize, Vec<EventId>>,
    /// By source, the last line of a failure that no signature matches.
    last_unknown: HashMap<usize, u64>,
}

impl Marks {
    fn of(timeline: &Timeline) -> Marks {
        let mut reports = Vec::new();
        let mut agents: HashMap<usize, Vec<EventId>> = HashMap::new();
        for (id, event) in timeline.ids() {
            let reported = event.signature.reports.iter().copied();
            let marks = reported.filter(|report| report.is_success() || *report == Report::TestsFailed);
            reports.extend(marks.map(|report| (report, id)));
            if event.signature.reports(Report::RankExit) || event.signature.reports(Report::FailureTable) {
                agents.entry(event.read).or_default().push(id);
            }
        }
        let mut last_unknown: HashMap<usize, u64> = HashMap::new();
        for line in timeline.unknown.iter().filter(|line| line.sure) {
            let last = last_unknown.entry(line.read).or_default();
            *last = line.number.max(*last);
        }
        Marks { reports, agents, last_unknown }
    }
}

/// Evidence for and against recovery, with the roles that events have now.
struct Recovery<'t> {
    timeline: &'t Timeline,
    marks: &'t Marks,
    /// By source and signature, the last line of a failure.
    last: HashMap<usize, HashMap<&'static str, u64>>,
    /// Sources that report a failed process.
    exits: HashSet<usize>,
}

impl<'t> Recovery<'t> {
    fn of(timeline: &'t Timeline, marks: &'t Marks) -> Recovery<'t> {
        let mut last: HashMap<usize, HashMap<&'static str, u64>> = HashMap::new();
        for event in timeline.events.iter().filter(|event| event.role != Role::Context) {
            let last = last.entry(event.read).or_default().entry(event.id()).or_default();
            *last = event.number.max(*last);
        }
        let exits = ranks::exits(timeline).iter().map(|exit| timeline[exit.event].read).collect();
        Recovery { timeline, marks, last, exits }
    }

    /// The events for which this holds; faults of the machine are never recovered from.
    fn events(&self, holds: fn(&Recovery<'t>, &Event) -> bool) -> Vec<EventId> {
        let machine =
            |event: &Event| matches!(event.signature.component, Component::Kernel | Component::Driver);
        self.timeline.ids_where(|event| event.role != Role::Context && !machine(event) && holds(self, event))
    }

    fn recovered(&self, event: &Event) -> bool {
        let (text, read, number) = (event.text.as_str(), event.read, event.number);
        self.below_threshold(event)
            || self.retried(event)
            || text.contains("cleanup warnings")
            || self.tested(read, number)
            || self.built(text, read, number)
            || self.container_succeeded(event)
            || self.continued(event)
    }

    /// Later events of the same source that report this.
    fn later(&self, report: Report, read: usize, number: u64) -> impl Iterator<Item = &'t Event> {
        self.reporting(report).filter(move |event| event.read == read && event.number > number)
    }

    fn reporting(&self, report: Report) -> impl Iterator<Item = &'t Event> {
        let reporting = self.marks.reports.iter().filter(move |(reported, _)| *reported == report);
        let timeline = self.timeline;
        reporting.map(move |(_, id)| &timeline[*id])
    }

    /// The number of lines of a source.
    fn end(&self, read: usize) -> u64 {
        self.timeline.ends.get(read).copied().unwrap_or(0)
    }

    /// Whether the conditions under which a signature's lines count as a failure do not hold.
    fn below_threshold(&self, event: &Event) -> bool {
        let Some(counts_if) = &event.signature.counts_if else { return false };
        let count = |id: &str| {
            let value = event.captured(counts_if.same);
            let same = |other: &&Event| other.read == event.read && other.captured(counts_if.same) == value;
            self.timeline.of(id).filter(same).count()
        };
        count(event.id()) < counts_if.times
            || counts_if.with.iter().any(|id| count(id) == 0)
            || counts_if.without.iter().any(|id| count(id) > 0)
    }

    /// A failure that ended an attempt of torchrun after which it restarted the ranks, which then continued.
    /// No agent may report that it gave up: lines of several nodes, and of ranks that end later, appear in
    /// any order.
    fn restarted(&self, event: &Event) -> bool {
        let Some(agents) = self.marks.agents.get(&event.read) else { return false };
        let agents = || agents.iter().map(|id| &self.timeline[*id]);
        let last = agents().map(|one| one.number).filter(|number| *number >= event.number).max();
        last.is_some_and(|last| self.end(event.read).saturating_sub(last) > RESTART_LINES)
            && agents().all(|agent| torchrun::ends_attempt(&agent.text))
    }

    /// A network error after which the log continues without a failed process.
    fn continued(&self, event: &Event) -> bool {
        if event.signature.component != Component::Network || self.exits.contains(&event.read) {
            return false;
        }
        let Some(last) = self.last.get(&event.read) else { return false };
        let own = last.get(event.id()).copied().unwrap_or(event.number);
        self.end(event.read).saturating_sub(own) > QUIET_LINES
            && self.marks.last_unknown.get(&event.read).is_none_or(|number| *number <= event.number)
            && last.iter().all(|(id, number)| *id == event.id() || *number <= event.number)
    }

    /// An attempt of curl after which it announces a retry, or of pip, which installed the packages in the
    /// end.
    fn retried(&self, event: &Event) -> bool {
        let (read, number) = (event.read, event.number);
        let curl = event.text.contains("curl: (") || event.text.contains("returned error: ");
        let again = |after: &Event| after.number <= number + RETRY_LINES;
        (curl && self.later(Report::Retry, read, number).any(again))
            || (event.text.contains("Retrying (Retry(total=")
                && self.later(Report::PackagesInstalled, read, number).next().is_some())
    }

    /// Printed inside a test session that passed: tests provoke errors.
    fn tested(&self, read: usize, number: u64) -> bool {
        let before = |report: Report| {
            let before = self.reporting(report).filter(|mark| mark.read == read && mark.number < number);
            before.map(|mark| mark.number).max()
        };
        // Not between two sessions.
        before(Report::TestsStarted) > before(Report::TestsPassed)
            && self.later(Report::TestsPassed, read, number).next().is_some()
            && self.later(Report::TestsFailed, read, number).next().is_none()
    }

    /// Printed by a step of a build that made its image, with no failure after that. BuildKit's lines carry
    /// the number of their step.
    fn built(&self, text: &str, read: usize, number: u64) -> bool {
        let of_step = text
            .trim_start()
            .strip_prefix('#')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let Some(built) = self.later(Report::ImageBuilt, read, number).last().filter(|_| of_step) else {
            return false;
        };
        let last = self.last.get(&read).and_then(|last| last.values().max());
        last.is_none_or(|last| *last < built.number)
    }

    /// Printed by a container that exited with 0. After an exception or a fatal error that proves nothing:
    /// shell scripts continue after a failure.
    fn container_succeeded(&self, event: &Event) -> bool {
        let Some(node) = &event.prefix.node else { return false };
        let well = |end: &Event| end.captured("container") == Some(node.as_str());
        let grave = |other: &Event| {
            other.read == event.read
                && other.prefix.node.as_ref() == Some(node)
                && other.role != Role::Context
                && other.signature.severity >= Severity::Fatal
        };
        self.later(Report::ContainerSuccess, event.read, event.number).any(well)
            && !self.timeline.events.iter().any(grave)
    }
}

#[cfg(test)]
mod tests {
    use crate::root_cause::diagnose_text;
    use catalog::testing::catalog;

    const REFUSED: &str = "urllib.error.URLError: <urlopen error [Errno 111] Connection refused>\n";
    const FULL: &str = "OSError: [Errno 28] No space left on device\n";

    fn causes(log: &str) -> Vec<String> {
        diagnose_text(catalog(), "a.log", log).causes.into_iter().map(|cause| cause.id).collect()
    }

    fn lines(count: usize) -> String {
        (0..count).map(|step| format!("step {step} loss 2.31\n")).collect()
    }

    #[test]
    fn errors_within_a_passed_test_session_are_ignored() {
        let (began, passed) = ("===== test session starts =====\n", "===== 6 passed in 0.08s =====\n");
        assert!(causes(&format!("{began}{FULL}{passed}")).is_empty());
        assert_eq!(causes(&format!("{FULL}{began}{passed}")), ["disk-full"]);
        assert_eq!(causes(&format!("{began}{passed}{FULL}{began}{passed}")), ["disk-full"]);
        assert_eq!(causes(&format!("{began}{FULL}===== 1 failed, 5 passed in 0.08s =====\n")), ["disk-full"]);
        assert_eq!(causes(&format!("{began}{FULL}{passed}{FULL}")), ["disk-full"]);
        let case = "test_round_trip (__main__.Files.test_round_trip) ... ok\n";
        assert!(causes(&format!("{case}{FULL}Ran 2 tests in 1.021s\n\nOK\n")).is_empty());
        assert_eq!(causes(&format!("{FULL}Ran 2 tests in 1.021s\n\nOK\n")), ["disk-full"]);
        assert_eq!(
            causes(&format!("{case}{FULL}Ran 2 tests in 1.021s\n\nFAILED (errors=1)\n")),
            ["disk-full"]
        );
    }

    #[test]
    fn errors_in_steps_of_a_successful_build_are_ignored() {
        let named = "#12 naming to docker.io/lab/train:1 0.0s done\n";
        assert!(causes(&format!("#7 0.362 {FULL}{named}")).is_empty());
        assert_eq!(causes(&format!("{FULL}{named}")), ["disk-full"]);
        assert_eq!(causes(&format!("#7 0.362 {FULL}{named}{REFUSED}{FULL}"))[0], "disk-full");
    }

    #[test]
    fn errors_of_a_container_that_exited_with_0_are_ignored() {
        let said = |words: &str| format!("client-1  | {words}client-1  | done\n");
        let well = "client-1 exited with code 0\n";
        assert!(causes(&format!("{}{well}", said(REFUSED))).is_empty());
        assert_eq!(
            causes(&format!("{}client-1 exited with code 1\n", said(REFUSED))),
            ["net-connect-refused"]
        );
        assert_eq!(causes(&format!("{}api-1 exited with code 0\n", said(REFUSED))), ["net-connect-refused"]);
        // A shell script that goes on after a failure ends with 0 too.
        let traceback = "client-1  | Traceback (most recent call last):\nclient-1  |   File \"/a.py\", line \
            3, in <module>\nclient-1  | ValueError: 3\n";
        assert_eq!(causes(&format!("{traceback}{well}")), ["script-exception"]);
    }

    #[test]
    fn errors_before_a_successful_restart_are_ignored() {
        let failed = "E1122 22:46:35.716000 6249 torch/distributed/elastic/multiprocessing/api.py:1002] \
            failed (exitcode: 1) local_rank: 0 (pid: 6392) of binary: /opt/venv/bin/python\n";
        assert!(causes(&format!("{REFUSED}{failed}{}", lines(130))).is_empty());
        assert!(!causes(&format!("{REFUSED}{failed}{}", lines(20))).is_empty());
        let gave_up = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n";
        assert!(!causes(&format!("{REFUSED}{failed}{}{gave_up}{}", lines(130), lines(130))).is_empty());
        assert!(!causes(&format!("{gave_up}{REFUSED}{failed}{}", lines(130))).is_empty());
        // The machine's own fault stays one.
        let xid = "[  100.000000] NVRM: Xid (PCI:0000:38:00): 79, pid=1, name=python, GPU has fallen off the \
            bus.\n";
        assert_eq!(causes(&format!("{xid}{failed}{}", lines(300)))[0], "xid-79");
    }

    #[test]
    fn errors_of_successful_retries_are_ignored() {
        let refused = "curl: (22) The requested URL returned error: 503\n";
        let again = "Warning: Problem : HTTP error. Will retry in 1 seconds. 4 retries left.\n";
        assert!(causes(&format!("{refused}{again}all there\n")).is_empty());
        assert_eq!(causes(&format!("{refused}{again}{}{refused}", lines(9))), ["net-http-status"]);
        let retry = "WARNING: Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) \
            after connection broken by 'ProxyError('Cannot connect to proxy.', OSError(1))': /simple/a/\n";
        assert!(causes(&format!("{retry}Successfully installed a-1.0\n")).is_empty());
        assert_eq!(
            causes(&format!("{retry}ERROR: No matching distribution found for a\n"))[0],
            "net-proxy-error"
        );
    }
}
