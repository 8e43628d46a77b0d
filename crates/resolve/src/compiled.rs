//! flash-attn from source: where no wheel of it is known for the stack, it is compiled with nvcc, and the
//! stack needs an image that has it.

use super::outcome::Warning;
use super::parameter::{Parameter, Source};
use super::request::{Request, Requirement, RequirementKind};
use super::search::{self, Choice};
use super::universe::Universe;
use super::verdict::{Gap, Judgement, PackageGap};

/// The same request with a compiler, where the chosen release of flash-attn has wheels that are not known;
/// `None` where nothing has to be compiled, or the image already has all that is needed.
pub(crate) fn with_compiler(universe: &Universe, request: &Request, choice: &Choice) -> Option<Request> {
    choice.package("flash-attn")?;
    let unknown =
        |judgement: &Judgement| *judgement == Judgement::Unknown(Gap::Package(PackageGap::FlashAttnWheels));
    let judged = search::judge(universe.catalog, request, choice);
    // NVIDIA's own images have nvcc.
    if choice.environment.build.image.is_some() || !judged.iter().any(|one| unknown(&one.judgement)) {
        return None;
    }
    let mut compiling = request.clone();
    let source = Source::option(Parameter::Compile, "");
    compiling.requirements.push(Requirement { source, kind: RequirementKind::Compile });
    Some(compiling)
}

/// That it is compiled, and why.
pub(crate) fn warning(choice: &Choice) -> Option<Warning> {
    let release = choice.package("flash-attn")?;
    let build = choice.environment.build;
    let message = format!(
        "{} is compiled from source with nvcc, as with --compile: no prebuilt wheel of it is known for torch \
         {}+{}. That takes long and several GB of memory.",
        release.name(),
        build.version,
        build.build.build
    );
    Some(Warning { id: "flash-attn-compiled".into(), message })
}

#[cfg(test)]
mod tests {
    use crate::outcome::Outcome;
    use crate::testing::universe;
    use crate::tests::request;

    #[test]
    fn flash_attn_without_a_known_wheel_is_compiled() {
        let ids = |words: &[&str]| match crate::resolve(universe(), &request(words)) {
            Outcome::Resolved(found) => {
                let ids: Vec<String> = found.warnings.into_iter().map(|one| one.id).collect();
                (found.stack.base_image.unwrap().to_string(), ids)
            }
            Outcome::Conflict(conflict) => panic!("{conflict:?}"),
        };
        let (image, warnings) = ids(&["flash-attn", "torch 2.12"]);
        assert!(image.contains("-devel-"), "{image}");
        assert!(warnings.contains(&"flash-attn-compiled".into()), "{warnings:?}");
        assert!(!warnings.contains(&"unknown-flash-attn-wheel".into()), "{warnings:?}");
        let (image, warnings) = ids(&["flash-attn", "torch 2.8"]);
        assert!(!image.contains("-devel-") && !warnings.contains(&"flash-attn-compiled".into()), "{image}");
        // An image without nvcc that was asked for stays, and what is not known is said.
        let (image, warnings) = ids(&["flash-attn", "torch 2.12", "base ubuntu"]);
        assert!(image.starts_with("ubuntu:"), "{image}");
        assert!(warnings.contains(&"unknown-flash-attn-wheel".into()), "{warnings:?}");
    }
}
