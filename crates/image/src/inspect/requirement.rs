//! `NVIDIA_REQUIRE_*`: the condition under which NVIDIA's container toolkit starts an image.
//!
//! Every such variable must hold. In it, alternatives stand with spaces between them, and the conditions of
//! an alternative with commas:
//!
//! ```text
//! cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=geforce,driver>=535,driver<536
//! ```
//!
//! `cuda` is the newest CUDA that the driver knows, `arch` the compute capability and `brand` the brand of
//! the first GPU. Conditions on anything else are ignored. `NVIDIA_DISABLE_REQUIRE` turns all of it off.
//! Source: NVIDIA/nvidia-container-toolkit:internal/requirements@2da32970 and its image.go@3de6c52a.

use catalog::version::compare;
use facts::{Fact, Facts};
use std::cmp::Ordering;

use super::Image;

/// What conditions are held against; `None`: not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Properties {
    /// `12.4`.
    pub cuda: Option<String>,
    /// `550.54.14`.
    pub driver: Option<String>,
    /// `9.0`.
    pub arch: Option<String>,
    /// `geforcertx`: lower case, without spaces.
    pub brand: Option<String>,
}

impl Properties {
    /// The properties of a machine; the first GPU stands for all.
    pub fn of(facts: &Facts) -> Properties {
        let driver = facts.driver_version().known().copied();
        let of_branch =
            || driver.and_then(|driver| facts.catalog.drivers().branch(driver.branch)?.cuda.clone());
        let first = facts.gpu.list.known().and_then(|gpus| gpus.first());
        let capability = first.and_then(|gpu| gpu.compute_capability.known());
        Properties {
            cuda: facts.gpu.cuda.known().cloned().or_else(of_branch),
            driver: driver.map(|driver| driver.to_string()),
            arch: capability.map(|(major, minor)| format!("{major}.{minor}")),
            brand: first.and_then(|gpu| gpu.brand.known()).map(|brand| brand.to_lowercase().replace(' ', "")),
        }
    }

    fn get(&self, name: &str) -> Option<&Option<String>> {
        match name {
            "cuda" => Some(&self.cuda),
            "driver" => Some(&self.driver),
            "arch" => Some(&self.arch),
            "brand" => Some(&self.brand),
            _ => None,
        }
    }
}

/// The variables of an image that hold conditions, with their names; empty if they are disabled.
pub fn of(image: &Image) -> Vec<(&str, &str)> {
    if disabled(image) {
        return Vec::new();
    }
    let all = image
        .environment
        .iter()
        .filter(|(name, value)| name.starts_with("NVIDIA_REQUIRE_") && !value.trim().is_empty());
    all.map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// Whether the image turns its own conditions off.
pub fn disabled(image: &Image) -> bool {
    // Go's strconv.ParseBool.
    matches!(image.variable("NVIDIA_DISABLE_REQUIRE"), Some("1" | "t" | "T" | "true" | "TRUE" | "True"))
}

/// Whether a requirement holds; unknown where it depends on something that is not known.
pub fn holds(requirement: &str, properties: &Properties) -> Fact<bool> {
    let mut unknown = None;
    let mut any = false;
    for alternative in requirement.split_whitespace() {
        match every(alternative, properties) {
            None => {}
            Some(Fact::Known(true)) => return Fact::Known(true),
            Some(Fact::Unknown(why)) => (any, unknown) = (true, unknown.or(Some(why))),
            Some(_) => any = true,
        }
    }
    match unknown {
        Some(why) => Fact::Unknown(why),
        None => Fact::Known(!any),
    }
}

/// Whether all conditions of an alternative hold; `None` where none of them is one that is looked at.
fn every(alternative: &str, properties: &Properties) -> Option<Fact<bool>> {
    let mut all = None;
    for text in alternative.split(',') {
        match condition(text, properties) {
            None => {}
            Some(Fact::Known(false)) => return Some(Fact::Known(false)),
            Some(Fact::Unknown(why)) => all = Some(Fact::Unknown(why)),
            Some(_) if all.is_none() => all = Some(Fact::Known(true)),
            Some(_) => {}
        }
    }
    all
}

fn condition(text: &str, properties: &Properties) -> Option<Fact<bool>> {
    let end = text.find(['<', '>', '=', '!'])?;
    let (name, rest) = text.split_at(end);
    let operator =
        ["!=", "<=", ">=", "=", "<", ">"].into_iter().find(|operator| rest.starts_with(operator))?;
    let operand = &rest[operator.len()..];
    let Some(value) = properties.get(name)? else {
        let what = match name {
            "cuda" => "the newest CUDA that the driver supports",
            "arch" => "the compute capability of the first GPU",
            "brand" => "the brand of the first GPU",
            _ => "the driver's version",
        };
        return Some(Fact::unknown(format!("{what} is unknown")));
    };
    let order = if name == "brand" { Some(value.as_str().cmp(operand)) } else { compare(value, operand) };
    let Some(order) = order else {
        return Some(Fact::unknown(format!("{value:?} cannot be compared with {operand:?}")));
    };
    Some(Fact::Known(match operator {
        "=" => order == Ordering::Equal,
        "!=" => order != Ordering::Equal,
        "<" => order == Ordering::Less,
        "<=" => order != Ordering::Greater,
        ">" => order == Ordering::Greater,
        _ => order != Ordering::Less,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of what nvidia/cuda:12.4.1-base-ubuntu22.04 carries.
    const CUDA_12_4: &str = "cuda>=12.4 brand=tesla,driver>=470,driver<471 \
        brand=geforce,driver>=470,driver<471 \
                             brand=geforcertx,driver>=535,driver<536";

    fn machine(cuda: &str, driver: &str, brand: Option<&str>) -> Properties {
        Properties {
            cuda: Some(cuda.into()),
            driver: Some(driver.into()),
            arch: None,
            brand: brand.map(str::to_owned),
        }
    }

    #[test]
    fn alternatives_and_conditions() {
        let holds = |cuda, driver, brand| super::holds(CUDA_12_4, &machine(cuda, driver, brand));
        assert_eq!(holds("12.4", "550.54.14", None), Fact::Known(true));
        assert_eq!(holds("13.0", "580.65.06", Some("geforce")), Fact::Known(true));
        assert_eq!(holds("11.4", "470.82.01", Some("tesla")), Fact::Known(true));
        assert_eq!(holds("11.4", "470.82.01", Some("nvidiartx")), Fact::Known(false));
        assert_eq!(holds("12.2", "535.54.03", Some("geforcertx")), Fact::Known(true));
        assert_eq!(holds("12.3", "545.23.06", None), Fact::Known(false), "no brand has that branch");
        assert!(matches!(holds("12.2", "535.54.03", None), Fact::Unknown(_)));
        assert!(matches!(super::holds("arch>=7.0", &machine("13.0", "580.65.06", None)), Fact::Unknown(_)));
    }

    #[test]
    fn ignores_unsupported_conditions() {
        let properties = machine("12.4", "550.54.14", None);
        assert_eq!(holds("gpumem>=4", &properties), Fact::Known(true));
        assert_eq!(holds("gpumem>=4,cuda>=13.0", &properties), Fact::Known(false));
        assert_eq!(holds("", &properties), Fact::Known(true));
        assert!(matches!(holds("cuda>=x", &properties), Fact::Unknown(_)));
    }

    #[test]
    fn disable_require_turns_requirements_off() {
        let mut image = Image::default();
        image.environment.insert("NVIDIA_REQUIRE_CUDA".into(), "cuda>=13.0".into());
        assert_eq!(of(&image), [("NVIDIA_REQUIRE_CUDA", "cuda>=13.0")]);
        image.environment.insert("NVIDIA_DISABLE_REQUIRE".into(), "true".into());
        assert!(of(&image).is_empty());
    }
}
