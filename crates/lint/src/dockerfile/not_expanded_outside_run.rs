//! What only a shell would replace, in instructions that no shell reads.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::stage::{settings, unquoted};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "not-expanded-outside-run",
    severity: Severity::Error,
    summary: "ENV, WORKDIR and COPY use no `~`, no `$(…)` and no comments",
    explain: include_str!("not_expanded_outside_run.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12\nWORKDIR ~/app\nCOPY train.py .\n"),
        dockerfile("FROM python:3.12\nENV MAX_JOBS=$(nproc)\n"),
        dockerfile("FROM python:3.12\nCOPY train.py ~/app/\n"),
        dockerfile("FROM python:3.12\nENV PATH=~/.local/bin:$PATH\nENV A=1 # quiet\n"),
        dockerfile("FROM python:3.12\nEXPOSE 8000 # http\nCMD [\"python\", \"app.py\"] # start\n"),
        dockerfile("FROM python:3.12\nARG JOBS=`nproc`\nWORKDIR /app # here\n"),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12\nENV HF_HOME=~/hf\nRUN cd ~/app && make -j$(nproc) # fast\nCMD cd ~ && make # \
             all\n\
             ENV PS1='$(date) '\n",
        ),
        dockerfile(
            "FROM python:3.12\nWORKDIR /app~1\nENV COLOR=\"#fff\" B=x#y\nLABEL a=\"b # c\"\nENV C=\\$(x)\n",
        ),
        dockerfile("FROM python:3.12\nENV TEXT one # two\nCOPY a#b /x\n# ENV A=$(x)\n"),
    ],
};

/// Variables whose directories nobody expands.
const PATHS: &[&str] =
    &["PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_HOME", "VIRTUAL_ENV", "LIBRARY_PATH", "CPATH"];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let own = file
        .instructions
        .iter()
        .filter(|one| !matches!(one.keyword.as_str(), "RUN" | "ONBUILD" | "HEALTHCHECK"));
    own.filter_map(|one| comment(one).or_else(|| substitution(one)).or_else(|| tilde(one))).collect()
}

/// A comment behind an instruction.
fn comment(one: &Instruction) -> Option<Found> {
    let text = one.text.text.as_str();
    let at = unquoted_places(text, '#').find(|at| text[..*at].ends_with([' ', '\t']))?;
    let keyword = one.keyword.as_str();
    let effect = match keyword {
        // The old form takes all that follows for the value.
        "ENV" | "LABEL" if !text.split_whitespace().next()?.contains('=') => return None,
        "ENV" | "LABEL" => "the build fails with `can't find = in \"#\"`",
        "CMD" | "ENTRYPOINT" if !text.starts_with('[') => return None,
        "CMD" | "ENTRYPOINT" => "it is no longer JSON, so a shell runs the brackets",
        "FROM" => "FROM takes one or three words; the build fails",
        "EXPOSE" => "`#` is taken for a port; the build fails",
        "COPY" | "ADD" => "its words are taken for files",
        "WORKDIR" | "USER" => "it is a part of the name",
        _ => return None,
    };
    let line = one.text.line_at(at);
    let message = format!("`#` does not start a comment after {keyword}: {effect}");
    Some(Found::error(line, message, "Move the comment to a line of its own"))
}

/// `$(nproc)`, and the same in backquotes.
fn substitution(one: &Instruction) -> Option<Found> {
    let text = one.text.text.as_str();
    let keyword = one.keyword.as_str();
    let own = matches!(keyword, "ENV" | "ARG" | "WORKDIR" | "USER" | "EXPOSE" | "COPY" | "ADD" | "LABEL");
    let prompt = ["PS1", "PROMPT_COMMAND", "PS4"].iter().any(|name| text.contains(name));
    if !own || prompt || !one.heredocs.is_empty() {
        return None;
    }
    let escaped = |at: usize| text[..at].ends_with('\\');
    let dollar = unquoted_places(text, '$').find(|at| text[*at..].starts_with("$(") && !escaped(*at));
    let back = unquoted_places(text, '`').find(|at| !escaped(*at) && text[*at + 1..].contains('`'));
    let at = dollar.or(back)?;
    let written = match dollar {
        Some(at) => text[at..].split_inclusive(')').next()?,
        None => text.get(at..at + 2 + text[at + 1..].find('`')?)?,
    };
    let message = format!("{keyword} runs no command: `{written}` stays as it is written");
    let fix = "Use the command in a RUN, or set the variable where the program starts";
    Some(Found::error(one.text.line_at(at), message, fix))
}

/// `~` where no shell replaces it.
fn tilde(one: &Instruction) -> Option<Found> {
    let text = one.text.text.trim();
    let is_home = |path: &str| path == "~" || path.starts_with("~/");
    let fix = "Write the whole path: /root, or /home/NAME";
    let (path, line) = match one.keyword.as_str() {
        "WORKDIR" => (unquoted(text), one.line),
        "COPY" | "ADD" => (unquoted(one.words().last()?), one.line),
        "ENV" => {
            let (name, value) = settings(text).into_iter().find_map(|(name, value)| {
                let value = unquoted(&value?);
                (PATHS.contains(&name.as_str()) && value.split(':').any(is_home)).then_some((name, value))
            })?;
            let at = one.text.text.find(&name).map_or(one.line, |at| one.text.line_at(at));
            let message = format!("~ in {name} is not replaced: {value} names a directory called ~");
            return Some(Found::warning(at, message, fix));
        }
        _ => return None,
    };
    let message = format!(
        "{} does not replace ~: {path} is a directory called ~ below the working directory",
        one.keyword
    );
    is_home(&path).then(|| Found::error(line, message, fix))
}

/// The places of a letter outside of quotes; in double quotes a `$` and a backquote count.
fn unquoted_places(text: &str, wanted: char) -> impl Iterator<Item = usize> {
    let (mut found, mut quote, mut escaped) = (Vec::new(), None, false);
    for (at, letter) in text.char_indices() {
        if std::mem::replace(&mut escaped, false) {
            continue;
        }
        match (quote, letter) {
            (Some('\''), _) if letter != '\'' => {}
            (_, '\\') => escaped = true,
            (Some(open), _) if open == letter => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, _) if letter == wanted => found.push(at),
            (Some('"'), _) if letter == wanted && wanted != '#' => found.push(at),
            _ => {}
        }
    }
    found.into_iter()
}
