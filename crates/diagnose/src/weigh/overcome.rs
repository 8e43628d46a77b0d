//! What went wrong and was overcome: tries that were followed by others, errors that tests provoke, steps that a build tolerated, programs
//! that ended well after all. It is told where nothing else failed, and is no cause.

use std::collections::{HashMap, HashSet};

use super::ranks;
use super::story::{Event, Story, Unknown};
use catalog::signatures::{Component, Report, Role, Severity};

/// curl says up to so many lines after an error that it will try again.
const SOON: u64 = 6;

/// torchrun tells within fewer lines that it gives up.
const RESTARTED: u64 = 120;

/// A connection that failed and after which so many lines say nothing of a failure was made another time, or was not needed.
const QUIET: u64 = 200;

/// What tells that something was overcome, and what speaks against it, found once for all events.
struct Marks<'s> {
    story: &'s Story,
    /// Events that report a success, a retry or failed tests, by what they report.
    marks: Vec<(Report, &'s Event)>,
    /// What torchrun's agent says, by source.
    agents: HashMap<usize, Vec<&'s Event>>,
    /// By source and id, the last line of what failed.
    last: HashMap<usize, HashMap<&'static str, u64>>,
    /// By source, the last line that surely tells of a failure and that nothing explains.
    unknown: HashMap<usize, u64>,
    /// Sources in which a process is said to have ended badly.
    exits: HashSet<usize>,
}

/// Makes context of what was overcome.
pub fn overcome(story: &mut Story) {
    // Attempts first: what they ended with is no end of the job.
    for attempts in [true, false] {
        let marks = Marks::of(story);
        let over = |event: &Event| if attempts { marks.restarted(event) } else { marks.is_over(event) };
        // A fault of the machine stays one, whatever went on.
        let machine =
            |event: &Event| matches!(event.signature.component, Component::Kernel | Component::Driver);
        let of = |event: &Event| event.role != Role::Context && !machine(event) && over(event);
        let over: Vec<bool> = story.events.iter().map(of).collect();
        for (event, over) in story.events.iter_mut().zip(over) {
            if over {
                event.role = Role::Context;
            }
        }
    }
    let marks = Marks::of(story);
    let quiet = |line: &Unknown| {
        marks.tested(line.read, line.number) || marks.built(&line.text, line.read, line.number)
    };
    let quiet: Vec<bool> = story.unknown.iter().map(quiet).collect();
    for (line, quiet) in story.unknown.iter_mut().zip(quiet) {
        line.sure &= !quiet;
    }
}

impl<'s> Marks<'s> {
    fn of(story: &'s Story) -> Marks<'s> {
        let mut marks: Vec<(Report, &Event)> = Vec::new();
        let mut agents: HashMap<usize, Vec<&Event>> = HashMap::new();
        let mut last: HashMap<usize, HashMap<&'static str, u64>> = HashMap::new();
        for event in &story.events {
            let reported = event.signature.reports.iter().copied();
            let marked = reported.filter(|report| report.is_success() || *report == Report::TestsFailed);
            marks.extend(marked.map(|report| (report, event)));
            if event.signature.reports(Report::RankExit) || event.signature.reports(Report::FailureTable) {
                agents.entry(event.read).or_default().push(event);
            }
            if event.role != Role::Context {
                let last = last.entry(event.read).or_default().entry(event.id()).or_default();
                *last = event.number.max(*last);
            }
        }
        let mut unknown: HashMap<usize, u64> = HashMap::new();
        for line in story.unknown.iter().filter(|line| line.sure) {
            let last = unknown.entry(line.read).or_default();
            *last = line.number.max(*last);
        }
        let exits = ranks::exits(story).iter().map(|exit| story.events[exit.event].read).collect();
        Marks { story, marks, agents, last, unknown, exits }
    }

    fn is_over(&self, event: &Event) -> bool {
        let (text, read, number) = (event.text.as_str(), event.read, event.number);
        self.below_threshold(event)
            || self.tried_again(event)
            || text.contains("cleanup warnings")
            || self.tested(read, number)
            || self.built(text, read, number)
            || self.ended_well(event)
            || self.went_on_without(event)
    }

    /// Marks of a kind that stand later in the same source.
    fn later(&self, report: Report, read: usize, number: u64) -> impl Iterator<Item = &'s Event> {
        self.marks(report).filter(move |mark| mark.read == read && mark.number > number)
    }

    fn marks(&self, report: Report) -> impl Iterator<Item = &'s Event> {
        self.marks.iter().filter(move |(reported, _)| *reported == report).map(|(_, event)| *event)
    }

    /// The number of lines of a source.
    fn end(&self, read: usize) -> u64 {
        self.story.ends.get(read).copied().unwrap_or(0)
    }

    /// Whether the conditions under which a signature's lines count as a failure do not hold.
    fn below_threshold(&self, event: &Event) -> bool {
        let Some(counts_if) = &event.signature.counts_if else { return false };
        let count = |id: &str| {
            let value = event.captured(counts_if.same);
            let same = |other: &&Event| other.read == event.read && other.captured(counts_if.same) == value;
            self.story.of(id).filter(same).count()
        };
        count(event.id()) < counts_if.times
            || counts_if.with.iter().any(|id| count(id) == 0)
            || counts_if.without.iter().any(|id| count(id) > 0)
    }

    /// What ended an attempt of torchrun after which it started the ranks anew: no agent ever said that it gave up (those of several nodes, and
    /// ranks that end later, stand in any order), and they went on.
    fn restarted(&self, event: &Event) -> bool {
        let Some(told) = self.agents.get(&event.read) else { return false };
        let attempt =
            |one: &&Event| one.text.contains("failed (exitcode: ") || one.text.contains(" closing signal ");
        let last = told.iter().map(|one| one.number).filter(|number| *number >= event.number).max();
        last.is_some_and(|last| self.end(event.read).saturating_sub(last) > RESTARTED)
            && told.iter().all(attempt)
    }

    /// A fault of the network after which the log went on and no process is said to have ended.
    fn went_on_without(&self, event: &Event) -> bool {
        if event.signature.component != Component::Network || self.exits.contains(&event.read) {
            return false;
        }
        let Some(last) = self.last.get(&event.read) else { return false };
        let own = last.get(event.id()).copied().unwrap_or(event.number);
        self.end(event.read).saturating_sub(own) > QUIET
            && self.unknown.get(&event.read).is_none_or(|number| *number <= event.number)
            && last.iter().all(|(id, number)| *id == event.id() || *number <= event.number)
    }

    /// A try of curl after which it says that it will try again, or of pip, which installed what was asked for in the end.
    fn tried_again(&self, event: &Event) -> bool {
        let (read, number) = (event.read, event.number);
        let curl = event.text.contains("curl: (") || event.text.contains("returned error: ");
        let again = |after: &Event| after.number <= number + SOON;
        (curl && self.later(Report::Retry, read, number).any(again))
            || (event.text.contains("Retrying (Retry(total=")
                && self.later(Report::PackagesInstalled, read, number).next().is_some())
    }

    /// Inside of a session of tests that passed: what they print they provoked.
    fn tested(&self, read: usize, number: u64) -> bool {
        let before = |report: Report| {
            let marks = self.marks(report);
            marks.filter(|mark| mark.read == read && mark.number < number).map(|mark| mark.number).max()
        };
        // Not between two sessions.
        before(Report::TestsStarted) > before(Report::TestsPassed)
            && self.later(Report::TestsPassed, read, number).next().is_some()
            && self.later(Report::TestsFailed, read, number).next().is_none()
    }

    /// In a step of a build that made its image, after which nothing failed: the step tolerated it. BuildKit's lines say of which step they are.
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

    /// Said by a container that ended with 0. One that raised an exception or said something fatal may end so too, where a shell script goes
    /// on after a failure: that is not overcome.
    fn ended_well(&self, event: &Event) -> bool {
        let Some(node) = &event.origin.node else { return false };
        let well = |end: &Event| end.captured("container") == Some(node.as_str());
        let grave = |other: &Event| {
            other.read == event.read
                && other.origin.node.as_ref() == Some(node)
                && other.role != Role::Context
                && other.signature.severity >= Severity::Fatal
        };
        self.later(Report::ContainerSuccess, event.read, event.number).any(well)
            && !self.story.events.iter().any(grave)
    }
}

#[cfg(test)]
mod tests {
    use crate::weigh::text;

    const REFUSED: &str = "urllib.error.URLError: <urlopen error [Errno 111] Connection refused>\n";
    const FULL: &str = "OSError: [Errno 28] No space left on device\n";

    fn causes(log: &str) -> Vec<String> {
        text("a.log", log).causes.into_iter().map(|cause| cause.id).collect()
    }

    fn lines(count: usize) -> String {
        (0..count).map(|step| format!("step {step} loss 2.31\n")).collect()
    }

    #[test]
    fn what_tests_provoke_counts_inside_of_a_session_that_passed_alone() {
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
    fn what_a_build_tolerated_is_of_its_own_steps_and_nothing_fails_after_it() {
        let named = "#12 naming to docker.io/lab/train:1 0.0s done\n";
        assert!(causes(&format!("#7 0.362 {FULL}{named}")).is_empty());
        assert_eq!(causes(&format!("{FULL}{named}")), ["disk-full"]);
        assert_eq!(causes(&format!("#7 0.362 {FULL}{named}{REFUSED}{FULL}"))[0], "disk-full");
    }

    #[test]
    fn a_container_that_ended_with_0() {
        let said = |words: &str| format!("client-1  | {words}client-1  | done\n");
        let well = "client-1 exited with code 0\n";
        assert!(causes(&format!("{}{well}", said(REFUSED))).is_empty());
        assert_eq!(
            causes(&format!("{}client-1 exited with code 1\n", said(REFUSED))),
            ["net-connect-refused"]
        );
        assert_eq!(causes(&format!("{}api-1 exited with code 0\n", said(REFUSED))), ["net-connect-refused"]);
        // A shell script that goes on after a failure ends with 0 too.
        let traceback = "client-1  | Traceback (most recent call last):\nclient-1  |   File \"/a.py\", line 3, in <module>\nclient-1  | ValueError: 3\n";
        assert_eq!(causes(&format!("{traceback}{well}")), ["script-exception"]);
    }

    #[test]
    fn an_attempt_that_was_started_anew() {
        let failed = "E1122 22:46:35.716000 6249 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 0 (pid: 6392) of binary: /opt/venv/bin/python\n";
        assert!(causes(&format!("{REFUSED}{failed}{}", lines(130))).is_empty());
        assert!(!causes(&format!("{REFUSED}{failed}{}", lines(20))).is_empty());
        let gave_up = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n";
        assert!(!causes(&format!("{REFUSED}{failed}{}{gave_up}{}", lines(130), lines(130))).is_empty());
        assert!(!causes(&format!("{gave_up}{REFUSED}{failed}{}", lines(130))).is_empty());
        // The machine's own fault stays one.
        let xid = "[  100.000000] NVRM: Xid (PCI:0000:38:00): 79, pid=1, name=python, GPU has fallen off the bus.\n";
        assert_eq!(causes(&format!("{xid}{failed}{}", lines(300)))[0], "xid-79");
    }

    #[test]
    fn tries_that_were_repeated() {
        let refused = "curl: (22) The requested URL returned error: 503\n";
        let again = "Warning: Problem : HTTP error. Will retry in 1 seconds. 4 retries left.\n";
        assert!(causes(&format!("{refused}{again}all there\n")).is_empty());
        assert_eq!(causes(&format!("{refused}{again}{}{refused}", lines(9))), ["net-http-status"]);
        let retry = "WARNING: Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after connection broken by 'ProxyError('Cannot connect to proxy.', OSError(1))': /simple/a/\n";
        assert!(causes(&format!("{retry}Successfully installed a-1.0\n")).is_empty());
        assert_eq!(
            causes(&format!("{retry}ERROR: No matching distribution found for a\n"))[0],
            "net-proxy-error"
        );
    }
}
