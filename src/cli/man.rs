//! `envdoc man`, hidden: for packages and for whoever installs the program by hand.

use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::arguments;
use diagnostic::error::{EXIT_CODES, Error, Kind};
use host::file;

/// Write a man page for every command.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Directory for the pages (share/man/man1); created if it does not exist.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

impl Args {
    /// Writes the pages, over those of an earlier run.
    pub(super) fn run(self) -> Result<u8, Error> {
        file::directory(&self.dir)?;
        for (name, page) in pages(&date())? {
            file::write(&self.dir.join(name), &page, true)?;
        }
        Ok(0)
    }
}

/// The day in the pages: of SOURCE_DATE_EPOCH, with which two builds give the same bytes, or today.
fn date() -> String {
    let seconds = host::variables::text("SOURCE_DATE_EPOCH").and_then(|text| text.parse().ok());
    let moment = seconds.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    moment.unwrap_or_else(jiff::Timestamp::now).strftime("%Y-%m-%d").to_string()
}

/// File name and text of the page of every command that help shows.
fn pages(date: &str) -> Result<Vec<(String, String)>, Error> {
    let mut root = arguments::command().disable_help_subcommand(true);
    root.build();
    let mut all = Vec::new();
    add(&["envdoc"], &root, date, &mut all)?;
    Ok(all)
}

fn add(path: &[&str], command: &Command, date: &str, all: &mut Vec<(String, String)>) -> Result<(), Error> {
    let name = path.join("-");
    all.push((format!("{name}.1"), page(path, command, date)?));
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        let path: Vec<&str> = path.iter().copied().chain([inner.get_name()]).collect();
        add(&path, inner, date, all)?;
    }
    Ok(())
}

fn page(path: &[&str], command: &Command, date: &str) -> Result<String, Error> {
    // A page has all options, with the texts that -h leaves out.
    let whole = command.clone().mut_args(|argument| match argument.get_long_help().or(argument.get_help()) {
        Some(help) => {
            let help = help.to_string();
            argument.long_help(help)
        }
        None => argument,
    });
    let man = Man::new(whole.display_name(path.join("-")).bin_name(path.join(" ")))
        .title(path.join("-"))
        .date(date)
        .source(format!("envdoc {}", env!("CARGO_PKG_VERSION")))
        .manual("envdoc manual");
    let mut page = Vec::new();
    let written = man
        .render_title(&mut page)
        .and_then(|()| man.render_name_section(&mut page))
        .and_then(|()| man.render_synopsis_section(&mut page))
        .and_then(|()| description(command).to_writer(&mut page))
        .and_then(|()| man.render_options_section(&mut page))
        .and_then(|()| match command.has_subcommands() {
            true => man.render_subcommands_section(&mut page),
            false => Ok(()),
        })
        .and_then(|()| end(path, command).to_writer(&mut page));
    written.map_err(|error| Error::new(Kind::File, format!("cannot write a man page: {error}")))?;
    // Three breaks before possible values, where one space is meant.
    Ok(String::from_utf8_lossy(&page).replace("\n.br\n\n.br\n", "\n.sp\n"))
}

/// The paragraphs and lists of the long help.
fn description(command: &Command) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["DESCRIPTION"]);
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let mut paragraph = false;
    for line in about.lines().map(str::trim_start) {
        match line.strip_prefix("- ") {
            Some(item) => roff.control("IP", ["\\(bu", "2"]).text([roman(item)]),
            None if line.is_empty() => {
                paragraph = true;
                continue;
            }
            None if paragraph => roff.control("PP", []).text([roman(line)]),
            None => roff.text([roman(line)]),
        };
        paragraph = false;
    }
    roff
}

fn end(path: &[&str], command: &Command) -> Roff {
    let mut roff = Roff::new();
    let examples = command.get_after_long_help().or(command.get_after_help());
    let examples = examples.map(ToString::to_string).unwrap_or_default();
    roff.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in examples.lines().filter_map(|line| line.strip_prefix("  ")) {
        roff.text([roman(line)]);
    }
    roff.control("fi", []).control("SH", ["EXIT STATUS"]);
    for (code, meaning) in EXIT_CODES {
        roff.control("TP", []).text([bold(code.to_string())]).text([roman(*meaning)]);
    }
    let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    let inner = inner.map(|inner| format!("{}-{}", path.join("-"), inner.get_name()));
    let outer = (1..path.len()).map(|length| path[..length].join("-"));
    let mut others = outer.chain(inner).peekable();
    if others.peek().is_some() {
        roff.control("SH", ["SEE ALSO"]);
    }
    while let Some(other) = others.next() {
        let comma = if others.peek().is_some() { "(1)," } else { "(1)" };
        roff.text([bold(other), roman(comma)]);
    }
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_all_its_options() {
        let pages = pages("2026-11-27").unwrap();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        for name in ["envdoc.1", "envdoc-check.1", "envdoc-cluster.1", "envdoc-cluster-rotate-keys.1"] {
            assert!(names.contains(&name), "{names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("worker") || name.contains("help")), "{names:?}");
        let page = |name: &str| &pages.iter().find(|(one, _)| one == name).unwrap().1;
        // Without a long help, -h leaves it out.
        assert!(page("envdoc-resolve.1").contains("Ranking of compatible stacks"));
        assert!(page("envdoc-check.1").contains(".TH envdoc-check 1 2026-11-27"));
        assert!(page("envdoc-explain.1").contains("\n.IP \\(bu 2\n"));
    }
}
