//! A TOML file whose values know where they are.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::declared::{Notation, Origin};
use crate::error::ProjectError;

/// The text of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TomlText<'t> {
    pub(crate) name: &'t str,
    text: &'t str,
    /// Bytes of the byte order mark, which the parser does not get.
    mark: usize,
}

impl<'t> TomlText<'t> {
    pub(crate) fn new(name: &'t str, text: &'t str) -> TomlText<'t> {
        TomlText { name, text, mark: text.len() - text.trim_start_matches('\u{feff}').len() }
    }

    pub(crate) fn parse(&self) -> Result<Spanned<DeTable<'t>>, ProjectError> {
        DeTable::parse(&self.text[self.mark..]).map_err(|error| {
            let line = self.line(error.span().map_or(0, |span| span.start));
            ProjectError::toml(self.name, line, &error)
        })
    }

    pub(crate) fn root(&'t self, tree: &'t Spanned<DeTable<'t>>) -> Table<'t> {
        Table { file: self, at: 0, table: tree.get_ref() }
    }

    /// The line of an offset behind the mark, from 1.
    fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().get(..self.mark + offset).unwrap_or(self.text.as_bytes());
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }
}

/// A table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'t> {
    file: &'t TomlText<'t>,
    at: usize,
    table: &'t DeTable<'t>,
}

impl<'t> Table<'t> {
    pub(crate) fn line(&self) -> usize {
        self.file.line(self.at)
    }

    pub(crate) fn file(&self) -> &'t str {
        self.file.name
    }

    pub(crate) fn get(&self, key: &str) -> Option<Node<'t>> {
        self.nodes().find(|node| node.key == key)
    }

    fn nodes(&self) -> impl Iterator<Item = Node<'t>> + use<'t> {
        let file = self.file;
        self.table.iter().map(move |(key, value)| Node {
            file,
            key: key.get_ref().as_ref(),
            key_at: key.span().start,
            value,
        })
    }

    /// The values in the order of the file.
    pub(crate) fn entries(&self) -> Vec<Node<'t>> {
        let mut all: Vec<Node<'t>> = self.nodes().collect();
        all.sort_by_key(|node| node.key_at);
        all
    }

    /// A table in it; absent, it is `None`.
    pub(crate) fn table(&self, key: &str) -> Result<Option<Table<'t>>, ProjectError> {
        self.get(key).map(|node| node.table()).transpose()
    }

    /// The table at the end of keys: `tool`, `poetry`.
    pub(crate) fn below(&self, keys: &[&str]) -> Result<Option<Table<'t>>, ProjectError> {
        let mut found = *self;
        for key in keys {
            match found.table(key)? {
                Some(table) => found = table,
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    pub(crate) fn string(&self, key: &str) -> Result<Option<Text<'t>>, ProjectError> {
        self.get(key).map(|node| node.string()).transpose()
    }

    pub(crate) fn list(&self, key: &str) -> Result<Vec<Node<'t>>, ProjectError> {
        self.get(key).map_or(Ok(Vec::new()), |node| node.list())
    }

    pub(crate) fn strings(&self, key: &str) -> Result<Vec<Text<'t>>, ProjectError> {
        self.list(key)?.iter().map(Node::string).collect()
    }

    /// Whether a value is `true`.
    pub(crate) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|node| node.value.get_ref().as_bool() == Some(true))
    }
}

/// A value, and its key; of an item of a list it is the key of the list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node<'t> {
    file: &'t TomlText<'t>,
    pub(crate) key: &'t str,
    key_at: usize,
    value: &'t Spanned<DeValue<'t>>,
}

impl<'t> Node<'t> {
    pub(crate) fn line(&self) -> usize {
        self.file.line(self.value.span().start)
    }

    /// Where the value is; it has no specifier.
    pub(crate) fn origin(&self, text: String) -> Origin {
        let (file, line) = (self.file.name.to_owned(), self.line());
        Origin { file, line, span: None, text, notation: Notation::default() }
    }

    pub(crate) fn as_table(&self) -> Option<Table<'t>> {
        let table = self.value.get_ref().as_table()?;
        Some(Table { file: self.file, at: self.value.span().start, table })
    }

    pub(crate) fn table(&self) -> Result<Table<'t>, ProjectError> {
        self.as_table().ok_or_else(|| self.is_not("a table"))
    }

    pub(crate) fn as_list(&self) -> Option<Vec<Node<'t>>> {
        let item = |value| Node { value, ..*self };
        Some(self.value.get_ref().as_array()?.iter().map(item).collect())
    }

    pub(crate) fn list(&self) -> Result<Vec<Node<'t>>, ProjectError> {
        self.as_list().ok_or_else(|| self.is_not("a list"))
    }

    /// The items of a list, or the value alone.
    pub(crate) fn one_or_more(&self) -> Vec<Node<'t>> {
        self.as_list().unwrap_or_else(|| vec![*self])
    }

    pub(crate) fn as_string(&self) -> Option<Text<'t>> {
        let value = self.value.get_ref().as_str()?;
        Some(Text { file: self.file, value, span: self.value.span() })
    }

    pub(crate) fn string(&self) -> Result<Text<'t>, ProjectError> {
        self.as_string().ok_or_else(|| self.is_not("a string"))
    }

    pub(crate) fn is_not(&self, expected: &'static str) -> ProjectError {
        let (file, key) = (self.file.name.to_owned(), self.key.to_owned());
        ProjectError::NotOfType { file, line: self.line(), key, expected }
    }
}

/// A string.
#[derive(Debug, Clone)]
pub(crate) struct Text<'t> {
    file: &'t TomlText<'t>,
    pub(crate) value: &'t str,
    span: Range<usize>,
}

impl Text<'_> {
    pub(crate) fn line(&self) -> usize {
        self.file.line(self.span.start)
    }

    pub(crate) fn file(&self) -> String {
        self.file.name.to_owned()
    }

    /// The bytes in the file of a part of the string, where they are that part.
    pub(crate) fn bytes(&self, part: Range<usize>) -> Option<Range<usize>> {
        let (start, end) = (self.file.mark + self.span.start, self.file.mark + self.span.end);
        let whole = self.file.text.get(start..end)?;
        let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| whole.starts_with(quote))?;
        let from = start + quote.len();
        let inner = self.file.text.get(from..end.checked_sub(quote.len())?)?;
        (inner == self.value).then_some(from + part.start..from + part.end)
    }

    /// Where the string is, as it is shown.
    pub(crate) fn origin(&self, span: Option<Range<usize>>, text: String, notation: Notation) -> Origin {
        let span = span.and_then(|part| self.bytes(part));
        Origin { file: self.file(), line: self.line(), span, text, notation }
    }
}
