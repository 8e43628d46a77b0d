//! A command of the shell in `$(…)`, which make takes for a variable.

use crate::read::dockerfile::text::Text;
use crate::read::makefile::{Makefile, Reference, references};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "shell-call-expanded-by-make",
    severity: Severity::Error,
    summary: "commands of the shell in a makefile are in `$$(…)` or `$(shell …)`",
    explain: include_str!("shell_call_expanded_by_make.md"),
    judge: Judge::Makefile(judge),
    fires: &[
        named("Makefile", "run:\n\tdocker run --rm --user $(id -u):$(id -g) train\n"),
        named(
            "Makefile",
            "NGPU := $(nvidia-smi -L | wc -l)\ntrain:\n\ttorchrun --nproc_per_node=$(NGPU) t.py\n",
        ),
        named("Makefile", "run:\n\tdocker run --rm -v $(pwd):/work train\n"),
        named("Makefile", "tag:\n\tdocker tag a $(basename $(git rev-parse HEAD))\n"),
        named("Makefile", "stop:\n\tdocker rm -f ${docker ps -aq --filter name=train}\n"),
    ],
    silent: &[
        named(
            "Makefile",
            "NGPU := $(shell nvidia-smi -L | wc -l)\nOBJ = $(patsubst %.cu,%.o,$(wildcard \
             *.cu))\nrun:\n\tdocker run \
             --user $$(id -u):$$(id -g) -v $(CURDIR):/work $(OBJ:.o=.d e)\n\techo $(if $(V),a b) ${x:-a b}\n",
        ),
        named(
            "Makefile",
            "pwd := $(shell pwd)\nrun:\n\tdocker run -v $(pwd):/work train $(info hello there)\n",
        ),
        named("Makefile", "define f\n\techo $(date +%s)\nendef\nrun:\n\t$(call f) $(word 1,a b)\n"),
    ],
};

/// The functions of GNU make, to 4.4.
const FUNCTIONS: &[&str] = &[
    "abspath",
    "addprefix",
    "addsuffix",
    "and",
    "basename",
    "call",
    "dir",
    "error",
    "eval",
    "file",
    "filter",
    "filter-out",
    "findstring",
    "firstword",
    "flavor",
    "foreach",
    "guile",
    "if",
    "info",
    "intcmp",
    "join",
    "lastword",
    "let",
    "notdir",
    "or",
    "origin",
    "patsubst",
    "realpath",
    "shell",
    "sort",
    "strip",
    "subst",
    "suffix",
    "value",
    "warning",
    "wildcard",
    "word",
    "wordlist",
    "words",
];

/// Commands that people write without arguments.
const ALONE: &[&str] = &["arch", "date", "hostname", "nproc", "pwd", "uname", "whoami"];

fn judge(file: &Makefile) -> Vec<Found> {
    let recipes = file.recipes.iter().flatten().map(|line| (line, true));
    let values = file.values.iter().map(|line| (line, false));
    recipes.chain(values).filter_map(|(line, in_recipe)| fault(file, line, in_recipe)).collect()
}

fn fault(file: &Makefile, line: &Text, in_recipe: bool) -> Option<Found> {
    if line.text.trim_start_matches(['@', '-', '+', ' ', '\t']).starts_with('#') {
        return None;
    }
    references(&line.text).into_iter().find_map(|(at, reference)| {
        let Reference::Long(inner) = reference else { return None };
        let (word, rest) = inner.split_once(char::is_whitespace).unwrap_or((&inner, ""));
        let plain = word.starts_with(|letter: char| letter.is_ascii_lowercase())
            && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.+".contains(letter));
        if !plain || FUNCTIONS.contains(&word) || file.variables.contains(inner.as_str()) {
            return None;
        }
        let alone = rest.is_empty();
        if alone && !ALONE.contains(&word) || !alone && rest.trim_start().starts_with(['=', ':', '+', '?']) {
            return None;
        }
        // `$(my_function arg)` lacks `call`.
        let own = file.variables.contains(word);
        let message = match own {
            true => format!(
                "`$({inner})` calls nothing: make reads it as a variable with this name, which is empty"
            ),
            false => format!(
                "make takes `$({inner})` for a variable with this name, which is empty; {word} is not started"
            ),
        };
        let fix = match (own, in_recipe) {
            (true, _) => format!("Write `$(call {word},{})`", rest.trim()),
            (_, true) => format!("Write `$$({inner})`"),
            (_, false) => format!("Write `$(shell {inner})`"),
        };
        Some(Found::error(line.line_at(at), message, fix).unless_certain(!alone || !file.includes))
    })
}
