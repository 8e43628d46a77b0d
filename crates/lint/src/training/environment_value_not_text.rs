//! A number as the value of an environment variable.

use crate::read::python::{Assignment, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "environment-value-not-text",
    severity: Severity::Error,
    summary: "values of os.environ are texts",
    explain: include_str!("environment_value_not_text.md"),
    judge: Judge::Training(judge),
    fires: &[
        named("train.py", "from os import environ\nimport torch\nenviron[\"MASTER_PORT\"] = 29500\n"),
        named("train.py", "import os\nimport torch\nos.environ[\"MASTER_PORT\"] = 29500\n"),
        named(
            "train.py",
            "import os\nimport torch\nport = int(a) if a else 29500\nos.environ['MASTER_PORT'] = port\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nos.environ[\"WORLD_SIZE\"] = torch.cuda.device_count()\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import os\nimport torch\nport = 29500\nos.environ[\"MASTER_PORT\"] = str(port)\n\
             os.environ[\"A\"] = \"1\"\nos.environ[\"B\"] = f\"{port}\"\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nport = 29500\nport = read()\nos.environ[\"MASTER_PORT\"] = port\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nrank = 0\ndef start(rank):\n    os.environ[\"RANK\"] = rank\n",
        ),
        named("train.py", "import torch\nos = Fake()\nos.environ[\"RANK\"] = 1\n"),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    // Another object may have the name.
    let is_module = program.text.lines().any(|line| {
        let rest = line.trim().strip_prefix("import ");
        rest.is_some_and(|names| names.split(',').any(|name| name.trim() == "os"))
    });
    let imported = program.imports.values().any(|full| full == "os.environ");
    let names = ["os", "environ", "os.environ"];
    let replaced = program.assignments.iter().any(|one| names.contains(&one.name.as_str()));
    if !(is_module || imported) || replaced {
        return Vec::new();
    }
    program.assignments.iter().filter_map(|one| fault(program, one)).collect()
}

fn fault(program: &Program, one: &Assignment) -> Option<Found> {
    let key = program.environment_key(&one.name)?;
    let name = key.trim_matches(['"', '\'']);
    if !is_number(&one.text) && !is_number_name(program, one) {
        return None;
    }
    let message = format!(
        "os.environ[{key}] is set to a number ({}); the line fails with `TypeError: str expected, not int`",
        one.text
    );
    let fix = format!("Write `os.environ[\"{name}\"] = str({})`", one.text);
    Some(Found::error(one.line, message, fix).about(name))
}

/// Whether a name is set to numbers only, at the place where it is used.
fn is_number_name(program: &Program, one: &Assignment) -> bool {
    let name = one.text.as_str();
    let in_loop = program.loops.iter().any(|each| each.over.split([',', ' ', '(']).any(|part| part == name));
    let Some(set) = program.value(name, &one.function, one.at.start) else { return false };
    let all = program.assignments.iter().filter(|other| other.name == name);
    !in_loop && set.function == one.function && all.into_iter().all(|other| is_number(&other.text))
}

/// Whether an expression can only be a whole number.
fn is_number(text: &str) -> bool {
    let text = text.trim();
    let literal = text.replace('_', "").parse::<i64>().is_ok() && !text.starts_with('_');
    let called = ["int(", "len(", "torch.cuda.device_count("].iter().any(|start| is_whole_call(text, start));
    let arms = text.split_once(" if ").and_then(|(one, rest)| Some((one, rest.rsplit_once(" else ")?.1)));
    literal || called || arms.is_some_and(|(one, other)| is_number(one) && is_number(other))
}

/// Whether a text is this call and nothing more.
fn is_whole_call(text: &str, start: &str) -> bool {
    let Some(rest) = text.strip_prefix(start) else { return false };
    let mut depth = 1_usize;
    for (at, letter) in rest.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1 == rest.len();
        }
    }
    false
}
