//! The report as one self-contained HTML page.

use std::fmt::Write;

use super::plot;
use crate::smoke::bandwidth::size;
use crate::smoke::outcome::{Expected, Measured, Outcome, Status, Verdict};

/// Light as paper, dark where the reader's screen is; the plot stays on white.
const STYLE: &str = ":root{color-scheme:light \
    dark;--line:#ddd;--good:#070;--bad:#b00;--ok:#f0f8f0;--slow:#fdf6e8;--wrong:#fdf0f0}\
    @media(prefers-color-scheme:dark){:root{--line:#444;--good:#5c5;--bad:#f77;--ok:#12251a;--slow:#2b2312;--wrong:#2e1616}body{background:#181818;color:#ddd}}\
    body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
    table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{padding:.3rem .6rem;border-bottom:1px \
    solid var(--line);text-align:left;vertical-align:top;overflow-wrap:anywhere}\
    td.w,th{white-space:nowrap;overflow-wrap:normal}\
    td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}.passed{color:var(--good)}.failed{color:var(--bad);font-weight:600}\
    .skipped{color:#777}.verdict{padding:.8rem 1rem;border-left:.4rem \
    solid}.ok{border-color:var(--good);background:var(--ok)}\
    .slow{border-color:#c80;background:var(--slow)}.bad{border-color:var(--bad);background:var(--wrong)}svg{width:100%;height:auto}\
    pre{overflow-x:auto;border:1px solid var(--line);padding:.5rem}";

/// Writes it.
pub fn html(outcome: &Outcome) -> String {
    let kind = match outcome.verdict {
        Verdict::Ok => "ok",
        Verdict::Slow | Verdict::Unknown => "slow",
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
            Status::Skipped | Status::Unknown => "skipped",
        };
        let _ = writeln!(
            text,
            "<tr><td class=\"w\">{}</td><td class=\"w\">{}</td><td class=\"{class}\">{}</td><td \
   class=\"n\">{:.2}</td><td>{}</td></tr>",
            phase.id.id(),
            safe(phase.node.as_deref().unwrap_or("all")),
            phase.status.id(),
            phase.seconds,
            safe(&phase.says)
        );
    }
    text += "</table>\n";
    sizes(&outcome.results, outcome.expected.as_ref(), &mut text);
    if let Some(nccl) = outcome.nccl.as_ref().filter(|nccl| nccl.results != outcome.results) {
        text += "<h2>NCCL on the GPUs</h2>\n";
        sizes(&nccl.results, None, &mut text);
    }
    for cause in &outcome.causes.causes {
        let _ = writeln!(text, "<h2>{}</h2>\n<p>{}</p>", safe(&cause.id), safe(&cause.message));
        let lines: Vec<_> = cause.evidence.iter().map(|line| safe(&line.text)).collect();
        let _ = writeln!(text, "<pre>{}</pre>", lines.join("\n"));
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

/// The plot of some sizes and their table.
fn sizes(results: &[Measured], expected: Option<&Expected>, text: &mut String) {
    if results.is_empty() {
        return;
    }
    *text += &plot::drawn(results, expected);
    *text += "<table><tr><th class=\"n\">size</th><th class=\"n\">time, µs</th><th class=\"n\">algbw, \
        GB/s</th>\
             <th class=\"n\">busbw, GB/s</th><th>correct</th></tr>\n";
    for result in results {
        let _ = writeln!(
            text,
            "<tr><td class=\"n\">{}</td><td class=\"n\">{:.1}</td><td class=\"n\">{:.3}</td><td \
   class=\"n\">{:.3}</td><td>{}</td></tr>",
            size(result.bytes),
            result.seconds * 1e6,
            result.algorithm / 1e9,
            result.bus / 1e9,
            if result.wrong == 0 { "yes" } else { "no" }
        );
    }
    *text += "</table>\n";
}

/// Text that stands for itself in HTML.
fn safe(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
