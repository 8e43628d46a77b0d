//! A SHELL that takes the commands of RUN for the name of a script.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::instructions::Instruction;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "shell-without-command-option",
    severity: Severity::Error,
    summary: "SHELL ends with the option for a command, such as -c",
    explain: include_str!("shell_without_command_option.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:24.04\nSHELL [\"/bin/bash\", \"-o\", \"pipefail\"]\nRUN echo a | tee b\n"),
        dockerfile("FROM ubuntu:24.04\nSHELL [\"/bin/bash\"]\nRUN source /opt/env.sh && make\n"),
        dockerfile("FROM ubuntu:24.04\nSHELL [\"/bin/bash\", \"-c\", \"source /opt/env.sh\"]\nRUN make\n"),
        dockerfile("FROM ubuntu:24.04\nSHELL [\"bash\", \"--login\"]\nCMD echo hello\n"),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:24.04\nSHELL [\"/bin/bash\", \"-o\", \"pipefail\", \"-c\"]\nRUN echo a | tee b\n\
             SHELL [\"/bin/bash\", \"-lc\"]\nRUN a\nSHELL [\"/bin/bash\", \"-euxo\", \"pipefail\", \
             \"-c\"]\nRUN b\n",
        ),
        dockerfile(
            "FROM mambaorg/micromamba:2.0\nSHELL [\"micromamba\", \"run\", \"-n\", \"base\", \"/bin/bash\", \
             \"-c\"]\n\
             RUN a\nSHELL [\"conda\", \"run\", \"-n\", \"env\"]\nRUN python b\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nSHELL [\"/bin/bash\", \"-o\", \"pipefail\"]\nRUN [\"make\", \"all\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nSHELL [\"/bin/bash\", \"-c\", \"-e\", \"-o\", \"pipefail\"]\nRUN make\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in &file.stages {
        let shells = stage.instructions.iter().enumerate().filter(|(_, one)| one.keyword == "SHELL");
        for (at, shell) in shells {
            let Some(words) = &shell.json else { continue };
            let until = stage.instructions[at + 1..].iter().take_while(|one| one.keyword != "SHELL");
            let Some(used) = until.into_iter().find(|one| uses_shell(one)) else { continue };
            found.extend(fault(shell, words, used));
        }
    }
    found
}

/// Whether the shell runs an instruction.
fn uses_shell(one: &Instruction) -> bool {
    let health = one.keyword == "HEALTHCHECK" && one.text.text.trim_start().starts_with("CMD");
    (matches!(one.keyword.as_str(), "RUN" | "CMD" | "ENTRYPOINT") || health) && one.json.is_none()
}

fn fault(shell: &Instruction, words: &[String], used: &Instruction) -> Option<Found> {
    // `micromamba run -n base bash -c`: the program is the last shell.
    let names = ["sh", "bash", "dash", "ash", "zsh"];
    let at = words.iter().rposition(|word| names.contains(&word.rsplit('/').next().unwrap_or_default()))?;
    let name = words[at].as_str();
    let options = &words[at + 1..];
    let is_option = |word: &str| word.starts_with(['-', '+']);
    let short = |word: &str| word.starts_with('-') && !word.starts_with("--");
    let command = options.iter().position(|word| short(word) && word.contains('c'));
    // The shell reads options up to its first other word; `-o` has a value.
    let mut valued = false;
    let operand = options.iter().find(|word| {
        let is_value = std::mem::replace(&mut valued, short(word) && word.ends_with('o'));
        !is_value && !is_option(word)
    });
    let place = format!("{} in line {}", used.keyword, used.line);
    let (message, fix) = match (command, operand) {
        (None, None) => {
            let mut whole: Vec<&str> = words.iter().map(String::as_str).collect();
            whole.push("-c");
            let whole = whole.join("\", \"");
            let message = format!(
                "SHELL has no -c: {name} takes the command of {place} for the name of a script; \
                 `No such file or directory`"
            );
            (message, format!("Write `SHELL [\"{whole}\"]`"))
        }
        (Some(_), Some(own)) => {
            let message = format!(
                "SHELL has a command of its own: {name} runs `{own}`, and the command of {place} is its $0"
            );
            (
                message,
                "End SHELL with -c, and write the command in each RUN or in a file that BASH_ENV names"
                    .to_owned(),
            )
        }
        _ => return None,
    };
    Some(Found::error(shell.line, message, fix))
}
