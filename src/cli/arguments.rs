//! From the command line to [`Cli`], with the rules that hold for every option.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches};

use super::{Cli, tips};

/// Parses a command line, program name first. An empty option value is a usage error.
pub(super) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = command();
    let words: Vec<OsString> = words.into_iter().collect();
    let matches = command.try_get_matches_from_mut(&words);
    let matches = matches.map_err(|error| tips::with_tip(error, &command, &words))?;
    reject_empty_values(&mut command, &matches)?;
    Cli::from_arg_matches(&matches)
}

/// The command line, in which `-h` fits on one screen: it leaves out rare options, and its last line says so.
pub(super) fn command() -> Command {
    with_short_help(Cli::command(), "envdoc")
}

fn with_short_help(command: Command, path: &str) -> Command {
    let command = command.mut_subcommands(|inner| {
        let path = format!("{path} {}", inner.get_name());
        with_short_help(inner, &path)
    });
    // clap passes a disabled help flag on to the subcommands, so each command has a flag of its own.
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help);
    let long = "Print help (see a summary with '-h')";
    let command = command.disable_help_flag(true);
    if !command.get_arguments().any(Arg::is_hide_short_help_set) {
        return command.arg(help.help("Print help (see more with '--help')").long_help(long));
    }
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    // The last line takes the place of the flag's own line in -h.
    command
        .arg(help.help(long).hide_short_help(true))
        .after_help(format!("{examples}\n\nAll options: {path} --help"))
        .after_long_help(examples)
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

    #[test]
    fn habits_of_other_programs_get_a_tip() {
        for (line, tip) in [
            (&["version"][..], "tip: envdoc --version prints the version"),
            (&["check", "-q"], "tip: the option is --quiet"),
            (&["cluster", "status", "-q"], "tip: the option is --quiet"),
            (&["check", "--json"], "tip: the option is --format json"),
            (&["cluster", "check", "--json"], "tip: the option is --format json"),
        ] {
            let error = parse_line(line).unwrap_err().to_string();
            assert!(error.contains(tip) && error.matches("tip:").count() == 1, "{line:?}: {error}");
        }
        let without = parse_line(&["trust", "--json"]).unwrap_err().to_string();
        assert!(!without.contains("--format"), "{without}");
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
        let mut root = command();
        root.build();
        add("envdoc", &root, &mut all);
        all.retain(|(path, command)| command.get_name() != "help" && !path.contains(" help "));
        all
    }

    #[test]
    fn every_command_has_both_forms_of_help() {
        for (path, _) in commands() {
            for flag in ["-h", "--help"] {
                let line: Vec<&str> = path.split(' ').skip(1).chain([flag]).collect();
                let error = parse_line(&line).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{path} {flag}: {error}");
            }
        }
    }

    #[test]
    fn short_help_fits_on_a_screen() {
        for (path, command) in commands() {
            let mut command = command.term_width(80);
            let short = command.render_help().to_string();
            assert!(short.lines().count() <= 40, "{path} -h has {} lines:\n{short}", short.lines().count());
            assert!(short.lines().all(|line| line.chars().count() <= 80), "{path}:\n{short}");
            // Options of every command are named at the top.
            let own = |argument: &&Arg| path == "envdoc" || !argument.is_global_set();
            let hidden: Vec<&Arg> =
                command.get_arguments().filter(|one| one.is_hide_short_help_set()).filter(own).collect();
            let last = format!("All options: {path} --help");
            assert_eq!(short.lines().last() == Some(&last), !hidden.is_empty(), "{path}:\n{short}");
            let names: Vec<String> =
                hidden.iter().map(|one| format!("--{}", one.get_long().unwrap())).collect();
            let long = command.render_long_help().to_string();
            for name in names {
                assert!(long.contains(&name), "{path} --help lacks {name}");
            }
            assert!(!long.contains("All options:"), "{path} --help has all options");
        }
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
    fn long_option_lists_are_grouped() {
        for (path, command) in commands() {
            let options: Vec<_> = command.get_opts().filter(|option| !option.is_hide_set()).collect();
            let flat = options.iter().filter(|option| option.get_help_heading().is_none()).count();
            assert!(flat <= 8, "{path} has {flat} options without a heading");
        }
    }
}
