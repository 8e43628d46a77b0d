//! Versions in options, and suggestions for malformed ones.

use pep440_rs::Version;

use super::ParameterError;
use crate::parameter::Parameter;
use crate::request::Versions;
use crate::universe::series;
use catalog::torch::CudaBuild;

/// Reads the versions of an option. A version that does not exist is not an error here: the resolver reports
/// it with reasons. `known` gives the versions that exist, for a suggestion.
pub(super) fn versions(
    parameter: Parameter,
    text: &str,
    known: &dyn Fn() -> Vec<Version>,
) -> Result<Versions, ParameterError> {
    let typed = text.trim();
    if let Some(error) = other_option(parameter, typed) {
        return Err(error);
    }
    let versions = typed.parse::<Versions>().map_err(|error| {
        ParameterError::at(parameter, typed, error.at, error.message).near(meant(typed, &known()).as_deref())
    })?;
    if versions.build.is_some() && parameter != Parameter::Torch {
        let position = typed.find('+').unwrap_or(0);
        return Err(ParameterError::at(
            parameter,
            typed,
            position,
            "only torch has builds (--torch 2.6.0+cu124)",
        ));
    }
    // Nobody means CUDA one hundred and twenty-one.
    if versions.named().is_some_and(|named| named.release().len() == 1 && named.release()[0] >= 10) {
        let known = known();
        let meant = meant(typed, &known);
        if meant.is_some() && !known.iter().any(|one| versions.contain(one)) {
            let message = format!("there is no version {typed}");
            return Err(ParameterError::at(parameter, typed, 0, message).near(meant.as_deref()));
        }
    }
    Ok(versions)
}

/// Whether a value of `--cuda` asks for a stack without CUDA.
pub(super) fn is_cpu(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case("cpu")
}

/// What belongs to another option: a build of torch.
fn other_option(parameter: Parameter, typed: &str) -> Option<ParameterError> {
    if parameter == Parameter::Torch && is_cpu(typed) {
        let message = format!("{typed:?} is a build, not a version of torch");
        return Some(ParameterError::at(parameter, typed, 0, message).hint("write --cuda cpu"));
    }
    let text = typed.to_ascii_lowercase();
    let cuda = CudaBuild::parse(&text).filter(|_| parameter == Parameter::Torch)?.cuda()?;
    let message = format!("{typed:?} is a CUDA build, not a version of torch");
    let hint = format!("write --cuda {cuda}, or both: --torch 2.6.0+{text}");
    Some(ParameterError::at(parameter, typed, 0, message).hint(hint))
}

/// The version that exists and whose digits were typed: `121` and `cu121` are 12.1, `py312` is 3.12, `v2.6`
/// is 2.6.
fn meant(typed: &str, known: &[Version]) -> Option<String> {
    let bare =
        typed.trim_start_matches(|letter: char| letter.is_ascii_alphabetic() || "=-_ ".contains(letter));
    let dotted = bare.replace(',', ".");
    let digits: String = bare.chars().filter(char::is_ascii_digit).collect();
    let readings = known.iter().flat_map(|version| {
        let (major, minor) = series(version);
        [version.to_string(), format!("{major}.{minor}")]
    });
    let readings: Vec<String> = readings.collect();
    let same = readings.iter().find(|reading| **reading == dotted);
    same.or_else(|| readings.iter().find(|reading| reading.replace('.', "") == digits)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Naming;

    fn cuda(text: &str) -> Result<Versions, ParameterError> {
        versions(Parameter::Cuda, text, &|| ["11.8", "12.1", "12.4"].map(|one| one.parse().unwrap()).to_vec())
    }

    #[test]
    fn suggests_the_intended_version() {
        for (typed, meant) in [("121", "12.1"), ("cu118", "11.8"), ("12,4", "12.4"), ("v12.1", "12.1")] {
            assert_eq!(cuda(typed).unwrap_err().hints, [format!("did you mean {meant}?")], "{typed}");
        }
        assert!(cuda("128").is_ok(), "no digits of a version that exists: the resolver answers");
        assert!(cuda("12").is_ok() && cuda("12.7").is_ok() && cuda("").is_ok());
        let pythons = || ["3.9", "3.12"].map(|one| one.parse().unwrap()).to_vec();
        for typed in ["312", "py312", "cp312", "python3.12"] {
            let error = versions(Parameter::Python, typed, &pythons).unwrap_err();
            assert_eq!(error.hints, ["did you mean 3.12?"], "{typed}");
        }
        let torches = || ["2.5.1", "2.6.0"].map(|one| one.parse().unwrap()).to_vec();
        for (typed, meant) in [("26", "2.6"), ("251", "2.5.1"), ("torch2.6.0", "2.6.0")] {
            let error = versions(Parameter::Torch, typed, &torches).unwrap_err();
            assert_eq!(error.hints, [format!("did you mean {meant}?")], "{typed}");
        }
    }

    #[test]
    fn what_another_option_takes() {
        let torch = |text: &str| versions(Parameter::Torch, text, &Vec::new).unwrap_err();
        assert!(torch("cu118").hints[0].contains("--cuda 11.8"), "{:?}", torch("cu118"));
        assert_eq!(torch("cpu").hints, ["write --cuda cpu"]);
        assert!(is_cpu(" CPU ") && !is_cpu("cu118") && !is_cpu("12.1"));
        assert_eq!(cuda("cu118").unwrap_err().hints, ["did you mean 11.8?"]);
    }

    #[test]
    fn the_place_is_shown() {
        let error = cuda(" 12,1;").unwrap_err().message(Naming::Options);
        assert!(error.ends_with("\n  --cuda 12,1;\n             ^"), "{error}");
        let error = cuda("12.1+cu121").unwrap_err().message(Naming::Options);
        assert!(error.ends_with("\n  --cuda 12.1+cu121\n             ^"), "{error}");
    }
}
