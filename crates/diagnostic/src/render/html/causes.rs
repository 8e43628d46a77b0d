//! Findings by cause: one that several nodes or files have is shown once, with where it is.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Contents, names};
use crate::page::{Cell, Part, Table, badge, class, escape};
use crate::report::{Outcome, RuleInfo};
use crate::words::{few, plural};
use crate::{Diagnostic, Fix};

/// Different evidence for one cause that a page shows; other places have more of the same kind.
const EVIDENCE_SHOWN: usize = 3;
/// Characters of a message in the overview.
const MESSAGE_SHOWN: usize = 120;
/// Lines of evidence for each of several places, or of several nodes.
const LINES_SHOWN: usize = 12;

/// A finding, and everywhere it is.
struct Cause<'r> {
    rule: &'r RuleInfo,
    found: &'r Diagnostic,
    /// Nodes or lines of files.
    places: Vec<String>,
    /// The evidence of each place, the same evidence once.
    evidence: Vec<(Vec<String>, &'r [String])>,
}

impl<'r> Cause<'r> {
    fn add(&mut self, place: Option<String>, evidence: &'r [String]) {
        self.places.extend(place.clone());
        if evidence.is_empty() {
            return;
        }
        match self.evidence.iter_mut().find(|(_, known)| *known == evidence) {
            Some((places, _)) => places.extend(place),
            None => self.evidence.push((place.into_iter().collect(), evidence)),
        }
    }
}

/// The causes: the worst rule first, the causes of one rule together.
fn causes<'r>(contents: &Contents<'r>) -> Vec<Cause<'r>> {
    let mut causes: Vec<Cause> = Vec::new();
    let mut known: BTreeMap<(&str, &str, String), usize> = BTreeMap::new();
    // The worst finding of a rule, and where its first one is.
    let mut rules: BTreeMap<&str, (std::cmp::Reverse<crate::Severity>, usize)> = BTreeMap::new();
    for outcome in contents.results() {
        let Some(found) = outcome.verdict.found() else { continue };
        let (id, severity) = (outcome.rule.id.as_ref(), std::cmp::Reverse(found.severity));
        let rank = rules.entry(id).or_insert((severity, causes.len()));
        rank.0 = rank.0.min(severity);
        let fixes: Vec<String> = found.fixes.iter().map(Fix::to_string).collect();
        let key = (id, found.message.as_str(), format!("{} {fixes:?}", found.severity));
        let index = *known.entry(key).or_insert_with(|| {
            causes.push(Cause { rule: &outcome.rule, found, places: Vec::new(), evidence: Vec::new() });
            causes.len() - 1
        });
        causes[index].add(place(outcome), &found.evidence);
    }
    causes.sort_by_key(|cause| (rules[cause.rule.id.as_ref()], std::cmp::Reverse(cause.found.severity)));
    causes
}

/// `node2`, `Dockerfile:3`.
fn place(outcome: &Outcome) -> Option<String> {
    super::super::markdown::location(&outcome.subject)
}

/// The findings; `None` where there are none.
pub(super) fn part(contents: &Contents) -> Option<Part> {
    let causes = causes(contents);
    let mut body = if contents.nodes > 1 { overview(contents, &causes) } else { String::new() };
    for (index, cause) in causes.iter().enumerate() {
        article(&mut body, contents, index, cause);
    }
    (!causes.is_empty()).then(|| Part::new("findings", "Findings", body))
}

/// Where any of these are, each place once.
fn places(causes: &[Cause]) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for place in causes.iter().flat_map(|cause| &cause.places) {
        if !places.contains(place) {
            places.push(place.clone());
        }
    }
    places
}

/// The beginning of a message that the details have in full.
fn beginning(message: &str) -> String {
    let kept: String = message.chars().take(MESSAGE_SHOWN).collect();
    match kept.len() < message.len() {
        true => format!("{} …", kept.rsplit_once(' ').map_or(kept.as_str(), |(whole, _)| whole)),
        false => kept,
    }
}

/// A row a rule, with the nodes on which it found something.
fn overview(contents: &Contents, causes: &[Cause]) -> String {
    let headers = ["Severity", "Finding", "Nodes", "Where", "What"].map(|title| match title {
        "Nodes" => Cell::html("number", title),
        "What" => Cell::html("what", title),
        _ => Cell::html("", title),
    });
    let caption = "Findings by rule; details below.";
    let mut table = Table::new("causes", caption, false, &headers);
    let of_one_rule = |one: &Cause, other: &Cause| one.rule.id == other.rule.id;
    let mut first = 0;
    for same in causes.chunk_by(of_one_rule) {
        let nodes = places(same);
        let (count, nodes) = match nodes.is_empty() {
            true => (String::new(), "cluster-wide".to_owned()),
            false => (format!("{} of {}", nodes.len(), contents.nodes), escape(&few(&nodes))),
        };
        let severity = same[0].found.severity;
        let id = escape(&same[0].rule.id);
        let what = match same {
            [one] => escape(&beginning(&one.found.message)),
            several => format!("{} different findings", several.len()),
        };
        table.row(
            "",
            &[
                Cell::html("", badge(severity.into(), severity.word())),
                Cell::html("text", format!("<a href=\"#finding-{}\"><code>{id}</code></a>", first + 1)),
                Cell::html("number", count),
                Cell::html("text", nodes),
                Cell::html("text what", what),
            ],
        );
        first += same.len();
    }
    table.end()
}

fn article(text: &mut String, contents: &Contents, index: usize, cause: &Cause) {
    let (found, id) = (cause.found, format!("finding-{}", index + 1));
    let severity = found.severity;
    let _ = writeln!(
        text,
        "<article id=\"{id}\" class=\"{}\">\n<h3>{} {}</h3>",
        class(severity.into()),
        badge(severity.into(), severity.word()),
        contents.id(&cause.rule.id)
    );
    if !cause.places.is_empty() {
        let _ = writeln!(text, "<ul class=\"places\" aria-label=\"Where\">{}</ul>", names(&cause.places));
    }
    let _ = writeln!(text, "<p>{}</p>", escape(&found.message));
    evidence(text, cause, contents.nodes > 1);
    found.fixes.iter().for_each(|one| fix(text, one));
    text.push_str("</article>\n");
}

/// Short evidence is shown at once.
fn evidence(text: &mut String, cause: &Cause, is_fleet: bool) {
    let several = cause.places.len() > 1;
    let shown = cause.evidence.iter().take(EVIDENCE_SHOWN);
    let mut body = String::new();
    for (places, lines) in shown {
        if several {
            let _ = writeln!(body, "<ul class=\"places\">{}</ul>", names(places));
        }
        let limit = if several || is_fleet { LINES_SHOWN } else { lines.len() };
        let mut kept = lines[..lines.len().min(limit)].join("\n");
        if lines.len() > limit {
            let _ = write!(kept, "\n… and {}", plural(lines.len() - limit, "more line"));
        }
        let _ = writeln!(body, "<pre>{}</pre>", escape(&kept));
    }
    let left: usize = cause.evidence.iter().skip(EVIDENCE_SHOWN).map(|(places, _)| places.len()).sum();
    if left > 0 {
        let _ = writeln!(
            body,
            "<p class=\"dim\">Evidence from {} is left out; <code>--format json</code> shows all of it.</p>",
            plural(left, "more place")
        );
    }
    let open = if several || is_fleet || body.lines().count() > LINES_SHOWN { "" } else { " open=\"open\"" };
    if !body.is_empty() {
        let _ = writeln!(text, "<details{open}><summary>Evidence</summary>\n{body}</details>");
    }
}

/// What to do, and the commands for it.
pub(super) fn fix(text: &mut String, fix: &Fix) {
    let consequence = fix.class.consequence().map_or(String::new(), |words| format!(" ({words})"));
    let title = escape(&fix.title);
    let _ = writeln!(text, "<div class=\"fix\">\n<p><strong>Fix{consequence}:</strong> {title}</p>");
    if !fix.commands.is_empty() {
        let _ = writeln!(text, "<pre>{}</pre>", escape(&fix.commands.join("\n")));
    }
    text.push_str("</div>\n");
}
