//! A variable of the shell with a single dollar sign, which make expands.

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
    let lines = file.recipes.iter().flat_map(|recipe| recipe.iter().map(move |line| (recipe, line)));
    lines.filter_map(|(recipe, line)| fault(file, recipe, line)).collect()
}

fn fault(file: &Makefile, recipe: &[Text], line: &Text) -> Option<Found> {
    let start = line.text.trim_start_matches(['@', '-', '+', ' ', '\t']);
    if start.starts_with('#') {
        return None;
    }
    references(&line.text).into_iter().find_map(|(at, reference)| {
        let Reference::Short(first, rest) = reference else { return None };
        let place = line.line_at(at);
        let name = format!("{first}{rest}");
        if first.is_ascii_digit() {
            return (line.text[..at].contains("awk") && rest.is_empty()).then(|| of_awk(place, &name));
        }
        let letter = first.is_ascii_alphabetic() || first == '_';
        if !letter || file.variables.contains(&first.to_string()) {
            return None;
        }
        let set = is_set(&file.shell_text(recipe, line), &name);
        if rest.is_empty() && !set {
            return None;
        }
        let expanded = match rest.is_empty() {
            true => format!("make expands `${name}` itself, to nothing"),
            false => {
                format!("make expands `${name}` as its variable `{first}`, which is not set, and `{rest}`")
            }
        };
        if set {
            let message = format!("{expanded}; the shell, which sets {name}, never sees it");
            let fix = format!("Write `$${name}`");
            return Some(Found::error(place, message, fix).unless_certain(!file.includes));
        }
        let fix = match file.variables.contains(&name) {
            true => format!("Write `$({name})`"),
            false => {
                format!("Write `$${name}` for the variable of the shell, `$({name})` for the one of make")
            }
        };
        Some(Found::warning(place, format!("{expanded}: the command gets `{rest}`"), fix))
    })
}

fn of_awk(line: usize, name: &str) -> Found {
    let message = format!(
        "make expands `${name}` itself, to nothing; awk gets an empty field and takes the whole line"
    );
    Found::warning(line, message, format!("Write `$${name}`"))
}

/// Whether a script gives a variable a value: `for NAME in`, `NAME=value`, `read NAME`.
fn is_set(script: &str, name: &str) -> bool {
    let mut before = "";
    for word in script.split(|letter: char| letter.is_whitespace() || ";&|(){}`".contains(letter)) {
        let word = word.trim_start_matches('@');
        let assigned = word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
        if assigned || word == name && matches!(before, "for" | "read" | "-r" | "select") {
            return true;
        }
        if !word.is_empty() {
            before = word;
        }
    }
    false
}
