//! One self-contained HTML page: no script, nothing that is loaded from elsewhere.

use std::fmt::Write;

use crate::report::{Body, Column, Outcome, Report, Section};
use crate::{Diagnostic, Fix, Verdict};

const STYLE: &str = include_str!("page.css");

pub fn report(report: &Report) -> String {
    let title = escape(report.command);
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" \
             content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n<h1>\
             {title}</h1>\n"
    );
    for line in &report.about {
        let _ = writeln!(text, "<p>{}</p>", escape(line));
    }
    let _ = writeln!(text, "<p class=\"summary\">{}</p>", escape(&report.summary().words()));
    for group in report.groups() {
        let _ = writeln!(text, "<h2>{}</h2>\n<ul>", escape(group.title));
        report.of_group(group).for_each(|outcome| item(&mut text, outcome));
        text.push_str("</ul>\n");
    }
    for one in &report.sections {
        section(&mut text, one);
    }
    text.push_str("</html>\n");
    text
}

fn section(text: &mut String, section: &Section) {
    let _ = writeln!(text, "<h2>{}</h2>", escape(&section.heading));
    match &section.body {
        Body::Table { columns, rows } => {
            text.push_str("<table>\n");
            row(text, "th", columns, columns.iter().map(|column| column.title));
            for cells in rows {
                row(text, "td", columns, cells.iter().map(String::as_str));
            }
            text.push_str("</table>\n");
        }
        Body::Lines(lines) => {
            let _ = writeln!(text, "<pre>{}</pre>", escape(&lines.join("\n")));
        }
        Body::List(points) => {
            let points: Vec<String> =
                points.iter().map(|point| format!("<li>{}</li>\n", escape(point))).collect();
            let _ = writeln!(text, "<ul>\n{}</ul>", points.concat());
        }
        Body::Fixes(fixes) => {
            fixes.iter().for_each(|one| fix(text, one));
            text.push('\n');
        }
        Body::Svg(svg) => text.push_str(svg),
    }
}

fn row<'c>(text: &mut String, tag: &str, columns: &[Column], cells: impl Iterator<Item = &'c str>) {
    text.push_str("<tr>");
    for (column, cell) in columns.iter().zip(cells) {
        let class = if column.number { " class=\"number\"" } else { "" };
        let _ = write!(text, "<{tag}{class}>{}</{tag}>", escape(cell));
    }
    text.push_str("</tr>\n");
}

fn item(text: &mut String, outcome: &Outcome) {
    let location =
        super::markdown::location(&outcome.subject).map_or(String::new(), |location| format!(" {location}"));
    let status = outcome.verdict.status();
    let _ = write!(
        text,
        "<li class=\"{status}\"><b>{}</b>{} <i>{status}</i> ",
        escape(&outcome.rule.id),
        escape(&location)
    );
    match &outcome.verdict {
        Verdict::Pass => {
            let observed = outcome.step.as_ref().map_or(outcome.rule.summary.as_ref(), |step| &step.observed);
            text.push_str(&escape(observed));
        }
        Verdict::NotApplicable(why) => text.push_str(&escape(why)),
        Verdict::Unknown(why) => {
            let _ = write!(text, "could not check: {}", escape(&why.detail));
        }
        Verdict::Found(found) => finding(text, found),
    }
    if let Some(step) = &outcome.step {
        let _ = write!(text, " <i>{:.2} s</i>", step.seconds);
    }
    text.push_str("</li>\n");
}

fn finding(text: &mut String, found: &Diagnostic) {
    let _ = write!(text, "<p>{}</p>", escape(&found.message));
    if !found.evidence.is_empty() {
        let _ = write!(text, "<pre>{}</pre>", escape(&found.evidence.join("\n")));
    }
    found.fixes.iter().for_each(|one| fix(text, one));
}

fn fix(text: &mut String, fix: &Fix) {
    let consequence = fix.class.consequence().map_or(String::new(), |words| format!(" ({words})"));
    let _ = write!(text, "<p>fix{consequence}: {}</p>", escape(&fix.title));
    if !fix.commands.is_empty() {
        let _ = write!(text, "<pre class=\"commands\">{}</pre>", escape(&fix.commands.join("\n")));
    }
}

/// Text in an element.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
