//! A script that Python 3 does not compile.

use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "python-refused",
    severity: Severity::Error,
    summary: "scripts are Python 3, with indentation that does not mix tabs and spaces",
    explain: include_str!("python_refused.md"),
    judge: Judge::Training(judge),
    fires: &[
        named("train.py", "import torch\nprint \"rank\", rank\n"),
        named("train.py", "import torch\nif True:\n        a = 1\n\tb = 2\n"),
    ],
    silent: &[
        named("train.py", "import torch\nprint(\"rank\", rank)\nif True:\n\ta = 1\n\tb = [1,\n        2]\n"),
        named(
            "train.py",
            "import torch\nif True:\n    a = 1\n    # \t\n    if a:\n        b = \"\"\"\n\tx\n\"\"\"\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    // A template, or another language: one line is enough.
    if !program.unparsed.is_empty() {
        return Vec::new();
    }
    let Some((line, why)) = program.refused.iter().min() else { return Vec::new() };
    let (message, fix) = match *why {
        "print" => ("print without parentheses is Python 2; Python 3 raises SyntaxError", "Write `print(…)`"),
        "exec" => ("exec without parentheses is Python 2; Python 3 raises SyntaxError", "Write `exec(…)`"),
        _ => (
            "the line is indented with other whitespace than the lines before it in its block; Python raises \
             TabError",
            "Indent the whole file with spaces",
        ),
    };
    vec![Found::error(*line, message, fix)]
}
