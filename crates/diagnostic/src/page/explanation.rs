//! The explanation of a rule, which is Markdown with headings, paragraphs, lists and code, as HTML.

use std::fmt::Write;

use super::escape;
use crate::layout::hanging;

/// The last part of an explanation.
const SOURCES: &str = "Sources";

/// HTML of an explanation that envdoc itself has; never for text of anybody else, because it gets links.
pub(crate) fn explanation(markdown: &str, with_sources: bool) -> String {
    let mut text = String::new();
    for block in blocks(markdown) {
        if !with_sources && matches!(block, Block::Heading(SOURCES)) {
            break;
        }
        let _ = match block {
            Block::Heading(line) => writeln!(text, "<h4>{}</h4>", inline(line)),
            Block::Paragraph(words) => writeln!(text, "<p>{}</p>", inline(&words)),
            Block::List(items) => {
                let items: String = items.iter().map(|item| format!("<li>{}</li>\n", inline(item))).collect();
                writeln!(text, "<ul>\n{items}</ul>")
            }
            Block::Code(lines) => writeln!(text, "<pre>{}</pre>", escape(&lines.join("\n"))),
        };
    }
    text
}

/// An explanation for a terminal narrower than its lines: paragraphs and lists wrapped, code as it is.
pub fn wrapped(markdown: &str, width: usize) -> String {
    let text = |block: Block<'_>| match block {
        Block::Heading(line) => format!("## {line}\n"),
        Block::Paragraph(words) => hanging(&words, 0, width),
        Block::List(items) => items.iter().map(|item| hanging(&format!("- {item}"), 2, width)).collect(),
        Block::Code(lines) => lines.iter().map(|line| format!("    {line}\n")).collect(),
    };
    let mut out = String::new();
    let mut after_heading = true;
    for block in blocks(markdown) {
        let heading = matches!(block, Block::Heading(_));
        if !after_heading {
            out.push('\n');
        }
        out.push_str(&text(block));
        after_heading = heading;
    }
    out
}

enum Block<'m> {
    Heading(&'m str),
    Paragraph(String),
    List(Vec<String>),
    Code(Vec<&'m str>),
}

fn blocks(markdown: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut ended = true;
    let mut lines = markdown.lines();
    while let Some(line) = lines.next() {
        let (first, words) = (ended, line.trim());
        ended = words.is_empty();
        if words.starts_with("```") {
            blocks.push(Block::Code(lines.by_ref().take_while(|line| !line.starts_with("```")).collect()));
            ended = true;
        } else if let Some(code) = line.strip_prefix("    ").filter(|_| first || in_code(&blocks)) {
            match blocks.last_mut() {
                Some(Block::Code(lines)) if !first => lines.push(code),
                _ => blocks.push(Block::Code(vec![code])),
            }
        } else if let Some(heading) = line.strip_prefix("## ") {
            blocks.push(Block::Heading(heading));
            ended = true;
        } else if let Some(item) = line.strip_prefix("- ") {
            match blocks.last_mut() {
                Some(Block::List(items)) => items.push(item.to_owned()),
                _ => blocks.push(Block::List(vec![item.to_owned()])),
            }
        } else if !words.is_empty() {
            match blocks.last_mut() {
                Some(Block::Paragraph(text)) if !first => *text = format!("{text} {words}"),
                Some(Block::List(items)) if !first || line.starts_with(' ') => {
                    if let Some(last) = items.last_mut() {
                        *last = format!("{last} {words}");
                    }
                }
                _ => blocks.push(Block::Paragraph(words.to_owned())),
            }
        }
    }
    blocks
}

/// Whether the line before is one of code.
fn in_code(blocks: &[Block]) -> bool {
    matches!(blocks.last(), Some(Block::Code(_)))
}

/// Code in backquotes, and addresses as links. A link loads nothing until a reader follows it.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split('`').enumerate() {
        match index % 2 {
            1 => {
                let _ = write!(out, "<code>{}</code>", escape(part));
            }
            _ => out.push_str(&linked(part)),
        }
    }
    out
}

fn linked(text: &str) -> String {
    let word = |word: &str| {
        let Some(at) = word.find("https://") else { return escape(word) };
        let (before, address) = word.split_at(at);
        let end = address.trim_end_matches([')', ',', ';', ':', '.', '"', '>']).len();
        let (address, after) = address.split_at(end);
        let address = escape(address);
        format!("{}<a href=\"{address}\" rel=\"noreferrer\">{address}</a>{}", escape(before), escape(after))
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanations_fit_a_narrow_terminal() {
        let markdown = "# id\n\n## What it checks\nReads one file and\nanother file.\n\n- one item of a \
                        list\n  that goes on\n\n    code is never wrapped at all\n";
        let expected = "# id\n\n## What it checks\nReads one file and\nanother file.\n\n- one item of a\n  \
                        list that goes\n  on\n\n    code is never wrapped at all\n";
        assert_eq!(wrapped(markdown, 18), expected);
    }

    #[test]
    fn headings_paragraphs_lists_code_and_links() {
        let markdown = "## What it checks\nReads `a<b` in\ntwo lines.\n\nNext.\n- one\n  more\n- two\n\n\
                        ```\nx <y>\n```\n\
                        Source: https://example.org/a?b=1&c (table 2)\n";
        assert_eq!(
            explanation(markdown, true),
            "<h4>What it checks</h4>\n<p>Reads <code>a&lt;b</code> in two lines.</p>\n<p>Next.</p>\n<ul>\n\
             <li>one more</li>\n<li>two</li>\n</ul>\n<pre>x &lt;y&gt;</pre>\n<p>Source: \
             <a href=\"https://example.org/a?b=1&amp;c\" rel=\"noreferrer\">\
             https://example.org/a?b=1&amp;c</a> \
             (table 2)</p>\n"
        );
        let markdown = "Write:\n\n    a:\n      - `b`\n\nThen\n    go on.\n";
        assert_eq!(
            explanation(markdown, true),
            "<p>Write:</p>\n<pre>a:\n  - `b`</pre>\n<p>Then go on.</p>\n",
            "an indented line in a paragraph belongs to it"
        );
        let markdown = "## How to fix it\nReboot.\n\n## Sources\n- a\n";
        assert_eq!(explanation(markdown, false), "<h4>How to fix it</h4>\n<p>Reboot.</p>\n");
    }
}
