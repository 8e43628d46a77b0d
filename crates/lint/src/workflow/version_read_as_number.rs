//! A version in a workflow that YAML reads as a number, so that its last zero is lost.

use serde_yaml::Value;

use crate::read::compose::{below, text};
use crate::read::workflow::{Job, Workflow};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "version-read-as-number",
    severity: Severity::Error,
    summary: "versions in workflows that end in 0 are in quotes",
    explain: include_str!("version_read_as_number.md"),
    judge: Judge::Workflow(judge),
    fires: &[
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    strategy:\n      matrix:\n        \
             python: [3.9, 3.10]\n    steps:\n      - uses: actions/setup-python@v5\n        with:\n     \
             \x20    python-version: ${{ matrix.python }}\n",
        ),
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: \
             actions/setup-python@v5\n        with:\n          python-version: 3.10 # of the image\n",
        ),
        named(
            ".github/workflows/ci.yml",
            "on: push\nenv:\n  PYTHON_VERSION: 3.10\njobs:\n  test:\n    runs-on: ubuntu-latest\n    \
             steps:\n      - uses: conda-incubator/setup-miniconda@v3\n        with:\n       \
             \x20  python-version: ${{ env.PYTHON_VERSION }}\n",
        ),
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    strategy:\n      matrix:\n        \
             include:\n          - torch: 2.10\n            cuda: cu126\n    steps:\n      - run: pip \
             install \"torch==${{ matrix.torch }}.*\"\n",
        ),
    ],
    silent: &[
        named(
            ".github/workflows/ci.yml",
            "on: push\nenv:\n  PYTHON_VERSION: '3.10'\njobs:\n  test:\n    runs-on: ubuntu-latest\n    \
             strategy:\n      matrix:\n        python: [\"3.10\", 3.11]\n        rate: [1.0, 0.10]\n    \
             steps:\n      - uses: actions/setup-python@v5\n        with:\n          python-version: ${{ \
             matrix.python }}\n      - run: python t.py --rate ${{ matrix.rate }}\n",
        ),
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: \
             actions/setup-python@v5\n        with:\n          python-version: |\n            3.10\n         \
             \x20  3.11\n",
        ),
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    strategy:\n      matrix:\n        \
             python: [3.9, 3.11]\n        python-minor: [10]\n    steps:\n      - uses: \
             actions/setup-python@v5\n        with:\n          python-version: \"3.10\"\n",
        ),
    ],
};

/// Entries of a mapping that are looked at.
const ENTRIES_LIMIT: usize = 50;
/// Lines of a list that are searched for a number.
const LIST_LIMIT: usize = 40;

fn judge(workflow: &Workflow) -> Vec<Found> {
    let mut found: Vec<Found> = workflow.jobs.iter().flat_map(|job| of_job(workflow, job)).collect();
    let uses =
        |name: &str| workflow.jobs.iter().map(|job| use_of(job, "env", name)).max().unwrap_or(Use::Nothing);
    found.extend(variables(workflow, &workflow.root, &uses, &|name| workflow.line_of(&["env", name])));
    found.sort_by_key(|one| one.line);
    found.dedup_by(|one, other| one.line == other.line && one.name == other.name);
    found
}

/// What a value is used for, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Nothing,
    Version,
    /// The version of Python, of which 3.1 is none that an action installs; false under a condition.
    Python {
        certain: bool,
    },
}

fn of_job(workflow: &Workflow, job: &Job) -> Vec<Found> {
    let mut found = Vec::new();
    for (index, step) in job.steps.iter().enumerate() {
        for (name, value) in entries(below(&step.value, &["with"])) {
            let certain = !step.may_not_count;
            let line = workflow.line_in(job, &["steps", &index.to_string(), "with", &name]);
            found.extend(fault(workflow, &name, value, line, of_input(&name, certain)));
        }
    }
    // Those of another workflow.
    for (name, value) in entries(below(&job.value, &["with"])) {
        let used = of_input(&name, false).min(Use::Version);
        found.extend(fault(workflow, &name, value, workflow.line_in(job, &["with", &name]), used));
    }
    let uses = |name: &str| use_of(job, "env", name);
    found.extend(variables(workflow, &job.value, &uses, &|name| workflow.line_in(job, &["env", name])));
    let path = ["strategy", "matrix"];
    for (name, value) in entries(below(&job.value, &path)) {
        if name == "include" {
            for (index, item) in value.as_sequence().into_iter().flatten().enumerate().take(ENTRIES_LIMIT) {
                for (name, value) in entries(Some(item)).filter(|(_, value)| value.is_f64()) {
                    let index = index.to_string();
                    let line = workflow.line_in(job, &[path[0], path[1], "include", &index, &name]);
                    found.extend(fault(workflow, &name, value, line, use_of(job, "matrix", &name)));
                }
            }
            continue;
        }
        let numbers = value.as_sequence().is_some_and(|items| items.iter().any(Value::is_f64));
        let used = if numbers { use_of(job, "matrix", &name) } else { continue };
        for (index, item) in value.as_sequence().into_iter().flatten().enumerate() {
            let line = workflow.line_in(job, &[path[0], path[1], &name, &index.to_string()]);
            found.extend(fault(workflow, &name, item, line, used));
        }
    }
    found
}

/// The keys of a mapping and their values.
fn entries(value: Option<&Value>) -> impl Iterator<Item = (String, &Value)> {
    let map = value.and_then(Value::as_mapping).into_iter().flatten();
    map.take(ENTRIES_LIMIT).filter_map(|(name, value)| Some((text(name)?, value)))
}

/// The variables of a workflow or a job.
fn variables(
    workflow: &Workflow,
    value: &Value,
    used: &dyn Fn(&str) -> Use,
    line: &dyn Fn(&str) -> usize,
) -> Vec<Found> {
    let entries = entries(below(value, &["env"])).filter(|(_, value)| value.is_f64());
    entries.filter_map(|(name, value)| fault(workflow, &name, value, line(&name), used(&name))).collect()
}

/// What an input of an action is.
fn of_input(name: &str, certain: bool) -> Use {
    match name {
        "python-version" => Use::Python { certain },
        _ if name.ends_with("-version") || name.ends_with("_version") => Use::Version,
        _ => Use::Nothing,
    }
}

/// What the steps of a job use `${{ matrix.NAME }}` for.
fn use_of(job: &Job, context: &str, name: &str) -> Use {
    let whole = format!("{context}.{name}");
    let is_it = |text: &str| {
        let inner = text.trim().strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}"));
        inner.is_some_and(|inner| inner.trim() == whole)
    };
    let of_step = |step: &crate::read::workflow::Step| {
        let inputs = entries(below(&step.value, &["with"]));
        let given = inputs.filter(|(_, value)| text(value).is_some_and(|text| is_it(&text)));
        let given = given.map(|(name, _)| of_input(&name, !step.may_not_count)).max();
        let run = step.run.as_deref().unwrap_or_default();
        let pinned = run.match_indices("==${{").any(|(at, mark)| {
            let rest = &run[at + mark.len()..];
            rest.split("}}").next().is_some_and(|inner| inner.trim() == whole)
        });
        given.unwrap_or(Use::Nothing).max(if pinned { Use::Version } else { Use::Nothing })
    };
    job.steps.iter().map(of_step).max().unwrap_or(Use::Nothing)
}

fn fault(workflow: &Workflow, name: &str, value: &Value, line: usize, used: Use) -> Option<Found> {
    let number = value.as_f64().filter(|_| value.is_f64() && used != Use::Nothing)?;
    let (line, written) = written(&workflow.text, line, number)?;
    let read = number.to_string();
    let python = matches!(used, Use::Python { .. }) && written.starts_with("3.");
    let effect = match python {
        true => format!("there is no Python {read} (`The version '{read}' … was not found`)"),
        false => format!("the job installs release {read}"),
    };
    let message = format!("YAML reads {name}: {written} as the number {read}; {effect}");
    let certain = python && matches!(used, Use::Python { certain: true });
    let fix = format!("Quote the version: \"{written}\"");
    Some(Found::error(line, message, fix).unless_certain(certain).about(name))
}

/// A number as it is written in this line or the list that begins in it, where its last digit is a zero that
/// a number does not have.
fn written(source: &str, line: usize, number: f64) -> Option<(usize, String)> {
    let lines = source.lines().enumerate().skip(line.saturating_sub(1)).take(LIST_LIMIT);
    for (index, text) in lines {
        let bare = text.split(" #").next().unwrap_or_default();
        let mut words = bare.split(|letter: char| letter.is_whitespace() || "[],{}".contains(letter));
        let found = words.find(|word| {
            let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let version = word.split_once('.').is_some_and(|(one, two)| digits(one) && digits(two));
            version && word.ends_with('0') && word.parse() == Ok(number) && !word.ends_with(".0")
        });
        if let Some(word) = found {
            return Some((index + 1, word.to_owned()));
        }
        // The list goes on in the next line.
        let open = bare.matches('[').count() > bare.matches(']').count();
        if !(open || index + 1 > line && bare.trim_end().ends_with(',')) {
            break;
        }
    }
    None
}
