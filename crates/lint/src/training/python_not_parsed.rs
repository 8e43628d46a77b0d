//! Parts of a script that could not be parsed, so that no rule looked at them.

use diagnostic::Fix;

use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "python-not-parsed",
    severity: Severity::Note,
    summary: "the whole script can be parsed, so that every rule sees all of it",
    explain: include_str!("python_not_parsed.md"),
    judge: Judge::Training(judge),
    fires: &[
        named("train.py", "import torch\n\ndef main(:\n    torch.cuda.set_device(0)\n"),
        named("train.py", "import torch\nprint 'old'\nx = [1, 2\n"),
    ],
    silent: &[
        named("train.py", "import torch\nmatch x:\n    case [1, *rest]:\n        pass\n"),
        named("train.py", "import torch\nx = f\"{y!r:>{width}}\"\ntype A = list[int]\n"),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let Some(first) = program.unparsed.iter().min() else { return Vec::new() };
    let message = match program.unparsed.len() {
        1 => format!("line {first} cannot be parsed: no rule checked it"),
        count => format!("{count} lines cannot be parsed, the first is line {first}: no rule checked them"),
    };
    let command = format!("python3 -m py_compile {}", diagnostic::shell::word(&program.name));
    vec![Found::note(*first, message, Fix::run("Check the syntax:", command))]
}
