//! Standard output and standard error: the only place that writes to them. Nothing that a terminal acts on
//! gets there but lines, tabs and our colours; see [`crate::visible`].

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anstyle::{AnsiColor, Style};

use crate::error::{Error, Kind};
use crate::visible::{self, block, screen};

/// The widest a report gets, in columns.
pub const WIDTH_MAX: usize = 100;
/// The narrowest a report is wrapped to.
const WIDTH_MIN: usize = 40;

/// What was printed since [`collect`], where that was called: standard output is one per process, too.
static COLLECTED: Mutex<Option<Vec<u8>>> = Mutex::new(None);
/// Whether [`note`] prints nothing.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on reports are kept for [`collected`] and not printed.
pub fn collect() {
    *COLLECTED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
}

/// The reports since [`collect`], byte for byte as a pipe would have got them; later ones are printed again.
pub fn collected() -> Vec<u8> {
    COLLECTED.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
}

/// Whether the bytes were kept because reports are collected.
fn kept(bytes: &[u8]) -> bool {
    match COLLECTED.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        Some(collected) => {
            collected.extend_from_slice(bytes);
            true
        }
        None => false,
    }
}

fn collects() -> bool {
    COLLECTED.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Colours everywhere, also in pipes, or nowhere.
pub fn color(everywhere: bool) {
    let choice = if everywhere { anstream::ColorChoice::Always } else { anstream::ColorChoice::Never };
    choice.write_global();
}

/// From now on [`note`] prints nothing.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Prints a report or JSON. Colours are taken out where they are not wanted (pipe, `NO_COLOR`).
pub fn print(text: &str) -> Result<(), Error> {
    if collects() {
        kept(plain(text).as_bytes());
        return Ok(());
    }
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(screen(text).as_bytes()).and_then(|()| stdout.flush()).map_err(Error::from)
}

/// A report as [`print`] writes it where there are no colours.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(&screen(text)).to_string()
}

/// Prints a file that programs read: a Dockerfile, a lock. A pipe gets it byte for byte.
pub fn document(text: &str) -> Result<(), Error> {
    match std::io::stdout().is_terminal() && !collects() {
        true => print(&block(text)),
        false => bytes(text.as_bytes()),
    }
}

/// What another program wrote, without its terminal sequences.
pub fn foreign(text: &str) -> String {
    block(&anstream::adapter::strip_str(text).to_string()).into_owned()
}

/// Writes a result that is no text.
pub fn bytes(content: &[u8]) -> Result<(), Error> {
    if kept(content) {
        return Ok(());
    }
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(content).and_then(|()| stdout.flush()).map_err(Error::from)
}

/// Passes on a line of a program to standard output or standard error: a pipe gets it as it is, a terminal
/// without its sequences. A reader that went away needs no more lines.
pub fn pass_on(line: &str, error: bool) {
    let _ = match (error, std::io::stdout().is_terminal(), std::io::stderr().is_terminal()) {
        (false, false, _) => std::io::stdout().lock().write_all(format!("{line}\n").as_bytes()),
        (true, _, false) => std::io::stderr().lock().write_all(format!("{line}\n").as_bytes()),
        (false, true, _) => writeln!(anstream::stdout().lock(), "{}", foreign(line)),
        (true, _, true) => writeln!(anstream::stderr().lock(), "{}", foreign(line)),
    };
}

/// Says on standard error what is going on, or what was done.
pub fn note(text: &str) {
    if QUIET.load(Ordering::Relaxed) {
        return;
    }
    let _ = writeln!(anstream::stderr().lock(), "{}", screen(text));
}

/// Prints an error and its hints.
pub fn error(error: &Error) {
    if error.kind == Kind::BrokenPipe {
        return;
    }
    let (red, cyan) = (colour(AnsiColor::Red).bold(), colour(AnsiColor::Cyan).bold());
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "{red}error{red:#}: {}", continued(&error.message));
    for hint in &error.hints {
        let _ = writeln!(stderr, "{cyan}hint{cyan:#}: {}", continued(hint));
    }
}

/// An error and its hints as [`error`] prints them where there are no colours.
pub fn plain_error(error: &Error) -> String {
    let hints = error.hints.iter().map(|hint| format!("\nhint: {}", continued(hint)));
    hints.fold(format!("error: {}", continued(&error.message)), |text, hint| text + &hint)
}

/// Lines after the first are indented: none of them looks like an error or a hint of its own.
fn continued(text: &str) -> String {
    let mut lines = text.split('\n').map(visible::shortened);
    let first = block(&lines.next().unwrap_or_default()).into_owned();
    lines.fold(first, |text, line| {
        let indent = if line.starts_with("  ") { "" } else { "  " };
        text + "\n" + indent + &block(&line)
    })
}

/// A foreground colour.
pub fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(colour.into()))
}

/// Columns to wrap to: the terminal's, at most [`WIDTH_MAX`].
pub fn width() -> usize {
    let columns = (std::io::stdout().is_terminal() && !collects())
        .then(|| rustix::termios::tcgetwinsize(std::io::stdout()).ok())
        .flatten()
        .map_or(WIDTH_MAX, |size| usize::from(size.ws_col));
    if columns == 0 { WIDTH_MAX } else { columns.clamp(WIDTH_MIN, WIDTH_MAX) }
}

/// Whether standard error is a terminal that lines can be redrawn on.
pub fn redraws() -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "the terminal's kind is a matter of this terminal, not of the examined machine"
    )]
    let kind = std::env::var("TERM").unwrap_or_default();
    std::io::stderr().is_terminal() && !QUIET.load(Ordering::Relaxed) && !matches!(kind.as_str(), "" | "dumb")
}

/// Whether the locale lets more than ASCII through: `LC_ALL`, else `LC_CTYPE`, else `LANG` names UTF-8. A
/// pipe is given what a terminal of the same locale would be.
pub fn unicode() -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "the locale is a matter of this terminal, not of the examined machine"
    )]
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .unwrap_or_default()
        .to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_quotes_a_large_value_keeps_its_beginning_and_the_place() {
        let error = format!("not a map: \"{}\" at line 1\nshort", "x".repeat(100_000));
        let shown = continued(&error);
        assert!(
            shown.starts_with("not a map: \"xxx") && shown.ends_with("xxx\" at line 1\n  short"),
            "{shown}"
        );
        assert!(shown.contains("(98823 characters left out)") && shown.len() < 1300, "{shown}");
        let usual = "y".repeat(1200);
        assert_eq!(continued(&usual), usual);
    }
}
