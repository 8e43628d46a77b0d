//! Markdown as far as pages need it: what is prose and what is code, links, the anchors of headings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part<'t> {
    Prose(&'t str),
    /// A code span, with its backticks.
    Span(&'t str),
    /// A fenced or indented block.
    Block(&'t str),
}

/// The parts of a text, in order: together they are the text.
pub(crate) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    let (mut paragraph, mut at) = (0, 0);
    let (mut fence, mut after_blank, mut indented) = (None, true, false);
    for line in text.split_inclusive('\n') {
        let content = line.trim_start();
        let marker = content.len() - content.trim_start_matches('`').len();
        let indent = line.len() - content.len();
        let blank = content.is_empty();
        let block = match fence {
            Some(length) => {
                if marker >= length && content.trim_end().len() == marker {
                    fence = None;
                }
                true
            }
            None if marker >= 3 => {
                fence = Some(marker);
                true
            }
            // A blank line before it distinguishes it from the next line of a list's item.
            None => !blank && indent >= 4 && (after_blank || indented),
        };
        if block || blank {
            spans(&text[paragraph..at], &mut found);
            found.push(if block { Part::Block(line) } else { Part::Prose(line) });
            paragraph = at + line.len();
        }
        indented = block && fence.is_none() && marker < 3;
        (after_blank, at) = (blank, at + line.len());
    }
    spans(&text[paragraph..], &mut found);
    found
}

/// The prose and the code spans of a paragraph: a span ends with as many backticks as it begins with.
fn spans<'t>(mut text: &'t str, found: &mut Vec<Part<'t>>) {
    let mut searched = 0;
    while let Some(start) = text[searched..].find('`').map(|place| place + searched) {
        let ticks = text[start..].len() - text[start..].trim_start_matches('`').len();
        let mut rest = start + ticks;
        let end = loop {
            let Some(next) = text[rest..].find('`').map(|place| place + rest) else { break None };
            let length = text[next..].len() - text[next..].trim_start_matches('`').len();
            rest = next + length;
            if length == ticks {
                break Some(rest);
            }
        };
        match end {
            Some(end) => {
                found.push(Part::Prose(&text[..start]));
                found.push(Part::Span(&text[start..end]));
                (text, searched) = (&text[end..], 0);
            }
            None => searched = start + ticks,
        }
    }
    found.push(Part::Prose(text));
}

/// Targets of links. The words of a link may be code, so only its end is looked for.
static TARGET: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\(([^()\s]+)\)").unwrap());
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"https?://[^\s<>()\[\]`]+").unwrap());

/// Whether a link leads out of the project.
pub(crate) fn is_external(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:")
}

/// The targets of the links to files and anchors.
pub(crate) fn targets(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for part in parts(text) {
        let Part::Prose(prose) = part else { continue };
        found.extend(TARGET.captures_iter(prose).map(|link| link.get(1).unwrap().as_str()));
    }
    found.retain(|target| !is_external(target));
    found
}

/// A text with its links led elsewhere.
pub(crate) fn with_targets(text: &str, mut target: impl FnMut(&str) -> String) -> String {
    let parts = parts(text).into_iter().map(|part| match part {
        Part::Prose(prose) => TARGET
            .replace_all(prose, |link: &regex::Captures<'_>| match is_external(&link[1]) {
                true => link[0].to_owned(),
                false => format!("]({})", target(&link[1])),
            })
            .into_owned(),
        Part::Span(code) | Part::Block(code) => code.to_owned(),
    });
    parts.collect()
}

/// A text whose code spans that are a key of `pages` link to it.
pub(crate) fn with_ids(text: &str, own: &str, pages: &BTreeMap<String, String>) -> String {
    let parts = parts(text);
    let shown = parts.iter().enumerate().map(|(index, part)| match *part {
        Part::Span(code) => {
            let id = code.trim_matches('`');
            let linked = matches!(parts.get(index + 1), Some(Part::Prose(after)) if after.starts_with(']'));
            match pages.get(id).filter(|_| id != own && !linked) {
                Some(page) => format!("[{code}]({page})"),
                None => code.to_owned(),
            }
        }
        Part::Prose(text) | Part::Block(text) => text.to_owned(),
    });
    shown.collect()
}

/// A text whose bare addresses are links.
pub(crate) fn with_addresses(text: &str) -> String {
    let parts = parts(text).into_iter().map(|part| match part {
        Part::Prose(prose) => addresses(prose, str::to_owned),
        Part::Span(code) | Part::Block(code) => code.to_owned(),
    });
    parts.collect()
}

fn addresses(prose: &str, other: impl Fn(&str) -> String) -> String {
    let (mut text, mut done) = (String::new(), 0);
    for found in ADDRESS.find_iter(prose) {
        let before = &prose[..found.start()];
        if before.ends_with("](") || before.ends_with(['<', '[', '"']) {
            continue;
        }
        let address = found.as_str().trim_end_matches(['.', ',', ';', ':', '\'', '"']);
        text.push_str(&other(&prose[done..found.start()]));
        text.push_str(&format!("<{address}>"));
        done = found.start() + address.len();
    }
    text + &other(&prose[done..])
}

/// A sentence that was written for a terminal, as Markdown: no character of it is markup, except backticks.
pub(crate) fn escaped(text: &str) -> String {
    let escape = |prose: &str| -> String {
        let mut shown = String::new();
        for letter in prose.chars() {
            match letter {
                '<' => shown.push_str("&lt;"),
                '&' => shown.push_str("&amp;"),
                '*' | '_' | '[' | ']' | '\\' | '#' | '~' | '|' | '`' => shown.extend(['\\', letter]),
                _ => shown.push(letter),
            }
        }
        shown
    };
    let mut found = Vec::new();
    spans(text, &mut found);
    let parts = found.into_iter().map(|part| match part {
        Part::Prose(prose) => addresses(prose, escape),
        Part::Span(code) | Part::Block(code) => code.to_owned(),
    });
    parts.collect()
}

/// A block of code that holds any text.
pub(crate) fn fenced(language: &str, text: &str) -> String {
    let mut fence = String::from("```");
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// The first heading.
pub(crate) fn title(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default()
}

/// The anchors of the headings, as GitHub and mdBook make them.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    static WORDS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\([^)]*\)").unwrap());
    let blocks = parts(text).into_iter().map(|part| match part {
        Part::Prose(text) | Part::Span(text) => text,
        Part::Block(_) => "\n",
    });
    let (mut found, mut uses) = (BTreeSet::new(), BTreeMap::<String, usize>::new());
    for line in blocks.collect::<String>().lines() {
        let words = line.trim_start_matches('#');
        let level = line.len() - words.len();
        if !(1..=6).contains(&level) || !words.starts_with(' ') {
            continue;
        }
        let words = WORDS.replace_all(words.trim(), "").to_lowercase();
        let mut anchor: String = words
            .chars()
            .filter_map(|letter| match letter {
                ' ' => Some('-'),
                '-' | '_' => Some(letter),
                _ => letter.is_alphanumeric().then_some(letter),
            })
            .collect();
        let number = uses.entry(anchor.clone()).or_default();
        if *number > 0 {
            anchor = format!("{anchor}-{number}");
        }
        *number += 1;
        found.insert(anchor);
    }
    found
}

#[test]
fn prose_is_told_from_code() {
    let text = "See `a ]( b` and [`c`](d.md).\n\n    not [a](link)\n\n```sh\n[x](y)\n\n    deeper\n```\n\
                1. one\n    [two](e.md#f)\n";
    assert_eq!(targets(text), ["d.md", "e.md#f"]);
    let joined: String = parts(text)
        .into_iter()
        .map(|part| match part {
            Part::Prose(text) | Part::Span(text) | Part::Block(text) => text,
        })
        .collect();
    assert_eq!(joined, text);
    assert_eq!(
        with_targets("[a](b) `[c](d)` [e](https://e.org)", str::to_uppercase),
        "[a](B) `[c](d)` [e](https://e.org)"
    );
}

#[test]
fn ids_and_addresses_become_links() {
    let pages =
        BTreeMap::from([("a-b".to_owned(), "x.md".to_owned()), ("c-d".to_owned(), "y.md".to_owned())]);
    assert_eq!(with_ids("`a-b`, `c-d`, [`a-b`](z)\n", "c-d", &pages), "[`a-b`](x.md), `c-d`, [`a-b`](z)\n");
    assert_eq!(
        with_addresses("- https://a.org/b_c, `https://d.org` (https://e.org/f). [g](https://h.org)"),
        "- <https://a.org/b_c>, `https://d.org` (<https://e.org/f>). [g](https://h.org)"
    );
    assert_eq!(
        escaped("__init__ of <x> `*` https://a.org/b_c."),
        r"\_\_init\_\_ of &lt;x> `*` <https://a.org/b_c>."
    );
}

#[test]
fn anchors_are_those_of_github() {
    let text = "# One `two` three\n## A & b: [c](d.md)\n## One\n## One\n```sh\n# no\n```\n#no\n";
    assert_eq!(Vec::from_iter(anchors(text)), ["a--b-c", "one", "one-1", "one-two-three"]);
    assert_eq!(title("<!-- -->\n# One `two`\n"), "One `two`");
}
