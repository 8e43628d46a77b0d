//! Substitution of ARG and ENV: `$X`, `${X}`, `${X:-default}`, `${X:+instead}`.

use rpds::RedBlackTreeMap;

use crate::base::Base;

/// The variables that hold at some place: ARG and ENV. A copy shares what is the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Variables {
    set: RedBlackTreeMap<String, Value>,
    /// Whether there are more: any name may be set.
    more: bool,
}

/// The most variables that are kept; rules look at each of them for each command.
const VARIABLES_LIMIT: usize = 2000;

/// One of those that are not kept.
const NOT_KEPT: &Value = &Value { text: None, default: false };

/// What a variable holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    /// Its text; `None`: only who builds knows.
    pub text: Option<String>,
    /// True where it comes from the default of an ARG, which `--build-arg` can change.
    pub default: bool,
}

impl Variables {
    /// Sets a variable.
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        match self.set.size() < VARIABLES_LIMIT || self.set.contains_key(name) {
            true => self.set.insert_mut(name.to_owned(), value),
            false => self.more = true,
        }
    }

    /// Forgets a variable.
    pub(crate) fn remove(&mut self, name: &str) {
        self.set.remove_mut(name);
    }

    /// What a variable holds; `None` where nothing in the file sets it.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.set.get(name).or(self.more.then_some(NOT_KEPT))
    }

    /// Whether a name is set, to whatever.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.more || self.set.contains_key(name)
    }

    /// The names that are set.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.set.keys().map(String::as_str)
    }
}

/// A text after substitution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Expanded {
    /// The text; what is not known stays as it was written.
    pub text: String,
    /// False where something in it is not known.
    pub known: bool,
    /// True where the default of an ARG is in it.
    pub default: bool,
    /// How many references this text is a part of.
    pub(super) depth: u8,
}

impl Expanded {
    /// Whether it is surely an official image, whose contents are known.
    pub(crate) fn is_official(&self) -> bool {
        self.known && Base::of(&self.text).is_some()
    }
}

/// The longest text that substitution makes, in bytes: `ENV A=$A$A` doubles it with each line. What would be
/// longer is not known.
const LENGTH_MAX: usize = 8 << 10;

/// How deeply defaults may be nested: `${A:-${B:-c}}` has depth 2. What is deeper is not known.
const DEPTH_MAX: u8 = 32;

/// Substitutes in a text without quotes.
pub(crate) fn expand(text: &str, variables: &Variables) -> Expanded {
    expand_at(text, variables, 0)
}

fn expand_at(text: &str, variables: &Variables, depth: u8) -> Expanded {
    let mut out = Expanded { known: true, depth, ..Expanded::default() };
    let mut rest = text;
    while let Some(offset) = rest.find('$') {
        out.text.push_str(&rest[..offset]);
        let (reference, length) = reference(&rest[offset..]);
        match reference {
            Some(reference) => out.put(&reference, &rest[offset..offset + length], variables),
            None => {
                out.known &= length == 1;
                out.text.push_str(&rest[offset..offset + length]);
            }
        }
        rest = &rest[offset + length..];
    }
    out.text.push_str(rest);
    out
}

impl Expanded {
    /// Adds what a reference stands for, or the reference itself where that is not known.
    pub(super) fn put(&mut self, reference: &Reference, written: &str, variables: &Variables) {
        let value = variables.get(reference.name);
        let set = value.filter(|value| value.text.as_deref().is_none_or(|text| !text.is_empty()));
        let word = |out: &mut Expanded, word: &str| {
            if out.depth == DEPTH_MAX {
                out.text.push_str(written);
                out.known = false;
                return;
            }
            let word = expand_at(word, variables, out.depth + 1);
            out.text.push_str(&word.text);
            out.known &= word.known;
            out.default |= word.default;
        };
        match (reference.operator, set) {
            (Operator::Other, _) => {
                self.text.push_str(written);
                self.known = false;
            }
            (Operator::Instead(instead), Some(_)) => word(self, instead),
            (Operator::Default(default), None) if value.is_none() => {
                // Nothing in the file sets it; who builds can, where it is an ARG of BuildKit's own.
                word(self, &without_quotes(default));
            }
            (Operator::Default(default), None) => word(self, &without_quotes(default)),
            (_, Some(Value { text: Some(text), .. })) if self.text.len() + text.len() > LENGTH_MAX => {
                self.text.push_str(written);
                self.known = false;
            }
            (_, Some(Value { text: Some(text), default })) => {
                self.text.push_str(text);
                self.default |= default;
            }
            (_, Some(Value { text: None, .. })) => {
                self.text.push_str(written);
                self.known = false;
            }
            (Operator::Instead(_), None) => self.known = value.is_some(),
            (Operator::None, None) => {
                // Set to nothing in the file is known; not set at all is not.
                if value.is_none() {
                    self.text.push_str(written);
                    self.known = false;
                }
            }
        }
    }
}

/// A default as the shell takes it: `"8"` is `8`, also inside of quotes. With escapes it stays as it is.
fn without_quotes(default: &str) -> String {
    if default.contains('\\') { default.to_owned() } else { default.replace('"', "") }
}

/// `${NAME:-word}` taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reference<'t> {
    name: &'t str,
    operator: Operator<'t>,
}

impl<'t> Reference<'t> {
    pub(super) fn name(&self) -> &'t str {
        self.name
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator<'t> {
    None,
    Default(&'t str),
    Instead(&'t str),
    Other,
}

/// The reference that a text begins with (`$` first), and how long it is; `None` for a `$` that begins no
/// variable, of length 1 where it is a plain dollar sign.
pub(super) fn reference(text: &str) -> (Option<Reference<'_>>, usize) {
    let body = &text[1..];
    let name_length = |text: &str| {
        text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(text.len())
    };
    let Some(expression) = body.strip_prefix('{') else {
        let length = name_length(body);
        let plain = body.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
        return match plain {
            true => (Some(Reference { name: &body[..length], operator: Operator::None }), 1 + length),
            // `$1`, `$?`, `$@`: the shell's own.
            false if body.starts_with(|letter: char| "0123456789?@*#!$-(".contains(letter)) => (None, 2),
            false => (None, 1),
        };
    };
    let Some(end) = closing(expression) else { return (None, text.len()) };
    let (inner, whole) = (&expression[..end], end + 3);
    let length = name_length(inner);
    let (name, rest) = inner.split_at(length);
    let operator = match rest {
        "" => Operator::None,
        _ if rest.starts_with(":-") => Operator::Default(&rest[2..]),
        _ if rest.starts_with('-') => Operator::Default(&rest[1..]),
        _ if rest.starts_with(":+") => Operator::Instead(&rest[2..]),
        _ if rest.starts_with('+') => Operator::Instead(&rest[1..]),
        _ => Operator::Other,
    };
    (Some(Reference { name, operator }), whole)
}

/// Where the brace that was opened before this text is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (offset, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(offset),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_doubles_with_each_line_stays_short() {
        let mut variables = Variables::default();
        variables.set("A", Value { text: Some("x".repeat(16)), default: false });
        for _ in 0..100 {
            let grown = expand("$A$A", &variables);
            assert!(grown.text.len() <= LENGTH_MAX + "$A".len());
            variables.set("A", Value { text: grown.known.then_some(grown.text), default: false });
        }
        assert_eq!(variables.get("A").unwrap().text, None, "too long to be known");
    }

    #[test]
    fn of_too_many_variables_the_rest_is_not_known() {
        let mut variables = Variables::default();
        for number in 0..=VARIABLES_LIMIT {
            variables.set(&format!("V{number}"), Value { text: Some("x".into()), default: false });
        }
        variables.set("V0", Value { text: Some("y".into()), default: false });
        assert_eq!(expand("$V0", &variables).text, "y");
        assert_eq!((expand("$V2000", &variables).known, variables.has("V2000")), (false, true));
    }

    #[test]
    fn deeply_nested_defaults_are_not_known() {
        let nested = |depth: usize| format!("{}x{}", "${A:-".repeat(depth), "}".repeat(depth));
        let shallow = expand(&nested(20), &Variables::default());
        assert_eq!((shallow.text.as_str(), shallow.known), ("x", true));
        assert!(!expand(&nested(30_000), &Variables::default()).known);
    }

    fn variables() -> Variables {
        let mut variables = Variables::default();
        let mut set = |name: &str, text: Option<&str>, default| {
            variables.set(name, Value { text: text.map(str::to_owned), default });
        };
        set("CUDA", Some("12.1.1"), true);
        set("OS", Some("ubuntu22.04"), false);
        set("EMPTY", Some(""), false);
        set("ASKED", None, true);
        variables
    }

    #[test]
    fn references() {
        let cases = [
            ("nvidia/cuda:${CUDA}-base-$OS", "nvidia/cuda:12.1.1-base-ubuntu22.04", true, true),
            ("$OS", "ubuntu22.04", true, false),
            ("${NONE:-x$OS}", "xubuntu22.04", true, false),
            ("${EMPTY:-y}", "y", true, false),
            ("${NONE:-\"8\"}", "8", true, false),
            ("${EMPTY}", "", true, false),
            ("${CUDA:+with}", "with", true, false),
            ("$NONE", "$NONE", false, false),
            ("${ASKED}", "${ASKED}", false, false),
            ("${CUDA%.*}", "${CUDA%.*}", false, false),
            ("a$", "a$", true, false),
            ("$(nproc)", "$(nproc)", false, false),
            ("$1", "$1", false, false),
            ("${OPEN", "${OPEN", false, false),
        ];
        for (text, expected, known, default) in cases {
            let got = expand(text, &variables());
            assert_eq!((got.text.as_str(), got.known, got.default), (expected, known, default), "{text}");
        }
    }
}
