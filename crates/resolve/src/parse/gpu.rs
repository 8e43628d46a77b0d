//! GPUs as people name them.

use super::ParameterError;
use crate::parameter::Parameter;
use crate::request::Gpu;
use catalog::Catalog;
use catalog::{cuda, gpus};

/// A list of GPUs, separated by commas, each with its text.
pub(super) fn gpus<'t>(catalog: &Catalog, text: &'t str) -> Result<Vec<(&'t str, Gpu)>, ParameterError> {
    let names: Vec<&str> = text.split(',').filter(|name| !name.trim().is_empty()).collect();
    if names.is_empty() {
        let problem = format!("{text:?} names no GPU");
        return Err(ParameterError::new(Parameter::Gpu, problem).hint("write for example --gpu h100"));
    }
    names.into_iter().map(|name| Ok((name, gpu(catalog, name)?))).collect()
}

/// `h100`, `RTX 4090`, `NVIDIA A100-SXM4-80GB`, `sm_86`, `compute_86`, `8.6`.
pub(crate) fn gpu(catalog: &Catalog, text: &str) -> Result<Gpu, ParameterError> {
    let text = text.trim();
    if let Some(capability) = by_capability(catalog, text) {
        let capability = capability?;
        let (major, minor) = capability;
        return Ok(of_capability(catalog, &format!("sm_{major}{minor}"), capability));
    }
    let ambiguous = || with_these_words(catalog, text).len() > 1;
    let by_name = || catalog.gpus().by_name(text).filter(|_| !ambiguous());
    let model = catalog.gpus().by_alias(text).or_else(by_name);
    // Names are compared without signs, and this text becomes a comment and a label of the image.
    let plain = |c: char| c.is_ascii_alphanumeric() || " ._-/+()".contains(c);
    model
        .filter(|_| text.chars().all(plain))
        .and_then(|model| of_model(&display(text), model))
        .ok_or_else(|| unknown(catalog, text))
}

fn unknown(catalog: &Catalog, text: &str) -> ParameterError {
    let error = |problem: String| ParameterError::new(Parameter::Gpu, problem);
    if let Some(name) = without_count(text).filter(|name| catalog.gpus().by_alias(name).is_some()) {
        return error(format!("{text:?} has a number of GPUs in front")).near(Some(name));
    }
    let several = with_these_words(catalog, text);
    if several.len() > 1 {
        return error(format!("{text:?} may be any of several GPUs"))
            .hint(format!("write one of {}", several.join(", ")));
    }
    if let Some(maker) = catalog.other_gpus().maker(text) {
        return error(format!(
            "{text:?} is a GPU of {maker}; envdoc supports only NVIDIA GPUs and CUDA builds"
        ));
    }
    match catalog.cuda().tegra_named(text) {
        Some(row) => tegra(catalog, text, row),
        None => error(format!("unknown GPU {text:?}"))
            .near(catalog.gpus().nearest_alias(text))
            .hint("use a compute capability: --gpu sm_90"),
    }
}

/// The error about a Tegra chip: its compute capability where a torch build has code for it, else where a
/// torch comes from.
fn tegra(catalog: &Catalog, text: &str, row: &cuda::Architecture) -> ParameterError {
    let sm = cuda::sm(&row.compute_capability);
    let has_code = |build: &catalog::torch::Build| {
        build.architectures_for("aarch64").is_some_and(|all| all.contains(&row.compute_capability))
    };
    if catalog.torch().all().iter().flat_map(|release| &release.builds).any(has_code) {
        return ParameterError::new(Parameter::Gpu, format!("unknown GPU {text:?}")).near(Some(&sm));
    }
    let problem =
        format!("{text:?} is a Jetson ({sm}); no torch build of the catalog is known to have code for it");
    ParameterError::new(Parameter::Gpu, problem).hint("install the torch that NVIDIA builds for its JetPack")
}

/// `H100` of `8xH100`, `8 x H100`.
fn without_count(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|digit: char| digit.is_ascii_digit()).trim_start();
    let name = rest.strip_prefix(['x', 'X', '×', '*'])?;
    (rest.len() < text.len()).then_some(name.trim())
}

/// The short names, one of each model, that have all words of a text among theirs: of `rtx 6000` those of
/// several generations.
fn with_these_words<'c>(catalog: &'c Catalog, text: &str) -> Vec<&'c str> {
    let words = |text: &str| -> Vec<String> {
        text.split(['-', ' ', '_']).filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
    };
    let typed = words(text);
    let has_all = |alias: &&String| {
        let own = words(alias);
        typed.iter().all(|word| own.contains(word))
    };
    catalog.gpus().all().iter().filter_map(|gpu| Some(gpu.aliases.iter().find(has_all)?.as_str())).collect()
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
    fn names_that_need_another_word() {
        let hints = |text: &str| gpu(catalog(), text).unwrap_err().hints.join(" ");
        assert!(hints("8xH100").contains("did you mean H100?"), "{}", hints("8xH100"));
        assert!(hints("4 x rtx-4090").contains("did you mean rtx-4090?"));
        for generation in ["quadro-rtx-6000", "rtx-6000-ada", "rtx-pro-6000"] {
            assert!(hints("rtx 6000").contains(generation), "{}", hints("rtx 6000"));
        }
        assert!(hints("thor").contains("did you mean sm_110?"), "{}", hints("thor"));
        assert!(gpus(catalog(), ",").is_err());
        assert_eq!(gpus(catalog(), "h100, l4").unwrap().len(), 2);
    }

    #[test]
    fn gpus_that_no_build_serves_are_told_so() {
        let error = |text: &str| gpu(catalog(), text).unwrap_err();
        for text in ["mi300x", "AMD Instinct MI250"] {
            let error = error(text);
            assert!(error.problem.contains("is a GPU of AMD"), "{}", error.problem);
            assert!(error.hints.is_empty(), "{:?}", error.hints);
        }
        for text in ["jetson orin", "Orin", "jetson-xavier", "Jetson TX2"] {
            let error = error(text);
            assert!(error.problem.contains("is a Jetson (sm_"), "{}", error.problem);
            assert!(error.hints[0].contains("JetPack"), "{:?}", error.hints);
            assert!(!error.hints.concat().contains("--gpu"), "{:?}", error.hints);
        }
    }

    #[test]
    fn rejects_unknown_gpus_with_suggestions() {
        assert_eq!(gpu(catalog(), "h1000").unwrap_err().hints[0], "did you mean h100?");
        assert_eq!(gpu(catalog(), "sm_85").unwrap_err().hints[0], "did you mean sm_86?");
        for text in ["h100$(x)", "h100\"x\"", "RTX 4090 <script>", "h100\nRUN x", "h100\u{202e}", "h100`x`"] {
            let error = gpu(catalog(), text).unwrap_err();
            assert!(error.problem.starts_with("unknown GPU "), "{text:?}: {}", error.problem);
        }
        assert!(gpu(catalog(), "9.9").unwrap_err().problem.contains("compute capability 9.9"));
        assert!(
            gpu(catalog(), "toaster").is_err()
                && gpu(catalog(), "sm_").is_err()
                && gpu(catalog(), "86").is_err()
        );
    }
}
