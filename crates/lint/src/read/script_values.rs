//! The commands of a script with what its arrays and variables hold: `"${ARGS[@]}"`, `$ARGS`, `image:$TAG`.
//!
//! Only what the script sets to texts at its top level is put in, outside of functions and loops. An array
//! that grows under a condition keeps its reference behind its words, which says that there may be more.

use std::collections::{BTreeMap, BTreeSet};

use super::assigned;
use super::dockerfile::command::{Command, Word, assignment};
use super::dockerfile::expand::{Value, Variables, expand};
use super::script::{Script, in_functions};

/// The longest text that is put into a script, in bytes, all places together.
const ADDED_LIMIT_BYTES: usize = 256 << 10;
/// Arithmetic commands of a line that are looked at.
const ARITHMETIC_LIMIT: usize = 20;
/// The longest array that is put in, in words.
const WORDS_LIMIT: usize = 500;
/// The longest value of a variable.
const VALUE_LIMIT_BYTES: usize = 8 << 10;

/// The commands of a script with the values of its arrays and variables. The words of an array that is
/// started as a command are no command of their own any more.
pub(crate) fn commands(script: &Script) -> Vec<Command> {
    if script.commands.iter().all(|one| one.words.iter().all(|word| word.known)) {
        return script.commands.clone();
    }
    let in_function = in_functions(&script.text);
    let Names { changed, set, any } = Names::of(script, &in_function);
    if any {
        return script.commands.clone();
    }
    let mut reader = Reader {
        arrays: BTreeMap::new(),
        variables: Variables::default(),
        partial: BTreeMap::new(),
        open: None,
        hooks: BTreeSet::new(),
        started: BTreeSet::new(),
        added_bytes: 0,
        in_function: &in_function,
        changed: &changed,
        set: &set,
    };
    let mut found: Vec<Command> = script.commands.iter().map(|one| reader.command(one)).collect();
    let started = reader.started;
    found.retain(|one| one.array.as_ref().is_none_or(|(name, _)| !started.contains(name)));
    found
}

/// The names that a script gives values.
struct Names {
    /// Those whose value depends on what has run.
    changed: BTreeSet<String>,
    /// How often each is set.
    set: BTreeMap<String, usize>,
    /// Whether a command sets one that only the shell knows: `printf -v "$1"`, `local -n ref=$1`.
    any: bool,
}

impl Names {
    fn of(script: &Script, in_function: &impl Fn(usize) -> bool) -> Names {
        let mut names = Names { changed: BTreeSet::new(), set: BTreeMap::new(), any: false };
        for command in script.commands.iter().filter(|one| one.array.is_none()) {
            let function = in_function(command.line);
            let unsure = !command.certain || command.loops > 0 || function;
            for one in assigned::of_commands(std::slice::from_ref(command)) {
                *names.set.entry(one.name.clone()).or_default() += 1;
                if unsure || one.value.is_none() || !command.words.is_empty() {
                    names.changed.insert(one.name);
                }
            }
            if let Some((name, _)) = appended(command) {
                *names.set.entry(name.to_owned()).or_default() += 1;
                // An array that grows under a condition has the words of before.
                if unsure && (function || command.after != "(") {
                    names.changed.insert(name.to_owned());
                }
            }
            // `A[1]=c`
            let first = command.words.first().map_or("", |word| word.text.as_str());
            let name = name_of(first);
            if !name.is_empty() && first[name.len()..].starts_with('[') {
                names.changed.insert(name.to_owned());
            }
            if let Some(target) = target(command) {
                names.reach(&target.text);
            }
            if matches!(command.program(), "unset" | "getopts" | "let") {
                let words = command.words[1..].iter().map(|word| name_of(&word.text).to_owned());
                names.changed.extend(words.filter(|name| !name.is_empty()));
            }
        }
        // The words of `declare` are not in its command.
        for line in script.text.lines().filter_map(|line| line.trim_start().strip_prefix("declare -n ")) {
            names
                .reach(line.split_once('=').map_or("", |(_, target)| target.trim_start_matches(['"', '\''])));
        }
        // `((STEP += 1))`
        for line in script.text.lines().filter(|line| line.contains("((")) {
            let opened = line.match_indices("((").filter(|(at, _)| !line[..*at].ends_with('$'));
            for (at, _) in opened.take(ARITHMETIC_LIMIT) {
                let inner = line[at..].split("))").next().unwrap_or_default();
                let words = inner.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
                names.changed.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
            }
        }
        names
    }

    /// What may be set by a name that a text contains.
    fn reach(&mut self, text: &str) {
        let name = name_of(text);
        self.any |= name.is_empty();
        self.changed.insert(name.to_owned());
    }
}

/// The variable that a command sets by a name in a word: `printf -v NAME`, `local -n ref=NAME`.
fn target(command: &Command) -> Option<Word> {
    match command.program() {
        "printf" if command.word(1) == "-v" => command.words.get(2).cloned(),
        "local" | "typeset" if command.word(1) == "-n" => {
            command.words[2..].iter().find_map(assignment).map(|(_, word)| word)
        }
        _ => None,
    }
}

/// `NAME+=value` and `NAME+=(`: the name and the value.
fn appended(command: &Command) -> Option<(&str, Word)> {
    let [word] = &command.words[..] else { return None };
    let (name, value) = word.text.split_once("+=")?;
    let value = Word { text: value.to_owned(), ..word.clone() };
    (!name.is_empty() && name_of(name) == name).then_some((name, value))
}

/// The name that a text begins with.
pub(crate) fn name_of(text: &str) -> &str {
    let end =
        text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(text.len());
    &text[..end]
}

/// An array, as far as the script has been read.
#[derive(Debug, Default)]
struct Array {
    words: Vec<Word>,
    /// Whether these are all.
    complete: bool,
}

struct Reader<'r> {
    arrays: BTreeMap<String, Array>,
    variables: Variables,
    /// The words of variables that hold options with values that are not known: `--node_rank $1`.
    partial: BTreeMap<String, Vec<Word>>,
    /// The array whose words come next, and whether it certainly gets them.
    open: Option<(String, bool)>,
    /// Variables that hold what prepares an environment of programs: `__conda_setup`.
    hooks: BTreeSet<String>,
    /// Arrays that are started as a command.
    started: BTreeSet<String>,
    added_bytes: usize,
    in_function: &'r dyn Fn(usize) -> bool,
    changed: &'r BTreeSet<String>,
    set: &'r BTreeMap<String, usize>,
}

impl Reader<'_> {
    fn command(&mut self, command: &Command) -> Command {
        if let Some((name, words)) = &command.array {
            self.grow(name, words);
            return command.clone();
        }
        let function = (self.in_function)(command.line);
        let certain = command.certain && command.loops == 0 && !function;
        let (program, argument) = behind_builtin(command);
        if matches!(program, "source" | ".") && !is_setup(argument) {
            self.forget();
        }
        if command.words.is_empty() {
            self.assign(command, certain);
            return command.clone();
        }
        if let Some((name, value)) = appended(command) {
            self.append(name, &value, command.after == "(", certain);
            return command.clone();
        }
        let mut words = Vec::with_capacity(command.words.len());
        for (at, word) in command.words.iter().enumerate() {
            match self.values(word, at == 0, function) {
                Some(values) if self.fits(&values) => words.extend(values),
                _ => words.push(word.clone()),
            }
        }
        if program == "eval" && !is_hook(argument) && !self.hooks.contains(referenced(argument)) {
            self.forget();
        }
        Command { words, ..command.clone() }
    }

    /// What runs next may have set anything.
    fn forget(&mut self) {
        (self.variables, self.arrays, self.partial) = Default::default();
    }

    fn fits(&mut self, values: &[Word]) -> bool {
        let bytes: usize = values.iter().map(|word| word.text.len() + size_of::<Word>()).sum();
        let fits = self.added_bytes.saturating_add(bytes) <= ADDED_LIMIT_BYTES;
        // Once it does not fit, nothing is tried any more.
        self.added_bytes = if fits { self.added_bytes + bytes } else { usize::MAX };
        fits
    }

    fn assign(&mut self, command: &Command, certain: bool) {
        for (at, (name, word)) in command.sets.iter().enumerate() {
            let known = certain && !self.changed.contains(name);
            match is_hook(&word.text) {
                true => self.hooks.insert(name.clone()),
                false => self.hooks.remove(name),
            };
            if command.after == "(" && at + 1 == command.sets.len() && word.text.is_empty() && !word.quoted {
                self.variables.remove(name);
                self.arrays.remove(name);
                if known {
                    self.arrays.insert(name.clone(), Array { words: Vec::new(), complete: true });
                }
                self.open = known.then(|| (name.clone(), true));
                continue;
            }
            self.arrays.remove(name);
            self.partial.remove(name);
            if let Some(words) = self.options_of(word).filter(|_| known) {
                self.partial.insert(name.clone(), words);
            }
            match self.literal(word, &self.variables).filter(|_| known) {
                Some(text) => self.variables.set(name, Value { text: Some(text), default: false }),
                None => self.variables.remove(name),
            }
        }
    }

    fn append(&mut self, name: &str, value: &Word, array: bool, certain: bool) {
        if array {
            self.open = self.arrays.contains_key(name).then(|| (name.to_owned(), certain));
            if let Some(array) = self.arrays.get_mut(name) {
                array.complete &= certain;
            }
            return;
        }
        self.partial.remove(name);
        let before = self.variables.get(name).and_then(|value| value.text.clone());
        let added = self.literal(value, &self.variables).filter(|_| certain);
        let whole = before.zip(added).map(|(before, added)| before + &added);
        match whole.filter(|text| text.len() <= VALUE_LIMIT_BYTES) {
            Some(text) => self.variables.set(name, Value { text: Some(text), default: false }),
            None => self.variables.remove(name),
        }
    }

    /// Adds the words between the parentheses of an array.
    fn grow(&mut self, name: &str, words: &[Word]) {
        let Some((_, certain)) = self.open.as_ref().filter(|(open, _)| open == name) else { return };
        let certain = *certain;
        let is_option = |word: &Word| word.text.starts_with('-');
        let keyed = words.iter().any(|word| word.text.starts_with('[') && word.text.contains("]="));
        // What comes under a condition may replace an option of before.
        let again = |array: &Array| {
            let known: BTreeSet<&str> = array
                .words
                .iter()
                .filter(|word| is_option(word))
                .map(|word| option_name(&word.text))
                .collect();
            words.iter().any(|word| is_option(word) && known.contains(option_name(&word.text)))
        };
        let long = self.arrays.get(name).map_or(0, |array| array.words.len()) + words.len() > WORDS_LIMIT;
        let lost = keyed || long || !certain && self.arrays.get(name).is_some_and(again);
        if lost || self.changed.contains(name) {
            self.arrays.remove(name);
            return;
        }
        if !certain {
            return;
        }
        let mut added = Vec::new();
        for word in words {
            match self.values(word, false, false) {
                Some(values) if self.fits(&values) => added.extend(values),
                _ => added.push(word.clone()),
            }
        }
        if let Some(array) = self.arrays.get_mut(name) {
            array.words.extend(added);
        }
    }

    /// What the shell puts in the place of a word; nothing where that is not known.
    fn values(&mut self, word: &Word, first: bool, function: bool) -> Option<Vec<Word>> {
        if word.known || self.added_bytes > ADDED_LIMIT_BYTES {
            return None;
        }
        // A function runs later: what it sees has to be the only value.
        let usable = |name: &str| !function || self.set.get(name) == Some(&1);
        if let Some((name, joined)) = array_reference(&word.text) {
            let array = self.arrays.get(name).filter(|_| usable(name))?;
            let all_known = array.complete && array.words.iter().all(|one| one.known);
            if joined && word.quoted {
                let texts: Vec<&str> = array.words.iter().map(|one| one.text.as_str()).collect();
                let text = texts.join(" ");
                return all_known.then(|| vec![Word { text, known: true, ..word.clone() }]);
            }
            let mut words = array.words.clone();
            if !array.complete {
                words.push(word.clone());
            }
            if first {
                self.started.insert(name.to_owned());
            }
            return Some(words);
        }
        // A script of another shell is replaced elsewhere, if at all.
        if word.text.contains(char::is_whitespace) || !references(&word.text)?.into_iter().all(usable) {
            return None;
        }
        let named = referenced(&word.text);
        if let Some(words) = self.partial.get(named).filter(|_| !word.quoted) {
            return Some(words.iter().map(|one| Word { line: word.line, ..one.clone() }).collect());
        }
        let text = self.literal(word, &self.variables)?;
        let made = |text: &str| Word { text: text.to_owned(), known: true, ..word.clone() };
        let alone = word.text.strip_prefix('$').is_some_and(|name| {
            let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
            name_of(name) == name
        });
        match (word.quoted, alone) {
            // Options in one word, which programs do not know: the rules on words say so.
            (true, true) if text.starts_with('-') && text.contains(' ') => None,
            (true, _) => Some(vec![made(&text)]),
            (false, true) => Some(text.split_whitespace().map(made).collect()),
            // It is more than one word.
            (false, false) if text.contains(char::is_whitespace) => None,
            (false, false) => Some(vec![made(&text)]),
        }
    }

    /// The words of a text of options, some of whose values only the shell knows.
    fn options_of(&self, word: &Word) -> Option<Vec<Word>> {
        let text = word.text.trim();
        // Only `$NAME` and `${NAME}`, and the script's own arguments one by one.
        let plain = text.match_indices('$').all(|(at, _)| {
            let rest = &text[at + 1..];
            let named =
                |rest: &str| rest.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
            match rest.strip_prefix('{') {
                Some(inner) => named(inner) && inner[name_of(inner).len()..].starts_with('}'),
                None => named(rest),
            }
        });
        let special = text.contains(['"', '\'', '\\', '*', '?', '`']);
        if word.known || !text.starts_with("--") || special || !plain {
            return None;
        }
        let expanded = |part: &str| {
            let text = expand(part, &self.variables);
            match text.known {
                true => text.text,
                false => part.to_owned(),
            }
        };
        let parts: Vec<&str> = text.split_whitespace().collect();
        // An unknown word that is no value may be more options.
        let values = parts.windows(2).all(|pair| !pair[1].starts_with('$') || pair[0].starts_with("--"));
        if !values || parts.len() > WORDS_LIMIT {
            return None;
        }
        let words = parts.into_iter().map(|part| {
            let text = expanded(part);
            Word { known: !text.contains('$'), quoted: false, text, ..word.clone() }
        });
        Some(words.filter(|word| !word.text.is_empty()).collect())
    }

    /// The text of a word, where the script shows it.
    fn literal(&self, word: &Word, variables: &Variables) -> Option<String> {
        if word.known {
            return Some(word.text.clone()).filter(|text| text.len() <= VALUE_LIMIT_BYTES);
        }
        references(&word.text)?;
        let text = expand(&word.text, variables);
        (text.known && text.text.len() <= VALUE_LIMIT_BYTES).then_some(text.text)
    }
}

/// The name of an option: `--a` of `--a=b`.
fn option_name(text: &str) -> &str {
    text.split('=').next().unwrap_or(text)
}

/// The names that a text uses; nothing where it has other expansions than `$NAME` and `${NAME}`.
fn references(text: &str) -> Option<Vec<&str>> {
    let name = |rest: &'_ str| -> Option<(usize, usize)> {
        let braces = usize::from(rest.starts_with('{'));
        let length = name_of(&rest[braces..]).len();
        let closed = braces == 0 || rest[braces + length..].starts_with('}');
        (length > 0 && closed && !rest[braces..].starts_with(|letter: char| letter.is_ascii_digit()))
            .then_some((braces, length))
    };
    let mut found = Vec::new();
    for (at, _) in text.match_indices('$') {
        let (braces, length) = name(&text[at + 1..])?;
        found.push(&text[at + 1 + braces..at + 1 + braces + length]);
    }
    (!text.contains('`')).then_some(found)
}

/// `${NAME[@]}` or `${NAME[*]}`: the name, and whether it joins the words.
fn array_reference(text: &str) -> Option<(&str, bool)> {
    let inner = text.strip_prefix("${")?.strip_suffix('}')?;
    let (name, joined) = match inner.strip_suffix("[@]") {
        Some(name) => (name, false),
        None => (inner.strip_suffix("[*]")?, true),
    };
    (name_of(name) == name && !name.is_empty()).then_some((name, joined))
}

/// The program of a command and its first argument: `builtin eval x` as `eval x`.
pub(crate) fn behind_builtin(command: &Command) -> (&str, &str) {
    let at = usize::from(matches!(command.program(), "builtin" | "command"));
    let program = if at == 0 { command.program() } else { command.word(at) };
    (program, command.words.get(at + 1).map_or("", |word| word.text.as_str()))
}

/// The name in a text that is nothing but `$NAME` or `${NAME}`; empty for others.
fn referenced(text: &str) -> &str {
    match references(text).as_deref() {
        Some([name]) if text == format!("${name}") || text == format!("${{{name}}}") => name,
        _ => "",
    }
}

/// Whether a file that a script reads prepares an environment of programs, and sets nothing of the script.
fn is_setup(path: &str) -> bool {
    // Lmod and Environment Modules: `/usr/share/lmod/lmod/init/bash`.
    let of_modules = ["lmod", "modules", "Modules"].iter().any(|name| {
        ["bash", "sh", "profile"].iter().any(|shell| path.ends_with(&format!("/{name}/init/{shell}")))
    });
    let base = path.rsplit('/').next().unwrap_or_default();
    // A file of this name in the project may be its own.
    let of_machine = ["/etc/", "~/", "$HOME/", "${HOME}/"].iter().any(|start| path.starts_with(start));
    let of_shell = matches!(base, "profile" | ".profile" | ".bash_profile" | ".bashrc" | "bashrc");
    of_modules
        || path.starts_with("/etc/profile.d/")
        || of_machine && of_shell
        || base.ends_with("lmod.sh")
        || matches!(base, "activate" | "conda.sh" | "mamba.sh" | "setvars.sh" | "modules.sh")
}

/// Whether the text that `eval` runs prepares an environment of programs: `$(conda shell.bash hook)`,
/// `$(ssh-agent -s)`.
fn is_hook(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("$(").and_then(|inner| inner.strip_suffix(')')) else { return false };
    let more = inner.contains([';', '\n']) || inner.contains("&&") || inner.contains(" | ");
    let mut words = inner.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let program = words.next().and_then(|program| program.rsplit('/').next()).unwrap_or_default();
    let hook = match program.trim_start_matches(['$', '{']).trim_end_matches('}') {
        "conda" | "mamba" | "micromamba" | "CONDA_EXE" | "MAMBA_EXE" => words.any(|word| word == "hook"),
        "pyenv" => words.next().is_some_and(|word| matches!(word, "init" | "virtualenv-init")),
        "ssh-agent" => true,
        _ => false,
    };
    hook && !more
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::testing::catalog;

    fn last(text: &str) -> String {
        commands(&Script::read(catalog(), text)).last().unwrap().text()
    }

    #[test]
    fn arrays_and_variables_are_put_in() {
        let text = "N=8\nTAG=v1\nA=(\n  --nproc_per_node $N # each\n  --x 'a b'\n)\nA+=(--y)\n";
        assert_eq!(last(&format!("{text}t \"${{A[@]}}\" i:$TAG")), "t --nproc_per_node 8 --x a b --y i:v1");
        assert_eq!(last("A=\"--x 1\"\nA+=\" --y\"\nt $A \"$A\" z"), "t --x 1 --y $A z");
        assert_eq!(last("E=\nt $E \"${E}\" z"), "t  z");
        assert_eq!(last("C=(torchrun --x)\n\"${C[@]}\" t.py"), "torchrun --x t.py");
        assert_eq!(commands(&Script::read(catalog(), "C=(torchrun --x)\n\"${C[@]}\" t.py\n")).len(), 2);
    }

    #[test]
    fn what_may_be_otherwise_stays() {
        let text = "A=(--x 1)\nif b; then A+=(--y); fi\nt \"${A[@]}\" z";
        assert_eq!(last(text), "t --x 1 ${A[@]} z");
        for kept in [
            "A=(--x 1)\nif b; then A+=(--x 2); fi\nt \"${A[@]}\"",
            "mapfile -t A < f\nt \"${A[@]}\"",
            "A=(--x 1)\nsource ./more.sh\nt \"${A[@]}\"",
            "A=(--x 1)\nsource ./profiles/a100.sh\nt \"${A[@]}\"",
            "A=(--x 1)\neval \"$(cat more)\"\nt \"${A[@]}\"",
            "A=(--x 1)\nA[1]=2\nt \"${A[@]}\"",
            "A=(--x 1)\nA[$I]+=2\nt \"${A[@]}\"",
            "f() { local A=(--x); }\nA=(--y)\nt \"${A[@]}\"",
            "declare -A A=([x]=1)\nt \"${A[@]}\"",
            "A=(--x 1)\n. ./a100/bashrc\nt \"${A[@]}\"",
            "A=(--x 1)\n. ./profile\nt \"${A[@]}\"",
            "A=(--x 1)\nbuiltin eval \"$B\"\nt \"${A[@]}\"",
            "A=(--x 1)\ncommand . ./more.sh\nt \"${A[@]}\"",
            "A=(--x 1)\neval \"$(conda shell.bash hook; cat more)\"\nt \"${A[@]}\"",
            "A=(--x 1)\nS=$(cat more)\neval \"$S\"\nt \"${A[@]}\"",
        ] {
            assert_eq!(last(kept), "t ${A[@]}", "{kept}");
        }
        for kept in [
            "N=8\n[ -f x ] && N=4\nt $N",
            "N=${N:-8}\nt $N",
            "N=8\nfor N in 1 2; do x; done\nt $N",
            "N=1\n((N += 1))\nt $N",
            "N=$(nproc)\nt $N",
            "read -r N\nt $N",
            "N=8\neval \"$@\"\nt $N",
            "f() { local -n ref=$1; ref=4; }\nN=8\nf N\nt $N",
            "f() { printf -v \"$1\" 4; }\nN=8\nf N\nt $N",
            "N=8\ndeclare -n ref=N\nref=4\nt $N",
        ] {
            assert_eq!(last(kept), "t $N", "{kept}");
        }
    }

    #[test]
    fn preparing_an_environment_sets_nothing() {
        for line in [
            "source ~/venv/bin/activate",
            ". /etc/profile.d/modules.sh",
            ". /usr/share/lmod/lmod/init/bash",
            "source \"$CONDA/etc/profile.d/conda.sh\"",
            "source $(conda info --base)/etc/profile.d/conda.sh",
            "eval \"$(/opt/conda/bin/conda shell.bash hook)\"",
            "eval \"$('/opt/conda/bin/conda' shell.bash hook)\"",
            "S=\"$('/opt/conda/bin/conda' 'shell.bash' 'hook' 2> /dev/null)\"\neval \"$S\"",
            "eval \"$($CONDA_EXE shell.bash hook)\"",
            "eval \"$(ssh-agent -s)\"",
            "eval \"$(pyenv init -)\"",
            "source /etc/profile.d/z00_lmod.sh",
            "source /opt/conda/etc/profile.d/mamba.sh",
            "source ~/.bashrc",
        ] {
            assert_eq!(last(&format!("N=8\n{line}\nt $N")), "t 8", "{line}");
        }
        // The command that `eval` runs is read with the values from before it.
        assert_eq!(last("N=8\neval t $N"), "eval t 8");
    }

    #[test]
    fn functions_see_what_is_set_once() {
        let all = |text: &str| {
            let commands = commands(&Script::read(catalog(), text));
            commands.iter().find(|one| one.program() == "t").map(Command::text).unwrap_or_default()
        };
        assert_eq!(all("N=8\nf() { t $N $1; }\nf a\n"), "t 8 $1");
        assert_eq!(all("N=8\nf() { t $N $1; }\nf a\nN=4\nf b\n"), "t $N $1");
    }

    #[test]
    fn a_script_does_not_grow_without_end() {
        let mut text = format!("A=({})\n", "word ".repeat(400));
        text.push_str(&"t \"${A[@]}\"\n".repeat(10_000));
        let words: usize = commands(&Script::read(catalog(), &text)).iter().map(|one| one.words.len()).sum();
        assert!(words < 50_000, "{words}");
    }
}
