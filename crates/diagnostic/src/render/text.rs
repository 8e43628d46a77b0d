//! The report for people: one line a healthy group; for each finding what is wrong, what was expected, the
//! consequence, and the command.

use std::fmt::Write;

use anstyle::Style;

use super::COULD_NOT_CHECK;
use super::json::IgnoredEntry;
use crate::layout::{Layout, Mark, wrapped, wrapped_whole};
use crate::links;
use crate::report::{Outcome, Report, Summary};
use crate::rule::Group;
use crate::visible;
use crate::{Diagnostic, Fix, Missing, Verdict};

/// The whole report group by group, with ANSI colours in it.
pub fn report(report: &Report, layout: Layout) -> String {
    let mut text = String::new();
    about(&mut text, &report.about, layout);
    groups(&mut text, report, layout);
    text.push('\n');
    summary(&mut text, report.results.iter().map(|outcome| &outcome.verdict), layout);
    ignored(&mut text, report.ignored(), layout);
    text
}

/// What settings files left out, as the last line of a report; nothing where they left out nothing.
pub fn ignored(text: &mut String, entries: &[IgnoredEntry], layout: Layout) {
    if let Some(statement) = IgnoredEntry::statement(entries) {
        wrapped(text, &statement, "", "  ", layout);
    }
}

/// What was examined, before the results.
pub fn about(text: &mut String, lines: &[String], layout: Layout) {
    for line in lines {
        let line = if layout.unicode { line.clone() } else { line.replace('·', "|").replace('×', "x") };
        wrapped(text, &line, "", "  ", layout);
    }
    if !lines.is_empty() {
        text.push('\n');
    }
}

/// The results group by group; groups in which nothing applies are one line at the end.
pub fn groups(text: &mut String, report: &Report, layout: Layout) {
    let mut quiet = Vec::new();
    for group in report.groups() {
        let results: Vec<&Outcome> = report.of_group(group).collect();
        match results.iter().map(|outcome| outcome.verdict.mark()).max() {
            None => {}
            Some(Mark::NotApplicable) if !layout.verbose => quiet.push((group, results)),
            Some(mark) => group_lines(text, group, mark, &results, layout),
        }
    }
    if !quiet.is_empty() {
        not_applicable(text, &quiet, layout);
    }
}

fn group_lines(text: &mut String, group: Group, mark: Mark, results: &[&Outcome], layout: Layout) {
    let summary = Summary::of(results.iter().map(|outcome| &outcome.verdict));
    let words = if mark == Mark::NotApplicable { "not applicable".to_owned() } else { summary.words() };
    let (style, sign) = (mark.style(), mark.sign(layout.unicode));
    let start = format!("{style}{sign}{style:#} {:<18} ", group.title);
    wrapped(text, &words, &start, "      ", layout);
    for outcome in results {
        if let Verdict::Found(found) = &outcome.verdict {
            finding(text, &outcome.rule.id, found, layout);
        }
    }
    unknowns(text, results, layout);
    if layout.verbose {
        passed(text, results, layout);
        let idle = results.iter().filter_map(|outcome| match &outcome.verdict {
            Verdict::NotApplicable(why) => Some((outcome.rule.id.as_ref(), why.as_str())),
            _ => None,
        });
        let (style, sign) = (Mark::NotApplicable.style(), Mark::NotApplicable.sign(layout.unicode));
        for (why, ids) in by_reason(idle) {
            let start = format!("    {style}{sign}{style:#} ");
            wrapped(text, &format!("not applicable, {why}: {}", ids.join(", ")), &start, "      ", layout);
        }
    }
}

fn passed(text: &mut String, results: &[&Outcome], layout: Layout) {
    let (style, sign) = (Mark::Pass.style(), Mark::Pass.sign(layout.unicode));
    for outcome in results.iter().filter(|outcome| outcome.verdict == Verdict::Pass) {
        let line = format!("{}: {}", outcome.rule.id, outcome.rule.summary);
        wrapped(text, &line, &format!("    {style}{sign}{style:#} "), "      ", layout);
    }
}

/// Ids of results with one reason together, in the order in which reasons come.
fn by_reason<'r>(results: impl Iterator<Item = (&'r str, &'r str)>) -> Vec<(&'r str, Vec<&'r str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (id, why) in results {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, ids)) => ids.push(id),
            None => reasons.push((why, vec![id])),
        }
    }
    reasons
}

/// A finding with its fixes, indented by four.
pub fn finding(text: &mut String, id: &str, found: &Diagnostic, layout: Layout) {
    let mark = Mark::from(found.severity);
    let (style, sign) = (mark.style(), mark.sign(layout.unicode));
    let _ = writeln!(text, "    {style}{sign} {}: {}{style:#}", found.severity, links::id(id));
    details(text, found, layout);
}

/// The message of a finding, its evidence with `--verbose`, and its fixes, indented by six.
pub fn details(text: &mut String, found: &Diagnostic, layout: Layout) {
    wrapped(text, &found.message, "      ", "      ", layout);
    if layout.verbose {
        for line in &found.evidence {
            wrapped(text, line, "      | ", "      | ", layout);
        }
    }
    for fix in &found.fixes {
        fix_lines(text, fix, layout);
    }
}

/// A fix: its title, then its commands, which are never wrapped, so that they can be copied.
pub fn fix_lines(text: &mut String, fix: &Fix, layout: Layout) {
    let consequence = fix.class.consequence().map_or(String::new(), |words| format!(" ({words})"));
    if !fix.title.is_empty() || !consequence.is_empty() {
        wrapped_whole(text, &format!("fix{consequence}: {}", fix.title), "      ", layout);
    }
    let bold = Style::new().bold();
    for command in fix.commands.iter().flat_map(|command| command.lines()) {
        let _ = writeln!(text, "        {bold}{command}{bold:#}");
    }
}

/// The reason why something is unknown; where rights are missing, with what helps.
pub fn reason(why: &Missing, root: bool) -> String {
    match why.is_denied() && !root {
        true => format!("{why} (run with sudo to see it)"),
        false => why.detail.clone(),
    }
}

/// Results that could not be had, those with one reason together.
fn unknowns(text: &mut String, results: &[&Outcome], layout: Layout) {
    let unknown: Vec<(&str, String)> = results
        .iter()
        .filter_map(|outcome| match &outcome.verdict {
            Verdict::Unknown(why) => Some((outcome.rule.id.as_ref(), reason(why, layout.root))),
            _ => None,
        })
        .collect();
    let style = Mark::Unknown.style();
    for (why, ids) in by_reason(unknown.iter().map(|(id, why)| (*id, why.as_str()))) {
        let start = format!("    {style}?{style:#} ");
        wrapped(text, &format!("{COULD_NOT_CHECK}: {why}"), &start, "      ", layout);
        let names = match ids.as_slice() {
            [first, second, rest @ ..] if rest.len() > 2 && !layout.verbose => {
                format!("{first}, {second} and {} more", rest.len())
            }
            all => all.join(", "),
        };
        wrapped(text, &names, "      ", "      ", layout);
    }
}

fn not_applicable(text: &mut String, quiet: &[(Group, Vec<&Outcome>)], layout: Layout) {
    let titles: Vec<&str> = quiet.iter().map(|(group, _)| group.title).collect();
    let mut reasons = quiet.iter().flat_map(|(_, results)| results).map(|outcome| &outcome.verdict);
    let first = reasons.clone().next();
    let why = match first {
        Some(Verdict::NotApplicable(why)) if reasons.all(|verdict| Some(verdict) == first) => {
            format!(" ({why})")
        }
        _ => String::new(),
    };
    let (style, sign) = (Mark::NotApplicable.style(), Mark::NotApplicable.sign(layout.unicode));
    let line = format!("not applicable: {}{why}", titles.join(", "));
    wrapped(text, &line, &format!("{style}{sign}{style:#} "), "  ", layout);
}

/// The last lines: the worst in words, and how many results have each status.
pub fn summary<'v>(text: &mut String, verdicts: impl Iterator<Item = &'v Verdict> + Clone, layout: Layout) {
    let summary = Summary::of(verdicts.clone());
    let mark = verdicts.map(Verdict::mark).max().unwrap_or(Mark::NotApplicable);
    let style = mark.style();
    let word = match mark {
        Mark::Error => "problems found",
        Mark::Warning | Mark::Note => "works, with warnings",
        Mark::Unknown => "no problems found, but some checks could not run",
        Mark::Pass => "healthy",
        Mark::NotApplicable => "nothing to check here",
    };
    let idle = match summary.not_applicable {
        0 => String::new(),
        count => format!("{count} not applicable"),
    };
    let counts = [summary.words(), idle];
    let counts: Vec<&str> = counts.iter().map(String::as_str).filter(|words| !words.is_empty()).collect();
    wrapped(text, &counts.join(", "), &format!("{style}{word}{style:#}: "), "  ", layout);
    if !layout.verbose && matches!(mark, Mark::Error | Mark::Warning) {
        wrapped(text, "details: envdoc explain ID, or --verbose", "", "  ", layout);
    }
}

/// Findings file by file, in the order of their lines, each with its rule.
pub fn by_file(report: &Report, layout: Layout) -> String {
    let mut text = String::new();
    let mut file: Option<&str> = None;
    for outcome in &report.results {
        let Verdict::Found(found) = &outcome.verdict else { continue };
        let own = outcome.subject.file.as_deref().unwrap_or("-");
        if file != Some(own) {
            let bold = Style::new().bold();
            let shown = visible::line(own);
            let _ = writeln!(text, "{}{bold}{shown}{bold:#}", if file.is_some() { "\n" } else { "" });
            file = Some(own);
        }
        let mark = Mark::from(found.severity);
        let (style, sign) = (mark.style(), mark.sign(layout.unicode));
        let line = outcome.subject.line.map_or(String::new(), |line| format!(" line {line}"));
        let id = links::id(&outcome.rule.id);
        let _ = writeln!(text, "  {style}{sign} {}{style:#}{line}: {id}", found.severity);
        wrapped_whole(&mut text, &found.message, "      ", layout);
        for fix in &found.fixes {
            fix_lines(&mut text, fix, layout);
        }
    }
    text
}
