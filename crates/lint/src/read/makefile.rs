//! A makefile as GNU make reads it: the variables that it sets, and the lines of its recipes.

use std::collections::{BTreeMap, BTreeSet};

use super::dockerfile::text::Text;

#[derive(Debug, Default)]
pub(crate) struct Makefile {
    /// The names of the variables that it sets, also for one target, in loops and by `define`.
    pub variables: BTreeSet<String>,
    /// The values of its variables.
    pub values: Vec<Text>,
    /// Its recipes, each as the lines that one shell gets, continued lines joined.
    pub recipes: Vec<Vec<Text>>,
    /// Its variables with their values; nothing for a value that the file does not show.
    settings: BTreeMap<String, Option<String>>,
    /// Its rules, in order.
    pub rules: Vec<Rule>,
    /// Whether other makefiles may set more.
    pub includes: bool,
    /// Whether one shell gets a whole recipe.
    pub one_shell: bool,
    /// Lines below a rule that begin with spaces: neither recipe nor anything else that make reads.
    pub spaced: Vec<(usize, String)>,
}

/// A rule: what is made of what.
#[derive(Debug)]
pub(crate) struct Rule {
    /// As written: `build/%.o`.
    pub targets: String,
    pub prerequisites: String,
    /// The place of its recipe.
    pub recipe: usize,
}

/// Rules of a makefile that are followed from what is made.
const RULES_LIMIT: usize = 500;

/// How often references in values are replaced.
const EXPANSIONS_LIMIT: usize = 4;

impl Makefile {
    /// The values of its variables; `given`: those of make's command line, which win.
    fn values_by_name<'m>(&'m self, given: &'m [(String, String)]) -> BTreeMap<&'m str, &'m str> {
        let own = self.settings.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?)));
        own.chain(given.iter().map(|(name, value)| (name.as_str(), value.trim()))).collect()
    }

    /// The recipes of the rules that make certainly runs for its goals, or for its first target; nothing
    /// where a goal has no rule. References to variables are replaced.
    pub(crate) fn recipes_of(&self, goals: &[&str], given: &[(String, String)]) -> Vec<Vec<String>> {
        let values = self.values_by_name(given);
        let expanded = |text: &str| expanded(text, &values);
        let mut plain: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut patterns: Vec<(String, usize)> = Vec::new();
        let mut first = None;
        for (index, rule) in self.rules.iter().enumerate().take(RULES_LIMIT) {
            for target in expanded(&rule.targets).split_whitespace() {
                match target.contains('%') {
                    true => patterns.push((target.to_owned(), index)),
                    false => {
                        if !target.starts_with('.') {
                            first.get_or_insert_with(|| target.to_owned());
                        }
                        plain.entry(target.to_owned()).or_default().push(index);
                    }
                }
            }
        }
        let default = values.get(".DEFAULT_GOAL").map(|goal| (*goal).to_owned()).or(first);
        let mut open: Vec<String> = match goals {
            [] => default.into_iter().collect(),
            goals => goals.iter().map(|goal| (*goal).to_owned()).collect(),
        };
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut used: BTreeSet<usize> = BTreeSet::new();
        while let Some(target) = open.pop() {
            if target.contains('$') || !seen.insert(target.clone()) || seen.len() > RULES_LIMIT {
                continue;
            }
            // Which of several patterns it is depends on the files that there are.
            let mut fitting = patterns.iter().filter(|(pattern, _)| fits(pattern, &target));
            let pattern = fitting.next().filter(|_| fitting.next().is_none()).map(|(_, index)| vec![*index]);
            for index in plain.get(&target).cloned().or(pattern).unwrap_or_default() {
                if used.insert(index) {
                    let needs = expanded(&self.rules[index].prerequisites);
                    open.extend(needs.split_whitespace().filter(|one| !one.contains('%')).map(str::to_owned));
                }
            }
        }
        let recipes = used.into_iter().filter_map(|index| self.recipes.get(self.rules[index].recipe));
        recipes.map(|recipe| recipe.iter().map(|line| expanded(&line.text)).collect()).collect()
    }

    pub(crate) fn read(text: &str) -> Makefile {
        let mut reader = Reader { prefix: '\t', ..Reader::default() };
        // nmake takes recipes with spaces, and has directives of its own.
        if text.lines().any(|line| line.starts_with('!')) {
            return reader.file;
        }
        for line in logical(text) {
            reader.line(&line);
        }
        reader.file
    }

    /// What one shell gets at a time: each line of a recipe, or all of them.
    pub(crate) fn shells(&self) -> Vec<&[Text]> {
        let recipes = self.recipes.iter();
        match self.one_shell {
            true => recipes.map(Vec::as_slice).collect(),
            false => recipes.flat_map(|recipe| recipe.chunks(1)).collect(),
        }
    }
}

#[derive(Default)]
struct Reader {
    file: Makefile,
    prefix: char,
    /// Whether the last line that counts was a rule or its recipe.
    in_rule: bool,
    /// How many `define` are open.
    defines: usize,
}

/// Lines with those that a backslash continues.
fn logical(text: &str) -> Vec<Text> {
    let mut found: Vec<Text> = Vec::new();
    let mut continued = false;
    for (index, line) in text.lines().enumerate() {
        if !continued {
            found.push(Text::default());
        }
        let part = line.strip_suffix('\\');
        if let Some(last) = found.last_mut() {
            last.push(index + 1, part.unwrap_or(line));
            if part.is_some() {
                last.push(index + 1, " ");
            }
        }
        continued = part.is_some();
    }
    found
}

impl Reader {
    fn line(&mut self, line: &Text) {
        let text = line.text.as_str();
        let trimmed = text.trim();
        let word = trimmed.split(|letter: char| letter.is_whitespace() || letter == '(').next();
        let word = word.unwrap_or_default();
        if self.defines > 0 {
            match word {
                "define" => self.defines += 1,
                "endef" => self.defines -= 1,
                _ => {}
            }
            return;
        }
        if self.in_rule && text.starts_with(self.prefix) {
            if let Some(open) = self.file.recipes.last_mut() {
                open.push(line.after(self.prefix.len_utf8()));
            }
            return;
        }
        if trimmed.is_empty() || trimmed.starts_with('#') {
            return;
        }
        match word {
            "ifeq" | "ifneq" | "ifdef" | "ifndef" | "else" | "endif" => return,
            "include" | "-include" | "sinclude" => {
                self.file.includes = true;
                self.in_rule = false;
                return;
            }
            _ => {}
        }
        self.statement(line, without_modifiers(trimmed));
    }

    /// A definition, an assignment or a rule.
    fn statement(&mut self, line: &Text, rest: &str) {
        if let Some(name) = rest.strip_prefix("define ") {
            self.set(name.trim_end_matches([':', '=', '?', '+', ' ']));
            self.defines = 1;
            self.in_rule = false;
            return;
        }
        if let Some((name, value)) = assignment(rest) {
            if name == ".RECIPEPREFIX" {
                self.prefix = value.trim().chars().next().unwrap_or('\t');
            }
            self.set(name);
            self.value(line, value);
            let before = &rest[..rest.len() - value.len()];
            self.assign(name, before, value.split(" #").next().unwrap_or_default().trim());
            self.in_rule = false;
            return;
        }
        self.rule(line, rest);
    }

    fn rule(&mut self, line: &Text, rest: &str) {
        let Some(colon) = outside(rest, ':') else {
            let generated = rest.starts_with("$(") || rest.starts_with("${");
            if self.in_rule && self.prefix == '\t' && line.text.starts_with(' ') && !generated {
                self.file.spaced.push((line.line_at(0), rest.to_owned()));
            }
            return;
        };
        if rest[..colon].trim() == ".ONESHELL" {
            self.file.one_shell = true;
        }
        self.in_rule = true;
        self.file.recipes.push(Vec::new());
        let behind = rest[colon..].trim_start_matches(':');
        if let Some((name, value)) = assignment(without_modifiers(behind.trim())) {
            self.set(name);
            self.value(line, value);
            return;
        }
        let inline = outside(behind, ';');
        self.file.rules.push(Rule {
            targets: rest[..colon].trim().to_owned(),
            prerequisites: behind[..inline.unwrap_or(behind.len())].replace('|', " "),
            recipe: self.file.recipes.len() - usize::from(inline.is_none()),
        });
        if let Some(at) = inline {
            let offset =
                line.text.len() - line.text.trim_start().len() + (rest.len() - behind.len()) + at + 1;
            let recipe = line.after(offset.min(line.text.len()));
            self.file.recipes.extend([vec![recipe], Vec::new()]);
        }
    }

    /// Gives a variable its value; `before`: the assignment up to the value, as in `NAME +=`.
    fn assign(&mut self, name: &str, before: &str, value: &str) {
        let settings = &mut self.file.settings;
        if before.ends_with("!=") {
            // What the command prints.
            settings.insert(name.to_owned(), None);
        } else if before.ends_with("?=") {
            settings.entry(name.to_owned()).or_insert_with(|| Some(value.to_owned()));
        } else if before.ends_with("+=")
            && let Some(own) = settings.get_mut(name)
        {
            let joined = own.take().map(|own| format!("{own} {value}"));
            *own = joined.filter(|text| text.len() < VALUE_LIMIT_BYTES);
        } else {
            settings.insert(name.to_owned(), Some(value.to_owned()));
        }
    }

    fn set(&mut self, name: &str) {
        self.file.variables.insert(name.trim().to_owned());
    }

    fn value(&mut self, line: &Text, value: &str) {
        let value = value.split(" #").next().unwrap_or_default();
        if let Some(at) = line.text.find(value).filter(|_| !value.trim().is_empty()) {
            let mut of = line.after(at);
            of.text.truncate(value.len());
            self.file.values.push(of);
        }
    }
}

/// Whether a name has the form of a pattern: `build/a.o` that of `build/%.o`.
fn fits(pattern: &str, name: &str) -> bool {
    let (start, end) = pattern.split_once('%').unwrap_or((pattern, ""));
    name.len() > start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
}

/// A text whose `$(NAME)` and `${NAME}` are replaced as far as the values are known.
fn expanded(text: &str, values: &BTreeMap<&str, &str>) -> String {
    let mut whole = text.to_owned();
    for _ in 0..EXPANSIONS_LIMIT {
        let mut next = String::new();
        let mut rest = whole.as_str();
        let mut changed = false;
        while let Some(at) = rest.find('$') {
            next.push_str(&rest[..at]);
            let behind = &rest[at + 1..];
            // `$$(X)` is `$(X)` of the shell.
            if let Some(after) = behind.strip_prefix('$') {
                next.push_str("$$");
                rest = after;
                continue;
            }
            let close = if behind.starts_with('(') { b')' } else { b'}' };
            let open = behind.starts_with(['(', '{']);
            let end = behind.bytes().take(NAME_LIMIT_BYTES).position(|byte| byte == close);
            let inner = end.filter(|_| open).map(|end| (&behind[1..end], &behind[end + 1..]));
            match inner.and_then(|(name, after)| Some((values.get(name)?, after))) {
                Some((value, after)) if next.len() < VALUE_LIMIT_BYTES => {
                    next.push_str(value);
                    rest = after;
                    changed = true;
                }
                _ => {
                    next.push('$');
                    rest = behind;
                }
            }
        }
        next.push_str(rest);
        whole = next;
        if !changed {
            break;
        }
    }
    whole
}

/// The longest name of a variable that is looked for.
const NAME_LIMIT_BYTES: usize = 200;

/// Longer texts are not made longer by values.
const VALUE_LIMIT_BYTES: usize = 10_000;

/// What is behind `export`, `override` and `private`.
fn without_modifiers(text: &str) -> &str {
    let mut rest = text;
    while let Some(behind) =
        ["export ", "override ", "private "].iter().find_map(|one| rest.strip_prefix(one))
    {
        rest = behind.trim_start();
    }
    rest
}

/// Name and value of `NAME = value`, `NAME := value` and the like.
fn assignment(text: &str) -> Option<(&str, &str)> {
    let at = outside(text, '=')?;
    let name = text[..at].trim_end_matches([':', '?', '+', '!']).trim();
    let plain = !name.is_empty() && !name.contains(char::is_whitespace) && outside(name, ':').is_none();
    plain.then(|| (name, &text[at + 1..]))
}

/// The first place of a sign outside of references such as `$(NAME)`.
fn outside(text: &str, sign: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            letter if letter == sign && depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// A reference of make in a text: what follows a `$` that is not doubled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reference {
    /// `$(…)` or `${…}`: what is inside.
    Long(String),
    /// `$x`: the letter, and the letters of a word that follow it.
    Short(char, String),
}

/// The references of a text with their places, those inside of others too.
pub(crate) fn references(text: &str) -> Vec<(usize, Reference)> {
    let mut found = Vec::new();
    collect(text, 0, 0, &mut found);
    found
}

/// References inside of each other that are followed.
const NESTED_LIMIT: usize = 20;

fn collect(text: &str, base: usize, depth: usize, found: &mut Vec<(usize, Reference)>) {
    let mut at = 0;
    while let Some(offset) = text[at..].find('$') {
        let dollar = at + offset;
        let mut letters = text[dollar + 1..].chars();
        let Some(next) = letters.next() else { return };
        at = dollar + 1 + next.len_utf8();
        match next {
            '(' | '{' => {
                let end = closing(&text[at..], next).map_or(text.len(), |end| at + end);
                let inner = &text[at..end];
                found.push((base + dollar, Reference::Long(inner.to_owned())));
                if depth < NESTED_LIMIT {
                    collect(inner, base + at, depth + 1, found);
                }
                at = end;
            }
            _ => {
                let rest = &text[at..];
                let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
                let word = &rest[..end.unwrap_or(rest.len())];
                if next != '$' && depth == 0 {
                    found.push((base + dollar, Reference::Short(next, word.to_owned())));
                }
            }
        }
    }
}

/// The end of what an opening bracket before the text begins.
fn closing(text: &str, open: char) -> Option<usize> {
    let close = if open == '(' { ')' } else { '}' };
    let mut depth = 1_usize;
    for (at, letter) in text.char_indices() {
        if letter == open {
            depth += 1;
        } else if letter == close {
            depth -= 1;
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(recipes: &[Vec<Text>]) -> Vec<Vec<&str>> {
        let all = recipes.iter().filter(|recipe| !recipe.is_empty());
        all.map(|recipe| recipe.iter().map(|line| line.text.as_str()).collect()).collect()
    }

    #[test]
    fn recipes_of_goals() {
        let read = Makefile::read(
            "CC := gcc\nOUT = bin\n.PHONY: all\nall: $(OUT)/a docs\n$(OUT)/a: a.o | dirs\n\t$(CC) -o $@ \
             $^\n%.o: %.c\n\t${CC} -c $<\nb/%.o: %.x\n\ty\ndirs: ; mkdir $(OUT)\nclean:\n\trm -r $(OUT)\n",
        );
        let of = |goals: &[&str], given: &[(String, String)]| read.recipes_of(goals, given).concat();
        assert_eq!(of(&[], &[]), ["gcc -o $@ $^", "gcc -c $<", " mkdir bin"]);
        assert_eq!(of(&["clean"], &[("OUT".to_owned(), "x".to_owned())]), ["rm -r x"]);
        assert!(of(&["b/c.o"], &[]).is_empty() && of(&["none"], &[]).is_empty());
    }

    #[test]
    fn values_of_variables() {
        let recipe = |text: &str| {
            let read = Makefile::read(&format!("{text}\na:\n\techo $(A) $$(A) $${{A}}\n"));
            read.recipes_of(&[], &[]).concat().concat()
        };
        assert_eq!(recipe("A = b"), "echo b $$(A) $${A}");
        assert_eq!(recipe("A = b\nA ?= c"), "echo b $$(A) $${A}");
        assert_eq!(recipe("A ?= c # d"), "echo c $$(A) $${A}");
        assert_eq!(recipe("A := b\nA += c\nA += d"), "echo b c d $$(A) $${A}");
        assert_eq!(recipe("A += c"), "echo c $$(A) $${A}");
        assert_eq!(recipe("A = b\nA != date"), "echo $(A) $$(A) $${A}");
        assert_eq!(recipe("A != date\nA += c"), "echo $(A) $$(A) $${A}");
    }

    #[test]
    fn rules_and_variables() {
        let read = Makefile::read(
            "A ?= b # c\nexport B := $(shell x = y)\ndefine C\n\t$1\nendef\nall: A = 1\nall: x y\n\t@echo \
             \\\n\t  \
             a\nifeq ($(A),b)\n\tb\nendif\n\nc: ; d e\nz:\n    echo no\n",
        );
        let names: Vec<&str> = read.variables.iter().map(String::as_str).collect();
        assert_eq!(names, ["A", "B", "C"]);
        assert_eq!(texts(&read.recipes), [vec!["@echo  \t  a", "b"], vec![" d e"]]);
        assert_eq!(read.recipes.iter().flatten().next().map(|one| one.line_at(8)), Some(9));
        assert_eq!(read.spaced, [(16, "echo no".to_owned())]);
        assert_eq!(
            read.values.iter().map(|one| one.text.trim()).collect::<Vec<_>>(),
            ["b", "$(shell x = y)", "1"]
        );
    }

    #[test]
    fn other_prefixes() {
        let read = Makefile::read(".RECIPEPREFIX = >\n.ONESHELL:\na:\n> b\n> c\n");
        assert_eq!((texts(&read.recipes), read.one_shell), (vec![vec![" b", " c"]], true));
        assert!(Makefile::read("!include a\na:\n    b\n").spaced.is_empty());
    }

    #[test]
    fn what_make_expands() {
        let long = |text: &str| Reference::Long(text.into());
        assert_eq!(
            references("$$a $b_c $(d $(e)) $@"),
            [
                (4, Reference::Short('b', "_c".into())),
                (9, long("d $(e)")),
                (13, long("e")),
                (19, Reference::Short('@', String::new()))
            ]
        );
    }
}
