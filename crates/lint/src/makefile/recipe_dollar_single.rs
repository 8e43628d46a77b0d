//! A variable of the shell with a single dollar sign, which make expands.

use std::collections::BTreeSet;

use crate::read::dockerfile::text::Text;
use crate::read::makefile::{Makefile, Reference, references};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "recipe-dollar-single",
    severity: Severity::Error,
    summary: "variables of the shell in recipes have two dollar signs",
    explain: include_str!("recipe_dollar_single.md"),
    judge: Judge::Makefile(judge),
    fires: &[
        named(
            "Makefile",
            "export:\n\tfor ckpt in runs/*/best.pt; do \\\n\t\tpython export.py --ckpt $ckpt || exit 1; \
             \\\n\tdone\n",
        ),
        named("Makefile", "push:\n\ttag=`git rev-parse HEAD`; docker push \"acme/train:$tag\"\n"),
        named(
            "Makefile",
            ".ONESHELL:\nnodes:\n\twhile read -r host; do\n\tssh $host nvidia-smi\n\tdone < hostfile\n",
        ),
        named("Makefile", "run:\n\tdocker run --rm -v $HOME/.cache:/cache train\n"),
        named("Makefile", "IMAGE := acme/train\nbuild:\n\tdocker build -t $IMAGE .\n"),
        named("Makefile", "gpus:\n\tnvidia-smi -L | awk '{print $2}'\n"),
        named("Makefile", "all:\n\tfor i in 0 1; do CUDA_VISIBLE_DEVICES=$i python t.py & done; wait\n"),
    ],
    silent: &[
        named(
            "Makefile",
            "RUNS = a b\nexport:\n\tfor ckpt in $(RUNS); do \\\n\t\tpython export.py --ckpt $$ckpt --out $@ \
             $< \\\n\t; \
             done\n\techo \"pid $$$$\" $${HOME}\n",
        ),
        named(
            "Makefile",
            "V = -v\nbuild:\n\tdocker build $Vx $(foreach f,$(FILES),$f.o) .\n\t# $HOME is set\n",
        ),
        named(
            "Makefile",
            "define each\n\techo $1 $name\nendef\nall:\n\t$(call each,a)\n\tawk '{print $$1}' a\n",
        ),
        named("Makefile", "x = $HOME\nall:\n\tsed 's/a$/b/' x | grep 'b$$'\n"),
    ],
};

fn judge(file: &Makefile) -> Vec<Found> {
    let of_shell = |lines: &[Text]| {
        let set: BTreeSet<&str> = lines.iter().flat_map(|line| set_names(&line.text)).collect();
        lines.iter().filter_map(|line| fault(file, &set, line)).collect::<Vec<_>>()
    };
    file.shells().into_iter().flat_map(of_shell).collect()
}

fn fault(file: &Makefile, set: &BTreeSet<&str>, line: &Text) -> Option<Found> {
    let start = line.text.trim_start_matches(['@', '-', '+', ' ', '\t']);
    if start.starts_with('#') {
        return None;
    }
    references(&line.text).into_iter().find_map(|(at, reference)| {
        let Reference::Short(first, rest) = reference else { return None };
        let place = line.line_at(at);
        if first.is_ascii_digit() {
            return (line.text[..at].contains("awk") && rest.is_empty()).then(|| of_awk(place, first));
        }
        let letter = first.is_ascii_alphabetic() || first == '_';
        (letter && !file.variables.contains(&first.to_string()))
            .then(|| of_name(file, set, place, (first, &rest)))
            .flatten()
    })
}

/// What is wrong with `$name`, whose first letter is no variable of make.
fn of_name(file: &Makefile, set: &BTreeSet<&str>, line: usize, (first, rest): (char, &str)) -> Option<Found> {
    let name = format!("{first}{rest}");
    let is_set = set.contains(name.as_str());
    if rest.is_empty() && !is_set {
        return None;
    }
    let expanded = match rest.is_empty() {
        true => format!("make expands `${name}` itself, to nothing"),
        false => format!("make expands `${name}` as its variable `{first}`, which is not set, and `{rest}`"),
    };
    if is_set {
        let message = format!("{expanded}; the shell, which sets {name}, never sees it");
        let fix = format!("Write `$${name}`");
        return Some(Found::error(line, message, fix).unless_certain(!file.includes));
    }
    let fix = match file.variables.contains(&name) {
        true => format!("Write `$({name})`"),
        false => format!("Write `$${name}` for the variable of the shell, `$({name})` for the one of make"),
    };
    Some(Found::warning(line, format!("{expanded}: the command gets `{rest}`"), fix))
}

fn of_awk(line: usize, field: char) -> Found {
    let message =
        format!("make expands `${field}` itself, to nothing; awk gets no field and takes the whole line");
    Found::warning(line, message, format!("Write `$${field}`"))
}

/// The names to which a script gives a value: `for NAME in`, `NAME=value`, `read NAME`.
fn set_names(script: &str) -> Vec<&str> {
    let (mut found, mut before) = (Vec::new(), "");
    let ends = |letter: char| letter.is_whitespace() || ";&|(){}`".contains(letter);
    for word in script.split(ends).filter(|word| !word.is_empty()) {
        let word = word.trim_start_matches('@');
        match word.split_once('=') {
            Some((name, _)) => found.push(name),
            None if matches!(before, "for" | "read" | "-r" | "select") => found.push(word),
            None => {}
        }
        before = word;
    }
    found
}
