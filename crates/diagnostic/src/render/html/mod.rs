//! A report as a page: the findings by cause, what could not be checked, what was measured, what passed, and
//! the explanation of every id that it names.

mod causes;
mod nodes;
mod others;
mod sections;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::layout::Mark;
use crate::page::{self, Page, Part, anchor, badge, escape};
use crate::report::{Outcome, Report, RuleInfo, Run};

/// The page of a report, made in this run.
pub fn report(report: &Report, run: &Run) -> String {
    let contents = Contents::of(report);
    let mut parts: Vec<Part> = report.overview.iter().map(sections::part).collect();
    parts.extend(causes::part(&contents));
    parts.extend(others::unknown(&contents));
    parts.extend(others::steps(&contents));
    parts.extend(report.sections.iter().map(sections::part));
    parts.extend(others::passed(&contents));
    parts.extend(others::not_applicable(&contents));
    parts.extend(explanations(&contents));
    let counts = report.summary().counts();
    let mut badges: String =
        counts.iter().map(|(mark, _, words)| format!("{}\n", badge(*mark, words))).collect();
    if badges.is_empty() {
        badges = badge(Mark::Pass, "no findings") + "\n";
    }
    let about: String = report.about.iter().map(|line| format!("<li>{}</li>\n", escape(line))).collect();
    let about =
        if about.is_empty() { String::new() } else { format!("<ul class=\"about\">\n{about}</ul>\n") };
    let page = Page {
        title: report.command,
        result: report.summary().words(),
        lead: format!("<p class=\"badges\">\n{badges}</p>\n{about}"),
        run,
        parts,
    };
    page.html()
}

/// The results of a report, and which ids its page explains.
struct Contents<'r> {
    report: &'r Report,
    /// The nodes that have results of their own.
    nodes: usize,
    /// The rules that the page explains: those that found something, and steps.
    explained: BTreeMap<&'r str, &'r RuleInfo>,
}

impl<'r> Contents<'r> {
    fn of(report: &'r Report) -> Contents<'r> {
        // The rank of a step is no node of a fleet.
        let own = report.results.iter().filter(|outcome| outcome.step.is_none());
        let names = own.filter_map(|outcome| outcome.subject.node.as_ref());
        let shown = |outcome: &&Outcome| outcome.verdict.found().is_some() || outcome.step.is_some();
        let rules = report.results.iter().filter(shown).map(|outcome| &outcome.rule);
        Contents {
            report,
            nodes: names.collect::<std::collections::BTreeSet<_>>().len(),
            explained: rules.map(|rule| (rule.id.as_ref(), rule)).collect(),
        }
    }

    /// The results that are no steps of a test, which have a table of their own.
    fn results(&self) -> impl Iterator<Item = &'r Outcome> {
        self.report.results.iter().filter(|outcome| outcome.step.is_none())
    }

    /// The id, as a link where the page explains it.
    fn id(&self, id: &str) -> String {
        let shown = escape(id);
        match self.explained.contains_key(id) {
            true => format!("<a href=\"#explain-{}\"><code>{shown}</code></a>", anchor(id)),
            false => format!("<code>{shown}</code>"),
        }
    }
}

/// Names as items of a list.
fn names(names: &[String]) -> String {
    names.iter().map(|name| format!("<li>{}</li>", escape(name))).collect()
}

/// Of many nodes without the sources, which `envdoc explain` has: the page has a limit.
fn explanations(contents: &Contents) -> Option<Part> {
    let (long, short): (Vec<_>, Vec<_>) =
        contents.explained.iter().partition(|(_, rule)| !rule.explain.is_empty());
    let row = |(id, rule): (&&str, &&RuleInfo)| {
        let (anchor, id) = (anchor(id), escape(id));
        let expected = escape(&rule.summary);
        format!("<dt id=\"explain-{anchor}\"><code>{id}</code></dt><dd>expected: {expected}</dd>\n")
    };
    let rows: String = short.into_iter().map(row).collect();
    let rows = if rows.is_empty() { rows } else { format!("<dl class=\"expected\">\n{rows}</dl>\n") };
    let article = |(id, rule): (&&str, &&RuleInfo)| {
        let text = page::explanation(&rule.explain, contents.nodes < 2);
        format!(
            "<article id=\"explain-{}\">\n<h3><code>{}</code></h3>\n{text}</article>\n",
            anchor(id),
            escape(id)
        )
    };
    let body = rows + &long.into_iter().map(article).collect::<String>();
    (!body.is_empty()).then(|| Part::new("explanations", "Explanations", body))
}
