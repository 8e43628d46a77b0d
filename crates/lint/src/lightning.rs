//! The Trainer of Lightning, and what programs give to it.

use std::ops::Range;

use serde_yaml::Value;

use crate::read::python::{Argument, Call, Expression, Program, entries, is_name, number, string};
use crate::read::quotes::split;
use crate::read::script::Script;

/// A call that makes a Trainer of Lightning.
pub(crate) fn is_trainer(call: &Call) -> bool {
    matches!(
        call.name.as_str(),
        "lightning.Trainer"
            | "lightning.pytorch.Trainer"
            | "lightning.pytorch.trainer.Trainer"
            | "pytorch_lightning.Trainer"
    )
}

/// What a Trainer gets.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub devices: Option<u64>,
    pub nodes: Option<u64>,
    /// Whether num_nodes is given, but not known.
    pub hidden: bool,
    /// The other file that gives it: `, with fit.yaml`.
    pub from: String,
}

impl Given {
    pub(crate) fn read(
        script: &Script,
        program: &Program,
        trainer: &Call,
        command: &str,
        base: &str,
    ) -> Given {
        let spread = trainer.arguments.iter().find(|one| one.text.starts_with("**"));
        let entries = spread.map(|one| Spread::read(script, program, trainer, one, command, base));
        let own = |key: &str| {
            let one = trainer.keyword(key)?;
            let text = program.origin(&one.at, &trainer.function).text;
            Some(number(text).filter(|count| *count >= 1.0).map(|count| count as u64))
        };
        // Literal keywords and `**` cannot give the same.
        let value = |key: &str| own(key).or_else(|| entries.as_ref()?.as_ref()?.value(key));
        let unknown = entries.as_ref().is_some_and(Option::is_none);
        let nodes = value("num_nodes");
        Given {
            devices: value("devices").flatten(),
            nodes: nodes.flatten(),
            hidden: nodes == Some(None) || nodes.is_none() && unknown,
            from: entries
                .flatten()
                .and_then(|one| one.file)
                .map_or_else(String::new, |file| format!(", with {file}")),
        }
    }
}

/// The entries that `**` gives to a call.
struct Spread {
    /// Each with its number, where it is one.
    entries: Vec<(String, Option<u64>)>,
    /// The file that has them.
    file: Option<String>,
}

impl Spread {
    fn value(&self, key: &str) -> Option<Option<u64>> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    fn read(
        script: &Script,
        program: &Program,
        call: &Call,
        spread: &Argument,
        command: &str,
        base: &str,
    ) -> Option<Spread> {
        let at = spread.at.start + 2..spread.at.end;
        let from = program.origin(&at, &call.function);
        let count = |text: &str| number(text).filter(|count| *count >= 1.0).map(|count| count as u64);
        if let Some(entries) = entries(from.text) {
            let known =
                entries.into_iter().filter_map(|(key, value)| Some((string(key)?.to_owned(), count(value))));
            return Some(Spread { entries: known.collect(), file: None });
        }
        if let Some(made) = program.call_at(&from.at).filter(|made| made.name == "dict") {
            let names = made.arguments.iter().map(|one| Some((one.name.clone()?, count(&one.text))));
            let entries = names.collect::<Option<Vec<_>>>()?;
            return entries.iter().all(|(name, _)| name != "*").then_some(Spread { entries, file: None });
        }
        let (place, section) = section_of(program, &from)?;
        let words = split(command, true);
        let path = program.path(&place, &from.function, &|name| argument(&words, base, name))?;
        let file =
            script.files.iter().find(|one| one.name == path || one.name.ends_with(&format!("/{path}")))?;
        // A plugin may choose an environment that counts otherwise.
        let root: Value = serde_yaml::from_str(&file.text).ok().filter(|_| !file.text.contains("plugins"))?;
        let section = section.map_or(Some(&root), |name| root.get(name))?;
        let entries = section.as_mapping()?.iter().filter_map(|(key, value)| {
            Some((key.as_str()?.to_owned(), value.as_u64().filter(|count| *count >= 1)))
        });
        let entries = entries.collect();
        Some(Spread { entries, file: Some(file.name.rsplit('/').next()?.to_owned()) })
    }
}

/// The place of a configuration and the section of it that an expression names: `cfg["trainer"]`,
/// `cfg.trainer`.
fn section_of<'p>(program: &Program, from: &Expression<'p>) -> Option<(Range<usize>, Option<&'p str>)> {
    let (object, rest) = match from.text.split_once(['[', '.']) {
        Some(split) if is_name(split.0) && !from.text.contains('(') => split,
        _ => return Some((from.at.clone(), None)),
    };
    let set = program.certain_value(object, &from.function, from.at.start)?;
    Some((set.at.clone(), Some(rest.trim_matches([']', '"', '\'']))))
}

/// What a command gives to its program: for an option, or at a place (`sys.argv[1]`).
fn argument(words: &[String], base: &str, name: &str) -> Option<String> {
    let behind = words.iter().position(|word| word.rsplit('/').next() == Some(base))? + 1;
    let words = words.get(behind..)?;
    if let Some(place) = name.strip_prefix("sys.argv[").and_then(|rest| rest.strip_suffix(']')) {
        return words.get(place.parse::<usize>().ok()?.checked_sub(1)?).cloned();
    }
    words.iter().enumerate().find_map(|(at, word)| {
        let word = word.strip_prefix("--")?;
        let (own, value) =
            word.split_once('=').map_or((word, None), |(own, value)| (own, Some(value.to_owned())));
        (own.replace('-', "_") == name.replace('-', "_"))
            .then(|| value.or_else(|| words.get(at + 1).cloned()))?
    })
}
