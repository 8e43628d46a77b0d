//! Classes of the layers of language models, by family: `catalog/model_layers.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// The class of one family of models.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelLayer {
    /// The class in transformers: `LlamaDecoderLayer`.
    pub layer: String,
    /// How names of its models begin, in small letters: `llama-3.1-`.
    pub models: Vec<String>,
    /// Publishers whose models of these names have another class: `unsloth`.
    #[serde(default)]
    pub except: Vec<String>,
    /// Where this was read.
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-27`.
    #[serde(default)]
    pub checked: String,
}

file::table!(ModelLayer, "model_layers.yaml");

impl Table<ModelLayer> {
    /// The class of the layers of a model: `Qwen/Qwen2.5-7B`. `None` where its family is not known.
    pub fn of_model(&self, name: &str) -> Option<&str> {
        let mut parts = name.trim_end_matches('/').rsplit('/');
        let base = parts.next()?.to_ascii_lowercase();
        let publisher = parts.next().unwrap_or_default();
        let begins = |row: &ModelLayer| {
            row.models.iter().filter(|start| base.starts_with(start.as_str())).map(String::len).max()
        };
        let known = self.all().iter().filter_map(|row| Some((begins(row)?, row)));
        let (_, row) = known.max_by_key(|(length, _)| *length)?;
        let converted = row.except.iter().any(|one| one.eq_ignore_ascii_case(publisher));
        (!converted).then_some(row.layer.as_str())
    }

    /// Whether a class is that of one of these families.
    pub fn knows(&self, layer: &str) -> bool {
        self.all().iter().any(|row| row.layer == layer)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn classes_of_models() {
        let table = crate::testing::catalog().model_layers();
        assert_eq!(table.of_model("Qwen/Qwen2.5-7B-Instruct"), Some("Qwen2DecoderLayer"));
        assert_eq!(table.of_model("google/gemma-2-9b"), Some("Gemma2DecoderLayer"));
        assert_eq!(table.of_model("google/gemma-2b"), Some("GemmaDecoderLayer"));
        assert_eq!(table.of_model("meta-llama/Llama-3.2-11B-Vision"), None);
        assert_eq!(table.of_model("microsoft/Phi-3-mini-4k-instruct"), Some("Phi3DecoderLayer"));
        assert_eq!(table.of_model("unsloth/Phi-3.5-mini-instruct"), None);
        assert_eq!(table.of_model("Unsloth/Phi-3-mini-4k-instruct"), None);
        assert_eq!(table.of_model("unsloth/Qwen2.5-7B"), Some("Qwen2DecoderLayer"));
        assert!(table.knows("GPT2Block") && !table.knows("Block"));
    }

    #[test]
    fn names_begin_one_family_only() {
        let rows = crate::testing::catalog().model_layers().all();
        for row in rows {
            for name in &row.models {
                assert_eq!(*name, name.to_ascii_lowercase());
                let twice = rows.iter().filter(|other| other.models.contains(name)).count();
                assert_eq!(twice, 1, "{name}");
            }
        }
    }
}
