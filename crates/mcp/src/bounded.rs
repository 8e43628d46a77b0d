//! Answers within a limit: the longest lists of a document lose entries, and the answer states which.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// What the statement about what was left out takes at most, in bytes.
const STATEMENT_LIMIT_BYTES: usize = 2 << 10;

/// What an answer leaves out because of `max_bytes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cut {
    /// The lists of which only a part is in this answer.
    pub lists: Vec<CutList>,
    /// To be passed as `cursor` for the next part of the first list; null: this is its last part.
    pub next_cursor: Option<String>,
}

/// A list of which a part is in the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CutList {
    /// Where it is in the document, as a JSON pointer: `/results`.
    pub list: String,
    /// The position of its first entry here, from 0.
    pub first: usize,
    /// How many entries are here.
    pub count: usize,
    /// How many there are.
    pub total: usize,
}

impl CutList {
    fn text(&self) -> String {
        let CutList { list, first, count, total } = self;
        match count {
            0 => format!("{list}: none of {total} entries"),
            _ => format!("{list}: entries {first} to {} of {total} (from 0)", first + count - 1),
        }
    }
}

impl Cut {
    /// The statement for people.
    pub(crate) fn text(&self, larger: usize) -> String {
        let lists: Vec<String> = self.lists.iter().map(CutList::text).collect();
        let next = match &self.next_cursor {
            Some(cursor) => format!(" Pass cursor {cursor:?} for the next part."),
            None => String::new(),
        };
        format!("Partial answer: {}.{next} `max_bytes` can be up to {larger}.\n\n", lists.join("; "))
    }
}

/// A document that fits.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) document: Value,
    /// `None`: it is the whole document.
    pub(crate) lists: Vec<CutList>,
    /// Where the next part begins.
    pub(crate) next: Option<usize>,
}

/// The document from entry `from` of the first of `lists` (JSON pointers to arrays and objects) on. The other
/// lists lose entries at their end, the last list first, where they would take more than half of the limit.
///
/// # Errors
/// The limit that would be enough for one entry.
pub(crate) fn part(document: &Value, lists: &[&str], from: usize, limit: usize) -> Result<Part, usize> {
    let whole = size(document);
    if from == 0 && whole <= limit {
        return Ok(Part { document: document.clone(), lists: Vec::new(), next: None });
    }
    let room = limit.saturating_sub(STATEMENT_LIMIT_BYTES);
    let mut document = document.clone();
    let Some((paged, others)) = lists.split_first() else { return Err(whole) };
    let entries = take(&mut document, paged);
    let mut shortened = Vec::new();
    for list in others.iter().rev() {
        let excess = size(&document).saturating_sub(room / 2);
        if excess > 0 {
            shortened.extend(shorten(&mut document, list, excess));
        }
    }
    let base = size(&document);
    let total = entries.len();
    let (mut taken, mut kept) = (base, Vec::new());
    for entry in entries.into_iter().skip(from) {
        taken += entry_size(&entry);
        if taken > room {
            break;
        }
        kept.push(entry);
    }
    if (kept.is_empty() && from < total) || base > room {
        return Err(taken.max(base) + STATEMENT_LIMIT_BYTES);
    }
    let end = from + kept.len();
    let first = CutList { list: (*paged).to_owned(), first: from, count: kept.len(), total };
    put(&mut document, paged, kept);
    let lists = std::iter::once(first).chain(shortened.into_iter().rev()).collect();
    Ok(Part { document, lists, next: (end < total).then_some(end) })
}

/// An entry of an array, or of an object with its key.
type Entry = (Option<String>, Value);

fn take(document: &mut Value, pointer: &str) -> Vec<Entry> {
    match document.pointer_mut(pointer) {
        Some(Value::Array(entries)) => {
            std::mem::take(entries).into_iter().map(|entry| (None, entry)).collect()
        }
        Some(Value::Object(entries)) => {
            std::mem::take(entries).into_iter().map(|(key, entry)| (Some(key), entry)).collect()
        }
        _ => Vec::new(),
    }
}

fn put(document: &mut Value, pointer: &str, kept: Vec<Entry>) {
    match document.pointer_mut(pointer) {
        Some(Value::Array(entries)) => *entries = kept.into_iter().map(|(_, entry)| entry).collect(),
        Some(Value::Object(entries)) => {
            *entries = kept.into_iter().filter_map(|(key, entry)| Some((key?, entry))).collect::<Map<_, _>>();
        }
        _ => {}
    }
}

/// Takes entries off the end of a list until `excess` bytes are gone.
fn shorten(document: &mut Value, list: &str, excess: usize) -> Option<CutList> {
    let mut entries = take(document, list);
    let (total, mut gone) = (entries.len(), 0);
    while gone < excess
        && let Some(entry) = entries.pop()
    {
        gone += entry_size(&entry);
    }
    let count = entries.len();
    put(document, list, entries);
    (count < total).then(|| CutList { list: list.to_owned(), first: 0, count, total })
}

/// With its comma, quotes and colon.
fn entry_size((key, entry): &Entry) -> usize {
    let key = key.as_ref().map_or(0, |key| size(&Value::String(key.clone())) + 1);
    key + size(entry) + 1
}

/// The length of the JSON text, in bytes.
pub(crate) fn size(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A value of serde_json has text keys, and the count takes everything.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// A text of at most `limit` bytes: whole lines, and how many are left out.
pub(crate) fn text(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let (mut kept, mut left_out) = (String::new(), 0);
    for line in text.split_inclusive('\n') {
        match left_out == 0 && kept.len() + line.len() <= limit {
            true => kept.push_str(line),
            false => left_out += 1,
        }
    }
    format!("{kept}… {left_out} more lines; `max_bytes` limits this text to {limit} bytes\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(entries: usize) -> Value {
        let results: Vec<Value> = (0..entries).map(|i| json!({"id": i, "text": "x".repeat(80)})).collect();
        let notes: Vec<String> = (0..40).map(|i| format!("note {i} {}", "y".repeat(100))).collect();
        json!({"schema": 1, "results": results, "notes": notes, "readings": {"a": "1", "b": "2"}})
    }

    #[test]
    fn what_fits_is_whole() {
        let whole = document(3);
        let part = part(&whole, &["/results", "/notes"], 0, 64 << 10).unwrap();
        assert_eq!((part.document, part.lists, part.next), (whole, vec![], None));
    }

    #[test]
    fn parts_are_all_entries_in_order_within_the_limit() {
        let whole = document(300);
        let (mut from, mut seen, mut parts) = (0, Vec::new(), 0);
        loop {
            let part = part(&whole, &["/results", "/notes"], from, 8 << 10).unwrap();
            assert!(size(&part.document) + STATEMENT_LIMIT_BYTES <= 8 << 10);
            let results = part.document["results"].as_array().unwrap().clone();
            assert_eq!(
                (part.lists[0].first, part.lists[0].count, part.lists[0].total),
                (from, results.len(), 300)
            );
            // Its other list takes 4,600 bytes, more than half of the limit.
            assert_eq!(part.lists[1].list, "/notes");
            assert_eq!(part.document["notes"].as_array().unwrap().len(), part.lists[1].count);
            assert!(part.lists[1].count < 40);
            seen.extend(results);
            parts += 1;
            match part.next {
                Some(next) => from = next,
                None => break,
            }
        }
        assert_eq!(Value::Array(seen), whole["results"]);
        assert!(parts > 5, "{parts}");
    }

    #[test]
    fn objects_are_lists_too() {
        let readings: Map<String, Value> =
            (0..90).map(|i| (format!("k{i:02}"), json!("z".repeat(200)))).collect();
        let whole = json!({"readings": readings});
        let one = part(&whole, &["/readings"], 0, 8 << 10).unwrap();
        let next = part(&whole, &["/readings"], one.next.unwrap(), 64 << 10).unwrap();
        let count = |part: &Part| part.document["readings"].as_object().unwrap().len();
        assert_eq!(count(&one) + count(&next), 90);
        assert_eq!(next.next, None);
    }

    #[test]
    fn an_entry_that_does_not_fit_is_an_error_with_the_limit_that_would_do() {
        let whole = json!({"results": ["x".repeat(20_000)], "notes": []});
        let needed = part(&whole, &["/results"], 0, 8 << 10).unwrap_err();
        assert!(part(&whole, &["/results"], 0, needed).is_ok());
        let fixed = json!({"text": "x".repeat(20_000)});
        let needed = part(&fixed, &[], 0, 8 << 10).unwrap_err();
        assert!(part(&fixed, &[], 0, needed).is_ok());
    }

    #[test]
    fn texts_lose_whole_lines() {
        let long: String = (0..100).map(|i| format!("line {i}\n")).collect();
        let short = text(&long, 50);
        assert!(short.starts_with("line 0\n") && short.contains("… 93 more lines"), "{short}");
        assert_eq!(text("a\nb", 50), "a\nb");
    }
}
