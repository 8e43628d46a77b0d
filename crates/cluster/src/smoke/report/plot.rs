//! Bus bandwidth over size, as SVG. Both axes are logarithmic; the line across is what is expected: what the
//! path carries, or what such GPUs should reach.

use std::fmt::Write;

use diagnostic::units::rate;

use crate::smoke::bandwidth::size;
use crate::smoke::outcome::{Expected, Measured, Outcome};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 50.0;

/// A self-contained SVG document.
pub fn svg(outcome: &Outcome) -> String {
    drawn(&outcome.results, outcome.expected.as_ref())
}

/// These sizes, and the line across.
pub fn drawn(results: &[Measured], expected: Option<&Expected>) -> String {
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<title>Bus bandwidth over size</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let measured: Vec<&Measured> = results.iter().filter(|result| result.bus > 0.0).collect();
    let (Some(first), Some(last)) = (measured.first(), measured.last()) else {
        let _ = writeln!(text, "<text x=\"{LEFT}\" y=\"{TOP}\">nothing was measured</text>\n</svg>");
        return text;
    };
    let all = measured.iter().map(|result| result.bus).chain(expected.map(|expected| expected.bus));
    let (low, high) = all.fold((f64::MAX, 0.0_f64), |(low, high), bus| (low.min(bus), high.max(bus)));
    let (low, high) = (low.log10().floor(), high.log10().ceil().max(low.log10().floor() + 1.0));
    let (small, large) = ((first.bytes as f64).log2(), (last.bytes as f64).log2());
    let span = (large - small).max(1.0);
    let x = |bytes: f64| LEFT + (bytes.log2() - small) / span * (WIDTH - LEFT - RIGHT);
    let y = |bus: f64| TOP + (high - bus.log10()) / (high - low) * (HEIGHT - TOP - BOTTOM);

    let mut decade = low;
    while decade <= high {
        let at = y(10_f64.powf(decade));
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            rate(10_f64.powf(decade))
        );
        decade += 1.0;
    }
    for result in measured.iter().step_by(measured.len() / 9 + 1) {
        let at = x(result.bytes as f64);
        let _ = writeln!(
            text,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM + 18.0,
            size(result.bytes)
        );
    }
    let middle = LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
    let _ = writeln!(
        text,
        "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">size of the data</text>\n\
         <text x=\"{LEFT}\" y=\"{:.1}\">bus bandwidth</text>",
        HEIGHT - 10.0,
        TOP - 12.0
    );
    if let Some(expected) = expected {
        let (at, bus) = (y(expected.bus), expected.bus);
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#b00\" \
             stroke-dasharray=\"6 4\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#b00\">{}: \
             {}</text>",
            WIDTH - RIGHT,
            WIDTH - RIGHT,
            at - 6.0,
            expected.name(),
            rate(bus)
        );
    }
    let points: Vec<(f64, f64)> =
        measured.iter().map(|result| (x(result.bytes as f64), y(result.bus))).collect();
    let line: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        text,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#06c\" stroke-width=\"2\"/>",
        line.join(" ")
    );
    for ((at_x, at_y), result) in points.iter().zip(&measured) {
        let _ = writeln!(
            text,
            "<circle cx=\"{at_x:.1}\" cy=\"{at_y:.1}\" r=\"3\" fill=\"#06c\"><title>{}: {}</title></circle>",
            size(result.bytes),
            rate(result.bus)
        );
    }
    text + "</svg>\n"
}
