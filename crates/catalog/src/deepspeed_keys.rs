//! Keys of DeepSpeed's configuration.

use diagnostic::suggest::typo_of;
use serde::Deserialize;

use super::file;
use crate::Sources;

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
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::table!(Section, "deepspeed_keys.yaml");

impl Section {
    /// The key that was most likely meant by one that this release may be too old for.
    pub fn nearest(&self, key: &str) -> Option<&str> {
        typo_of(key, self.keys.iter().map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn suggests_nearest_key_for_a_typo() {
        let section = |name: &str| {
            crate::testing::catalog().deepspeed_keys().all().iter().find(|one| one.section == name).unwrap()
        };
        assert_eq!(section("top").nearest("gradient_accumulation_step"), Some("gradient_accumulation_steps"));
        assert_eq!(section("zero_optimization").nearest("overlap_com"), Some("overlap_comm"));
        assert_eq!(section("top").nearest("comms_timeout"), None);
        assert!(section("zero_optimization").strict && !section("top").strict);
    }
}
