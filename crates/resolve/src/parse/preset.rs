//! `--preset`: packages of the catalog under one name.

use super::{ParameterError, versions, with};
use crate::parameter::{Parameter, Source};
use crate::request::{Requirement, RequirementKind};
use crate::universe::Universe;
use diagnostic::suggest::nearest;

pub(super) fn requirements(universe: &Universe, name: &str) -> Result<Vec<Requirement>, ParameterError> {
    let name = name.trim();
    let Some(preset) = universe.catalog.presets().preset(name) else { return Err(no_such(universe, name)) };
    let source = |what: &str| Source::option(Parameter::Preset, format!("{name} ({what})"));
    let mut requirements = Vec::new();
    if let Some(text) = &preset.deepspeed {
        let versions = versions::versions(Parameter::DeepSpeed, text, &Vec::new)?;
        let what = format!("deepspeed{text}");
        requirements.push(Requirement {
            source: source(&what),
            kind: RequirementKind::Package("deepspeed".into(), versions),
        });
    }
    for text in &preset.with {
        let packages = with::requirements(universe, text)?;
        requirements.extend(
            packages.into_iter().map(|requirement| Requirement { source: source(text), ..requirement }),
        );
    }
    if preset.compile {
        requirements
            .push(Requirement { source: source("compiles CUDA code"), kind: RequirementKind::Compile });
    }
    Ok(requirements)
}

fn no_such(universe: &Universe, name: &str) -> ParameterError {
    let names: Vec<&str> =
        universe.catalog.presets().all().iter().map(|preset| preset.name.as_str()).collect();
    ParameterError::new(Parameter::Preset, format!("unknown preset {name:?}"))
        .near(nearest(name, names.iter().copied()))
        .hint(format!("presets: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::universe;
    use catalog::testing::catalog;

    #[test]
    fn every_preset_is_understood() {
        for preset in catalog().presets().all() {
            assert!(!requirements(universe(), &preset.name).unwrap().is_empty(), "{}", preset.name);
        }
        assert_eq!(
            requirements(universe(), "train").unwrap()[0].source.to_string(),
            "--preset train (deepspeed)"
        );
        assert_eq!(requirements(universe(), "finetun").unwrap_err().hints[0], "did you mean finetune?");
    }
}
