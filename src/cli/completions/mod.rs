//! `envdoc completions`, and the hidden `envdoc complete` that its scripts call.

mod values;

use std::ffi::OsString;
use std::path::Path;

use clap::ValueEnum;
use clap_complete::engine;

use super::arguments;
use diagnostic::error::Error;
use diagnostic::{shell, terminal};

/// Print the completions of a shell.
///
/// The script asks envdoc for the candidates: options, files, and what the catalog has (ids of checks, rules
/// and signatures, GPUs, presets, versions, images). Nothing is asked of a registry or an engine.
///
/// Write the script to the file where the shell looks for it, or load it in the shell's startup file.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Shell.
    #[arg(value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  envdoc completions bash > ~/.local/share/bash-completion/completions/envdoc
  envdoc completions zsh > ~/.zfunc/_envdoc       # a directory in fpath
  envdoc completions fish > ~/.config/fish/completions/envdoc.fish";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    /// bash, with or without bash-completion.
    Bash,
    /// zsh, with compinit.
    Zsh,
    /// fish.
    Fish,
}

impl Shell {
    /// Its script, in which ENVDOC is the program.
    fn script(self) -> &'static str {
        match self {
            Shell::Bash => include_str!("envdoc.bash"),
            Shell::Zsh => include_str!("envdoc.zsh"),
            Shell::Fish => include_str!("envdoc.fish"),
        }
    }
}

impl Args {
    /// Prints the script.
    pub(super) fn run(self) -> Result<u8, Error> {
        let program = host::variables::command_line().next().and_then(|program| called(&program));
        let program = program.unwrap_or_else(|| "envdoc".to_owned());
        terminal::document(&self.shell.script().replace("ENVDOC", &shell::word(&program))).map(|()| 0)
    }
}

/// The absolute path of the program where it was called by a path; else the shell finds it on PATH.
fn called(program: &OsString) -> Option<String> {
    let path = Path::new(program);
    let path = if path.components().count() > 1 { std::path::absolute(path).ok()? } else { return None };
    // fish reads a backslash in quotes as an escape.
    path.to_str().filter(|text| !text.contains(['\\', '\n'])).map(str::to_owned)
}

/// Print the candidates for one word of a command line: value, tab, description.
#[derive(Debug, clap::Args)]
pub(super) struct Complete {
    /// Position of the word, from 0, which is the program.
    #[arg(long)]
    index: usize,

    /// Words of the command line up to that one.
    #[arg(last = true, value_name = "WORD")]
    words: Vec<OsString>,
}

impl Complete {
    /// Prints one candidate a line.
    pub(super) fn run(self) -> Result<u8, Error> {
        terminal::document(&self.lines()).map(|()| 0)
    }

    fn lines(self) -> String {
        let mut command = values::with_values(arguments::command());
        let here = host::file::canonical(Path::new(".")).ok();
        let found = engine::complete(&mut command, self.words, self.index, here.as_deref());
        let mut lines = String::new();
        for candidate in found.unwrap_or_default() {
            // A name that holds a line end or an escape sequence cannot be one line of a terminal.
            let Some(value) = candidate.get_value().to_str().filter(|value| is_plain(value)) else {
                continue;
            };
            lines.push_str(value);
            let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
            if let Some(first) = help.lines().next().filter(|line| !line.is_empty() && is_plain(line)) {
                lines.push('\t');
                lines.push_str(first);
            }
            lines.push('\n');
        }
        lines
    }
}

fn is_plain(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(line: &[&str]) -> Vec<String> {
        let words: Vec<OsString> = ["envdoc"].iter().chain(line).map(OsString::from).collect();
        let lines = Complete { index: words.len() - 1, words }.lines();
        lines.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
    }

    fn has(line: &[&str], expected: &[&str]) {
        let found = candidates(line);
        for value in expected {
            assert!(found.iter().any(|one| one == value), "{line:?} lacks {value}: {found:?}");
        }
    }

    #[test]
    fn commands_and_options_complete() {
        assert_eq!(candidates(&["comp"]), ["completions"]);
        assert!(!candidates(&[""]).iter().any(|one| ["worker", "complete", "man"].contains(&one.as_str())));
        has(&["cluster", "ch"], &["check"]);
        has(&["check", "--for"], &["--format"]);
        has(&["check", "--format", "j"], &["json", "junit"]);
        has(&["check", "--format=s"], &["--format=sarif"]);
    }

    #[test]
    fn values_of_the_catalog_complete() {
        has(&["explain", "driver-lib"], &["driver-library-mismatch"]);
        has(&["explain", "mem-kernel"], &["mem-kernel-oom-kill"]);
        has(&["explain", "cache-left"], &["cache-left-in-layer"]);
        has(&["explain", ""], &["h100", "finetune", "vllm", "ubuntu22.04"]);
        has(&["check", "--only", "driver,tool"], &["driver,toolkit"]);
        has(&["lint", "--ignore", "cache"], &["cache-left-in-layer"]);
        has(&["resolve", "--gpu", "h1"], &["h100"]);
        has(&["resolve", "--gpu", "h100,a1"], &["h100,a100"]);
        has(&["build", "--gpu=sm_9"], &["--gpu=sm_90"]);
        has(&["resolve", "--preset", "fine"], &["finetune"]);
        has(&["resolve", "--cuda", "12."], &["12.4"]);
        has(&["resolve", "--base", "n"], &["none", "nvidia/cuda", "ngc"]);
        has(
            &["resolve", "--base", "pytorch/pytorch:2.5.1-cuda12.4"],
            &["pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel"],
        );
        has(&["inspect", "nvidia"], &["nvidia/cuda:"]);
        has(&["inspect", "nvidia/cuda:12.4.1-base"], &["nvidia/cuda:12.4.1-base-ubuntu22.04"]);
        has(&["catalog", "show", "packages/v"], &["packages/vllm"]);
        has(&["lint", "--as", "comp"], &["compose"]);
    }

    #[test]
    fn files_complete_from_the_working_directory() {
        has(&["check", "--from", "Cargo.t"], &["Cargo.toml"]);
        has(&["diagnose", "sr"], &["src/"]);
    }

    #[test]
    fn a_program_called_by_its_name_is_found_on_path() {
        assert_eq!(called(&"envdoc".into()), None);
        assert_eq!(called(&"/opt/envdoc".into()).as_deref(), Some("/opt/envdoc"));
        assert!(called(&"bin/envdoc".into()).unwrap().ends_with("/bin/envdoc"));
        assert_eq!(called(&"/a\\b/envdoc".into()), None);
    }
}
