//! A container that a step starts with a terminal.

use crate::read::compose::{below, text};
use crate::read::workflow::{Step, Workflow};
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::terminal::needs_terminal;
use catalog::Catalog;

pub(crate) const RULE: Rule = Rule {
    id: "step-terminal-missing",
    severity: Severity::Error,
    summary: "containers of a workflow are started without a terminal",
    explain: include_str!("step_terminal_missing.md"),
    judge: Judge::Workflow(judge),
    fires: &[
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: docker run -it \
             --rm \
             train:ci pytest -q\n",
        ),
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  test:\n    runs-on: [self-hosted, gpu]\n    steps:\n      - name: \
             test\n        run: |\n          \
             set -e\n          docker exec -i -t trainer \\\n            python -m pytest\n",
        ),
    ],
    silent: &[
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: docker run --rm \
             -t train:ci pytest\n      - \
             run: docker run -dit --name a train:ci && docker exec -i a pytest\n",
        ),
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: docker run -it \
             train:ci pytest\n        \
             shell: 'script -q -e -c \"bash {0}\"'\n      - run: if [ -t 0 ]; then docker run -it a; fi\n",
        ),
    ],
};

fn judge(workflow: &Workflow) -> Vec<Found> {
    workflow.jobs.iter().flat_map(|job| &job.steps).filter_map(|step| fault(workflow.catalog, step)).collect()
}

fn fault(catalog: &Catalog, step: &Step) -> Option<Found> {
    // `script` makes a terminal.
    if below(&step.value, &["shell"]).and_then(text).is_some_and(|shell| shell.contains("script ")) {
        return None;
    }
    let certain = step.commands.iter().filter(|command| command.certain && command.after != "||");
    let (command, verb) = certain.into_iter().find_map(|one| Some((one, needs_terminal(catalog, one)?)))?;
    let message =
        format!("a step has no terminal; `docker {verb} -i -t` fails with \"the input device is not a TTY\"");
    Some(Found::error(command.line, message, "Remove `-t` and `-i`").unless_certain(!step.may_not_count))
}
