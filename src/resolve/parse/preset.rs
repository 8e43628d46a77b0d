//! Presets: packages that are often wanted together, under one name.

use super::Mistake;
use crate::resolve::request::{Versions, Want, Wish};

/// Packages under one name.
#[derive(Debug)]
pub struct Preset {
    /// What goes after `--preset`.
    pub name: &'static str,
    /// What it is for.
    pub says: &'static str,
    /// The packages, in any version.
    pub packages: &'static [&'static str],
}

/// All presets.
pub const PRESETS: &[Preset] = &[
    Preset { name: "torch", says: "torch alone", packages: &["torchvision", "torchaudio"] },
    Preset { name: "deepspeed", says: "training on several GPUs", packages: &["deepspeed"] },
    Preset { name: "rl", says: "reinforcement learning", packages: &["stable-baselines3", "gymnasium"] },
    Preset {
        name: "llm-finetune",
        says: "fine-tuning of language models",
        packages: &["transformers", "datasets", "accelerate", "peft", "trl"],
    },
];

/// The wishes of a preset.
pub(super) fn wishes(name: &str) -> Result<Vec<Wish>, Mistake> {
    let name = name.trim();
    let Some(preset) = PRESETS.iter().find(|preset| preset.name == name) else {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let score = |known: &&str| strsim::jaro_winkler(name, known);
        let near = names.iter().copied().max_by(|one, other| score(one).total_cmp(&score(other)));
        return Err(Mistake::new(format!("--preset: there is no preset {name:?}"))
            .near(near.filter(|near| score(near) > 0.7))
            .hint(format!("there are {}", names.join(", "))));
    };
    let wish = |package: &&str| Wish {
        says: format!("--preset {name} ({package})"),
        want: Want::Package((*package).to_owned(), Versions::any()),
    };
    Ok(preset.packages.iter().map(wish).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(wishes("deepspeed").unwrap()[0].says, "--preset deepspeed (deepspeed)");
        assert_eq!(wishes("llm-finetun").unwrap_err().hints[0], "did you mean llm-finetune?");
    }
}
