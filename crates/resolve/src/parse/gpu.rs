//! GPUs as people name them.

use super::ParameterError;
use crate::parameter::Parameter;
use crate::request::Gpu;
use catalog::Catalog;
use catalog::gpus;

/// `h100`, `RTX 4090`, `NVIDIA A100-SXM4-80GB`, `sm_86`, `compute_86`, `8.6`.
pub(crate) fn gpu(catalog: &Catalog, text: &str) -> Result<Gpu, ParameterError> {
    let text = text.trim();
    if let Some(capability) = by_capability(catalog, text) {
        let capability = capability?;
        let (major, minor) = capability;
        return Ok(of_capability(catalog, &format!("sm_{major}{minor}"), capability));
    }
    let model = catalog.gpus().by_alias(text).or_else(|| catalog.gpus().by_name(text));
    model.and_then(|model| of_model(&display(text), model)).ok_or_else(|| {
        ParameterError::new(Parameter::Gpu, format!("no GPU in the catalog is called {text:?}"))
            .near(catalog.gpus().nearest_alias(text))
            .hint("a compute capability will do: --gpu sm_90")
    })
}

/// A GPU of the catalog under the name by which it was called; `None` where the row has no readable
/// capability.
pub fn of_model(name: &str, model: &gpus::Gpu) -> Option<Gpu> {
    Some(Gpu {
        name: name.to_owned(),
        capability: capability(&model.compute_capability)?,
        data_centre: model.forward_compatible(),
        driver_branch_min: model.driver_branch_min,
        open_module_only: model.open_module_only == Some(true),
        processor: model.processor.clone(),
    })
}

/// Major and minor number of `9.0`.
pub fn capability(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// A GPU of which no more than the compute capability is known: what all of that capability have in common.
pub fn of_capability(catalog: &Catalog, name: &str, capability: (u32, u32)) -> Gpu {
    let gpus = catalog.gpus();
    let driver_branch_min = gpus.oldest_branch(capability);
    // A Tegra's GPU is part of a chip with Arm cores.
    let of_tegra = catalog.cuda().is_tegra(capability).then_some("aarch64");
    Gpu {
        name: name.to_owned(),
        capability,
        data_centre: None,
        driver_branch_min,
        open_module_only: driver_branch_min.is_some(),
        processor: gpus.processor(capability).or(of_tegra).map(str::to_owned),
    }
}

/// `None` if the text is not a compute capability; an error if no GPU has it.
fn by_capability(catalog: &Catalog, text: &str) -> Option<Result<(u32, u32), ParameterError>> {
    let lower = text.to_ascii_lowercase();
    let named = ["sm_", "sm", "compute_", "compute", "cc"].iter().find_map(|word| lower.strip_prefix(word));
    let bare = named.unwrap_or(&lower).trim();
    // `sm_90a` is code for one chip of compute capability 9.0.
    let bare = if named.is_some() { bare.trim_end_matches(['a', 'f']) } else { bare };
    let (major, minor) = match bare.split_once('.') {
        Some(parts) => parts,
        None if named.is_some() && bare.len() >= 2 && bare.is_ascii() => bare.split_at(bare.len() - 1),
        None => return None,
    };
    let capability = (major.parse().ok()?, minor.parse().ok()?);
    Some(if catalog.cuda().architecture(capability).is_some() {
        Ok(capability)
    } else {
        Err(no_such(catalog, text, capability))
    })
}

fn no_such(catalog: &Catalog, text: &str, (major, minor): (u32, u32)) -> ParameterError {
    let known: Vec<(u32, u32)> =
        catalog.cuda().architectures().iter().filter_map(|row| capability(&row.compute_capability)).collect();
    let distance = |one: &&(u32, u32)| (one.0.abs_diff(major), one.1.abs_diff(minor));
    let near = known.iter().min_by_key(distance).map(|(major, minor)| format!("sm_{major}{minor}"));
    let all: Vec<String> = known.iter().map(|(major, minor)| format!("{major}.{minor}")).collect();
    ParameterError::of_value(
        Parameter::Gpu,
        text,
        format!("no GPU in the catalog has compute capability {major}.{minor}"),
    )
    .near(near.as_deref())
    .hint(format!("known are {}", all.join(", ")))
}

/// A short name as its maker writes it: `rtx-4090` is `RTX 4090`; a whole product name stays as it is.
fn display(text: &str) -> String {
    if text.chars().any(|letter| letter.is_ascii_uppercase()) {
        return text.to_owned();
    }
    let word = |word: &str| match word {
        "ti" | "ada" | "titan" => word[..1].to_ascii_uppercase() + &word[1..],
        _ => word.to_ascii_uppercase(),
    };
    text.split(['-', ' ']).map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::testing::catalog;

    #[test]
    fn gpus_by_all_their_names() {
        for (text, name, capability, data_centre) in [
            ("h100", "H100", (9, 0), Some(true)),
            ("rtx-4090", "RTX 4090", (8, 9), Some(false)),
            ("GTX 1080 Ti", "GTX 1080 Ti", (6, 1), Some(false)),
            ("gtx-1080-ti", "GTX 1080 Ti", (6, 1), Some(false)),
            ("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3", (9, 0), Some(true)),
            ("sm_86", "sm_86", (8, 6), None),
            ("SM86", "sm_86", (8, 6), None),
            ("8.6", "sm_86", (8, 6), None),
            ("compute_120", "sm_120", (12, 0), None),
            ("sm_90a", "sm_90", (9, 0), None),
        ] {
            let gpu = gpu(catalog(), text).unwrap();
            assert_eq!(
                (gpu.name.as_str(), gpu.capability, gpu.data_centre),
                (name, capability, data_centre),
                "{text}"
            );
        }
    }

    #[test]
    fn rejects_unknown_gpus_with_suggestions() {
        assert_eq!(gpu(catalog(), "h1000").unwrap_err().hints[0], "did you mean h100?");
        assert_eq!(gpu(catalog(), "sm_85").unwrap_err().hints[0], "did you mean sm_86?");
        assert!(gpu(catalog(), "9.9").unwrap_err().problem.contains("compute capability 9.9"));
        assert!(
            gpu(catalog(), "toaster").is_err()
                && gpu(catalog(), "sm_").is_err()
                && gpu(catalog(), "86").is_err()
        );
    }
}
