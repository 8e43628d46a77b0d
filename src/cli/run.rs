//! When, where and how envdoc runs now, for pages.

use diagnostic::report::Run;
use diagnostic::shell;
use host::{name, redact, variables};

/// This run. Credentials on the command line are hidden: a page is sent on.
pub(super) fn now() -> Run {
    let words = variables::command_line().skip(1);
    let words = words.map(|word| shell::word(&word.to_string_lossy()).into_owned());
    let line = std::iter::once("envdoc".to_owned()).chain(words).collect::<Vec<_>>().join(" ");
    Run {
        time: jiff::Timestamp::now().strftime("%F %T UTC").to_string(),
        host: name::own(),
        command_line: redact::hide_named_credentials(&line),
    }
}
