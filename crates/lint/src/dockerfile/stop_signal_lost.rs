//! A shell script between the container and a program that waits for SIGTERM.

use crate::programs::is_python;
use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::start::{command, entrypoint};
use crate::read::entry_scripts::{EntryScript, entry_scripts};
use crate::read::python::Program;
use crate::read::script::in_functions;
use crate::rule::{Found, Judge, Rule, Severity, with};

pub(crate) const RULE: Rule = Rule {
    id: "stop-signal-lost",
    severity: Severity::Warning,
    summary: "a program with a handler for SIGTERM gets the signal of `docker stop`",
    explain: include_str!("stop_signal_lost.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        with(
            "FROM python:3.12\nWORKDIR /w\nCOPY train.py entrypoint.sh ./\nENTRYPOINT \
             [\"/w/entrypoint.sh\"]\n",
            &[
                (
                    "entrypoint.sh",
                    "#!/bin/bash\nset -e\nnvidia-smi -L\npython train.py \"$@\"\necho finished\n",
                ),
                (
                    "train.py",
                    "import signal\n\n\ndef save(*_):\n    pass\n\n\nsignal.signal(signal.SIGTERM, save)\n",
                ),
            ],
        ),
        with(
            "FROM python:3.12\nWORKDIR /w\nCOPY serve.py run.sh ./\nCMD [\"bash\", \"run.sh\"]\n",
            &[
                ("run.sh", "#!/bin/bash\npython3 -u serve.py\n"),
                ("serve.py", "from signal import SIGTERM, signal\nsignal(SIGTERM, lambda *_: done.set())\n"),
            ],
        ),
    ],
    silent: &[
        with(
            "FROM python:3.12\nWORKDIR /w\nCOPY train.py entrypoint.sh ./\nENTRYPOINT \
             [\"/w/entrypoint.sh\"]\n",
            &[
                ("entrypoint.sh", "#!/bin/bash\nset -e\nnvidia-smi -L\nexec python train.py \"$@\"\n"),
                ("train.py", "import signal\nsignal.signal(signal.SIGTERM, save)\n"),
            ],
        ),
        with(
            "FROM python:3.12\nWORKDIR /w\nCOPY train.py entrypoint.sh ./\nENTRYPOINT \
             [\"/w/entrypoint.sh\"]\n",
            &[
                (
                    "entrypoint.sh",
                    "#!/bin/bash\ntrap 'kill -TERM $PID' TERM\npython train.py \"$@\" &\nPID=$!\nwait $PID\n",
                ),
                ("train.py", "import signal\nsignal.signal(signal.SIGTERM, save)\n"),
            ],
        ),
        with(
            "FROM python:3.12\nWORKDIR /w\nCOPY train.py entrypoint.sh ./\nENTRYPOINT \
             [\"/w/entrypoint.sh\"]\n",
            &[
                ("entrypoint.sh", "#!/bin/bash\npython train.py \"$@\"\n"),
                ("train.py", "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_DFL)\n"),
            ],
        ),
        with(
            "FROM python:3.12\nWORKDIR /w\nCOPY train.py entrypoint.sh ./\nENTRYPOINT [\"dumb-init\", \
             \"--\", \
             \"/w/entrypoint.sh\"]\n",
            &[
                ("entrypoint.sh", "#!/bin/bash\npython train.py \"$@\"\n"),
                ("train.py", "import signal\nsignal.signal(signal.SIGTERM, save)\n"),
            ],
        ),
        // It prepares something, and the command is another one.
        with(
            "FROM python:3.12\nWORKDIR /w\nCOPY prep.py train.py entrypoint.sh ./\nENTRYPOINT \
             [\"/w/entrypoint.sh\"]\nCMD [\"python\", \"train.py\"]\n",
            &[
                ("entrypoint.sh", "#!/bin/bash\npython prep.py\nexec \"$@\"\n"),
                ("prep.py", "import signal\nsignal.signal(signal.SIGTERM, save)\n"),
                ("train.py", "import signal\nsignal.signal(signal.SIGTERM, save)\n"),
            ],
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    // An init process may give the signal to the whole group.
    let first = entrypoint(file).or_else(|| command(file)).and_then(|one| one.json.as_deref()?.first());
    let direct = first.is_some_and(|word| {
        word.ends_with(".sh") || matches!(word.rsplit('/').next(), Some("bash" | "sh" | "dash"))
    });
    if !direct {
        return Vec::new();
    }
    entry_scripts(file).iter().filter_map(|script| fault(file, script)).take(1).collect()
}

/// What may pass signals on, or end the shell before the program.
const HANDLES: &[&str] =
    &["trap", "kill", "wait", "exec ", "set -m", "tini", "dumb-init", "supervisor", "cd "];

fn fault(file: &Dockerfile, script: &EntryScript) -> Option<Found> {
    let end = &file.stages.last()?.end;
    let text = file.context_text(&script.path)?;
    if HANDLES.iter().any(|word| text.contains(word)) {
        return None;
    }
    let is_in_function = in_functions(text);
    script.commands.iter().filter(|one| waits(one) && !is_in_function(one.line)).find_map(|one| {
        let path = one.words.iter().skip(1).find(|word| !word.text.starts_with('-'))?;
        if !path.known || !path.text.ends_with(".py") {
            return None;
        }
        let (_, program) = file.text_at(end, &path.text)?;
        let line = handler(&Program::read(file.catalog, program))?;
        let message = format!(
            "line {} of {} starts {} without `exec`; the shell receives the SIGTERM of `docker stop`, and \
             the handler in line {line} of {} never runs",
            one.line, script.path, path.text, path.text
        );
        let fix = format!("Write `exec {}` as the last command", one.text());
        Some(Found::warning(script.line, message, fix))
    })
}

/// Whether the shell waits for a program of Python.
fn waits(one: &Command) -> bool {
    is_python(one.program())
        && one.after != "&"
        && one.after != "|"
        && !one.piped
        && one.certain
        && one.loops == 0
}

/// The line where a program sets a handler of its own for SIGTERM.
fn handler(program: &Program) -> Option<usize> {
    let call = program.calls.iter().find(|call| {
        let [signal, handler] = &call.arguments[..] else { return false };
        let own = !handler.text.contains("SIG_");
        call.name == "signal.signal" && signal.text.ends_with("SIGTERM") && own
    })?;
    Some(call.line)
}
