//! A program that is neither an absolute path nor a plain name.

use crate::read::unit::{Unit, UnitCommand};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "unit-program-refused",
    severity: Severity::Error,
    summary: "programs of a unit are absolute paths, or names without a slash",
    explain: include_str!("unit_program_refused.md"),
    judge: Judge::Unit(judge),
    fires: &[
        named(
            "serve.service",
            "[Service]\nWorkingDirectory=/srv/llm\nExecStart=./venv/bin/python serve.py --port 8000\n",
        ),
        named("train.service", "[Service]\nExecStart=~/miniconda3/bin/python /srv/train.py\n"),
        named("train.service", "[Service]\nEnvironment=VENV=/srv/venv\nExecStart=${VENV}/bin/python t.py\n"),
        named("a.service", "[Service]\nExecStartPre=-scripts/wait.sh\nExecStart=/srv/serve\n"),
    ],
    silent: &[
        named("a.service", "[Service]\nExecStart=/srv/venv/bin/python serve.py\nExecStop=-kill $MAINPID\n"),
        named("a.service", "[Service]\nExecStart=%h/venv/bin/python %h/serve.py\n"),
        named("a.service", "[Service]\nExecStart=@/usr/bin/python3 serve serve.py ~/conf\n"),
        named("a.service", "[Service]\nExecStart=@PREFIX@/bin/serve\nExecStop={{ bin }}/stop\n"),
        named("a.service", "[Service]\nExecStart=<path>/serve\n"),
    ],
};

fn judge(unit: &Unit) -> Vec<Found> {
    unit.commands().iter().filter_map(fault).collect()
}

fn fault(command: &UnitCommand) -> Option<Found> {
    let program = command.words.first()?.text.as_str();
    // Something fills these in before systemd reads the file.
    let template = program.contains(['{', '<', '@', '%']) && !program.starts_with("${");
    if template || program.starts_with('/') || command.prefix.contains('|') {
        return None;
    }
    let message = match program.chars().next()? {
        '$' => format!(
            "systemd does not expand `{program}`: the program may not be a variable; it refuses \
             the unit"
        ),
        '~' => format!("systemd does not know the home directory in `{program}` and refuses the unit"),
        _ if program.contains('/') => format!(
            "systemd refuses `{program}`: a program is an absolute path or a name without a slash, whatever \
             WorkingDirectory= is"
        ),
        _ => return None,
    };
    let fix = "Write the absolute path; `%h` is the home directory of the user manager's user, in a system \
               unit of root";
    Some(Found::error(command.line, message, fix))
}
