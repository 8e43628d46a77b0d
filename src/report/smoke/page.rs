//! The report as one HTML page that needs nothing beside it.

use std::fmt::Write;

use super::plot;
use crate::smoke::outcome::{Outcome, Status, Verdict};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}\
    table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{padding:.3rem .6rem;border-bottom:1px solid #ddd;text-align:left}\
    td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.passed{color:#070}.failed{color:#b00;font-weight:600}\
    .skipped{color:#777}.verdict{padding:.8rem 1rem;border-left:.4rem solid}.ok{border-color:#070;background:#f0f8f0}\
    .slow{border-color:#c80;background:#fdf6e8}.bad{border-color:#b00;background:#fdf0f0}svg{width:100%;height:auto}";

/// Writes it.
pub fn html(outcome: &Outcome) -> String {
    let kind = match outcome.verdict {
        Verdict::Ok => "ok",
        Verdict::Slow => "slow",
        Verdict::Wrong | Verdict::Failed => "bad",
    };
    let verdict = outcome.verdict.id();
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>envdoc smoke: {verdict}</title>\
         <style>{STYLE}</style></head><body>\n<h1>Smoke test</h1>\n\
         <p class=\"verdict {kind}\"><strong>{verdict}</strong>: {}</p>\n\
         <p>{} ranks over {}: {}</p>\n\
         <table><tr><th>phase</th><th>node</th><th>status</th><th class=\"n\">seconds</th><th></th></tr>\n",
        safe(&outcome.says),
        outcome.ranks.len(),
        safe(&outcome.transport),
        safe(&outcome.ranks.join(", ")),
    );
    for phase in &outcome.phases {
        let class = match phase.status {
            Status::Passed => "passed",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
        };
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{}</td><td class=\"{class}\">{}</td><td class=\"n\">{:.2}</td><td>{}</td></tr>",
            phase.name,
            safe(phase.node.as_deref().unwrap_or("all")),
            phase.status.id(),
            phase.seconds,
            safe(&phase.says)
        );
    }
    text += "</table>\n";
    if !outcome.results.is_empty() {
        text += &plot::svg(outcome);
        text += "<table><tr><th class=\"n\">bytes</th><th class=\"n\">time, µs</th><th class=\"n\">algbw, GB/s</th>\
                 <th class=\"n\">busbw, GB/s</th><th>correct</th></tr>\n";
    }
    for result in &outcome.results {
        let _ = writeln!(
            text,
            "<tr><td class=\"n\">{}</td><td class=\"n\">{:.1}</td><td class=\"n\">{:.3}</td><td class=\"n\">{:.3}</td><td>{}</td></tr>",
            result.bytes,
            result.seconds * 1e6,
            result.algorithm / 1e9,
            result.bus / 1e9,
            if result.wrong == 0 { "yes" } else { "no" }
        );
    }
    if !outcome.results.is_empty() {
        text += "</table>\n";
    }
    for (heading, list) in [("What to do", &outcome.fix), ("Remarks", &outcome.remarks)] {
        if !list.is_empty() {
            let items: String = list.iter().map(|says| format!("<li>{}</li>", safe(says))).collect();
            let _ = writeln!(text, "<h2>{heading}</h2>\n<ul>{items}</ul>");
        }
    }
    let _ = writeln!(text, "<p>envdoc {}</p>\n</body></html>", env!("CARGO_PKG_VERSION"));
    text
}

/// Text that stands for itself in HTML.
fn safe(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
