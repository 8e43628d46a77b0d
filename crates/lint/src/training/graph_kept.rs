//! Losses with their graphs pile up.

use std::ops::Range;

use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "graph-kept",
    severity: Severity::Warning,
    summary: "losses that are kept over steps are numbers or detached",
    explain: include_str!("graph_kept.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "losses = []\nfor x in loader:\n    loss = model(x)\n    loss.backward()\n    \
             losses.append(loss)\n",
        ),
        named(
            "train.py",
            "total = 0\nfor x in loader:\n    loss = model(x)\n    loss.backward()\n    total += loss\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "outputs = []\nfor x in parts:\n    output = model(x)\n    output.backward(gradient)\n    \
             outputs.append(output)\n",
        ),
        named(
            "train.py",
            "losses = []\nfor x in loader:\n    loss = model(x)\n    loss.backward()\n    \
             losses.append(loss.item())\n    total += loss.detach()\n",
        ),
        named(
            "train.py",
            "for x in loader:\n    losses = []\n    loss = model(x)\n    loss.backward()\n    \
             losses.append(loss)\n",
        ),
        named(
            "train.py",
            "for x in loader:\n    loss = model(x)\n    loss.backward()\n    loss = loss.item()\n    \
             losses.append(loss)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    // A tensor that takes a gradient from outside is the output of a part, no loss.
    let backward = program.calls.iter().filter(|call| {
        call.name.ends_with(".backward") && call.arguments.iter().all(|one| one.name.is_some())
    });
    let mut found: Vec<Found> = backward.filter_map(|call| kept(program, call)).collect();
    found.truncate(1);
    found
}

fn kept(program: &Program, backward: &Call) -> Option<Found> {
    let loss =
        backward.name.strip_suffix(".backward").filter(|name| !name.is_empty() && !name.contains('.'))?;
    let body = program.loop_at(&backward.at)?;
    // As a number from here on.
    if changed(program, loss, body, backward.at.end) {
        return None;
    }
    let step = Step { program, loss, body, function: &backward.function };
    let (line, name) = step.appended().or_else(|| step.summed())?;
    let message = format!("{name} keeps the graph of {loss} of every step; memory grows until it runs out");
    Some(Found::warning(line, message, format!("Use {loss}.item() or {loss}.detach()")))
}

/// The step of a loop that calls backward() of a loss.
struct Step<'p> {
    program: &'p Program,
    loss: &'p str,
    body: &'p Range<usize>,
    function: &'p Range<usize>,
}

impl<'p> Step<'p> {
    /// Whether a place is in the step, in the function of the loss.
    fn has(&self, at: &Range<usize>, function: &Range<usize>) -> bool {
        self.program.loop_at(at) == Some(self.body) && function == self.function
    }

    /// Whether a name is new in each step.
    fn is_fresh(&self, name: &str) -> bool {
        changed(self.program, name, self.body, 0)
    }

    /// The list that gets the loss.
    fn appended(&self) -> Option<(usize, &'p str)> {
        self.program.calls.iter().find_map(|call| {
            let list = call.name.strip_suffix(".append").filter(|list| !list.is_empty())?;
            let own = call.arguments.first().is_some_and(|one| one.text == self.loss && one.name.is_none());
            let kept = own && self.has(&call.at, &call.function) && !self.is_fresh(list);
            (kept && !cleared(self.program, list)).then_some((call.line, list))
        })
    }

    /// The sum to which the loss is added.
    fn summed(&self) -> Option<(usize, &'p str)> {
        let sums = self.program.sums.iter().filter(|one| one.text == self.loss && one.name != self.loss);
        let own = sums.into_iter().find(|one| {
            let name = one.name.as_str();
            let backward = self.program.calls.iter().any(|call| call.name == format!("{name}.backward"));
            let other = self.program.sums.iter().any(|sum| sum.name == name && sum.text != one.text);
            let free = self.program.contexts.iter().any(|(head, body)| {
                head.contains("no_grad") && body.start <= one.at.start && one.at.end <= body.end
            });
            self.has(&one.at, &one.function) && !self.is_fresh(name) && !backward && !other && !free
        })?;
        Some((own.line, own.name.as_str()))
    }
}

/// Whether a name gets a value in a loop, behind a place.
fn changed(program: &Program, name: &str, body: &Range<usize>, from: usize) -> bool {
    program.assignments.iter().any(|one| {
        one.name == name && body.start <= one.at.start && one.at.end <= body.end && one.at.start > from
    })
}

/// Whether a list is emptied somewhere.
fn cleared(program: &Program, list: &str) -> bool {
    program
        .calls
        .iter()
        .any(|call| [".clear", ".pop", ".popleft"].iter().any(|end| call.name == format!("{list}{end}")))
        || program.assignments.iter().filter(|one| one.name == list).any(|one| one.text.contains("deque"))
}
