//! A batch script for Slurm: its directives as sbatch reads them, and the commands that it runs.
//!
//! Directives are the lines that begin with `#SBATCH`, up to the first line that is neither a comment nor
//! blank; `hetjob` begins the next component (SchedMD/slurm:src/sbatch/opt.c@284c3b95).

use super::quotes::{OpenQuote, split};
use catalog::Catalog;
use catalog::sbatch_options::SbatchOption;
use std::collections::BTreeSet;

/// A batch script.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Its options, in order.
    pub options: Vec<BatchOption>,
    /// Directives behind the first command, and lines that only look like one: number and text.
    pub ignored: Vec<(usize, String)>,
    /// The line of the first command.
    pub first_command: Option<usize>,
    /// Its commands, each with the line on which it begins.
    pub commands: Vec<(usize, String)>,
}

/// An option of a directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BatchOption {
    pub line: usize,
    /// The component of a heterogeneous job that it is for, from 0.
    pub component: usize,
    /// Its long name, where it is known: `nodes` of `-N`.
    pub name: &'static str,
    /// As it is written: `-N`, `--node`.
    pub written: String,
    pub value: Option<String>,
}

impl Batch {
    /// Reads a script; `None` where it has no line for sbatch.
    pub(crate) fn read(catalog: &'static Catalog, source: &str) -> Option<Batch> {
        if !source.lines().any(|line| line.starts_with("#SBATCH")) {
            return None;
        }
        let (commands, bodies) = commands(source);
        let mut batch = Batch { commands, ..Batch::default() };
        let mut component = 0;
        for (index, line) in source.lines().enumerate() {
            let number = index + 1;
            if bodies.contains(&number) {
                continue;
            }
            let Some(rest) = line.strip_prefix("#SBATCH") else {
                let text = line.trim_start();
                if looks_like_directive(text) {
                    batch.ignored.push((number, line.to_owned()));
                }
                if !text.is_empty() && !text.starts_with('#') {
                    batch.first_command = batch.first_command.or(Some(number));
                }
                continue;
            };
            if batch.first_command.is_some() {
                batch.ignored.push((number, line.to_owned()));
                continue;
            }
            // A `#` that begins a word begins a comment.
            let words = split(rest.trim_end_matches('\r'), true);
            if words.first().is_some_and(|word| matches!(word.as_str(), "hetjob" | "packjob")) {
                component += 1;
            }
            batch.options.extend(options(catalog, &words, number, component));
        }
        Some(batch)
    }

    /// The last value of an option, of the only component.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.option(name)?.value.as_deref()
    }

    pub(crate) fn option(&self, name: &str) -> Option<&BatchOption> {
        let name = if name == "tasks-per-node" { "ntasks-per-node" } else { name };
        self.options.iter().rev().find(|one| one.name == name)
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.value(name)?.parse().ok()
    }

    /// Whether it is a heterogeneous job, whose components have options of their own.
    pub(crate) fn is_heterogeneous(&self) -> bool {
        self.options.iter().any(|one| one.component > 0)
    }

    /// The GPUs of each node, where the directives say it.
    pub(crate) fn gpus_per_node(&self) -> Option<u64> {
        let count = |value: &str| value.rsplit(':').next()?.parse::<u64>().ok();
        let gres = self.value("gres").and_then(|gres| {
            let all = gres.split(',').filter(|one| one.trim_start_matches("gres/").starts_with("gpu"));
            let mut counts = all.map(|one| if one.contains(':') { count(one) } else { Some(1) });
            counts.try_fold(0_u64, |sum, count| sum.checked_add(count?))
        });
        let nodes = self.number("nodes").unwrap_or(1);
        let of = |name: &str| self.value(name).and_then(count);
        gres.filter(|count| *count > 0)
            .or_else(|| of("gpus-per-node"))
            .or_else(|| of("gpus").filter(|all| nodes > 0 && all % nodes == 0).map(|all| all / nodes))
            .or_else(|| of("gpus-per-task")?.checked_mul(self.number("ntasks-per-node")?))
    }

    /// The option because of which each task of a step sees one GPU, which is its first: `--gpus-per-task=1`.
    /// Options of srun go before the job's.
    pub(crate) fn one_gpu_a_task(&self, catalog: &'static Catalog, command: &str) -> Option<BatchOption> {
        let words = split(command, true);
        let of_step = options(catalog, &words, 0, 0);
        let all: Vec<&BatchOption> = self.options.iter().chain(&of_step).collect();
        let binding = |one: &&&BatchOption| matches!(one.name, "gpu-bind" | "tres-bind");
        if let Some(bind) = all.iter().rev().find(binding) {
            let value = bind.value.as_deref().unwrap_or_default();
            let single = ["single:1", "per_task:1"].iter().any(|kind| value.ends_with(kind));
            return single.then(|| (*bind).clone());
        }
        let one = |one: &&&BatchOption| match one.name {
            "gpus-per-task" => one.value.as_deref().and_then(|value| value.rsplit(':').next()) == Some("1"),
            "ntasks-per-gpu" => true,
            _ => false,
        };
        all.iter().rev().find(one).map(|found| (*found).clone())
    }

    /// Whether any option asks for GPUs, or for all of a node.
    pub(crate) fn has_gpus(&self) -> bool {
        let tres = |name: &str| self.value(name).is_some_and(|value| value.contains("gpu"));
        let own = [
            "gpus",
            "gpus-per-node",
            "gpus-per-task",
            "gpus-per-socket",
            "exclusive",
            "ntasks-per-gpu",
            "cpus-per-gpu",
            "mem-per-gpu",
        ];
        own.iter().any(|name| self.option(name).is_some()) || tres("gres") || tres("tres-per-task")
    }
}

/// A line that was probably meant as one: indented, `# SBATCH`, or in small letters.
fn looks_like_directive(text: &str) -> bool {
    let rest = text.strip_prefix('#').map(str::trim_start).unwrap_or_default();
    let rest = rest.strip_prefix("SBATCH").or_else(|| text.strip_prefix("#sbatch"));
    rest.is_some_and(|rest| rest.trim_start().starts_with('-') && rest.starts_with(' '))
}

fn options(catalog: &'static Catalog, words: &[String], line: usize, component: usize) -> Vec<BatchOption> {
    let known = catalog.sbatch_options();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        let made = |option: Option<&'static SbatchOption>, written: &str, value| BatchOption {
            line,
            component,
            name: option.map_or("", SbatchOption::name),
            written: written.to_owned(),
            value,
        };
        let takes_value = |option: Option<&SbatchOption>| option.is_some_and(|option| option.value);
        if let Some(long) = word.strip_prefix("--") {
            let (typed, own) = match long.split_once('=') {
                Some((typed, value)) => (typed, Some(value.to_owned())),
                None => (long, None),
            };
            let option = known.long(typed);
            let next = || words.get(at).filter(|next| !next.starts_with("--")).cloned();
            let value = own.or_else(|| if takes_value(option) { next() } else { None });
            at += usize::from(value.is_some() && !long.contains('='));
            found.push(made(option, &format!("--{typed}"), value));
        } else if let Some(short) = word.strip_prefix('-').filter(|short| !short.is_empty()) {
            let (letter, rest) = short.split_at(short.chars().next().map_or(0, char::len_utf8));
            let option = known.short(letter);
            let value = match (takes_value(option), rest.is_empty()) {
                (true, false) => Some(rest.to_owned()),
                (true, true) => words.get(at).cloned(),
                _ => None,
            };
            at += usize::from(value.is_some() && rest.is_empty());
            found.push(made(option, &format!("-{letter}"), value));
        }
    }
    found
}

/// The commands of a script as they are written, with continued lines and quotes over several lines joined,
/// and the line numbers of here-documents.
fn commands(source: &str) -> (Vec<(usize, String)>, BTreeSet<usize>) {
    let (mut found, mut open, mut first) = (Vec::new(), String::new(), 0);
    let mut quotes = OpenQuote::default();
    let mut bodies = BTreeSet::new();
    let mut until: Option<String> = None;
    for (index, line) in source.lines().enumerate() {
        if let Some(end) = &until {
            if line.trim() == end {
                until = None;
            }
            bodies.insert(index + 1);
            continue;
        }
        if open.is_empty() {
            first = index + 1;
            if line.trim_start().starts_with('#') || line.trim().is_empty() {
                continue;
            }
        }
        let mut add = |text: &str| {
            open.push_str(text);
            quotes.add(text);
            quotes.quote
        };
        let (text, end) = match line.strip_suffix('\\') {
            Some(text) => (text, "\\"),
            None => (line, ""),
        };
        let quote = add(text);
        if !end.is_empty() && quote != Some('\'') {
            add(" ");
        } else if add(end).is_some() {
            add("\n");
        } else {
            until = here_document(&open);
            quotes = OpenQuote::default();
            found.push((first, std::mem::take(&mut open)));
        }
    }
    if !open.is_empty() {
        found.push((first, open));
    }
    (found, bodies)
}

/// The word that ends the here-document of a command.
fn here_document(command: &str) -> Option<String> {
    let (_, rest) = command.split_once("<<").filter(|(_, rest)| !rest.starts_with('<'))?;
    let word = rest.trim_start_matches('-').trim_start().trim_start_matches(['"', '\'', '\\']);
    let end = word.find(|c: char| !c.is_ascii_alphanumeric() && !"_+%".contains(c)).unwrap_or(word.len());
    let number = word.trim_start_matches('+').starts_with(|letter: char| letter.is_ascii_digit());
    (end > 0 && !number).then(|| word[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::quotes::expanded;

    #[test]
    fn counts_of_gpus_that_are_too_large_are_unknown() {
        let gpus = |options: &str| {
            Batch::read(catalog::testing::catalog(), &format!("#SBATCH {options}\n")).unwrap().gpus_per_node()
        };
        assert_eq!(gpus("--gres=gpu:8,gpu:1"), Some(9));
        assert_eq!(gpus("--gres=gpu:18446744073709551615,gpu:1"), None);
        assert_eq!(gpus("--gpus-per-task=18446744073709551615 --ntasks-per-node=2"), None);
    }

    #[test]
    fn directives() {
        let text = "#!/bin/bash\n# x\n#SBATCH -N2 --ntasks-per-node=4 -t 2-0 # days\n#SBATCH \
            --gpus=a100:8 --job lm\n\
                    echo a\n#SBATCH --mem=1G\n # SBATCH --time=1\n";
        let batch = Batch::read(catalog::testing::catalog(), text).unwrap();
        let options: Vec<_> = batch.options.iter().map(|one| (one.name, one.value.as_deref())).collect();
        let expected = [
            ("nodes", Some("2")),
            ("ntasks-per-node", Some("4")),
            ("time", Some("2-0")),
            ("gpus", Some("a100:8")),
            ("job-name", Some("lm")),
        ];
        assert_eq!(options, expected);
        assert_eq!(batch.ignored.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [6, 7]);
        assert_eq!((batch.first_command, batch.gpus_per_node()), (Some(5), Some(4)));
        assert!(Batch::read(catalog::testing::catalog(), "#!/bin/bash\necho\n").is_none());
    }

    #[test]
    fn lines_are_joined_as_a_shell_does() {
        let of = |text: &str| commands(text).0.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(of("a '\\\nb'\nc\n"), ["a '\\\nb'", "c"]);
        assert_eq!(of("a \"b\\\"\nc\"\nd\n"), ["a \"b\\\"\nc\"", "d"]);
        assert_eq!(of("a \\\n\\\nb\nc"), ["a   b", "c"]);
        assert_eq!(of("a 'b"), ["a 'b\n"]);
    }

    #[test]
    fn commands_and_what_they_expand() {
        let text = "#SBATCH -N1\nsrun bash -c '\n  a $X\n' \\\n  $Y\ncat <<E\nsrun b\nE\nc\n";
        let (commands, bodies) = commands(text);
        assert_eq!(bodies.into_iter().collect::<Vec<_>>(), [7, 8]);
        assert_eq!(commands.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 6, 9]);
        assert_eq!(commands[0].1, "srun bash -c '\n  a $X\n'    $Y");
        let expanded = expanded(&commands[0].1);
        assert!(expanded.contains("$Y") && !expanded.contains("$X"));
    }
}
