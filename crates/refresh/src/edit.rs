//! Adding rows to the text of a file: comments and all other rows stay as they are.

/// Where the rows of a table begin and where the table ends, in bytes.
fn places(text: &str, table: &str) -> Option<(Vec<usize>, usize)> {
    let mut starts = Vec::new();
    let (mut in_table, mut at, mut end) = (false, 0, 0);
    let mut indent = None;
    for line in text.split_inclusive('\n') {
        let body = line.trim_end();
        let top = !body.is_empty() && !body.starts_with([' ', '-', '#']);
        if in_table && top {
            break;
        }
        if !in_table && top && body.strip_prefix(table).is_some_and(|rest| rest.starts_with(':')) {
            in_table = true;
            end = at + line.len();
        } else if in_table && !body.is_empty() {
            let own = body.len() - body.trim_start().len();
            if body.trim_start().starts_with("- ") && *indent.get_or_insert(own) == own {
                starts.push(at);
            }
            if !body.trim_start().starts_with('#') {
                end = at + line.len();
            }
        }
        at += line.len();
    }
    in_table.then_some((starts, end))
}

/// Inserts a row so that it becomes the one at `index`; an index beyond the end appends. `row` begins with `-
/// ` and ends with a line feed. `None` where the file has no such table.
pub(crate) fn insert(text: &str, table: &str, index: usize, row: &str) -> Option<String> {
    let empty = format!("\n{table}: []");
    let text = format!("\n{text}").replacen(&empty, &format!("\n{table}:"), 1).split_off(1);
    let (starts, end) = places(&text, table)?;
    let at = starts.get(index).copied().unwrap_or(end);
    let (before, after) = text.split_at(at);
    let gap = if before.ends_with('\n') { "" } else { "\n" };
    Some(format!("{before}{gap}{row}{after}"))
}

/// Adds lines to the end of the row at `index`.
pub(crate) fn extend(text: &str, table: &str, index: usize, lines: &str) -> Option<String> {
    let (starts, end) = places(text, table)?;
    starts.get(index)?;
    let at = starts.get(index + 1).copied().unwrap_or(end);
    let (before, after) = text.split_at(at);
    let gap = if before.ends_with('\n') { "" } else { "\n" };
    Some(format!("{before}{gap}{lines}{after}"))
}

/// The widest a line of a row gets.
const WIDTH: usize = 118;

/// A row in flow style, broken into lines: `- {version: "1.0", source: …}`.
pub(crate) fn flow(parts: &[String]) -> String {
    let (mut text, mut line) = (String::new(), "- {".to_owned());
    let pieces = parts.iter().flat_map(|part| pieces(part)).collect::<Vec<_>>();
    for (index, piece) in pieces.iter().enumerate() {
        let piece = format!("{piece}{}", if index + 1 < pieces.len() { "," } else { "}" });
        if line.len() + piece.len() + 1 > WIDTH && line.trim() != "- {" {
            text.push_str(line.trim_end());
            text.push('\n');
            line = "   ".to_owned();
        }
        if !line.ends_with(['{', ' ']) {
            line.push(' ');
        }
        line.push_str(&piece);
    }
    text + &line + "\n"
}

/// A part of a row as pieces between which a line can end: at every comma outside of quotes.
fn pieces(part: &str) -> Vec<&str> {
    split(part, |_| true)
}

/// The parts of a row in flow style, as [`flow`] takes them; `None`: it is in another style.
pub(crate) fn parts(row: &str) -> Option<Vec<String>> {
    let lines: Vec<&str> = row.lines().map(str::trim).collect();
    let row = lines.join(" ");
    let body = row.trim().strip_prefix("- {")?.strip_suffix('}')?;
    Some(split(body, |depth| depth == 0).into_iter().map(str::to_owned).collect())
}

/// A text at its commas outside of quotes, at depths of brackets that `here` allows.
fn split(text: &str, here: impl Fn(usize) -> bool) -> Vec<&str> {
    let (mut found, mut start, mut depth, mut quoted, mut escaped) = (Vec::new(), 0, 0_usize, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            ',' if here(depth) => {
                found.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[start..].trim());
    found
}

/// Puts other rows in the place of the one at `index`; comments below it stay. `edit` makes them of its text;
/// `None`: it stays as it is.
pub(crate) fn replace(
    text: &str,
    table: &str,
    index: usize,
    edit: impl FnOnce(&str) -> Option<String>,
) -> Option<String> {
    let (starts, end) = places(text, table)?;
    let (start, next) = (*starts.get(index)?, starts.get(index + 1).copied().unwrap_or(end));
    let whole = &text[start..next];
    let comment = whole.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some((*at - line.len(), line))
    });
    let own = comment.skip(1).find(|(_, line)| line.starts_with('#') || line.trim().is_empty());
    let own = own.map_or(whole.len(), |(at, _)| at);
    let rows = edit(&whole[..own])?;
    Some(format!("{}{rows}{}", &text[..start], &text[start + own..]))
}

/// A text in YAML's double quotes, which are those of JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The key with the one source of a row: `source: ["package index: …"]`.
pub(crate) fn source(text: &str) -> String {
    format!("source: [{}]", quoted(text))
}

/// `["3.12", "3.13t"]`.
pub(crate) fn list(items: &[String]) -> String {
    format!("[{}]", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A comment.\nchecked: 2026-11-21\nrows:\n# the first\n- {a: 1,\n   b: 2}\n- a: 3\n  \
        list:\n    - {c: 4}\n\n# what follows\nothers:\n- {a: 9}\n";

    #[test]
    fn rows_are_put_in_place_and_nothing_else_changes() {
        let row = "- {a: 2}\n";
        let middle = insert(TEXT, "rows", 1, row).unwrap();
        assert_eq!(middle, TEXT.replace("- a: 3\n", "- {a: 2}\n- a: 3\n"));
        let last = insert(TEXT, "rows", 2, row).unwrap();
        assert_eq!(last, TEXT.replace("    - {c: 4}\n", "    - {c: 4}\n- {a: 2}\n"));
        assert_eq!(insert(TEXT, "others", 9, row).unwrap(), format!("{TEXT}{row}"));
        assert_eq!(insert(TEXT, "none", 0, row), None);
        assert_eq!(insert("rows: []", "rows", 0, row).unwrap(), "rows:\n- {a: 2}\n");
        let other = replace(TEXT, "rows", 0, |row| {
            assert_eq!(row, "- {a: 1,\n   b: 2}\n");
            Some("- {a: 7}\n- {a: 8}\n".to_owned())
        });
        assert_eq!(other.unwrap(), TEXT.replace("- {a: 1,\n   b: 2}\n", "- {a: 7}\n- {a: 8}\n"));
        let last = replace(TEXT, "rows", 1, |row| Some(row.replace("a: 3", "a: 4"))).unwrap();
        assert_eq!(last, TEXT.replace("a: 3", "a: 4"), "what follows the table stays");
        let longer = extend(TEXT, "rows", 1, "    - {c: 5}\n").unwrap();
        assert_eq!(longer, TEXT.replace("    - {c: 4}\n", "    - {c: 4}\n    - {c: 5}\n"));
    }

    #[test]
    fn long_rows_are_broken_into_lines_that_read_the_same() {
        let parts: Vec<String> =
            (0..30).map(|n| format!("key{n}: {}", quoted(&format!("va\"lue {n}")))).collect();
        let text = flow(&parts);
        assert!(text.lines().count() > 3 && text.lines().all(|line| line.len() <= WIDTH), "{text}");
        let rows: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        assert_eq!(rows[0]["key29"], "va\"lue 29");
        assert_eq!(super::parts(&text), Some(parts));
        let nested = ["a: {b: \"1, 2\", c: [3, 4]}".to_owned(), "d: 5".to_owned()];
        assert_eq!(super::parts(&flow(&nested)).unwrap(), nested);
        assert_eq!(super::parts("- a: 1\n  b: 2\n"), None);
    }
}
