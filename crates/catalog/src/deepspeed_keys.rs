//! Keys of DeepSpeed's configuration.

use serde::Deserialize;

use super::file;

/// The keys of one object of `ds_config.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// `zero_optimization.offload_param`; `top` for the file itself.
    pub section: String,
    /// Whether an unknown key ends the program.
    pub strict: bool,
    /// The keys that some release knows.
    pub keys: Vec<String>,
    /// Where this was read.
    pub source: String,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::table!(Section, "deepspeed_keys.yaml");

impl Section {
    /// The key that was most likely meant.
    pub fn nearest(&self, key: &str) -> Option<&str> {
        let limit = if key.len() < 8 { 1 } else { 3 };
        let near = self.keys.iter().map(|known| (strsim::damerau_levenshtein(key, known), known));
        near.filter(|(distance, _)| *distance <= limit).min().map(|(_, known)| known.as_str())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn slips() {
        let section = |name: &str| {
            crate::testing::catalog().deepspeed_keys().all().iter().find(|one| one.section == name).unwrap()
        };
        assert_eq!(section("top").nearest("gradient_accumulation_step"), Some("gradient_accumulation_steps"));
        assert_eq!(section("zero_optimization").nearest("overlap_com"), Some("overlap_comm"));
        assert_eq!(section("top").nearest("comms_timeout"), None);
        assert!(section("zero_optimization").strict && !section("top").strict);
    }
}
