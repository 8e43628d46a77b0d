//! The stages of a Dockerfile, each followed from its base to its end.

use catalog::Catalog;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::command::{Command, Word};
use super::expand::{Expanded, Value, Variables, expand};
use super::install::{self, Install};
use super::instructions::{Instruction, parse};
use super::state::State;
use super::text::Text;
use super::{copied, listed, shell};
use crate::base::Base;
use crate::file::{Context, Over};
use catalog::images::Existence;

/// A whole Dockerfile.
#[derive(Debug)]
pub(crate) struct Dockerfile {
    pub catalog: &'static Catalog,
    /// Its instructions, those before the first FROM included.
    pub instructions: Vec<Instruction>,
    pub stages: Vec<Stage>,
    /// Comments: line, and text after the `#`.
    pub comments: Vec<(usize, String)>,
    /// What it copies from the build context, where that is a plain path.
    pub copies: BTreeSet<String>,
    /// Files of the build context whose text would tell more.
    pub wants: BTreeSet<String>,
    pub context: Context,
    /// Manifests and batch scripts next to it that say on which GPUs its image runs.
    pub near: Vec<Over>,
}

/// What a stage begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum From {
    /// An earlier stage, by its place.
    Stage(usize),
    Image(Expanded),
    Scratch,
}

#[derive(Debug)]
pub(crate) struct Stage {
    /// The line of its FROM.
    pub line: usize,
    /// Its name, in small letters.
    pub name: Option<String>,
    pub from: From,
    /// Its instructions without FROM.
    pub instructions: Vec<Instruction>,
    /// The commands of its RUN instructions, in order.
    pub runs: Vec<Run>,
    /// What holds at its end.
    pub end: Rc<State>,
    /// The first WORKDIR that makes a path which is too long for Linux; those behind it are not followed.
    pub too_long_path: Option<usize>,
}

/// One command, and what held before it.
#[derive(Debug)]
pub(crate) struct Run {
    /// The place of the RUN in the stage's instructions.
    pub instruction: usize,
    pub command: Command,
    /// What held before it.
    pub state: Rc<State>,
    /// The command as an installation of Python packages.
    pub install: Option<Install>,
}

impl Stage {
    /// The commands of one of its instructions, which lie next to each other.
    pub(crate) fn commands_of(&self, instruction: usize) -> &[Run] {
        let first = self.runs.partition_point(|run| run.instruction < instruction);
        let count = self.runs[first..].partition_point(|run| run.instruction == instruction);
        &self.runs[first..first + count]
    }

    /// The instructions that have such a command.
    pub(crate) fn instructions_with(&self, has: impl Fn(&Run) -> bool) -> BTreeSet<usize> {
        self.runs.iter().filter(|run| has(run)).map(|run| run.instruction).collect()
    }
}

impl Run {
    /// A variable as the command sees it; `None` where nothing in the file sets it.
    pub(crate) fn variable(&self, name: &str) -> Option<Value> {
        let own = self.command.sets.iter().rev().find(|(known, _)| known == name);
        match own {
            Some((_, word)) => {
                Some(Value { text: word.known.then(|| word.text.clone()), default: word.default })
            }
            None => self.state.variables.get(name).cloned(),
        }
    }

    /// The names of all variables that the command sees.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.state.variables.names().chain(self.command.sets.iter().map(|(name, _)| name.as_str()))
    }
}

impl Dockerfile {
    pub(crate) fn read(catalog: &'static Catalog, text: &str, context: &Context) -> Dockerfile {
        let parsed = parse(text);
        let mut reader = Reader {
            catalog,
            globals: Variables::default(),
            stages: Vec::new(),
            named: HashMap::new(),
            copies: BTreeSet::new(),
            wants: BTreeSet::new(),
        };
        let mut open: Option<Open> = None;
        for instruction in &parsed.instructions {
            match (instruction.keyword.as_str(), &mut open) {
                ("FROM", _) => {
                    reader.close(open.take());
                    open = Some(reader.open(instruction));
                }
                ("ARG", None) => reader.global(instruction),
                (_, Some(open)) => open.follow(instruction, &reader.globals, context),
                (_, None) => {}
            }
        }
        reader.close(open);
        Dockerfile {
            catalog,
            instructions: parsed.instructions,
            stages: reader.stages,
            comments: parsed.comments,
            copies: reader.copies,
            wants: reader.wants,
            context: context.clone(),
            near: Vec::new(),
        }
    }

    /// The stages whose layers are in the image that is built: the last one, and the stages it is built from.
    pub(crate) fn shipped(&self) -> Vec<&Stage> {
        self.stages.last().map_or_else(Vec::new, |last| self.lineage(last))
    }

    /// A stage and the stages it is built from, the one that begins with an image last.
    pub(crate) fn lineage<'f>(&'f self, stage: &'f Stage) -> Vec<&'f Stage> {
        let mut found = vec![stage];
        let mut from = &stage.from;
        while let From::Stage(index) = from {
            let Some(next) = self.stages.get(*index) else { break };
            found.push(next);
            from = &next.from;
        }
        found
    }

    /// The stage that an instruction copies from, which comes before its own: `--from=build`, `--from=0`.
    pub(crate) fn stage_of(&self, copy: &Instruction) -> Option<&Stage> {
        let from = copy.flag("from")?.to_ascii_lowercase();
        let own = self.stages.partition_point(|stage| stage.line < copy.line).checked_sub(1)?;
        let earlier = &self.stages[..own];
        let named = earlier.iter().rev().find(|stage| stage.name.as_deref() == Some(from.as_str()));
        named.or_else(|| earlier.get(from.parse::<usize>().ok()?))
    }

    /// The image that a stage and those before it begin with; `None` for `scratch`.
    pub(crate) fn base<'f>(&'f self, stage: &'f Stage) -> Option<&'f Expanded> {
        match &self.lineage(stage).last()?.from {
            From::Image(image) => Some(image),
            From::Stage(_) | From::Scratch => None,
        }
    }

    /// Every command of every stage, with its stage.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (&Stage, &Run)> {
        self.stages.iter().flat_map(|stage| stage.runs.iter().map(move |run| (stage, run)))
    }

    /// Every installation of Python packages, with its stage and its command.
    pub(crate) fn installs(&self) -> impl Iterator<Item = (&Stage, &Run, &Install)> {
        self.runs().filter_map(|(stage, run)| Some((stage, run, run.install.as_ref()?)))
    }
}

struct Reader {
    catalog: &'static Catalog,
    globals: Variables,
    stages: Vec<Stage>,
    /// The last stage of each name.
    named: HashMap<String, usize>,
    copies: BTreeSet<String>,
    wants: BTreeSet<String>,
}

/// A stage that is being read.
struct Open {
    stage: Stage,
    state: Rc<State>,
    copies: BTreeSet<String>,
    wants: BTreeSet<String>,
}

impl Reader {
    fn global(&mut self, instruction: &Instruction) {
        for (name, value) in pairs(&instruction.text.text) {
            let value = match value {
                Some(text) => {
                    let text = expand(&unquoted(&text), &self.globals);
                    Value { text: text.known.then_some(text.text), default: true }
                }
                None => Value { text: None, default: true },
            };
            self.globals.set(&name, value);
        }
    }

    fn open(&self, instruction: &Instruction) -> Open {
        let words: Vec<&str> = instruction.text.text.split_whitespace().collect();
        let written = words.first().copied().unwrap_or_default();
        let reference = expand(&unquoted(written), &self.globals);
        let name = words.get(1).filter(|word| word.eq_ignore_ascii_case("as")).and(words.get(2));
        let name = name.map(|name| name.to_ascii_lowercase());
        let earlier = self.named.get(&reference.text.to_ascii_lowercase());
        let (from, state) = match earlier.copied().filter(|_| reference.known) {
            Some(index) => {
                // ARGs end with their stage and ENVs do not; which was which no longer matters here.
                (From::Stage(index), (*self.stages[index].end).clone())
            }
            None if reference.text == "scratch" => (From::Scratch, State::empty(self.catalog)),
            None => {
                let image = match self.catalog.images().exists(&reference.text) {
                    Existence::Yes(image) if reference.known => Some(image),
                    _ => None,
                };
                let base = Base::of(&reference.text).filter(|_| reference.known);
                let bare = base.is_some_and(Base::lacks_packages);
                (From::Image(reference), State { bare, ..State::of(self.catalog, image) })
            }
        };
        let state = Rc::new(state);
        let stage = Stage {
            line: instruction.line,
            name,
            from,
            instructions: Vec::new(),
            runs: Vec::new(),
            end: Rc::clone(&state),
            too_long_path: None,
        };
        Open { stage, state, copies: BTreeSet::new(), wants: BTreeSet::new() }
    }

    fn close(&mut self, open: Option<Open>) {
        if let Some(Open { mut stage, state, copies, wants }) = open {
            stage.end = state;
            self.copies.extend(copies);
            self.wants.extend(wants);
            self.named.extend(stage.name.clone().map(|name| (name, self.stages.len())));
            self.stages.push(stage);
        }
    }
}

impl Open {
    fn follow(&mut self, instruction: &Instruction, globals: &Variables, context: &Context) {
        let index = self.stage.instructions.len();
        self.stage.instructions.push(instruction.clone());
        match instruction.keyword.as_str() {
            "ENV" => self.env(instruction),
            "ARG" => self.arg(instruction, globals),
            "RUN" => self.run(instruction, index, context),
            "WORKDIR" => {
                let state = Rc::make_mut(&mut self.state);
                let directory = expand(&unquoted(instruction.text.text.trim()), &state.variables).text;
                if !state.files.enter(&directory) {
                    self.stage.too_long_path.get_or_insert(instruction.line);
                }
            }
            "COPY" | "ADD" => self.copy(instruction),
            "SHELL" => {
                let shell = instruction.json.as_deref().and_then(|words| words.first());
                let usual = shell.is_some_and(|shell| shell.ends_with("bash") || shell.ends_with("/sh"));
                if !usual {
                    Rc::make_mut(&mut self.state).forget();
                }
            }
            _ => {}
        }
    }

    fn env(&mut self, instruction: &Instruction) {
        let state = Rc::make_mut(&mut self.state);
        // The values of one ENV are those of before it.
        let before = state.variables.clone();
        for (name, value) in settings(&instruction.text.text) {
            let text = expand(&unquoted(&value.unwrap_or_default()), &before);
            // What comes behind an unknown variable in PATH still tells what comes first.
            let known = text.known || name == "PATH";
            state.set(&name, Value { text: known.then_some(text.text), default: text.default });
        }
    }

    fn arg(&mut self, instruction: &Instruction, globals: &Variables) {
        let state = Rc::make_mut(&mut self.state);
        for (name, value) in pairs(&instruction.text.text) {
            let value = match value {
                Some(text) => {
                    let text = expand(&unquoted(&text), &state.variables);
                    Value { text: text.known.then_some(text.text), default: true }
                }
                None => globals.get(&name).cloned().unwrap_or(Value { text: None, default: true }),
            };
            // An ENV of the same name hides it.
            if state.variables.get(&name).is_none_or(|known| known.default || known.text.is_none()) {
                state.set(&name, value);
            }
        }
    }

    fn run(&mut self, instruction: &Instruction, index: usize, context: &Context) {
        let variables = self.state.variables.clone();
        let mounted = instruction.flags.iter().any(|flag| {
            flag.starts_with("--mount")
                && (flag.contains("type=secret") || flag.contains("pip.conf") || flag.contains("uv.toml"))
        });
        if mounted {
            Rc::make_mut(&mut self.state).indexes = true;
        }
        let files = self.state.files.clone();
        for flag in &instruction.flags {
            self.mounted(flag);
        }
        let pythons = (self.state.pythons.default.clone(), self.state.pythons.pip.clone());
        let mut activated = false;
        for command in script(instruction, &variables) {
            activated |= matches!(command.program(), "source" | ".") && command.text().ends_with("activate");
            self.command(command, index, context);
        }
        let state = Rc::make_mut(&mut self.state);
        state.variables = variables;
        state.files.leave(files);
        if activated {
            (state.pythons.default, state.pythons.pip) = pythons;
        }
    }

    fn command(&mut self, command: Command, instruction: usize, context: &Context) {
        let mut install = install::install(self.state.catalog, &command, &self.state.pythons);
        if let Some(install) = &mut install {
            listed::read(install, &self.state, context, &mut self.wants);
        }
        let before = Rc::clone(&self.state);
        Rc::make_mut(&mut self.state).ran(&command, install.as_ref());
        self.stage.runs.push(Run { instruction, command, state: before, install });
    }

    fn copy(&mut self, instruction: &Instruction) {
        let mut words: Vec<String> = instruction.words().into_iter().map(str::to_owned).collect();
        let target = words.pop().unwrap_or_default();
        let target = expand(&unquoted(&target), &self.state.variables).text;
        let from = instruction.flag("from").unwrap_or_default();
        let sources: Vec<Expanded> =
            words.iter().map(|word| expand(&unquoted(word), &self.state.variables)).collect();
        let plain = |one: &Expanded| {
            one.known && !one.text.contains(['*', '?', '[', '<']) && !one.text.contains("://")
        };
        let known = from.is_empty() && instruction.heredocs.is_empty() && sources.iter().all(plain);
        let sources: Vec<String> = sources.into_iter().map(|one| one.text).collect();
        if known {
            self.copies.extend(sources.iter().map(|source| copied::join("", source.trim_start_matches('/'))));
        }
        let state = Rc::make_mut(&mut self.state);
        state.files.copy(&sources, &target, known);
        state.copied(from, &words, &target);
    }

    /// `--mount=type=bind,source=requirements.txt,target=requirements.txt`.
    fn mounted(&mut self, flag: &str) {
        let Some(options) = flag.strip_prefix("--mount=") else { return };
        let value = |names: &[&str]| {
            let mut pairs = options.split(',').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| names.contains(name)).map(|(_, value)| value.to_owned())
        };
        let Some(target) = value(&["target", "dst", "destination"]) else { return };
        let bind = value(&["type"]).is_none_or(|kind| kind == "bind") && value(&["from"]).is_none();
        let source = value(&["source", "src"]).unwrap_or_else(|| ".".to_owned());
        let state = Rc::make_mut(&mut self.state);
        let known = bind && !source.contains('$');
        // A cache or a secret hides what was there.
        state.files.copy(&[source], &target, known);
    }
}

/// The commands of a RUN: its shell form, its JSON form, or its here-document; and those inside of `bash -c`.
pub(crate) fn script(instruction: &Instruction, variables: &Variables) -> Vec<Command> {
    if let Some(words) = &instruction.json {
        let word = |text: &String| Word {
            text: text.clone(),
            known: true,
            quoted: true,
            line: instruction.line,
            ..Word::default()
        };
        let words = words.iter().map(word).collect();
        let command = Command { line: instruction.line, words, certain: true, ..Command::default() };
        return opened(command, instruction, variables);
    }
    let commands = shell::commands(&instruction.text, variables);
    commands.into_iter().flat_map(|command| opened(command, instruction, variables)).collect()
}

/// A command, or those that it hands to a shell.
fn opened(command: Command, instruction: &Instruction, variables: &Variables) -> Vec<Command> {
    let shell = matches!(command.program(), "bash" | "sh" | "dash" | "zsh");
    let heredoc = command.heredoc.and_then(|index| instruction.heredocs.get(index));
    let inner = match heredoc {
        Some(heredoc) if command.words.is_empty() || shell => {
            let first = heredoc.text.text.lines().next().unwrap_or_default();
            let other = first.starts_with("#!") && !first.contains("sh");
            if other {
                return vec![command];
            }
            Some(shell::commands(&heredoc.text, variables))
        }
        _ if shell => {
            let option = command.words.iter().position(|word| {
                word.text.starts_with('-') && !word.text.starts_with("--") && word.text.ends_with('c')
            });
            option
                .and_then(|index| command.words.get(index + 1))
                .map(|word| shell::commands(&Text::in_line(&word.text, word.line), variables))
        }
        _ => None,
    };
    match inner {
        Some(mut inner) => {
            for one in &mut inner {
                one.certain &= command.certain;
                one.sets.extend(command.sets.iter().cloned());
            }
            inner
        }
        None => vec![command],
    }
}

/// Names and values of ENV: `A=b C="d e"`, or the old `A b c`.
pub(crate) fn settings(text: &str) -> Vec<(String, Option<String>)> {
    let name = text.split_whitespace().next().unwrap_or_default();
    if name.contains('=') || name.is_empty() {
        return pairs(text);
    }
    let value = text.trim_start().get(name.len()..).unwrap_or_default().trim();
    vec![(name.to_owned(), Some(value.to_owned()))]
}

/// Names and values of ARG and LABEL: `A=b C="d e"`, `A` alone.
pub(crate) fn pairs(text: &str) -> Vec<(String, Option<String>)> {
    let words = quoted_words(text);
    let pair = |word: String| match word.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (word, None),
    };
    words.into_iter().map(pair).collect()
}

/// Words, quotes kept.
fn quoted_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (_, '\\') => {
                word.push(letter);
                word.extend(letters.next());
            }
            (None, _) if letter.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.push(letter);
            }
            (Some(open), _) if open == letter => {
                quote = None;
                word.push(letter);
            }
            _ => word.push(letter),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// A text without its quotes.
pub(crate) fn unquoted(text: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None | Some('"'), '\\') => out.extend(letters.next()),
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::python::Kind;
    use super::*;
    use catalog::testing::catalog;

    fn installs(text: &str) -> Vec<(usize, String, Option<String>, Kind)> {
        let file = Dockerfile::read(catalog(), text, &Context::new());
        let of = |install: &Install| {
            let names = install.requirements.iter().map(|one| one.text.clone()).collect::<Vec<_>>().join(" ");
            (install.line, names, install.python.series.clone(), install.python.kind)
        };
        file.installs().map(|(_, _, install)| of(install)).collect()
    }

    fn series(text: &str) -> Option<String> {
        installs(text).pop().unwrap().2
    }

    #[test]
    fn stages_and_arguments() {
        let file = Dockerfile::read(
            catalog(),
            "ARG V=12.1.1\nARG S\nFROM nvidia/cuda:${V}-base-ubuntu22.04 AS Base\nENV A=1 B=\"x y\"\n\
             ENV OLD one two\nFROM base\nFROM a:$S\nFROM scratch\n",
            &Context::new(),
        );
        assert!(matches!(&file.stages[0].from, From::Image(image) if image.known && image.default));
        assert_eq!(file.stages[0].end.cuda(), Some("12.1.1"));
        assert_eq!(file.stages[1].from, From::Stage(0));
        let text =
            |name: &str| file.stages[1].end.variables.get(name).and_then(|value| value.text.as_deref());
        assert_eq!((text("B"), text("OLD")), (Some("x y"), Some("one two")));
        assert!(matches!(&file.stages[2].from, From::Image(image) if !image.known));
        assert_eq!(file.stages[3].from, From::Scratch);
    }

    #[test]
    fn which_python_is_meant() {
        let jammy = "FROM nvidia/cuda:12.1.1-base-ubuntu22.04\n";
        let cases = [
            ("RUN apt-get install -y python3-pip && pip3 install x\n", Some("3.10")),
            (
                "RUN apt-get install -y python3-pip && python3 -m venv /v\nENV PATH=/v/bin:$PATH\n\
                 RUN pip install x\n",
                Some("3.10"),
            ),
            ("RUN uv venv --python 3.12 /v\nENV VIRTUAL_ENV=/v\nRUN uv pip install x\n", Some("3.12")),
            ("RUN apt-get install -y python3-pip\nENV PATH=/opt/conda/bin:$PATH\nRUN pip install x\n", None),
            ("RUN ./setup.sh\nRUN pip install x\n", None),
            (
                "RUN apt-get install -y python3-pip && update-alternatives --install /usr/bin/python3 \
                 python3 /usr/bin/python3.12 1\nRUN pip3 install x\n",
                Some("3.12"),
            ),
            ("RUN curl -sS https://b/get-pip.py | python3.11\nRUN pip install x\n", Some("3.11")),
        ];
        for (rest, expected) in cases {
            assert_eq!(series(&format!("{jammy}{rest}")).as_deref(), expected, "{rest}");
        }
        assert_eq!(series("FROM python:3.12-slim\nRUN pip install x\n").as_deref(), Some("3.12"));
        let conda = installs("FROM pytorch/pytorch:2.2.1-cuda12.1-cudnn8-devel\nRUN pip install x\n");
        assert_eq!(conda[0].3, Kind::Conda);
    }

    #[test]
    fn shells_inside() {
        let text = "FROM python:3.12\nRUN bash -c 'pip install a && pip install b'\nRUN <<EOF\n\
            pip install c\nEOF\nRUN [\"pip\", \"install\", \"d\"]\nRUN bash <<-'X'\n\tpip install e\n\tX\n";
        let lines: Vec<(usize, String)> = installs(text).into_iter().map(|one| (one.0, one.1)).collect();
        let expected = [(2, "a"), (2, "b"), (4, "c"), (6, "d"), (8, "e")];
        assert_eq!(lines, expected.map(|(line, name)| (line, name.to_owned())));
    }

    #[test]
    fn exports_hold_until_the_end_of_their_run() {
        let file =
            Dockerfile::read(catalog(), "FROM python:3.12\nRUN export A=1 && b\nRUN c\n", &Context::new());
        let of = |index: usize| file.stages[0].runs[index].variable("A").and_then(|value| value.text);
        assert_eq!((of(1).as_deref(), of(2)), (Some("1"), None));
    }
}
