//! From the command line to [`Cli`], with the rules that hold for every option.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches};

use super::Cli;

/// Parses a command line, program name first. An empty option value is a usage error.
pub(super) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    let matches = command.try_get_matches_from_mut(words)?;
    reject_empty_values(&mut command, &matches)?;
    Cli::from_arg_matches(&matches)
}

fn reject_empty_values(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let empty = command.get_arguments().find(|argument| is_empty(argument, matches)).map(ToString::to_string);
    if let Some(argument) = empty {
        let message = format!("a value is required for '{argument}' but none was supplied");
        return Err(command.error(ErrorKind::InvalidValue, message));
    }
    match matches.subcommand() {
        None => Ok(()),
        Some((name, matches)) => {
            command.find_subcommand_mut(name).map_or(Ok(()), |command| reject_empty_values(command, matches))
        }
    }
}

/// Whether the command line has an empty value for the argument. What follows `--` belongs to another
/// program, and an empty environment variable counts as unset.
fn is_empty(argument: &Arg, matches: &ArgMatches) -> bool {
    let id = argument.get_id().as_str();
    argument.get_action().takes_values()
        && !argument.is_last_set()
        && matches.value_source(id) == Some(ValueSource::CommandLine)
        && matches.get_raw(id).is_some_and(|mut values| values.any(|value| value.is_empty()))
}

#[cfg(test)]
mod tests {

    use super::*;

    fn parse_line(line: &[&str]) -> Result<Cli, clap::Error> {
        parse(["envdoc"].iter().chain(line).map(OsString::from))
    }

    #[test]
    fn empty_values_are_usage_errors() {
        for line in [
            &["resolve", "--cuda", ""][..],
            &["resolve", "--deepspeed="],
            &["resolve", "--with", "numpy", "--with", ""],
            &["check", "--only", ""],
            &["check", "--only=gpu,"],
            &["build", "--file", ""],
            &["cluster", "up", "-f", ""],
            &["lint", ""],
        ] {
            let error = parse_line(line).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{line:?}");
            assert!(error.to_string().contains("but none was supplied"), "{line:?}: {error}");
        }
        for line in [&["resolve", "--deepspeed"][..], &["cluster", "exec", "all", "--", "printf", ""]] {
            assert!(parse_line(line).is_ok(), "{line:?}");
        }
    }

    /// Every command, with its path: `envdoc cluster up`.
    fn commands() -> Vec<(String, Command)> {
        fn add(path: &str, command: &Command, all: &mut Vec<(String, Command)>) {
            all.push((path.to_owned(), command.clone()));
            for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
                add(&format!("{path} {}", inner.get_name()), inner, all);
            }
        }
        let mut all = Vec::new();
        let mut root = Cli::command();
        root.build();
        add("envdoc", &root, &mut all);
        all.retain(|(path, command)| command.get_name() != "help" && !path.contains(" help "));
        all
    }

    /// The words of a command line as a shell splits them; quotes are `'` only.
    fn words(line: &str) -> Vec<OsString> {
        let mut words = Vec::new();
        for (index, part) in line.split('\'').enumerate() {
            match index % 2 {
                0 => words.extend(part.split_whitespace().map(OsString::from)),
                _ => words.push(part.into()),
            }
        }
        words
    }

    /// The command lines of envdoc in an example: without its comment, and without other programs in its
    /// pipe.
    fn lines_of_envdoc(example: &str) -> impl Iterator<Item = &str> {
        let line = example.split(" # ").next().unwrap_or_default();
        let line = line.split(" > ").next().unwrap_or_default();
        line.split(" | ").filter_map(|part| part.find("envdoc ").map(|start| &part[start..]))
    }

    fn examples(text: &str) -> Vec<Vec<OsString>> {
        let lines = text.lines().filter(|line| line.starts_with("  "));
        let lines: Vec<&str> = lines.flat_map(lines_of_envdoc).collect();
        lines.into_iter().map(words).collect()
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        let mut wrong = Vec::new();
        for (path, command) in commands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.starts_with("Examples:\n"), "{path} has no examples");
            let examples = examples(&help);
            assert!(!examples.is_empty(), "{path}");
            let mut own = false;
            for line in examples {
                let text = line.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
                own |= text.starts_with(&path);
                if let Err(error) = parse(crate::cli::several::spread(line, |_| false)) {
                    wrong.push(format!("{path}: {text}: {error}"));
                }
            }
            assert!(own, "no example of {path} shows {path}");
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn the_guide_names_commands_that_parse() {
        let lines = examples(super::super::GUIDE);
        assert_eq!(lines.len(), 5);
        for line in lines {
            assert!(parse(line.clone()).is_ok(), "{line:?}");
        }
    }

    #[test]
    fn short_help_fits_on_a_screen() {
        let all = commands().into_iter().map(|(path, mut command)| (path, command.render_help().to_string()));
        let long: Vec<_> = all.filter(|(_, help)| help.lines().count() > 49).collect();
        let shown =
            |(path, help): &(String, String)| format!("`{path} -h`: {} lines\n{help}", help.lines().count());
        assert!(long.is_empty(), "{}", long.iter().map(shown).collect::<String>());
    }

    #[test]
    fn long_option_lists_are_grouped() {
        for (path, command) in commands() {
            let options: Vec<_> = command.get_opts().filter(|option| !option.is_hide_set()).collect();
            let flat = options.iter().filter(|option| option.get_help_heading().is_none()).count();
            assert!(flat <= 8, "{path} has {flat} options without a heading");
        }
    }
}
