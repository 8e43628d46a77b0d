//! The Python can be had on the base image.

use crate::constraint::{Constraint, Environment, Judge};
use crate::criteria::Criteria;
use crate::verdict::{BaseGap, BaseRefusal, Gap, Judgement, Refusal};

pub(super) const CONSTRAINT: Constraint = Constraint {
    id: "python-obtainable",
    description: "The Python is the image's own where it brings one; else the system's, or one that the \
        deadsnakes archive or uv has for the system.",
    sources: &[
        "distributions' package lists",
        "https://launchpad.net/~deadsnakes/+archive/ubuntu/ppa",
        "astral-sh/uv:crates/uv-python/download-metadata.json, see the catalog's rows of systems",
    ],
    judge: Judge::Environment(judge),
};

fn judge(criteria: &Criteria, environment: &Environment) -> Judgement {
    let (python, base) = (environment.python, environment.base);
    if let Some(image) = base.image {
        if let Some(own) = &image.python {
            return Judgement::unless(*own == python.text, || {
                Refusal::Base(BaseRefusal::PythonOfImage { has: own.clone(), python: python.text.clone() })
            });
        }
        if image.torch.is_some() {
            // Whoever asks for one and for an image with torch wants torch in it, not a second one.
            return match criteria.python.is_empty() {
                true => Judgement::Unknown(Gap::Base(BaseGap::PythonOfImage)),
                false => Judgement::Fails(Refusal::Base(BaseRefusal::PythonOfImageUnknown)),
            };
        }
    }
    if base.provides_python(criteria.catalog, python)
        || (base.image.is_none() && criteria.is_installed(python))
    {
        return Judgement::Holds;
    }
    let Some(system) = base.system else {
        return Judgement::Unknown(Gap::Base(BaseGap::PythonOfBase));
    };
    let ways = criteria
        .catalog
        .systems()
        .python_source(&system.id, &python.text)
        .map_or([None; 3], |source| [source.distribution, source.deadsnakes, source.uv]);
    if ways.contains(&Some(true)) {
        return Judgement::Holds;
    }
    if ways == [Some(false); 3] {
        return Judgement::Fails(Refusal::Base(BaseRefusal::PythonNotAvailable {
            system: system.name.clone(),
            python: python.text.clone(),
        }));
    }
    Judgement::Unknown(Gap::Base(BaseGap::PythonSource { system: system.name.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{base, build, judged_base, python, row};
    use crate::request::{Request, Requirement, RequirementKind, Versions};
    use crate::universe::Base;
    use catalog::images::{Flavour, Image};
    use catalog::testing::catalog;

    #[test]
    fn from_the_system_deadsnakes_or_uv() {
        let on = |text: &str, image: &str| {
            judged_base(&CONSTRAINT, &[], build("2.5.1", "cu121"), python(text), base(image))
        };
        let image = "nvidia/cuda:12.1.1-base-ubuntu22.04";
        for text in ["3.10", "3.12", "3.14"] {
            assert_eq!(on(text, image), Judgement::Holds, "{text}");
        }
        assert_eq!(on("3.8", "nvidia/cuda:12.1.1-base-ubuntu20.04"), Judgement::Holds);
        assert_eq!(on("3.8", image), Judgement::Holds, "from uv");
        assert_eq!(on("3.12", "nvidia/cuda:12.1.1-base-ubi8"), Judgement::Holds, "from uv");
        assert!(matches!(on("3.12", ""), Judgement::Unknown(_)));
    }

    #[test]
    fn installed_python_holds() {
        let mut request = Request::default();
        request.installed.insert("python".to_owned(), "3.12.3".to_owned());
        let criteria = Criteria::from_request(catalog(), &request);
        let on = |text: &str| {
            judge(
                &criteria,
                &Environment { build: build("2.5.1", "cu121"), python: python(text), base: base("") },
            )
        };
        assert_eq!(on("3.12"), Judgement::Holds);
        assert!(matches!(on("3.11"), Judgement::Unknown(_)));
    }

    #[test]
    fn unknown_python_of_torch_image_fails_if_one_is_requested() {
        let mut image: Image = base("nvidia/cuda:12.1.1-devel-ubuntu22.04").image.unwrap().clone();
        image.torch = Some("2.5.0".to_owned());
        let made = Base { image: Some(row(image)), system: None, cuda: None, flavour: Flavour::Plain };
        let on = |requirements: &[Requirement]| {
            judged_base(&CONSTRAINT, requirements, build("2.5.1", "cu121"), python("3.12"), &made)
        };
        let requirement = Requirement {
            source: crate::parameter::Source::Stated("--python 3.12".into()),
            kind: RequirementKind::Python(Versions::any()),
        };
        assert!(matches!(on(&[]), Judgement::Unknown(_)));
        assert!(matches!(on(&[requirement]), Judgement::Fails(_)));
    }

    #[test]
    fn python_must_match_the_python_of_the_image() {
        let mut image: Image = base("nvidia/cuda:12.1.1-devel-ubuntu22.04").image.unwrap().clone();
        image.python = Some("3.11".to_owned());
        let made = Base { image: Some(row(image)), system: None, cuda: None, flavour: Flavour::Plain };
        let on = |text: &str| judged_base(&CONSTRAINT, &[], build("2.5.1", "cu121"), python(text), &made);
        assert_eq!(on("3.11"), Judgement::Holds);
        assert!(matches!(on("3.12"), Judgement::Fails(_)));
    }
}
