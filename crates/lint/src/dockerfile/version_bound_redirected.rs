//! A bound of a version that the shell takes for a redirection.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::command::{Command, Glued};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "version-bound-redirected",
    severity: Severity::Error,
    summary: "versions with `<` or `>` are in quotes in RUN",
    explain: include_str!("version_bound_redirected.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12-slim\nRUN pip install numpy<2 pandas==2.2.2\n"),
        dockerfile("FROM python:3.12-slim\nRUN pip install fastapi>=0.110 uvicorn\n"),
        dockerfile("FROM python:3.12-slim\nRUN pip install uv && uv pip install --system numpy<2.0\n"),
    ],
    silent: &[
        dockerfile("FROM python:3.12-slim\nRUN pip install \"numpy<2\" 'pandas>=2' uvicorn\\<1\n"),
        dockerfile("FROM python:3.12-slim\nRUN pip install fastapi >/dev/null 2>&1\n"),
        dockerfile("FROM python:3.12-slim\nRUN pip list >packages && python -c 'import x' <2.txt\n"),
        dockerfile("FROM python:3.12-slim\nRUN [\"pip\", \"install\", \"fastapi>=0.110\"]\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.runs().filter_map(|(_, run)| fault(&run.command)).collect()
}

/// What the shell makes of the first bound of an installation.
pub(crate) fn fault(command: &Command) -> Option<Found> {
    let Glued { word, sign, file } = command.glued.iter().find(|one| is_bound(one))?;
    if !installs(command) {
        return None;
    }
    let written = format!("{word}{sign}{}", file.text);
    let fix = format!("Write `\"{written}\"`");
    Some(match sign {
        '<' => {
            let message = format!(
                "the shell takes `<` in {written} for a redirection and reads a file named {}; the command \
                 fails, `No such file`",
                file.text
            );
            Found::error(file.line, message, fix).about(written).unless_certain(command.certain)
        }
        _ => {
            let message = format!(
                "the shell takes `>` in {written} for a redirection: pip gets {word} without a bound, and \
                 its \
                 output goes to a file named {}",
                file.text
            );
            Found::warning(file.line, message, fix)
        }
    })
}

/// `numpy<2`, `torch>=2.4`: a name, and a version as a file.
fn is_bound(one: &Glued) -> bool {
    let name = one.word.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && one.word.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-[],=!~".contains(letter));
    let version = one.file.text.strip_prefix('=').unwrap_or(&one.file.text);
    let release = version.split(',').next().unwrap_or_default();
    let number = !release.is_empty()
        && release.split('.').all(|part| {
            part.starts_with(|letter: char| letter.is_ascii_digit())
                && part.chars().all(|letter| letter.is_ascii_alphanumeric())
                || part == "*"
        });
    // `2.txt` is a file.
    let ending = release
        .rsplit('.')
        .next()
        .is_some_and(|part| part.starts_with(|letter: char| letter.is_ascii_digit()) || part == "*");
    name && number && ending
}

/// Whether a command installs packages that it names.
fn installs(command: &Command) -> bool {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let program = command.program();
    let has = |names: &[&str]| words.iter().skip(1).any(|word| names.contains(word));
    let pip = program.starts_with("pip") || program.starts_with("python") && has(&["pip"]);
    let others = matches!(
        program,
        "uv" | "conda" | "mamba" | "micromamba" | "poetry" | "pdm" | "pipx" | "pixi" | "micropipenv"
    );
    (pip || others) && has(&["install", "add", "download", "wheel", "create"])
}
