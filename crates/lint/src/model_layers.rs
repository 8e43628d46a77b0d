//! Models and classes of layers that commands name together.

use crate::read::python::{Call, Program, string};
use catalog::Catalog;

use crate::programs::option;

/// Options of programs with the name of a model.
const OPTIONS: &[&str] = &[
    "model_name_or_path",
    "model_name",
    "model_id",
    "base_model",
    "model_path",
    "pretrained_model_name_or_path",
    "model",
];

/// The model that a command names, with the variables of its script or Makefile.
pub(crate) fn model_of(words: &[&str], text: &str) -> Option<String> {
    let value = option(words, OPTIONS)?;
    let name = value.strip_prefix('$').map(|name| name.trim_matches(['(', ')', '{', '}']));
    match name {
        None => Some(value),
        Some(name) => variable(text, name),
    }
}

/// The value of a variable that is set once: `MODEL=x`, `MODEL ?= x`, `MODEL="${1:-x}"`.
fn variable(text: &str, name: &str) -> Option<String> {
    let mut all = text.lines().filter_map(|line| {
        let rest = line.trim_start().trim_start_matches("export ").strip_prefix(name)?.trim_start();
        let rest = ["?=", ":=", "="].iter().find_map(|sign| rest.strip_prefix(sign))?;
        Some(rest.trim().split(" #").next()?.trim().trim_matches(['"', '\'']))
    });
    let value = all.next().filter(|_| all.next().is_none())?;
    let default = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let value = match default {
        Some(inner) => inner.split_once(":-")?.1,
        None => value,
    };
    (!value.contains('$') && !value.is_empty()).then(|| value.to_owned())
}

/// The model that a program loads in every run, where it is the only one; `given` are the values of options.
pub(crate) fn model_of_program(program: &Program, given: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let is_load = |call: &&Call| {
        let mut parts = call.name.rsplit('.');
        let loads = parts.next() == Some("from_pretrained");
        let class = parts.next().unwrap_or_default();
        let model = class.starts_with("AutoModel")
            || class.ends_with("ForCausalLM")
            || class.ends_with("LMHeadModel");
        loads && model
    };
    let mut models = program.calls.iter().filter(is_load).map(|call| {
        let name = call.argument(0, "pretrained_model_name_or_path")?;
        let from = program.origin(&name.at, &call.function);
        if let Some(literal) = string(from.text) {
            return Some(literal.to_owned());
        }
        if let Some((option, default)) = program.option(from.text) {
            return given(&option).or_else(|| default.map(str::to_owned));
        }
        let read = program
            .call_at(&from.at)
            .filter(|call| matches!(call.name.as_str(), "os.environ.get" | "os.getenv"))?;
        string(&read.argument(1, "default")?.text).map(str::to_owned)
    });
    let first = models.next()??;
    models.all(|other| other.as_deref() == Some(first.as_str())).then_some(first)
}

/// The class of the layers of a model where a list of classes has only those of other families.
pub(crate) fn other_class(catalog: &'static Catalog, given: &str, model: &str) -> Option<&'static str> {
    let table = catalog.model_layers();
    let own = table.of_model(model)?;
    let classes: Vec<&str> = given.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
    let foreign = classes.iter().all(|one| table.knows(one) && *one != own);
    (foreign && !classes.is_empty()).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::testing::catalog;

    #[test]
    fn models_of_commands() {
        let of = |command: &str, text: &str| model_of(&command.split(' ').collect::<Vec<_>>(), text);
        assert_eq!(of("t.py --model_name_or_path a/b", "").as_deref(), Some("a/b"));
        assert_eq!(of("t.py --model-id=$M", "export M=\"a/b\"\n").as_deref(), Some("a/b"));
        assert_eq!(of("t.py --model $(MODEL)", "MODEL ?= a/b\n").as_deref(), Some("a/b"));
        assert_eq!(of("t.py --model $M", "M=${1:-a/b}\n").as_deref(), Some("a/b"));
        assert_eq!(of("t.py --model $M", "M=a\nM=b\n"), None);
    }

    #[test]
    fn classes_of_other_families() {
        let of = |given: &str, model: &str| other_class(catalog(), given, model);
        assert_eq!(of("LlamaDecoderLayer", "Qwen/Qwen2.5-7B"), Some("Qwen2DecoderLayer"));
        assert_eq!(of("Qwen2DecoderLayer,LlamaDecoderLayer", "Qwen/Qwen2.5-7B"), None);
        assert_eq!(of("MyLayer", "Qwen/Qwen2.5-7B"), None);
        assert_eq!(of("LlamaDecoderLayer", "org/own-model"), None);
    }
}
