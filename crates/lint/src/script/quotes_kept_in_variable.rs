//! Quotes inside of a variable, which the shell leaves where they are.

use crate::programs;
use crate::read::dockerfile::command::Command;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "quotes-kept-in-variable",
    severity: Severity::Error,
    summary: "options in a variable have no quotes in it",
    explain: include_str!("quotes_kept_in_variable.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "ARGS=\"--lr 1e-4 --run-name 'my long run'\"\ntorchrun --standalone train.py $ARGS\n",
        ),
        named(
            "run.sh",
            "export OPTS='--model a/b --chat-template \"{% x %} y\"'\nvllm serve ${OPTS} --port 8000\n",
        ),
    ],
    silent: &[
        named(
            "run.sh",
            "ARGS=\"--lr 1e-4 --run-name 'my long run'\"\neval torchrun --standalone train.py $ARGS\n",
        ),
        named("run.sh", "ARGS=(--lr 1e-4 --run-name 'my long run')\ntorchrun train.py \"${ARGS[@]}\"\n"),
        named("run.sh", "MSG=\"the 'best run' so far\"\necho $MSG\n"),
        named("run.sh", "CMD=\"python train.py --name 'a b'\"\nbash -c \"$CMD\"\nssh node2 $CMD\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let sets = script.commands.iter().flat_map(|one| one.sets.iter().map(move |set| (one, set)));
    let found = sets.filter_map(|(_, (name, word))| {
        let part = quoted_part(&word.text).filter(|_| word.text.trim_start().starts_with('-'))?;
        let again = script.commands.iter().flat_map(|one| &one.sets).filter(|(other, _)| other == name);
        let user = script.commands.iter().find(|one| takes_options(one) && uses(one, name))?;
        let first = part.split_whitespace().next()?;
        let message = format!(
            "the quotes in {name} are a part of its value; {} gets `{first}` and the other words of {part} \
             as \
             separate arguments",
            user.program()
        );
        let fix = format!("Use an array: `{name}=(…)` and `\"${{{name}[@]}}\"`");
        (again.count() == 1).then(|| Found::error(word.line, message, fix))
    });
    found.collect()
}

/// A part of a value in quotes of its own with a blank in it: `'my run'`.
fn quoted_part(value: &str) -> Option<&str> {
    let start = value.find(['\'', '"'])?;
    let quote = value[start..].chars().next()?;
    let end = value[start + 1..].find(quote)? + start + 2;
    let part = &value[start..end];
    let opens = value[..start].ends_with([' ', '=']);
    (opens && part.contains(' ') && !value[..start].contains('$')).then_some(part)
}

/// Programs that get their arguments as they are.
fn takes_options(command: &Command) -> bool {
    let program = command.program();
    programs::is_python(program)
        || programs::starts_tasks(program)
        || programs::is_engine(program)
        || program == "vllm"
}

/// Whether a command has the variable as a word of its own, without quotes.
fn uses(command: &Command, name: &str) -> bool {
    let forms = [format!("${name}"), format!("${{{name}}}")];
    let shell =
        command.words.iter().any(|word| matches!(word.text.as_str(), "eval" | "bash" | "sh" | "xargs"));
    !shell && command.words.iter().any(|word| !word.quoted && forms.contains(&word.text))
}
