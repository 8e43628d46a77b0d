//! What holds for every request.

use crate::testing::universe;
use catalog::testing::catalog;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::criteria::Criteria;
use super::rank;
use super::request::{Request, Requirement, RequirementKind};
use super::search::{self, Choice};
use super::universe::series;
use super::verdict::Judgement;
use super::verdict::Tolerance;
use crate::parameter::{Parameter, Source};

fn option(parameter: Parameter, value: impl Into<String>, kind: RequirementKind) -> Requirement {
    Requirement { source: Source::option(parameter, value), kind }
}

fn versions(part: &'static str, pool: &'static [&'static str]) -> impl Strategy<Value = Option<Requirement>> {
    prop::option::weighted(0.4, select(pool)).prop_map(move |text| {
        let text = text?;
        let versions = text.parse().ok()?;
        let pinned = text.starts_with(|first: char| first.is_ascii_digit());
        Some(match part {
            "cuda" => option(Parameter::Cuda, text, RequirementKind::Cuda(versions)),
            "python" => option(Parameter::Python, text, RequirementKind::Python(versions)),
            "torch" => option(Parameter::Torch, text, RequirementKind::Torch(versions)),
            "deepspeed" => {
                option(Parameter::DeepSpeed, text, RequirementKind::Package(part.to_owned(), versions))
            }
            name => {
                let value = format!("{name}{}{text}", if pinned { "==" } else { "" });
                option(Parameter::With, value, RequirementKind::Package(name.to_owned(), versions))
            }
        })
    })
}

fn gpu(name: &str) -> RequirementKind {
    let row = catalog().gpus().by_alias(name).unwrap();
    RequirementKind::Gpu(crate::parse::of_model(&row.name, row).unwrap())
}

const GPUS: &[&str] = &["h100", "a100", "v100", "b200", "rtx4090", "gtx1080ti", "t4", "l40s"];
const DRIVERS: &[&str] =
    &["450.80.02", "470.82.01", "525.60.13", "535.54.03", "550.54.14", "565.57.01", "580.65.06", "590.44.01"];
const PACKAGES: &[&str] = &[
    "transformers",
    "accelerate",
    "datasets",
    "peft",
    "trl",
    "stable-baselines3",
    "vllm",
    "xformers",
    "bitsandbytes",
];

pub(super) fn requests() -> impl Strategy<Value = Request> {
    let requirements = (
        versions("cuda", &["11.7", "11.8", "12.1", "12.4", "12.6", ">=12.4", "13.0", "<13", "12.8"]),
        versions("python", &["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", ">=3.10", "<3.12"]),
        versions(
            "torch",
            &[
                "1.13",
                "2.0",
                "2.1.2",
                "2.2",
                "2.4",
                "2.5.1",
                "2.6",
                "2.8",
                "2.11",
                "2.15",
                ">=2.4,<2.7",
                "<2.3",
            ],
        ),
        versions("deepspeed", &["", "0.9.5", "0.12", "0.14.0", "0.14.4", "0.16", ">=0.17", "<0.15"]),
        versions("numpy", &["<2", ">=2", "1.26.4"]),
        prop::option::weighted(0.3, select(PACKAGES)),
        subsequence(GPUS, 0..3),
        prop::option::weighted(0.4, select(DRIVERS)),
        prop::bool::weighted(0.2),
    );
    requirements.prop_map(|(cuda, python, torch, deepspeed, numpy, package, gpus, driver, compile)| {
        let mut requirements: Vec<Requirement> =
            [cuda, python, torch, deepspeed, numpy].into_iter().flatten().collect();
        let any = |name: &str| RequirementKind::Package(name.to_owned(), "".parse().unwrap());
        requirements.extend(package.map(|name| option(Parameter::With, name, any(name))));
        requirements.extend(gpus.into_iter().map(|name| option(Parameter::Gpu, name, gpu(name))));
        let driver = driver
            .map(|text| option(Parameter::Driver, text, RequirementKind::Driver(text.parse().unwrap())));
        requirements.extend(driver);
        if compile {
            requirements.push(option(Parameter::Compile, "", RequirementKind::Compile));
        }
        Request { requirements, today: "2026-11-21".into(), ..Request::default() }
    })
}

fn best(request: &Request) -> Option<(Choice<'static>, Tolerance)> {
    search::best(universe(), request, None)
}

fn sources(request: &Request) -> Vec<String> {
    request.requirements.iter().map(|requirement| requirement.source.to_string()).collect()
}

/// The tolerance that a stack needs.
fn tolerance(request: &Request, choice: &Choice) -> Option<Tolerance> {
    let judgements = search::judge(catalog(), request, choice);
    let allowed = |tolerance: &Tolerance| judgements.iter().all(|judged| tolerance.allows(&judged.judgement));
    Tolerance::ALL.into_iter().find(allowed)
}

/// Whether the first stack comes before the second, or is as good, in the order of a request.
fn at_least_as_good(request: &Request, one: &Choice<'static>, two: &Choice<'static>) -> bool {
    let criteria = Criteria::from_request(catalog(), request);
    let tolerances = (tolerance(request, one).unwrap(), tolerance(request, two).unwrap());
    if tolerances.0 != tolerances.1 {
        return tolerances.0 < tolerances.1;
    }
    for name in universe().order.iter().filter(|name| criteria.packages.contains_key(**name)) {
        if let (Some(one), Some(two)) = (one.package(name), two.package(name))
            && one.version != two.version
        {
            return one.version > two.version;
        }
    }
    let builds = rank::builds(universe(), &criteria);
    let build =
        |choice: &Choice| builds.iter().position(|build| std::ptr::eq(*build, choice.environment.build));
    if build(one) != build(two) {
        return build(one) < build(two);
    }
    let environment = |choice: &Choice<'static>| (choice.environment.python, choice.environment.base);
    let mut environments = [environment(one), environment(two)];
    rank::sort_environments(&mut environments, &criteria, one.environment.build);
    let is = |choice: &Choice| {
        std::ptr::eq(environments[0].0, choice.environment.python)
            && std::ptr::eq(environments[0].1, choice.environment.base)
    };
    if is(one) != is(two) {
        return is(one);
    }
    for name in &universe().order {
        match (one.package(name), two.package(name)) {
            (None, None) => {}
            (Some(one), Some(two)) if one.version == two.version => {}
            (Some(one), Some(two)) => return one.version > two.version,
            // A stack with other packages in it is neither better nor worse.
            _ => return true,
        }
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        max_shrink_iters: 40,
        ..ProptestConfig::default()
    })]

    /// Every stack meets every constraint, judged again on the whole of it, and needs no more tolerance than
    /// was used.
    #[test]
    fn stacks_meet_their_constraints(request in requests()) {
        if let Some((choice, used)) = best(&request) {
            for judged in search::judge(catalog(), &request, &choice) {
                prop_assert!(!matches!(judged.judgement, Judgement::Fails(_)), "{:?}: \
                    {judged:?}", sources(&request));
                prop_assert!(used.allows(&judged.judgement), "{:?}: {judged:?}", sources(&request));
            }
        }
    }

    /// Without one of the requirements there still is a stack, and it is at least as good.
    #[test]
    fn more_freedom_is_never_worse(request in requests(), index in any::<prop::sample::Index>()) {
        prop_assume!(!request.requirements.is_empty());
        let mut freer = request.clone();
        let dropped = freer.requirements.remove(index.index(request.requirements.len()));
        // A GPU's name is knowledge as well: of data-centre GPUs alone it is known that an old driver can do
        // with forward compatibility.
        let driver = request.requirements.iter()
            .any(|requirement| matches!(requirement.kind, RequirementKind::Driver(_)));
        prop_assume!(!(driver && matches!(dropped.kind, RequirementKind::Gpu(_))));
        // --compile chooses images with nvcc, on which releases without a wheel can be installed.
        prop_assume!(!matches!(dropped.kind, RequirementKind::Compile));
        if let Some((choice, _)) = best(&request) {
            let found = best(&freer);
            prop_assert!(found.is_some(), "{:?} without {}", sources(&request), dropped.source);
            let (free, _) = found.unwrap();
            prop_assert!(at_least_as_good(&freer, &free, &choice), "{:?} without \
                {}", sources(&request), dropped.source);
        }
    }

    /// The order of the requirements does not matter.
    #[test]
    fn order_does_not_matter((request, shuffled) in requests().prop_flat_map(|request| {
        let requirements = request.requirements.clone();
        (Just(request.clone()), Just(requirements).prop_shuffle()
            .prop_map(move |requirements| Request { requirements, ..request.clone() }))
    })) {
        let stack = |request: &Request| best(request).map(|(choice, _)| {
            super::assemble::stack(&Criteria::from_request(catalog(), request), &choice)
        });
        prop_assert_eq!(stack(&request), stack(&shuffled));
    }

    /// A newer driver never yields an older torch.
    #[test]
    fn newer_drivers_never_mean_older_torch(request in requests(), pair in subsequence(DRIVERS, 2)) {
        let with = |driver: &str| {
            let mut request = request.clone();
            request.requirements.retain(|one| !matches!(one.kind, RequirementKind::Driver(_)));
            let kind = RequirementKind::Driver(driver.parse().unwrap());
            request.requirements.push(option(Parameter::Driver, driver, kind));
            best(&request).map(|(choice, _)| choice.environment.build.version.clone())
        };
        if let (Some(older), Some(newer)) = (with(pair[0]), with(pair[1])) {
            prop_assert!(newer >= older, "{:?}: {} gives {older}, {} gives \
                {newer}", sources(&request), pair[0], pair[1]);
        }
    }
}

#[test]
fn the_order_names_every_package() {
    for name in universe().package_names() {
        assert!(universe().order.contains(&name), "{name} is missing in catalog/package_order.yaml");
    }
    let mut names = universe().order.clone();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() == universe().order.len() && names.len() < 60, "each once; a bit each");
    assert!(universe().builds.iter().any(|build| series(&build.version) == (2, 15)));
}
