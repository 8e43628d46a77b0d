//! JSON as people write it, with the lines of its keys: comments, commas too many and words without quotes
//! are read over, as Hjson does, which DeepSpeed reads its configuration with.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::line_index::LineIndex;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// `null`.
    Null,
    /// `true`, `false`.
    Truth(bool),
    Number(f64),
    Text(String),
    /// A list with its items.
    List(Vec<Value>),
    /// An object; its entries are in [`Json::entries`].
    Object,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Json {
    /// Every entry of every object by its path of keys, separated by dots, with its line.
    pub entries: BTreeMap<String, (usize, Value)>,
    /// Keys that stand twice in one object: line and path.
    pub twice: Vec<(usize, String)>,
    /// Where and why it cannot be read.
    pub broken: Option<(usize, Fault)>,
}

/// Why a text is neither JSON nor Hjson.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("the file does not start with {{")]
    NoObject,
    #[error("objects are nested more than {DEEPEST} levels deep")]
    TooDeep,
    #[error("the file ends before the last }}")]
    UnclosedObject,
    #[error("the file ends before a ]")]
    UnclosedList,
    #[error("expected a key and a colon, found {0:?}")]
    NoKey(String),
    #[error("{0} has no value")]
    NoValue(String),
    #[error("the file ends where a value is expected")]
    NoLastValue,
    #[error("a string continues on the next line")]
    StringAcrossLines,
    #[error("a string has no closing quote")]
    UnclosedString,
}

impl Json {
    pub(crate) fn read(text: &str) -> Json {
        let (lines, last) = (LineIndex::new(text), text.lines().count().max(1));
        let mut reader = Reader { text, at: 0, json: Json::default(), depth: 0, lines, last };
        reader.space();
        match reader.peek() {
            Some('{') => {
                if let Err(why) = reader.object("") {
                    let line = reader.line();
                    reader.json.broken = Some((line, why));
                }
            }
            _ => reader.json.broken = Some((1, Fault::NoObject)),
        }
        reader.json
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Value> {
        self.entries.get(path).map(|(_, value)| value)
    }

    /// The line of a key; the first where it is not there.
    pub(crate) fn line(&self, path: &str) -> usize {
        self.entries.get(path).map_or(1, |(line, _)| *line)
    }

    /// The key of each line; of several on one line, the one that has the others inside, if there is one.
    pub(crate) fn keys_of_lines(&self) -> BTreeMap<usize, String> {
        let mut outer: BTreeMap<usize, Vec<&String>> = BTreeMap::new();
        let depth = |path: &str| path.matches('.').count();
        for (path, (line, _)) in &self.entries {
            let known = outer.entry(*line).or_default();
            match known.first().map(|first| depth(path).cmp(&depth(first))) {
                Some(Ordering::Greater) => {}
                Some(Ordering::Equal) => known.push(path),
                Some(Ordering::Less) | None => *known = vec![path],
            }
        }
        let only = |(line, paths): (usize, Vec<&String>)| match paths.as_slice() {
            [path] => Some((line, (*path).clone())),
            _ => None,
        };
        outer.into_iter().filter_map(only).collect()
    }

    pub(crate) fn number(&self, path: &str) -> Option<f64> {
        match self.get(path)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether it is `true`.
    pub(crate) fn is_true(&self, path: &str) -> bool {
        self.get(path) == Some(&Value::Truth(true))
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        match self.get(path)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The keys of an object (empty path: the file itself), with their lines.
    pub(crate) fn keys<'j>(&'j self, of: &'j str) -> impl Iterator<Item = (&'j str, usize)> {
        self.entries.iter().filter_map(move |(path, (line, _))| {
            let key = if of.is_empty() { path.as_str() } else { path.strip_prefix(of)?.strip_prefix('.')? };
            (!key.contains('.')).then_some((key, *line))
        })
    }
}

/// How deep objects may lie in each other.
const DEEPEST: usize = 64;

struct Reader<'t> {
    text: &'t str,
    at: usize,
    json: Json,
    depth: usize,
    lines: LineIndex,
    /// The last line, from 1.
    last: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn line(&self) -> usize {
        (self.lines.line(self.at) + 1).min(self.last)
    }

    fn space(&mut self) {
        loop {
            let rest = self.rest();
            let skip = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', ',', '\u{feff}']).len();
            self.at += skip;
            let rest = self.rest();
            let comment = if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else if rest.starts_with("//") || rest.starts_with('#') {
                rest.find('\n').unwrap_or(rest.len())
            } else {
                0
            };
            self.at += comment;
            if skip + comment == 0 {
                return;
            }
        }
    }

    fn object(&mut self, path: &str) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Fault::TooDeep);
        }
        self.at += 1;
        loop {
            self.space();
            match self.peek() {
                None => return Err(Fault::UnclosedObject),
                Some('}') => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(());
                }
                Some(_) => self.entry(path)?,
            }
        }
    }

    fn entry(&mut self, path: &str) -> Result<(), Fault> {
        let line = self.line();
        let key = match self.peek() {
            Some('"' | '\'') => self.quoted()?,
            _ => {
                let rest = self.rest();
                let end = rest.find([':', '\n', '{', '}', '[', ']', ',']).unwrap_or(rest.len());
                let key = rest[..end].trim().to_owned();
                self.at += end;
                key
            }
        };
        self.space();
        if self.peek() != Some(':') || key.is_empty() {
            return Err(Fault::NoKey(key));
        }
        self.at += 1;
        let path = if path.is_empty() { key } else { format!("{path}.{key}") };
        if self.json.entries.contains_key(&path) {
            self.json.twice.push((line, path.clone()));
            // The second value counts, with none of the keys of the first.
            let inner = format!("{path}.");
            let below = self.json.entries.range(inner.clone()..).map(|(key, _)| key);
            let gone: Vec<String> = below.take_while(|key| key.starts_with(&inner)).cloned().collect();
            for key in gone {
                self.json.entries.remove(&key);
            }
        }
        self.json.entries.insert(path.clone(), (line, Value::Object));
        let value = self.value(&path)?;
        self.json.entries.insert(path, (line, value));
        Ok(())
    }

    fn value(&mut self, path: &str) -> Result<Value, Fault> {
        self.space();
        match self.peek() {
            None => Err(Fault::NoLastValue),
            Some('{') => self.object(path).map(|()| Value::Object),
            Some('[') => self.list(path),
            Some('"' | '\'') => self.quoted().map(Value::Text),
            Some('}' | ']' | ':') => Err(Fault::NoValue(path.to_owned())),
            Some(_) => {
                let rest = self.rest();
                let end = rest.find(['\n', ',', '}', ']', '#']).unwrap_or(rest.len());
                let word = rest[..end].split("//").next().unwrap_or_default().trim().to_owned();
                self.at += end;
                Ok(match word.as_str() {
                    "null" => Value::Null,
                    "true" => Value::Truth(true),
                    "false" => Value::Truth(false),
                    _ => word.parse().map_or(Value::Text(word), Value::Number),
                })
            }
        }
    }

    fn list(&mut self, path: &str) -> Result<Value, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Fault::TooDeep);
        }
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.space();
            match self.peek() {
                None => return Err(Fault::UnclosedList),
                Some(']') => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(Value::List(items));
                }
                // What is in objects of lists has a path of its own.
                Some(_) => items.push(self.value(&format!("{path}[{}]", items.len()))?),
            }
        }
    }

    fn quoted(&mut self) -> Result<String, Fault> {
        let quote = self.peek().unwrap_or('"');
        self.at += 1;
        let mut out = String::new();
        let mut letters = self.rest().char_indices();
        while let Some((offset, letter)) = letters.next() {
            match letter {
                '\\' => out.extend(letters.next().map(|(_, escaped)| match escaped {
                    'n' => '\n',
                    't' => '\t',
                    other => other,
                })),
                '\n' => return Err(Fault::StringAcrossLines),
                _ if letter == quote => {
                    self.at += offset + 1;
                    return Ok(out);
                }
                _ => out.push(letter),
            }
        }
        Err(Fault::UnclosedString)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_lines() {
        let json = Json::read(
            "{\n  // why\n  \"a\": 5e8,\n  b: {\"c\": [1, {\"d\": true}], # x\n    \"e\": auto\n  },\n}\n",
        );
        assert_eq!(json.broken, None);
        assert_eq!((json.number("a"), json.line("a")), (Some(5e8), 3));
        assert_eq!((json.text("b.e"), json.line("b.e")), (Some("auto"), 5));
        assert!(json.is_true("b.c[1].d"));
        assert_eq!(json.keys("").map(|(key, _)| key).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(json.keys("b").map(|(key, _)| key).collect::<Vec<_>>(), ["c", "e"]);
        let keys: Vec<String> = json.keys_of_lines().into_values().collect();
        assert_eq!(keys, ["a", "b", "b.e"]);
        let together = Json::read("{\"a\": 1, \"b\": {\"c\": 1}}").keys_of_lines();
        assert!(together.is_empty(), "which of the two a finding means is unknown: {together:?}");
    }

    /// The line of each key was counted from the start of the file: hours for a file of some MiB.
    #[test]
    fn lines_of_many_keys() {
        let keys = 50_000;
        let text: String = (1..=keys).map(|key| format!("\"k{key}\": {key},\n")).collect();
        let json = Json::read(&format!("{{\n{text}}}"));
        assert_eq!((json.broken, json.entries.len()), (None, keys));
        assert!(json.entries.values().all(|(line, value)| *value == Value::Number(*line as f64 - 1.0)));
    }

    /// Each of them compared itself with every other key.
    #[test]
    fn many_keys_that_come_twice() {
        let keys = 50_000;
        let text: String = (1..=keys).map(|key| format!("\"k{key}\": 1,\n\"a\": 2,\n")).collect();
        let json = Json::read(&format!("{{\n\"a\": {{\"b\": 1}},\n\"a-b\": 1,\n{text}}}"));
        assert_eq!((json.broken, json.entries.len(), json.twice.len()), (None, keys + 2, keys));
        assert!(json.entries.contains_key("a-b") && !json.entries.contains_key("a.b"));
    }

    #[test]
    fn faults() {
        assert_eq!(Json::read("{\"a\": 1,\n\"a\": 2}").twice, [(2, "a".to_owned())]);
        let objects = Json::read("{\"a\": {\"b\": 1, \"c\": 2},\n\"a\": {\"b\": 3}}");
        assert_eq!((objects.twice.len(), objects.get("a.c")), (1, None));
        let broken = |text: &str| Json::read(text).broken.map(|(line, _)| line);
        assert_eq!(broken("{\n\"a\": 1\n"), Some(2));
        assert_eq!(broken("{\n\"a\n\": 1}"), Some(2));
        assert_eq!(broken("[1]"), Some(1));
        assert_eq!(broken("{\"a\": }"), Some(1));
        for text in ["{", "{\"", "{a", "{a:", "{a:[", "{/*", "\u{feff}{}", "{é:ü}", &"{a:".repeat(999)] {
            Json::read(text);
        }
    }
}
