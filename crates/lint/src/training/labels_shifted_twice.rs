//! Labels of a language model that are shifted before the model shifts them.

use std::ops::Range;

use crate::read::python::{Program, argument_texts, entries, is_name, string};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "labels-shifted-twice",
    severity: Severity::Error,
    summary: "causal language models of transformers get labels that are not shifted",
    explain: include_str!("labels_shifted_twice.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "tune.py",
            "import torch\nfrom transformers import AutoModelForCausalLM, Trainer\nmodel = \
             AutoModelForCausalLM.from_pretrained(\"gpt2\")\ndef collate(rows):\n    ids = \
             torch.stack(rows)\n    pad = torch.full((len(rows), 1), -100)\n    labels = \
             torch.cat([ids[:, 1:], pad], dim=1)\n    return {\"input_ids\": ids, \"labels\": \
             labels}\nTrainer(model=model, data_collator=collate).train()\n",
        ),
        named(
            "tune.py",
            "from transformers import GPT2LMHeadModel\nmodel = \
             GPT2LMHeadModel.from_pretrained(\"gpt2\")\nfor ids in loader:\n    out = model(input_ids=ids[:, \
             :-1], labels=ids[:, 1:].contiguous())\n    out.loss.backward()\n",
        ),
        named(
            "tune.py",
            "import torch\nfrom transformers import AutoModelForCausalLM, Trainer\nmodel = \
             AutoModelForCausalLM.from_config(config)\ndef encode(row):\n    ids = row[\"ids\"]\n    return \
             dict(input_ids=ids, labels=ids[1:] + [-100])\nTrainer(model=model, \
             train_dataset=data.map(encode)).train()\n",
        ),
    ],
    silent: &[
        named(
            "tune.py",
            "import torch\nfrom transformers import AutoModelForCausalLM, Trainer\nmodel = \
             AutoModelForCausalLM.from_pretrained(\"gpt2\")\ndef collate(rows):\n    ids = \
             torch.stack(rows)[:, 1:]\n    labels = ids.clone()\n    labels[:, :5] = -100\n    return \
             {\"input_ids\": ids, \"labels\": labels}\nTrainer(model=model, data_collator=collate).train()\n",
        ),
        named(
            "tune.py",
            "from torch.nn import functional as F\nfrom transformers import AutoModelForCausalLM\nmodel = \
             AutoModelForCausalLM.from_pretrained(\"gpt2\")\nfor ids in loader:\n    logits = \
             model(input_ids=ids[:, :-1]).logits\n    labels = ids[:, 1:]\n    \
             F.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()\n",
        ),
        named(
            "tune.py",
            "from transformers import AutoModelForCausalLM, Trainer\nmodel = \
             AutoModelForCausalLM.from_pretrained(\"gpt2\")\ndef collate(rows):\n    full = \
             torch.stack(rows)\n    return {\"input_ids\": full[:, 1:], \"labels\": full[:, \
             1:]}\nTrainer(model=model, data_collator=collate).train()\n",
        ),
    ],
};

/// Words of a program that computes its loss, or shifts, itself.
const OWN: &[&str] = &[
    "compute_loss",
    "shift_labels",
    "cross_entropy(",
    "CrossEntropyLoss",
    "Seq2Seq",
    "EncoderDecoder",
    "num_items",
];

fn judge(program: &Program) -> Vec<Found> {
    let own = OWN.iter().any(|word| program.text.contains(word));
    let model = program.calls.iter().find(|call| {
        let mut parts = call.name.rsplit('.');
        let made = matches!(parts.next(), Some("from_pretrained" | "from_config"));
        let class = parts.next().unwrap_or_default();
        let known = class.ends_with("ForCausalLM") || class.ends_with("LMHeadModel");
        // A class of the project may shift nothing.
        made && known && call.name.starts_with("transformers.")
    });
    let Some(model) = model.filter(|_| !own) else { return Vec::new() };
    let class = model.name.rsplit('.').nth(1).unwrap_or_default();
    let trains = program.calls.iter().any(|call| {
        call.name.ends_with("Trainer")
            || call.arguments.iter().any(|one| one.name.as_deref() == Some("labels"))
    });
    let batches = batches(program).into_iter().filter(|_| trains).take(BATCHES_LIMIT);
    let found = batches.into_iter().find_map(|batch| {
        let labels = meant(program, batch.labels, &batch);
        // What both lack at the front is no shift.
        let shifted = is_shifted(&bare(&labels)) && !is_shifted(&bare(&meant(program, batch.inputs, &batch)));
        let message = format!(
            "labels are already shifted (`{}`), and {class} shifts them again: it learns to predict the \
             token after the next one",
            labels.replace('\n', " ")
        );
        let fix = "Pass the labels unshifted, aligned with input_ids; the model shifts them";
        shifted.then(|| Found::error(batch.line, message, fix))
    });
    found.into_iter().collect()
}

/// Dictionaries and calls that are looked at.
const BATCHES_LIMIT: usize = 100;

/// What a model gets: labels and the inputs that go with them, as texts.
struct Batch<'p> {
    line: usize,
    labels: &'p str,
    inputs: &'p str,
    at: Range<usize>,
    function: Range<usize>,
}

/// The dictionaries and calls of a program with labels and inputs.
fn batches(program: &Program) -> Vec<Batch<'_>> {
    let written = program.returns.iter().map(|one| (one.text.as_str(), one.line, &one.at, &one.function));
    let set = program.assignments.iter().map(|one| (one.text.as_str(), one.line, &one.at, &one.function));
    let of_text = written.chain(set).filter(|(text, ..)| text.starts_with('{') && text.contains("labels"));
    let mut found: Vec<Batch> = of_text
        .filter_map(|(text, line, at, function)| {
            let entries = entries(text)?;
            let value = |name: &str| {
                entries.iter().find(|(key, _)| string(key) == Some(name)).map(|(_, value)| *value)
            };
            let (labels, inputs) = (value("labels")?, value("input_ids")?);
            // The line of the key, in a dictionary of several.
            let place = text.find("labels")?;
            let line = line + text[..place].matches('\n').count();
            Some(Batch { line, labels, inputs, at: at.clone(), function: function.clone() })
        })
        .collect();
    found.extend(program.calls.iter().filter_map(|call| {
        let (labels, inputs) = (call.keyword("labels")?, call.keyword("input_ids")?);
        let (at, function) = (call.at.clone(), call.function.clone());
        Some(Batch { line: labels.line, labels: &labels.text, inputs: &inputs.text, at, function })
    }));
    found
}

/// What an expression is, through two names at most.
fn meant(program: &Program, text: &str, batch: &Batch) -> String {
    let mut text = text.to_owned();
    for _ in 0..2 {
        let set = program.value(&text, &batch.function, batch.at.start);
        match set.filter(|_| is_name(&text)) {
            Some(set) => text = set.text.clone(),
            None => break,
        }
    }
    text
}

fn bare(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

/// Whether an expression is another one without its first place: `x[:,1:]`, `torch.cat([x[:,1:],pad],1)`.
fn is_shifted(text: &str) -> bool {
    let ends = ["[:,1:]", "[...,1:]", "[1:]"];
    let mut text = text;
    while let Some(rest) =
        [".clone()", ".contiguous()", ".long()", ".detach()"].iter().find_map(|end| text.strip_suffix(end))
    {
        text = rest;
    }
    let cut = |text: &str| ends.iter().any(|end| text.ends_with(end));
    let first = |start: &str, stop: char| {
        text.strip_prefix(start).is_some_and(|rest| {
            ends.iter()
                .any(|end| rest.find(&format!("{end}{stop}")).is_some_and(|at| !rest[..at].contains('(')))
        })
    };
    let rolled = rolls_left(text);
    let padded =
        ["F.pad(", "nn.functional.pad(", "torch.nn.functional.pad("].iter().any(|start| first(start, ','));
    let joined = ["torch.cat([", "torch.cat((", "torch.concat(["].iter().any(|start| first(start, ','));
    cut(text) || rolled || padded || joined || text.contains("[1:]+[")
}

/// Whether an expression rolls another one by one place to the left: `torch.roll(x,-1,1)`, `x.roll(-1)`.
fn rolls_left(text: &str) -> bool {
    let Some((before, behind)) = text.split_once(".roll(") else { return false };
    let given = argument_texts(behind);
    let named = given.iter().find_map(|one| one.strip_prefix("shifts="));
    let place = usize::from(before == "torch");
    let at_place =
        || given.get(place).copied().filter(|_| given[..=place].iter().all(|one| !one.contains('=')));
    let shift = named.or_else(at_place).unwrap_or_default();
    let mut each = shift.trim_matches(['(', ')', '[', ']']).trim_end_matches(',').split(',');
    // Other dimensions stay as they are.
    let stays = |one: &&str| *one != "0";
    each.next_back() == Some("-1") && each.filter(stays).count() == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_and_not_dimensions() {
        let left = [
            "torch.roll(x,-1)",
            "torch.roll(x,-1,-1)",
            "torch.roll(x[:,0],shifts=-1,dims=1)",
            "torch.roll(f(x,1),(0,-1),(0,1))",
            "x.roll(-1,1)",
            "x.roll(shifts=(-1,),dims=1).clone()",
        ];
        let other = [
            "torch.roll(x,1,-1)",
            "torch.roll(x,shifts=1,dims=-1)",
            "torch.roll(x,dims=-1,shifts=1)",
            "torch.roll(f(x,-1),1)",
            "torch.roll(x,-10)",
            "x.roll(1,-1)",
            "x.roll(-16)",
        ];
        for text in left {
            assert!(is_shifted(text), "{text}");
        }
        for text in other {
            assert!(!is_shifted(text), "{text}");
        }
    }
}
