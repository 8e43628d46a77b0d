//! BuildKit's account of a build: vertexes that start and end, what they print, how far they are.

use std::collections::HashMap;

use bollard::grpc::build::moby::buildkit::v1::{StatusResponse, Vertex, VertexLog};

use super::open_line::OpenLine;
use super::{Event, LAST_LINES_LIMIT, Step};
use crate::error::Cause;
use crate::error::StepKind;

/// What has been heard so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    numbers: HashMap<String, usize>,
    vertexes: Vec<Known>,
}

#[derive(Debug, Default)]
struct Known {
    name: String,
    started: bool,
    ended: bool,
    cached: bool,
    seconds: f64,
    error: Option<String>,
    open: OpenLine,
    last: Vec<String>,
}

impl Progress {
    pub(super) fn take(&mut self, status: StatusResponse, on: &mut dyn FnMut(Event)) {
        for vertex in &status.vertexes {
            self.vertex(vertex, on);
        }
        for status in &status.statuses {
            if let Some(&step) = self.numbers.get(&status.vertex) {
                let what = if status.name.is_empty() { &status.id } else { &status.name };
                on(Event::Progress {
                    step,
                    what: what.clone(),
                    current: u64::try_from(status.current).unwrap_or(0),
                    total: u64::try_from(status.total).unwrap_or(0),
                });
            }
        }
        for log in &status.logs {
            self.log(log, on);
        }
        for warning in &status.warnings {
            on(Event::Note(format!("builder warning: {}", String::from_utf8_lossy(&warning.short).trim())));
        }
    }

    fn vertex(&mut self, vertex: &Vertex, on: &mut dyn FnMut(Event)) {
        let step = match self.numbers.get(&vertex.digest) {
            Some(step) => *step,
            None => {
                let name = vertex.name.clone();
                self.vertexes.push(Known { name, ..Known::default() });
                self.numbers.insert(vertex.digest.clone(), self.vertexes.len() - 1);
                self.vertexes.len() - 1
            }
        };
        let known = &mut self.vertexes[step];
        if vertex.started.is_some() && !known.started {
            known.started = true;
            on(Event::Started { step, name: known.name.clone(), kind: StepKind::of(&known.name) });
        }
        known.cached |= vertex.cached;
        let (Some(started), Some(completed)) = (&vertex.started, &vertex.completed) else { return };
        // What depends on a step that failed is called off with the same error and never ran.
        let called_off = Cause::of(&vertex.error) == Cause::Canceled;
        // As floating-point numbers: an engine may send any integers.
        let at = |seconds: i64, nanos: i32| seconds as f64 + f64::from(nanos) / 1e9;
        let seconds = at(completed.seconds, completed.nanos) - at(started.seconds, started.nanos);
        known.seconds = if known.cached { 0.0 } else { known.seconds.max(seconds) };
        known.error = (!vertex.error.is_empty() && !called_off).then(|| vertex.error.clone());
        if let Some(line) = known.open.take() {
            keep(known, step, line, on);
        }
        if !known.ended {
            known.ended = true;
            let (cached, seconds, error) = (known.cached, known.seconds, known.error.clone());
            on(Event::Ended { step, cached, seconds, error });
        }
    }

    fn log(&mut self, log: &VertexLog, on: &mut dyn FnMut(Event)) {
        let Some(&step) = self.numbers.get(&log.vertex) else { return };
        let known = &mut self.vertexes[step];
        for line in known.open.add(&String::from_utf8_lossy(&log.msg)) {
            keep(known, step, line, on);
        }
    }

    /// The step that failed, with its last lines.
    pub(super) fn failed(&self) -> Option<(String, Vec<String>)> {
        let known = self.vertexes.iter().find(|known| known.error.is_some())?;
        let internal = StepKind::of(&known.name) == StepKind::Internal;
        (!internal).then(|| (known.name.clone(), known.last.clone()))
    }

    /// The steps that ran or came from the cache.
    pub(super) fn steps(&self) -> Vec<Step> {
        let ran = self.vertexes.iter().filter(|known| known.started || known.cached);
        let step = |known: &Known| Step {
            name: known.name.clone(),
            kind: StepKind::of(&known.name),
            seconds: known.seconds,
            cached: known.cached,
        };
        ran.map(step).collect()
    }
}

fn keep(known: &mut Known, step: usize, line: String, on: &mut dyn FnMut(Event)) {
    let line = shown(&line);
    if known.last.len() == LAST_LINES_LIMIT {
        known.last.remove(0);
    }
    known.last.push(line.clone());
    on(Event::Output { step, line });
}

/// A line as it would stand on a terminal at its end: what a carriage return wrote over is gone, and so are
/// colours.
pub(super) fn shown(line: &str) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    let line = line.rsplit('\r').next().unwrap_or(line);
    anstream::adapter::strip_str(line).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vertex(digest: &str, name: &str, error: &str) -> Vertex {
        Vertex { digest: digest.into(), name: name.into(), error: error.into(), ..Vertex::default() }
    }

    fn log(digest: &str, text: &str) -> VertexLog {
        VertexLog { vertex: digest.into(), msg: text.as_bytes().to_vec(), ..VertexLog::default() }
    }

    #[test]
    fn lines_are_put_together_and_the_failing_step_is_named() {
        let mut progress = Progress::default();
        let mut events = Vec::new();
        let mut on = |event| events.push(event);
        let mut running = vertex("a", "[2/3] RUN make", "");
        running.started.get_or_insert_default().seconds = 10;
        let mut failed = Vertex { error: "exit code: 2".into(), ..running.clone() };
        failed.completed.get_or_insert_default().seconds = 13;
        let logs = vec![log("a", "one\ntw"), log("a", "o\r\n10%\r20%\nend")];
        let vertexes = vec![running, vertex("b", "[3/3] RUN x", "")];
        progress.take(StatusResponse { vertexes, logs, ..StatusResponse::default() }, &mut on);
        progress.take(StatusResponse { vertexes: vec![failed], ..StatusResponse::default() }, &mut on);
        let output = |line: &str| Event::Output { step: 0, line: line.into() };
        let expected = [
            Event::Started { step: 0, name: "[2/3] RUN make".into(), kind: StepKind::Instruction },
            output("one"),
            output("two"),
            output("20%"),
            output("end"),
            Event::Ended { step: 0, cached: false, seconds: 3.0, error: Some("exit code: 2".into()) },
        ];
        assert_eq!(events, expected);
        let last = ["one", "two", "20%", "end"].map(str::to_owned).to_vec();
        assert_eq!(progress.failed(), Some(("[2/3] RUN make".into(), last)));
        assert_eq!(progress.steps().len(), 1);
    }

    #[test]
    fn an_engine_may_send_any_time() {
        let mut progress = Progress::default();
        let mut vertex = vertex("a", "[1/1] RUN x", "");
        let started = vertex.started.get_or_insert_default();
        (started.seconds, started.nanos) = (i64::MIN, i32::MIN);
        let completed = vertex.completed.get_or_insert_default();
        (completed.seconds, completed.nanos) = (i64::MAX, i32::MAX);
        progress.take(StatusResponse { vertexes: vec![vertex], ..StatusResponse::default() }, &mut |_| {});
        assert!(progress.steps()[0].seconds.is_finite());
    }
}
