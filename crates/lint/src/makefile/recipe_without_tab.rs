//! A recipe that begins with spaces.

use crate::read::makefile::Makefile;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "recipe-without-tab",
    severity: Severity::Error,
    summary: "lines of recipes begin with a tab",
    explain: include_str!("recipe_without_tab.md"),
    judge: Judge::Makefile(judge),
    fires: &[
        named(
            "Makefile",
            "build:\n    docker build -t train .\n\nrun: build\n    docker run --gpus all train\n",
        ),
        named("Makefile", "train: data\n\tpython prepare.py\n  python train.py\n"),
    ],
    silent: &[
        named("Makefile", "build:\n\tdocker build \\\n      -t train .\n"),
        named("Makefile", ".RECIPEPREFIX = >\nbuild:\n> docker build -t train .\n"),
        named(
            "Makefile",
            "build:\n\tmake a\n  # a comment\n  X = 1\n  ifdef X\n  endif\n  $(eval $(call rule,x))\n",
        ),
        named("Makefile", "SRC = a \\\n      b\n      c = d\n"),
    ],
};

fn judge(file: &Makefile) -> Vec<Found> {
    let Some((line, text)) = file.spaced.first() else { return Vec::new() };
    let more = match file.spaced.len() - 1 {
        0 => String::new(),
        1 => " (and 1 line more)".to_owned(),
        more => format!(" (and {more} lines more)"),
    };
    let message = format!(
        "`{text}` begins with spaces{more}; make stops with \"missing separator\" before it runs anything"
    );
    vec![Found::error(*line, message, "Begin the line with a tab")]
}
