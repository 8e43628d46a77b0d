//! Progress as JSON objects, one a line, on standard output; the last one is the report.

use diagnostic::render::message_keys;
use diagnostic::terminal;
use serde_json::{Value, json};

use docker::build::Event;

pub(super) fn event(event: &Event) {
    print(&value(event));
}

/// Prints what happens next to the build.
pub(super) fn phase(text: &str) {
    print(&message_keys::event(json!({"event": "phase"}), text));
}

fn print(value: &Value) {
    // A reader that went away is noticed when the report is written.
    let _ = terminal::print(&format!("{value}\n"));
}

fn value(event: &Event) -> Value {
    match event {
        Event::Note(message) => message_keys::event(json!({"event": "note"}), message),
        Event::Started { step, name, kind: _ } => json!({"event": "started", "step": step, "name": name}),
        Event::Output { step, line } => json!({"event": "output", "step": step, "line": line}),
        Event::Progress { step, what, current, total } => {
            json!({"event": "progress", "step": step, "what": what, "current": current, "total": total})
        }
        Event::Ended { step, cached, seconds, error } => {
            json!({"event": "ended", "step": step, "cached": cached, "seconds": seconds, "error": error})
        }
    }
}

/// Prints the report as the last object.
pub fn report(report: &super::BuildReport) -> Result<(), diagnostic::error::Error> {
    let mut value = serde_json::to_value(report).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.insert("event".into(), "report".into());
    }
    terminal::print(&format!("{value}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_a_json_object_with_its_name() {
        let ended = Event::Ended { step: 3, cached: false, seconds: 0.5, error: Some("no".into()) };
        assert_eq!(
            value(&ended),
            json!({"event": "ended", "step": 3, "cached": false, "seconds": 0.5, "error": "no"})
        );
        let output = Event::Output { step: 3, line: "a \"b\"".into() };
        assert_eq!(value(&output).to_string(), r#"{"event":"output","line":"a \"b\"","step":3}"#);
    }
}
