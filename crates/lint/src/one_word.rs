//! A whole command in a single item of a list.

use crate::programs;

/// Programs that people start, besides those that many rules know.
const PROGRAMS: &[&str] =
    &["jupyter", "node", "npm", "nvidia-smi", "sleep", "tail", "ray", "pip", "uv", "streamlit", "celery"];

/// Whether the rest of the word is certainly the arguments of a program that people start.
pub(crate) fn is_program(word: &str) -> bool {
    programs::is_python(word)
        || programs::is_launcher(word)
        || programs::is_server(word)
        || programs::is_shell(word)
        || PROGRAMS.contains(&word)
}

/// The program of a word that holds a whole command.
pub(crate) fn program_of(word: &str) -> Option<&str> {
    let (first, rest) = word.trim().split_once(char::is_whitespace)?;
    let base = first.rsplit('/').next().unwrap_or(first);
    (is_program(base) && !rest.trim().is_empty()).then_some(base)
}

/// Whether a word is an option with its value behind a blank: `--port 8000`.
pub(crate) fn is_option_with_value(word: &str) -> bool {
    let Some((name, value)) = word.split_once(' ') else { return false };
    let plain = name.strip_prefix("--").is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    });
    plain && !value.trim().is_empty() && !value.trim().contains(' ')
}

/// The words as items of a list.
pub(crate) fn listed(word: &str) -> String {
    let words: Vec<String> = word.split_whitespace().map(|one| format!("\"{one}\"")).collect();
    words.join(", ")
}
