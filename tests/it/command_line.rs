//! docs/cli.md: the help of every command, as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory};
use envdoc::cli::Cli;

const HEAD: &str = "\
# Command line

<!-- Generated from src/cli by tests/it/command_line.rs; edit there. -->

`envdoc COMMAND -h` shows the most used options and examples, `envdoc COMMAND --help` everything on this page.

";

pub(crate) fn markdown() -> String {
    let mut root = Cli::command();
    root.build();
    let mut commands = Vec::new();
    add("envdoc".to_owned(), &root, &mut commands);
    let mut text = HEAD.to_owned();
    for (path, command) in &commands {
        let about = plain(command.get_about());
        let _ = writeln!(text, "* [`{path}`](#{}) — {about}", path.replace(' ', "-"));
    }
    for (path, command) in commands {
        section(&mut text, &path, command);
    }
    text
}

fn add<'c>(path: String, command: &'c Command, all: &mut Vec<(String, &'c Command)>) {
    all.push((path.clone(), command));
    for inner in command.get_subcommands() {
        if !inner.is_hide_set() && inner.get_name() != "help" {
            add(format!("{path} {}", inner.get_name()), inner, all);
        }
    }
}

fn plain(text: Option<&StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

fn section(text: &mut String, path: &str, command: &Command) {
    let about = plain(command.get_long_about().or(command.get_about()));
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let _ = writeln!(text, "\n## `{path}`\n\n{about}\n\n```console\n{usage}\n```");
    let examples = plain(command.get_after_help());
    let examples = examples.trim_start_matches("Examples:\n");
    let examples: Vec<&str> = examples.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    let _ = writeln!(text, "\n### Examples\n\n```sh\n{}\n```", examples.join("\n"));
    let mut groups: Vec<(String, Vec<&Arg>)> = Vec::new();
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
        let heading = match argument.get_help_heading() {
            Some(heading) => heading.to_owned(),
            None if argument.is_positional() => "Arguments".to_owned(),
            None => "Options".to_owned(),
        };
        match groups.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, arguments)) => arguments.push(argument),
            None => groups.push((heading, vec![argument])),
        }
    }
    for (heading, arguments) in groups {
        let _ = writeln!(text, "\n### {heading}\n");
        arguments.into_iter().for_each(|argument| item(text, argument));
    }
}

fn item(text: &mut String, argument: &Arg) {
    let takes_value = argument.get_action().takes_values();
    let short = argument.get_short().map(|letter| format!("`-{letter}`, ")).unwrap_or_default();
    let help = plain(argument.get_long_help().or(argument.get_help()));
    let mut notes = BTreeMap::new();
    if takes_value && !argument.is_hide_default_value_set() {
        let values: Vec<_> =
            argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        notes.insert("default", values.join(","));
    }
    notes.insert(
        "env",
        argument.get_env().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
    );
    let notes: String = notes
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!(" [{name}: `{value}`]"))
        .collect();
    let help = help.replace("\n\n", "\n\n  ");
    let _ = writeln!(text, "* {short}`{argument}` — {help}{notes}");
    for value in argument.get_possible_values().iter().filter(|value| takes_value && !value.is_hide_set()) {
        let _ = match plain(value.get_help()) {
            help if help.is_empty() => writeln!(text, "  * `{}`", value.get_name()),
            help => writeln!(text, "  * `{}`: {help}", value.get_name()),
        };
    }
}
