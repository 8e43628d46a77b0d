//! Answers that were cut, kept for the calls that ask for the rest: the parts of one answer are of one
//! moment.

use std::collections::VecDeque;
use std::sync::Arc;

use diagnostic::error::{Error, Kind};
use serde_json::{Map, Value};

use crate::bounded::size;
use crate::tool::Answer;

/// The answers that are kept, and the memory that their documents may take as JSON.
const KEPT_MAX: usize = 4;
const KEPT_LIMIT_BYTES: usize = 16 << 20;

struct Kept {
    number: u64,
    tool: &'static str,
    arguments: Map<String, Value>,
    answer: Arc<Answer>,
    bytes: usize,
}

/// The latest answers that were cut.
#[derive(Default)]
pub(crate) struct Pages {
    last: u64,
    kept: VecDeque<Kept>,
}

impl Pages {
    /// Keeps an answer; its number.
    pub(crate) fn keep(
        &mut self,
        tool: &'static str,
        arguments: Map<String, Value>,
        answer: Arc<Answer>,
    ) -> u64 {
        self.last += 1;
        let bytes = size(&answer.document);
        self.kept.push_back(Kept { number: self.last, tool, arguments, answer, bytes });
        let total = |kept: &VecDeque<Kept>| kept.iter().map(|one| one.bytes).sum::<usize>();
        while self.kept.len() > KEPT_MAX || (self.kept.len() > 1 && total(&self.kept) > KEPT_LIMIT_BYTES) {
            self.kept.pop_front();
        }
        self.last
    }

    /// The answer that a cursor belongs to, its number, and where the next part begins.
    pub(crate) fn find(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        cursor: &str,
    ) -> Result<(Arc<Answer>, u64, usize), Error> {
        let parsed = cursor
            .split_once('.')
            .and_then(|(number, from)| Some((number.parse::<u64>().ok()?, from.parse::<usize>().ok()?)));
        let Some((number, from)) = parsed else {
            return Err(Error::new(Kind::Usage, format!("invalid cursor {cursor:?}"))
                .hint("pass `next_cursor` of the answer that was cut"));
        };
        let Some(kept) = self.kept.iter().find(|kept| kept.number == number && kept.tool == tool) else {
            return Err(Error::new(Kind::Usage, format!("cursor {cursor:?} has expired"))
                .hint("call the tool again without `cursor`"));
        };
        if !arguments.is_empty() && *arguments != kept.arguments {
            return Err(Error::new(Kind::Usage, "cursor belongs to a call with different arguments")
                .hint("repeat the arguments of that call, or call the tool without `cursor`"));
        }
        Ok((kept.answer.clone(), number, from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(text: &str) -> Arc<Answer> {
        Arc::new(Answer { document: json!({ "text": text }), text: String::new() })
    }

    #[test]
    fn the_latest_answers_are_found_by_their_cursor() {
        let mut pages = Pages::default();
        let arguments: Map<String, Value> = [("only".to_owned(), json!("gpu"))].into_iter().collect();
        for number in 1..=5 {
            assert_eq!(pages.keep("check", arguments.clone(), answer("a")), number);
        }
        let (_, number, from) = pages.find("check", &arguments, "5.20").unwrap();
        assert_eq!((number, from), (5, 20));
        assert!(pages.find("check", &Map::new(), "2.0").is_ok());
        let error = |tool: &str, arguments: &Map<String, Value>, cursor: &str| {
            pages.find(tool, arguments, cursor).map(|_| ()).unwrap_err().message
        };
        assert!(error("check", &Map::new(), "1.20").contains("has expired"));
        assert!(error("lint", &Map::new(), "5.20").contains("has expired"));
        assert!(error("check", &Map::new(), "x").contains("invalid cursor"));
        let other: Map<String, Value> = [("only".to_owned(), json!("docker"))].into_iter().collect();
        assert!(error("check", &other, "5.20").contains("different arguments"));
    }

    #[test]
    fn large_answers_replace_older_ones() {
        let mut pages = Pages::default();
        pages.keep("check", Map::new(), answer("a"));
        pages.keep("check", Map::new(), answer(&"x".repeat(KEPT_LIMIT_BYTES)));
        assert!(pages.find("check", &Map::new(), "1.0").is_err());
        assert!(pages.find("check", &Map::new(), "2.0").is_ok());
    }
}
