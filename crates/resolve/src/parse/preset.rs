//! `--preset`: packages of the catalog under one name.

use super::{Mistake, versions, with};
use crate::parameter::{Parameter, Source};
use crate::request::{Want, Wish};
use crate::world::World;
use catalog::presets::Preset;

/// The wishes of a preset.
pub(super) fn wishes(world: &World, name: &str) -> Result<Vec<Wish>, Mistake> {
    let name = name.trim();
    let Some(preset) = world.catalog.presets().preset(name) else { return Err(no_such(world, name)) };
    let source = |what: &str| Source::option(Parameter::Preset, format!("{name} ({what})"));
    let mut wishes = Vec::new();
    if let Some(text) = &preset.deepspeed {
        let versions = versions::versions(Parameter::DeepSpeed, text, &Vec::new)?;
        let what = format!("deepspeed{text}");
        wishes.push(Wish { source: source(&what), want: Want::Package("deepspeed".into(), versions) });
    }
    for text in &preset.with {
        let packages = with::wishes(world, text)?;
        wishes.extend(packages.into_iter().map(|wish| Wish { source: source(text), ..wish }));
    }
    if preset.compile {
        wishes.push(Wish { source: source("compiles CUDA code"), want: Want::Compile });
    }
    Ok(wishes)
}

fn no_such(world: &World, name: &str) -> Mistake {
    let score = |preset: &&Preset| strsim::jaro_winkler(name, &preset.name);
    let near = world.catalog.presets().all().iter().max_by(|one, other| score(one).total_cmp(&score(other)));
    let names: Vec<&str> = world.catalog.presets().all().iter().map(|preset| preset.name.as_str()).collect();
    Mistake::new(Parameter::Preset, format!("there is no preset {name:?}"))
        .near(near.filter(|near| score(near) > 0.7).map(|near| near.name.as_str()))
        .hint(format!("there are {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::world;
    use catalog::testing::catalog;

    #[test]
    fn every_preset_is_understood() {
        for preset in catalog().presets().all() {
            assert!(!wishes(world(), &preset.name).unwrap().is_empty(), "{}", preset.name);
        }
        assert_eq!(wishes(world(), "train").unwrap()[0].source.to_string(), "--preset train (deepspeed)");
        assert_eq!(wishes(world(), "finetun").unwrap_err().hints[0], "did you mean finetune?");
    }
}
