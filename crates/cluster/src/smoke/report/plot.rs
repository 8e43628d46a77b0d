//! Bus bandwidth by size as a chart. The line across is what is expected: what the path carries, or what such
//! GPUs should reach.

use diagnostic::chart::{Chart, Point, Reference, decades};
use diagnostic::units::{rate, rates};

use super::text::time;
use crate::smoke::bandwidth::size;
use crate::smoke::outcome::{Expected, Measured, Outcome};

/// A self-contained SVG document.
pub fn svg(outcome: &Outcome) -> String {
    chart(&outcome.results, outcome.expected.as_ref()).document()
}

/// These sizes, and the line across.
pub(super) fn chart(results: &[Measured], expected: Option<&Expected>) -> Chart {
    // With one rank, busbw is 0. A reported rate may be anything.
    let drawable = |rate: f64| rate.is_finite() && rate > 0.0;
    let measured: Vec<&Measured> = results.iter().filter(|result| drawable(result.bus)).collect();
    let expected = expected.filter(|expected| drawable(expected.bus));
    let values = measured.iter().map(|result| result.bus).chain(expected.map(|expected| expected.bus));
    let decades = decades(values);
    let labels = rates(&decades);
    let y_ticks = decades.into_iter().zip(labels).collect();
    let point = |result: &&Measured| Point {
        x: result.bytes as f64,
        y: result.bus,
        x_label: size(result.bytes),
        label: format!("{}: {} in {}", size(result.bytes), rate(result.bus), time(result.seconds)),
    };
    let ends = match (measured.first(), measured.last()) {
        (Some(first), Some(last)) => format!(
            ", from {} at {} to {} at {}",
            rate(first.bus),
            size(first.bytes),
            rate(last.bus),
            size(last.bytes)
        ),
        _ => String::new(),
    };
    let reference = expected.map(|expected| Reference {
        y: expected.bus,
        label: format!("{}: {}", expected.name(), rate(expected.bus)),
    });
    let compared = reference.as_ref().map_or(String::new(), |reference| format!("; {}", reference.label));
    Chart {
        title: "Bus bandwidth by size".into(),
        alternative: format!("Bus bandwidth by size{ends}{compared}."),
        x_title: "message size (log scale)",
        y_title: "bus bandwidth (log scale)",
        points: measured.iter().map(point).collect(),
        reference,
        y_ticks,
    }
}
