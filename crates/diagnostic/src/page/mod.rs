//! What every HTML page has in common: one file with its stylesheet in it, no script, nothing that is loaded
//! from elsewhere; a header that says what ran when and where; landmarks, and a list of contents.
//!
//! A page is also well-formed XML, so that tests read it with a parser that forgives nothing.

mod explanation;
mod table;

use std::fmt::Write;

use crate::chart;
use crate::layout::Mark;
use crate::report::Run;

pub use crate::markup::{anchor, escape};
pub(crate) use explanation::explanation;
pub use explanation::wrapped;
pub use table::{Cell, Table};

/// Characters of a command line that are shown at once.
const COMMAND_SHOWN: usize = 300;

const STYLE: &str = include_str!("page.css");

/// A page without what all pages share.
#[derive(Debug)]
pub struct Page<'p> {
    /// Heading and title of the window: `envdoc check`.
    pub title: &'p str,
    /// The result in a few words, for the title of the window: `1 error, 54 passed`.
    pub result: String,
    /// HTML under the heading.
    pub lead: String,
    pub run: &'p Run,
    /// What follows, in order.
    pub parts: Vec<Part>,
}

/// A part of a page, with an entry in its list of contents.
#[derive(Debug)]
pub struct Part {
    /// The anchor: `findings`.
    pub id: String,
    pub title: String,
    /// HTML under the title.
    pub body: String,
    /// Whether a reader has to open it; print shows it anyway.
    pub closed: bool,
}

impl Part {
    /// A part that is open.
    pub fn new(id: impl Into<String>, title: impl Into<String>, body: String) -> Part {
        Part { id: id.into(), title: title.into(), body, closed: false }
    }
}

impl Page<'_> {
    /// The whole file.
    pub fn html(&self) -> String {
        let (title, chart) = (escape(self.title), chart::STYLE);
        let window: Vec<&str> =
            [self.title, &self.run.host, &self.result].into_iter().filter(|part| !part.is_empty()).collect();
        let mut text = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <title>{}</title>\n<style>\n{STYLE}{chart}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#report\">Skip to the report</a>\n\
             <header>\n<h1>{title}</h1>\n{}{}</header>\n",
            escape(&window.join(" · ")),
            self.lead,
            run(self.run)
        );
        if self.parts.len() > 1 {
            let entry = |part: &Part| {
                format!("<li><a href=\"#{}\">{}</a></li>\n", anchor(&part.id), escape(&part.title))
            };
            let entries: String = self.parts.iter().map(entry).collect();
            let _ = writeln!(text, "<nav aria-label=\"Contents\">\n<ul>\n{entries}</ul>\n</nav>");
        }
        text.push_str("<main id=\"report\">\n");
        self.parts.iter().for_each(|one| part(&mut text, one));
        let version = env!("CARGO_PKG_VERSION");
        let _ = writeln!(
            text,
            "</main>\n<footer>envdoc {version}. \
             Self-contained: no scripts, nothing is loaded from the network. \
             <code>envdoc explain ID</code> explains any id offline.</footer>\n</body>\n</html>"
        );
        text
    }
}

fn part(text: &mut String, part: &Part) {
    let (id, title) = (anchor(&part.id), escape(&part.title));
    let heading = format!("<h2 id=\"{id}-title\">{title}</h2>");
    let _ = match part.closed {
        true => writeln!(
            text,
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<details><summary>{heading}</summary>\n\
             {}</details>\n</section>",
            part.body
        ),
        false => writeln!(
            text,
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n{heading}\n{}</section>",
            part.body
        ),
    };
}

fn run(run: &Run) -> String {
    let command = command(&run.command_line);
    let rows = [
        ("Time", &run.time, escape(&run.time)),
        ("Host", &run.host, escape(&run.host)),
        ("Command", &run.command_line, command),
    ];
    let rows = rows.iter().filter(|(_, value, _)| !value.is_empty());
    let rows: String = rows.map(|(name, _, shown)| format!("<dt>{name}</dt><dd>{shown}</dd>\n")).collect();
    let version = env!("CARGO_PKG_VERSION");
    format!("<dl class=\"run\">\n{rows}<dt>envdoc</dt><dd>{version}</dd>\n</dl>\n")
}

/// A long command line shows its beginning, and all of it to who opens it.
fn command(line: &str) -> String {
    let whole = format!("<code>{}</code>", escape(line));
    if line.chars().count() <= COMMAND_SHOWN {
        return whole;
    }
    let start: String = line.chars().take(COMMAND_SHOWN).collect();
    format!("<details><summary><code>{} …</code></summary>{whole}</details>", escape(&start))
}

/// The class of a mark in the stylesheet, which is also its word.
pub(crate) fn class(mark: Mark) -> &'static str {
    match mark {
        Mark::NotApplicable => "not-applicable",
        Mark::Pass => "pass",
        Mark::Note => "note",
        Mark::Unknown => "unknown",
        Mark::Warning => "warning",
        Mark::Error => "error",
    }
}

/// One character in front of a word, so that nothing is said by colour alone.
pub(crate) fn sign(mark: Mark) -> &'static str {
    match mark {
        Mark::Note => "i",
        Mark::NotApplicable => "–",
        other => other.sign(true),
    }
}

/// Words with the sign and the colour of a mark.
pub(crate) fn badge(mark: Mark, words: &str) -> String {
    format!(
        "<span class=\"badge {}\"><span aria-hidden=\"true\">{}</span> {}</span>",
        class(mark),
        sign(mark),
        escape(words)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_when_where_and_how_it_was_made() {
        let run = Run {
            time: "2026-11-27 10:45:12 UTC".into(),
            host: "gpu1".into(),
            command_line: "envdoc check --from 'a&b'".into(),
        };
        let page = Page {
            title: "envdoc check",
            result: "1 error".into(),
            lead: String::new(),
            run: &run,
            parts: vec![Part::new("a", "A", "<p>one</p>\n".into()), Part::new("b", "B", String::new())],
        };
        let text = page.html();
        assert!(text.starts_with("<!DOCTYPE html>\n") && text.ends_with("</html>\n"));
        assert!(text.contains("<title>envdoc check · gpu1 · 1 error</title>"), "{text}");
        assert!(text.contains("<dt>Command</dt><dd><code>envdoc check --from &#39;a&amp;b&#39;</code></dd>"));
        assert!(text.contains("<dt>Host</dt><dd>gpu1</dd>") && text.contains(env!("CARGO_PKG_VERSION")));
    }
}
