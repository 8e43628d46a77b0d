//! Shell syntax in a command that systemd starts without a shell.

use crate::read::unit::{Unit, UnitCommand, UnitWord};
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::shell_words::cut_off;

pub(crate) const RULE: Rule = Rule {
    id: "unit-shell-syntax",
    severity: Severity::Error,
    summary: "commands of a unit need no shell, or start one",
    explain: include_str!("unit_shell_syntax.md"),
    judge: Judge::Unit(judge),
    fires: &[
        named(
            "gpu-power.service",
            "[Service]\nType=oneshot\nExecStart=/usr/bin/nvidia-smi -pm 1 && /usr/bin/nvidia-smi -pl 300\n",
        ),
        named(
            "vllm.service",
            "[Service]\nWorkingDirectory=/srv/llm\nExecStart=source venv/bin/activate && python -m \
             vllm.entrypoints.openai.api_server --model ${MODEL}\n",
        ),
        named("log.service", "[Service]\nExecStart=/usr/bin/dcgmi dmon -e 155 > /var/log/power.log 2>&1\n"),
        named("log.service", "[Service]\nExecStart=/usr/bin/nvidia-smi dmon | /usr/bin/logger -t gpu\n"),
        named("train.service", "[Service]\nExecStartPre=cd /srv/train; git pull\nExecStart=/srv/train/run\n"),
        named("a.service", "[Service]\nExecStart=/srv/serve --workers $(nproc)\n"),
        named("a.service", "[Service]\nExecStart=/bin/bash -c cd /srv && ./serve.sh\n"),
        named("a.service", "[Service]\nExecStartPre=ulimit -l unlimited\nExecStart=/srv/serve\n"),
        named("a.service", "[Service]\nExecStart=/srv/worker \\\n    --port 80 \\\n    &\n"),
    ],
    silent: &[
        named(
            "comfy@.service",
            "[Service]\nExecStartPre=/bin/sh -c 'until nvidia-smi -i %i >/dev/null; do sleep 2; \
             done'\nExecStart=/bin/bash -c 'source venv/bin/activate && exec python main.py --port $$((8188 \
             + \
             %i)) $${ARGS:-}'\n",
        ),
        named(
            "gpu.service",
            "[Service]\nType=oneshot\nExecStart=/usr/bin/nvidia-smi -pm 1 ; /usr/bin/nvidia-smi -pl \
             300\nExecStartPost=-/usr/bin/logger \"a && b > c\"\n",
        ),
        named("a.service", "[Service]\nExecStart=|/srv/run.sh && /srv/after.sh\n"),
        named("a.service", "[Service]\nExecStart=/usr/bin/ssh gw nvidia-smi | logger\n"),
        named("a.service", "[Unit]\nDescription=a && b > c | d\n[Service]\nExecStart=/srv/serve <model>\n"),
        named("a.service", "[Service]\nExecStart=/srv/serve --expr a\\&\\&b --cost=$$(x) --q 'a|b'\n"),
    ],
};

fn judge(unit: &Unit) -> Vec<Found> {
    unit.commands().iter().filter_map(fault).collect()
}

/// Commands of the shell that are no programs anywhere.
const BUILTINS: &[&str] =
    &["source", ".", "export", "eval", "set", "exec", "trap", "if", "for", "while", "until", "[["];

fn fault(command: &UnitCommand) -> Option<Found> {
    // systemd 258 starts such a command with a shell.
    if command.prefix.contains('|') {
        return None;
    }
    let texts: Vec<String> = command.words.iter().map(|word| word.text.clone()).collect();
    let cut = || cut_off(&texts).map(|cut| Found::warning(command.line, cut.message(), cut.fix()));
    of_builtin(command)
        .or_else(|| of_syntax(command))
        .or_else(|| of_setting(command))
        .or_else(|| of_conda(command))
        .or_else(cut)
}

fn in_shell(command: &UnitCommand) -> String {
    let key = command.key;
    format!("Write `{key}=/bin/bash -c '…'` with the whole command in quotes, or start a script")
}

/// A word of the shell in place of the program.
fn of_builtin(command: &UnitCommand) -> Option<Found> {
    let program = command.words.first()?.text.as_str();
    let message = format!(
        "systemd starts `{program}` as a program, and there is none: it is a word of the shell; the command \
         fails"
    );
    BUILTINS.contains(&program).then(|| Found::error(command.line, message, in_shell(command)))
}

/// A word that would mean something to a shell.
fn of_syntax(command: &UnitCommand) -> Option<Found> {
    // ssh hands its words to a shell on the other machine.
    if matches!(command.program(), "ssh" | "pdsh" | "clush" | "echo") {
        return None;
    }
    let last = command.words.len().saturating_sub(2);
    let mut found = command.words.iter().skip(1).enumerate();
    let (_, word) = found.find(|(at, word)| is_syntax(word, *at == last))?;
    let (name, text) = (name(command), &word.text);
    let message = match text.contains("$(") || text.starts_with('`') {
        true => format!("systemd starts no shell here: {name} gets `{text}` as text, and nothing runs it"),
        false => format!(
            "systemd starts no shell here: {name} gets `{text}` as an argument, and what follows is no \
             command of its own"
        ),
    };
    Some(Found::error(word.line, message, in_shell(command)))
}

/// A command of the shell that changes only its own process.
fn of_setting(command: &UnitCommand) -> Option<Found> {
    let program = command.words.first()?.text.as_str();
    let fix = match program {
        "cd" => "Set WorkingDirectory=",
        "ulimit" => "Set LimitMEMLOCK=, LimitNOFILE= and the like",
        "umask" => "Set UMask=",
        "alias" | "unset" => "Remove it",
        _ => return None,
    };
    let message = format!(
        "`{program}` is a command of the shell; systemd finds no such program, or one that changes nothing \
         for the other commands of the unit"
    );
    Some(Found::warning(command.line, message, fix))
}

/// An environment of conda that is activated for no other command.
fn of_conda(command: &UnitCommand) -> Option<Found> {
    let activates = matches!(command.program(), "conda" | "mamba" | "micromamba")
        && command.words.get(1).is_some_and(|word| word.text == "activate");
    let message = format!(
        "`{} activate` changes only the shell that runs it; the other commands of the unit keep their PATH",
        command.program()
    );
    let fix = "Name the Python of the environment: `/opt/conda/envs/NAME/bin/python`";
    activates.then(|| Found::error(command.line, message, fix))
}

fn name(command: &UnitCommand) -> String {
    match command.program() {
        "" => "the program".to_owned(),
        program => program.to_owned(),
    }
}

/// Whether a word would mean something to a shell; `last` is the last word of the command.
fn is_syntax(word: &UnitWord, last: bool) -> bool {
    if word.quoted {
        return false;
    }
    let text = word.text.as_str();
    let operator = matches!(text, "&&" | "||" | "|" | "&" | ">" | ">>" | "<" | "<<" | "|&" | "&>");
    let bare = text.trim_start_matches(['0', '1', '2', '&']);
    // `<model>` stands for something; `>=1` is a bound.
    let target = bare.trim_start_matches('>');
    let writes =
        bare.starts_with('>') && (target.is_empty() || target.starts_with(['/', '.', '&', '~', '$']));
    let reads = text.starts_with('<') && text[1..].starts_with(['/', '.']);
    let before = text.find("$(").is_some_and(|at| !text[..at].ends_with('$'));
    let substitution = before || text.starts_with('`');
    let ends = text.ends_with(';') && text.len() > 1 && !last;
    operator || writes || reads || substitution || ends
}
