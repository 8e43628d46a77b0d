//! The commands of a shell script: well enough to see what is installed, and honest about what it cannot see.
//!
//! Words are split and their quotes removed; `&&`, `||`, `;`, `|`, newlines and groups part commands. What
//! only the running shell knows (its variables, substitutions) leaves a word unknown. A command that may not
//! run, or whose failure is caught, is not certain.

use std::collections::BTreeSet;

use super::command::{Command, Glued, Word, assignment};
use super::expand::{self, Expanded, Variables};
use super::text::Text;
use super::wrappers::strip_wrappers;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(Word),
    /// `&&`, `||`, `;`, `|`, `&`, `(`, `)`, and a newline as `;`.
    Operator(&'static str, usize),
    /// `>`, `>>`, `<`, …: the next word is a file; true where it is written.
    Redirect(bool),
    /// `>` or `<` alone, right behind a word.
    Glued(char),
    Heredoc,
}

/// The commands of a script; variables that the script itself sets are unknown to it.
pub(crate) fn commands(script: &Text, variables: &Variables) -> Vec<Command> {
    let own = assigned(&script.text);
    let tokens = Lexer { script, variables, own: &own, bytes: script.text.as_bytes(), at: 0 }.tokens();
    let mut commands = Structure::default().read(tokens);
    for command in &mut commands {
        strip_wrappers(command);
    }
    commands
}

/// Names that a script may give a value: `X=`, `for x in`, `read x`.
fn assigned(script: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let is_name = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let mut before = "";
    for word in script.split(|letter: char| letter.is_whitespace() || ";&|(){}\"".contains(letter)) {
        if let Some((name, _)) = word.split_once('=').filter(|(name, _)| is_name(name)) {
            names.insert(name);
        }
        if matches!(before, "for" | "read" | "mapfile" | "getopts" | "select") && is_name(word) {
            names.insert(word);
        }
        if !word.is_empty() {
            before = word;
        }
    }
    names
}

struct Lexer<'s> {
    script: &'s Text,
    variables: &'s Variables,
    own: &'s BTreeSet<&'s str>,
    bytes: &'s [u8],
    at: usize,
}

impl Lexer<'_> {
    fn tokens(mut self) -> Vec<Token> {
        let mut tokens = Vec::new();
        while let Some(&byte) = self.bytes.get(self.at) {
            let line = self.script.line_at(self.at);
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if self.bytes.get(self.at + 1) == Some(&b'\n') => self.at += 2,
                b'#' => self.skip_comment(),
                b'\n' | b';' => {
                    self.at += 1;
                    tokens.push(Token::Operator(";", line));
                }
                b'(' | b')' => {
                    self.at += 1;
                    tokens.push(Token::Operator(if byte == b'(' { "(" } else { ")" }, line));
                }
                b'&' | b'|' => tokens.extend(self.operator(line)),
                b'<' | b'>' => {
                    let glued = self.glued(&tokens);
                    tokens.push(glued.unwrap_or_else(|| self.redirect()));
                }
                _ => {
                    if let Some(token) = self.descriptor() {
                        tokens.push(token);
                    } else {
                        tokens.push(Token::Word(self.word(line)));
                    }
                }
            }
        }
        tokens
    }

    fn rest(&self) -> &str {
        self.script.text.get(self.at..).unwrap_or_default()
    }

    fn skip_comment(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    fn operator(&mut self, line: usize) -> Vec<Token> {
        for (text, operator) in [("&&", "&&"), ("||", "||"), ("|&", "|")] {
            if self.rest().starts_with(text) {
                self.at += 2;
                return vec![Token::Operator(operator, line)];
            }
        }
        if self.rest().starts_with("&>") {
            self.at += if self.rest().starts_with("&>>") { 3 } else { 2 };
            return vec![Token::Redirect(true)];
        }
        self.at += 1;
        let text = if self.bytes.get(self.at - 1) == Some(&b'|') { "|" } else { "&" };
        vec![Token::Operator(text, line)]
    }

    fn redirect(&mut self) -> Token {
        let rest = self.rest();
        let here = rest.starts_with("<<") && !rest.starts_with("<<<");
        let length = rest.find(|letter: char| !"<>&|-".contains(letter)).unwrap_or(rest.len());
        let writes = rest.starts_with('>');
        if here {
            // The end word: quoted or not, it is no word of the command.
            let word = rest[2..].trim_start_matches('-').trim_start_matches([' ', '\t']);
            let end = word
                .find(|letter: char| letter.is_whitespace() || ";|&<>()".contains(letter))
                .unwrap_or(word.len());
            self.at += rest.len() - word.len() + end;
            return Token::Heredoc;
        }
        self.at += length;
        Token::Redirect(writes)
    }

    /// `<` or `>` right behind a word, and right before one.
    fn glued(&mut self, before: &[Token]) -> Option<Token> {
        let behind =
            matches!(before.last(), Some(Token::Word(_))) && !self.bytes[self.at - 1].is_ascii_whitespace();
        let mut letters = self.rest().chars();
        let (sign, next) = (letters.next()?, letters.next()?);
        if !behind || next.is_whitespace() || "<>&|-()".contains(next) {
            return None;
        }
        self.at += 1;
        Some(Token::Glued(sign))
    }

    /// `2>`, `2>&1`: a number that belongs to a redirection.
    fn descriptor(&mut self) -> Option<Token> {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let operator = rest[digits..].chars().next()?;
        if digits == 0 || !matches!(operator, '<' | '>') {
            return None;
        }
        self.at += digits;
        Some(self.redirect())
    }

    fn word(&mut self, line: usize) -> Word {
        let mut word = Word { known: true, line, ..Word::default() };
        while let Some(letter) = self.rest().chars().next() {
            match letter {
                ' ' | '\t' | '\n' | '\r' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' => self.single(&mut word),
                '"' => self.double(&mut word),
                '\\' => {
                    self.at += 1;
                    match self.rest().chars().next() {
                        Some('\n') => self.at += 1,
                        Some(escaped) => {
                            word.text.push(escaped);
                            word.quoted = true;
                            self.at += escaped.len_utf8();
                        }
                        None => word.text.push('\\'),
                    }
                }
                '$' | '`' => self.substitution(&mut word),
                _ => {
                    word.text.push(letter);
                    self.at += letter.len_utf8();
                }
            }
        }
        word
    }

    fn single(&mut self, word: &mut Word) {
        word.quoted = true;
        let rest = &self.rest()[1..];
        let end = rest.find('\'').unwrap_or(rest.len());
        word.text.push_str(&rest[..end]);
        let skipped = (end + 2).min(rest.len() + 1);
        self.at += skipped;
    }

    fn double(&mut self, word: &mut Word) {
        word.quoted = true;
        self.at += 1;
        while let Some(letter) = self.rest().chars().next() {
            match letter {
                '"' => {
                    self.at += 1;
                    return;
                }
                '\\' => {
                    let next = self.rest()[1..].chars().next();
                    match next {
                        Some(escaped @ ('"' | '\\' | '$' | '`')) => word.text.push(escaped),
                        Some('\n') => {}
                        Some(other) => {
                            word.text.push('\\');
                            word.text.push(other);
                        }
                        None => {}
                    }
                    self.at += 1 + next.map_or(0, char::len_utf8);
                }
                '$' | '`' => self.substitution(word),
                _ => {
                    word.text.push(letter);
                    self.at += letter.len_utf8();
                }
            }
        }
    }

    /// A variable or a command substitution.
    fn substitution(&mut self, word: &mut Word) {
        let rest = self.rest();
        let nested = if rest.starts_with("$(") {
            Some(parenthesis(&rest[1..]) + 1)
        } else {
            rest.strip_prefix('`').map(|body| body.find('`').map_or(rest.len(), |end| end + 2))
        };
        if let Some(length) = nested {
            word.text.push_str(&rest[..length]);
            word.known = false;
            self.at += length;
            return;
        }
        let (reference, length) = expand::reference(rest);
        let written = &rest[..length];
        match reference {
            Some(reference) if !self.own.contains(reference.name()) => {
                let mut out = Expanded { known: true, ..Expanded::default() };
                out.put(&reference, written, self.variables);
                word.text.push_str(&out.text);
                word.known &= out.known;
                word.default |= out.default;
            }
            _ => {
                word.text.push_str(written);
                word.known &= length == 1;
            }
        }
        self.at += length;
    }
}

/// How long the parenthesis that a text begins with is, quotes respected.
fn parenthesis(text: &str) -> usize {
    let (mut depth, mut quote) = (0, None);
    for (offset, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth -= 1;
                if depth == 0 {
                    return offset + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// Commands out of tokens: what is certain to run, and to matter.
#[derive(Default)]
struct Structure {
    done: Vec<Command>,
    now: Command,
    /// Inside of how many `if`, `for`, `case`, groups, …
    depth: usize,
    /// Where the list of `&&` and `||` that is being read begins in `done`.
    list: usize,
    /// A test stands before in this list: what follows may not run.
    tested: bool,
    piped: bool,
    heredocs: usize,
    file: Option<bool>,
    glued: Option<char>,
    /// What is open, from outside.
    open: Vec<Open>,
    /// How many of these are loops.
    loops: usize,
    /// The operator before what is being read.
    last: &'static str,
    /// The array whose words are being read, and those of the line.
    array: Option<String>,
    items: Vec<Word>,
}

/// What commands may be inside of.
#[derive(PartialEq, Eq)]
enum Open {
    Loop,
    Case,
    Parenthesis,
    Other,
}

/// Words that open something whose commands may not run.
const OPENING: &[&str] = &["if", "for", "while", "until", "case", "select", "function"];
const CLOSING: &[&str] = &["fi", "done", "esac"];
const BETWEEN: &[&str] = &["then", "else", "elif", "do", "{", "}", "!"];
/// Programs that are asked for their answer.
const TESTS: &[&str] = &["[", "[[", "test", "grep", "egrep", "command", "which", "type", "hash", "false"];

impl Structure {
    fn read(mut self, tokens: Vec<Token>) -> Vec<Command> {
        for token in tokens {
            match token {
                Token::Word(word) => self.word(word),
                Token::Redirect(writes) => self.file = Some(writes),
                Token::Glued(sign) => (self.file, self.glued) = (Some(sign == '>'), Some(sign)),
                Token::Heredoc => {
                    self.now.heredoc = Some(self.heredocs);
                    self.heredocs += 1;
                }
                Token::Operator(operator, _) => self.operator(operator),
            }
        }
        self.end();
        self.done
    }

    fn word(&mut self, word: Word) {
        if let Some(writes) = self.file.take() {
            if let (Some(sign), Some(before)) = (self.glued.take(), self.now.words.last()) {
                self.now.glued.push(Glued { word: before.text.clone(), sign, file: word.clone() });
            }
            if writes {
                self.now.writes.push(word);
            }
            return;
        }
        if self.array.is_some() {
            self.items.push(word.clone());
        }
        if self.now.words.is_empty() && !word.quoted {
            let text = word.text.as_str();
            if OPENING.contains(&text) {
                self.depth += 1;
                let is_loop = matches!(text, "for" | "while" | "until" | "select");
                self.open.push(match text {
                    "case" => Open::Case,
                    _ if is_loop => Open::Loop,
                    _ => Open::Other,
                });
                self.loops += usize::from(is_loop);
                self.now.condition = matches!(text, "if" | "while" | "until");
                // `for x in …`, `case x in`: what follows up to the separator is no command.
                if !matches!(text, "if" | "while" | "until") {
                    self.now.words.push(Word { known: false, ..word });
                }
                return;
            }
            if CLOSING.contains(&text) {
                self.depth = self.depth.saturating_sub(1);
                self.loops -= usize::from(self.open.pop() == Some(Open::Loop));
                return;
            }
            if BETWEEN.contains(&text) {
                self.tested |= text == "!";
                self.now.condition |= matches!(text, "elif" | "!");
                return;
            }
        }
        if self.now.words.is_empty()
            && let Some((name, rest)) = assignment(&word)
        {
            self.now.line = if self.now.line == 0 { word.line } else { self.now.line };
            self.now.sets.push((name, rest));
            return;
        }
        if self.now.line == 0 || (self.now.words.is_empty() && self.now.sets.is_empty()) {
            self.now.line = word.line;
        }
        self.now.words.push(word);
    }

    fn operator(&mut self, operator: &'static str) {
        // The line goes on behind `&&`, `||` and `|`.
        if operator == ";" && self.is_empty() && matches!(self.last, "&&" | "||" | "|") {
            return;
        }
        self.last = operator;
        let test = TESTS.contains(&self.now.program());
        let before = self.done.len();
        let opens = (operator == "(").then(|| self.array_name()).flatten();
        self.end();
        if matches!(operator, "(" | ")") {
            (self.array, self.items) = (opens, Vec::new());
        }
        if let Some(command) = self.done.get_mut(before) {
            command.after = operator;
        }
        match operator {
            "&&" => self.tested |= test,
            "||" => {
                for command in &mut self.done[self.list..] {
                    command.certain = false;
                }
                self.tested = true;
            }
            "|" => self.piped = true,
            "(" => {
                self.depth += 1;
                self.open.push(Open::Parenthesis);
            }
            // It ends the pattern of an arm.
            ")" if self.open.last() == Some(&Open::Case) => {}
            ")" => {
                self.depth = self.depth.saturating_sub(1);
                self.open.pop_if(|open| *open == Open::Parenthesis);
            }
            _ => {
                self.list = self.done.len();
                self.tested = false;
            }
        }
    }

    /// The array that begins behind `NAME=` and `NAME+=`.
    fn array_name(&self) -> Option<String> {
        let name = match (self.now.words.last(), self.now.sets.last()) {
            (Some(word), _) => word.text.strip_suffix('=').filter(|_| !word.quoted)?,
            (None, Some((name, value))) if value.text.is_empty() && !value.quoted => name,
            _ => return None,
        };
        Some(name.strip_suffix('+').unwrap_or(name).to_owned())
    }

    fn is_empty(&self) -> bool {
        self.now.words.is_empty() && self.now.sets.is_empty() && self.now.heredoc.is_none()
    }

    fn end(&mut self) {
        let mut command = std::mem::take(&mut self.now);
        (self.file, self.glued) = (None, None);
        command.piped = std::mem::take(&mut self.piped);
        command.certain = self.depth == 0 && !self.tested;
        command.loops = self.loops;
        if let Some(name) = self.array.as_ref().filter(|_| !self.items.is_empty()) {
            command.array = Some((name.clone(), std::mem::take(&mut self.items)));
        }
        if !command.words.is_empty() || !command.sets.is_empty() || command.heredoc.is_some() {
            self.done.push(command);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::expand::Value;
    use super::*;

    fn read(script: &str) -> Vec<Command> {
        let mut variables = Variables::default();
        variables.set("V", Value { text: Some("2.6.0".into()), default: true });
        commands(&Text::lines(script, 1), &variables)
    }

    fn texts(script: &str) -> Vec<String> {
        read(script).iter().map(|command| command.text()).collect()
    }

    #[test]
    fn commands_and_words() {
        assert_eq!(
            texts("apt-get update && apt-get install -y 'a b' | tee x; c"),
            ["apt-get update", "apt-get install -y a b", "tee x", "c"]
        );
        assert_eq!(
            texts("pip install \"torch==$V\" torch==${V} # no\nx"),
            ["pip install torch==2.6.0 torch==2.6.0", "x"]
        );
        assert_eq!(
            texts("echo \"a \\\" $(date +\"%s )\") b\" 2>&1 >/dev/null c"),
            ["echo a \" $(date +\"%s )\") b c"]
        );
        assert_eq!(texts("if [ -f x ]; then a; else b; fi; c"), ["[ -f x ]", "a", "b", "c"]);
        assert_eq!(texts("sudo -u me env A=1 pip install x"), ["pip install x"]);
        assert_eq!(texts("cat <<EOF > /x && b"), ["cat", "b"]);
    }

    #[test]
    fn what_the_shell_alone_knows_is_unknown() {
        let commands = read("X=1; pip install a==$X b==$Y c==$V d==$(e)");
        let known: Vec<bool> = commands[1].words[2..].iter().map(|word| word.known).collect();
        assert_eq!(known, [false, false, true, false]);
        assert!(commands[1].words[4].default);
        assert_eq!(commands[0].sets[0].0, "X");
    }

    #[test]
    fn certain() {
        let certain = |script: &str| -> Vec<bool> { read(script).iter().map(|c| c.certain).collect() };
        assert_eq!(certain("a && b"), [true, true]);
        assert_eq!(certain("a || b"), [false, false]);
        assert_eq!(certain("[ -f x ] && b; c"), [true, false, true]);
        assert_eq!(certain("if a; then b; fi; c"), [false, false, true]);
        assert_eq!(certain("(a && b); c"), [false, false, true]);
        assert_eq!(certain("for x in 1 2; do a; done && c"), [false, false, true]);
        assert_eq!(certain("case $a in b) c;; (d) e;; esac; f"), [false, false, false, false, true]);
        assert_eq!(certain("if a; then case b in c) d; esac; e; fi; f")[3..], [false, true]);
        assert_eq!(certain("a; b || true; c"), [true, false, false, true]);
    }

    #[test]
    fn sets_and_writes() {
        let commands = read("A=1 B=\"x y\" pip install z > /log; export C=3 && d");
        assert_eq!(commands[0].sets.len(), 2);
        assert_eq!(commands[0].writes[0].text, "/log");
        assert_eq!(commands[1].sets[0].1.text, "3");
        assert!(commands[1].words.is_empty());
    }

    #[test]
    fn redirections_right_behind_a_word() {
        let glued = |script: &str| -> Vec<String> {
            let commands = read(script).into_iter();
            commands
                .flat_map(|one| one.glued)
                .map(|one| format!("{} {} {}", one.word, one.sign, one.file.text))
                .collect()
        };
        assert_eq!(glued("pip install numpy<2 'a<3' \"b>1\" torch>=2.4"), ["numpy < 2", "torch > =2.4"]);
        assert_eq!(glued("a > b 2>c >&2 d>>e f >g; cat<<EOF h>&1"), [""; 0]);
    }

    #[test]
    fn lines_are_kept() {
        let mut text = Text::default();
        text.push(3, "apt-get update && ");
        text.push(5, "  pip install x");
        let commands = commands(&text, &Variables::default());
        assert_eq!((commands[0].line, commands[1].line), (3, 5));
    }

    #[test]
    fn nothing_breaks_it() {
        for script in
            ["'", "\"", "$(", "`", "\\", "a >", "<<", "((", "fi", "&& ||", "${", "é'ü", "2>", "a=\"$"]
        {
            read(script);
        }
    }
}
