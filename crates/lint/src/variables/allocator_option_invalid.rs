//! An option of PyTorch's allocator that PyTorch refuses.

use catalog::Catalog;
use catalog::variables::{OptionValue, ValueOption};
use diagnostic::suggest::typo_of;

use crate::read::settings::{Setting, Settings};
use crate::read::values::allocator;
use crate::rule::{Change, Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "allocator-option-invalid",
    severity: Severity::Error,
    summary: "PYTORCH_CUDA_ALLOC_CONF has options and values that PyTorch accepts",
    explain: include_str!("allocator_option_invalid.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("train.env", "PYTORCH_CUDA_ALLOC_CONF=expandable_segment:True\n"),
        named("train.env", "PYTORCH_ALLOC_CONF=expandable_segments:true\n"),
        named("train.sh", "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb=512\ntorchrun train.py\n"),
        named("Dockerfile", "FROM python:3.12\nENV PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:8\n"),
        named("train.env", "PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:80\n"),
        named("train.env", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments\n"),
    ],
    silent: &[
        named(
            "train.env",
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, max_split_size_mb:512,\
             garbage_collection_threshold:0.8,roundup_power2_divisions:[256:1,512:2,>:8]\n",
        ),
        named("train.env", "PYTORCH_ALLOC_CONF=backend:cudaMallocAsync\nPYTORCH_CUDA_ALLOC_CONF=\n"),
        named("train.sh", "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:$SIZE\ntorchrun train.py\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    let set = settings.known().filter_map(|(_, one, value)| {
        let options = options(settings.catalog, &one.name)?;
        Some((one, value, options))
    });
    set.flat_map(|(one, value, options)| {
        let wrong = allocator(value)
            .into_iter()
            .filter_map(move |(key, value)| wrong(options, &key, value.as_deref()));
        wrong.map(|wrong| found(one, wrong))
    })
    .collect()
}

/// The options that a variable takes; those of a deprecated one are listed with its new name.
fn options(catalog: &'static Catalog, name: &str) -> Option<&'static [ValueOption]> {
    let row = catalog.variable(name)?;
    let row = row.deprecated_by.as_deref().and_then(|new| catalog.variable(new)).unwrap_or(row);
    (!row.options.is_empty()).then_some(&row.options)
}

/// What is wrong with one option, and what to write.
struct Wrong {
    message: String,
    fix: String,
    certain: bool,
    /// The word to replace, and the new one.
    change: Option<(String, String)>,
}

fn wrong(options: &[ValueOption], key: &str, value: Option<&str>) -> Option<Wrong> {
    // `key=value` is one word to PyTorch.
    let (name, assigned) = key.split_once('=').unwrap_or((key, ""));
    let Some(option) = options.iter().find(|option| option.name == name) else {
        return Some(unknown(options, name));
    };
    let Some(value) = value.filter(|_| name == key) else {
        let fix = match assigned {
            "" => format!("Write `{name}:VALUE`"),
            _ => format!("Write `{name}:{assigned}`"),
        };
        let change = (!assigned.is_empty()).then(|| (key.to_owned(), format!("{name}:{assigned}")));
        return Some(Wrong { message: format!("`{key}` is not `option:value`"), fix, certain: true, change });
    };
    let wanted = wanted(option.takes, value)?;
    let message = format!("option `{name}` does not accept `{value}`");
    let spelled = ["True", "False"].into_iter().find(|word| word.eq_ignore_ascii_case(value));
    let spelled = spelled.filter(|_| option.takes == OptionValue::Bool);
    let change = spelled.map(|word| (format!("{name}:{value}"), format!("{name}:{word}")));
    Some(Wrong { message, fix: format!("Set `{name}` to {wanted}"), certain: true, change })
}

fn unknown(options: &[ValueOption], name: &str) -> Wrong {
    let near = typo_of(name, options.iter().map(|option| option.name.as_str()));
    let message = format!("there is no option `{name}`");
    match near {
        Some(near) => {
            let change = Some((name.to_owned(), near.to_owned()));
            Wrong { message, fix: format!("Write `{near}`"), certain: true, change }
        }
        None => {
            let fix = "Remove it, or check it against your PyTorch".to_owned();
            Wrong { message, fix, certain: false, change: None }
        }
    }
}

/// What an option takes, where a value is none of it.
fn wanted(takes: OptionValue, value: &str) -> Option<&'static str> {
    let whole = || value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).parse::<u64>().ok();
    let number = || value.parse::<f64>().ok();
    let division = |text: &str| text.parse::<u64>().is_ok_and(|size| size == 0 || size.is_power_of_two());
    let (taken, wanted) = match takes {
        OptionValue::Bool => (matches!(value, "True" | "False"), "True or False"),
        OptionValue::Positive => (whole().is_some_and(|size| size > 0), "a whole number above 0"),
        OptionValue::LargeBlock => (whole().is_some_and(|size| size >= 20), "a number of megabytes above 20"),
        OptionValue::Threads => {
            let taken = whole().is_some_and(|count| count.is_power_of_two() && count <= 128);
            (taken, "a power of two up to 128")
        }
        OptionValue::Divisions => (value.starts_with('[') || division(value), "a power of two"),
        OptionValue::Fraction => {
            (number().is_some_and(|part| part > 0.0 && part < 1.0), "a number between 0 and 1")
        }
        OptionValue::Share => {
            (number().is_some_and(|part| (0.0..=1.0).contains(&part)), "a number from 0 to 1")
        }
        OptionValue::Backend => {
            (matches!(value, "native" | "cudaMallocAsync" | "hipMallocAsync"), "native or cudaMallocAsync")
        }
        OptionValue::Text => return None,
    };
    (!taken).then_some(wanted)
}

fn found(one: &Setting, wrong: Wrong) -> Found {
    let message = format!("{}: {}; PyTorch fails when CUDA is initialized", one.name, wrong.message);
    let change = wrong.change.map(|(old, new)| Change::word(one.location.line, &old, &new));
    Found::error(one.location.clone(), message, wrong.fix)
        .change_if(change)
        .unless_certain(wrong.certain && one.certain)
}
