//! Labels of a language model that count the padding.

use crate::read::python::{Program, is_name, string};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "padding-in-loss",
    severity: Severity::Warning,
    summary: "labels of a causal language model leave the padding out",
    explain: include_str!("padding_in_loss.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "tune.py",
            "from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer\ntok = \
             AutoTokenizer.from_pretrained(\"m\")\nmodel = AutoModelForCausalLM.from_pretrained(\"m\")\ndef \
             encode(rows):\n    out = tok(rows[\"text\"], padding=\"max_length\", truncation=True, \
             max_length=512)\n    out[\"labels\"] = out[\"input_ids\"].copy()\n    return \
             out\nTrainer(model=model, \
             train_dataset=data.map(encode, batched=True)).train()\n",
        ),
        named(
            "tune.py",
            "from transformers import GPT2LMHeadModel, GPT2Tokenizer, Trainer, default_data_collator\ntok = \
             GPT2Tokenizer.from_pretrained(\"gpt2\")\nmodel = GPT2LMHeadModel.from_pretrained(\"gpt2\")\ndef \
             encode(row):\n    enc = tok(row[\"a\"], padding=\"max_length\", max_length=64)\n    return \
             {**enc, \"labels\": list(enc[\"input_ids\"])}\nTrainer(model, args, \
             data_collator=default_data_collator, train_dataset=data.map(encode)).train()\n",
        ),
    ],
    silent: &[
        // The collator makes labels of its own.
        named(
            "tune.py",
            "from transformers import AutoModelForCausalLM, Trainer, DataCollatorForLanguageModeling\nmodel \
             = \
             AutoModelForCausalLM.from_pretrained(\"m\")\ndef encode(rows):\n    out = tok(rows[\"text\"], \
             padding=\"max_length\")\n    out[\"labels\"] = out[\"input_ids\"].copy()\n    return \
             out\nTrainer(model=model, data_collator=DataCollatorForLanguageModeling(tok, \
             mlm=False)).train()\n",
        ),
        named(
            "tune.py",
            "from transformers import AutoModelForCausalLM, Trainer\nmodel = \
             AutoModelForCausalLM.from_pretrained(\"m\")\ndef encode(row):\n    out = tok(row[\"text\"], \
             padding=\"max_length\")\n    out[\"labels\"] = [i if m else -100 for i, m in \
             zip(out[\"input_ids\"], \
             out[\"attention_mask\"])]\n    return out\nTrainer(model=model, \
             train_dataset=data.map(encode)).train()\n",
        ),
        // Blocks of one length without padding.
        named(
            "tune.py",
            "from transformers import AutoModelForCausalLM, Trainer\nmodel = \
             AutoModelForCausalLM.from_pretrained(\"m\")\ndef encode(rows):\n    out = \
             tok(rows[\"text\"])\n    \
             out[\"labels\"] = out[\"input_ids\"].copy()\n    return out\nTrainer(model=model, \
             train_dataset=data.map(encode)).train()\n",
        ),
        named(
            "tune.py",
            "from transformers import AutoModelForSeq2SeqLM, Trainer\nmodel = \
             AutoModelForSeq2SeqLM.from_pretrained(\"m\")\ndef encode(row):\n    out = tok(row[\"text\"], \
             padding=\"max_length\")\n    out[\"labels\"] = out[\"input_ids\"].copy()\n    return \
             out\nTrainer(model=model, train_dataset=data.map(encode)).train()\n",
        ),
    ],
};

/// Words of a program that leaves the padding out, or makes its labels or its loss elsewhere.
const OWN: &[&str] = &[
    "-100",
    "ignore_index",
    "IGNORE_INDEX",
    "compute_loss",
    "DataCollatorFor",
    "SFTTrainer",
    "cross_entropy(",
    "CrossEntropyLoss",
];

fn judge(program: &Program) -> Vec<Found> {
    if OWN.iter().any(|word| program.text.contains(word)) {
        return Vec::new();
    }
    let causal = program.calls.iter().any(|call| {
        let mut parts = call.name.rsplit('.');
        let made = matches!(parts.next(), Some("from_pretrained" | "from_config"));
        let class = parts.next().unwrap_or_default();
        let known = class.ends_with("ForCausalLM") || class.ends_with("LMHeadModel");
        made && known && call.name.starts_with("transformers.")
    });
    let mut trainers = program.calls.iter().filter(|call| call.name == "transformers.Trainer");
    let plain = trainers.next().is_some_and(|call| {
        let spread = call.arguments.iter().any(|one| one.name.as_deref() == Some("*"));
        let collator = call.argument(2, "data_collator").map(|one| one.text.as_str());
        !spread && matches!(collator, None | Some("default_data_collator" | "None"))
    });
    if !causal || !plain || trainers.next().is_some() {
        return Vec::new();
    }
    let found = copies(program).find_map(|(name, line, function, before)| {
        let set = program.value(name, function, before).filter(|set| set.function == *function)?;
        let padding = program.call_at(&set.at)?.keyword("padding")?;
        let message = format!(
            "labels are a copy of input_ids, which are padded to max_length (line {}): the padding counts \
             in the loss, and the model learns to predict it",
            padding.line
        );
        let fix = "Set the labels to -100 where attention_mask is 0, or use \
                   DataCollatorForLanguageModeling(tokenizer, mlm=False)";
        (string(&padding.text) == Some("max_length")).then(|| Found::warning(line, message, fix))
    });
    found.into_iter().collect()
}

/// Labels that are a copy of the inputs: the name that holds both, the line, the function and the place.
fn copies(program: &Program) -> impl Iterator<Item = (&str, usize, &std::ops::Range<usize>, usize)> {
    let set = program.assignments.iter().filter_map(|one| {
        let at = one.name.find('[')?;
        let (name, key) = one.name.split_at(at);
        let labels = matches!(key, "[\"labels\"]" | "['labels']");
        let copied = copied_of(&one.text).filter(|copied| labels && *copied == name)?;
        Some((copied, one.line, &one.function, one.at.start))
    });
    let returned = program.returns.iter().filter_map(|one| {
        let places = ["\"labels\":", "'labels':"].iter().find_map(|key| one.text.find(key).map(|at| at + 9));
        let rest = one.text.get(places?..)?;
        let value = rest.split([',', '}', '\n']).next()?.trim();
        let line = one.line + one.text[..places?].matches('\n').count();
        Some((copied_of(value)?, line, &one.function, one.at.start))
    });
    set.chain(returned)
}

/// The name whose inputs a text copies: `x` of `x["input_ids"].copy()`.
fn copied_of(text: &str) -> Option<&str> {
    let bare = text.trim();
    let ends = [".copy()", ".clone()", "[:]"];
    let bare = ends.iter().find_map(|end| bare.strip_suffix(end)).unwrap_or(bare);
    let starts = ["list(", "copy.deepcopy(", "deepcopy("];
    let inner = starts.iter().find_map(|start| bare.strip_prefix(start)?.strip_suffix(')'));
    let bare = inner.unwrap_or(bare);
    let keys = ["[\"input_ids\"]", "['input_ids']", ".input_ids"];
    keys.iter().find_map(|key| bare.strip_suffix(key)).filter(|name| is_name(name))
}
