//! What holds for every request.

use crate::testing::world;
use catalog::testing::catalog;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::rank;
use super::request::{Gpu, Request, Want, Wish};
use super::search::{self, Choice, ORDER};
use super::verdict::Judgement;
use super::verdict::Tolerance;
use super::wanted::Wanted;
use super::world::series;
use crate::parameter::Source;

fn versions(part: &'static str, pool: &'static [&'static str]) -> impl Strategy<Value = Option<Wish>> {
    prop::option::weighted(0.4, select(pool)).prop_map(move |text| {
        let versions = text?.parse().ok()?;
        let want = match part {
            "cuda" => Want::Cuda(versions),
            "python" => Want::Python(versions),
            "torch" => Want::Torch(versions),
            name => Want::Package(name.to_owned(), versions),
        };
        Some(Wish { source: Source::Stated(format!("--{part} {}", text?)), want })
    })
}

fn gpu(name: &str) -> Want {
    let row = catalog().gpus().by_alias(name).unwrap();
    let (major, minor) = row.compute_capability.split_once('.').unwrap();
    Want::Gpu(Gpu {
        name: row.name.clone(),
        capability: (major.parse().unwrap(), minor.parse().unwrap()),
        data_centre: Some(row.data_centre),
        driver_branch_min: row.driver_branch_min,
    })
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
    let wishes = (
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
    wishes.prop_map(|(cuda, python, torch, deepspeed, numpy, package, gpus, driver, compile)| {
        let mut wishes: Vec<Wish> = [cuda, python, torch, deepspeed, numpy].into_iter().flatten().collect();
        let mut add = |says: String, want| wishes.push(Wish { source: Source::Stated(says), want });
        package.into_iter().for_each(|name| {
            add(format!("--with {name}"), Want::Package(name.to_owned(), "".parse().unwrap()));
        });
        gpus.into_iter().for_each(|name| add(format!("--gpu {name}"), gpu(name)));
        driver
            .into_iter()
            .for_each(|text| add(format!("--driver {text}"), Want::Driver(text.parse().unwrap())));
        if compile {
            add("--compile".into(), Want::Compile);
        }
        Request { wishes, today: "2026-11-21".into(), ..Request::default() }
    })
}

fn best(request: &Request) -> Option<(Choice<'static>, Tolerance)> {
    search::best(world(), request, None)
}

fn says(request: &Request) -> Vec<String> {
    request.wishes.iter().map(|wish| wish.source.to_string()).collect()
}

/// What must be put up with for a stack.
fn tolerance(request: &Request, choice: &Choice) -> Option<Tolerance> {
    let judgements = search::judge(catalog(), request, choice);
    let allowed = |tolerance: &Tolerance| judgements.iter().all(|judged| tolerance.allows(&judged.judgement));
    Tolerance::ALL.into_iter().find(allowed)
}

/// Whether the first stack comes before the second, or is as good, in the order of a request.
fn at_least_as_good(request: &Request, one: &Choice<'static>, two: &Choice<'static>) -> bool {
    let wanted = Wanted::of(catalog(), request);
    let tolerances = (tolerance(request, one).unwrap(), tolerance(request, two).unwrap());
    if tolerances.0 != tolerances.1 {
        return tolerances.0 < tolerances.1;
    }
    for name in ORDER.iter().filter(|name| wanted.packages.contains_key(**name)) {
        if let (Some(one), Some(two)) = (one.package(name), two.package(name))
            && one.version != two.version
        {
            return one.version > two.version;
        }
    }
    let builds = rank::builds(world(), &wanted);
    let build = |choice: &Choice| builds.iter().position(|build| std::ptr::eq(*build, choice.place.build));
    if build(one) != build(two) {
        return build(one) < build(two);
    }
    let place = |choice: &Choice<'static>| (choice.place.python, choice.place.base);
    let mut places = [place(one), place(two)];
    rank::sort_places(&mut places, &wanted, one.place.build);
    let is = |choice: &Choice| {
        std::ptr::eq(places[0].0, choice.place.python) && std::ptr::eq(places[0].1, choice.place.base)
    };
    if is(one) != is(two) {
        return is(one);
    }
    for name in ORDER {
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
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, max_shrink_iters: 40, ..ProptestConfig::default() })]

    /// Every stack meets every constraint, judged again on the whole of it, and needs no more tolerance than
    /// was used.
    #[test]
    fn stacks_meet_their_constraints(request in requests()) {
        if let Some((choice, used)) = best(&request) {
            for judged in search::judge(catalog(), &request, &choice) {
                prop_assert!(!matches!(judged.judgement, Judgement::Fails(_)), "{:?}: \
                    {judged:?}", says(&request));
                prop_assert!(used.allows(&judged.judgement), "{:?}: {judged:?}", says(&request));
            }
        }
    }

    /// With a wish less there is a stack where there was one, and it is at least as good.
    #[test]
    fn more_freedom_is_never_worse(request in requests(), index in any::<prop::sample::Index>()) {
        prop_assume!(!request.wishes.is_empty());
        let mut freer = request.clone();
        let dropped = freer.wishes.remove(index.index(request.wishes.len()));
        // A GPU's name is knowledge as well: of data-centre GPUs alone it is known that an old driver can do
        // with forward compatibility.
        let driver = request.wishes.iter().any(|wish| matches!(wish.want, Want::Driver(_)));
        prop_assume!(!(driver && matches!(dropped.want, Want::Gpu(_))));
        // --compile chooses images with nvcc, on which releases without a wheel can be installed.
        prop_assume!(!matches!(dropped.want, Want::Compile));
        if let Some((choice, _)) = best(&request) {
            let found = best(&freer);
            prop_assert!(found.is_some(), "{:?} without {}", says(&request), dropped.source);
            let (free, _) = found.unwrap();
            prop_assert!(at_least_as_good(&freer, &free, &choice), "{:?} without \
                {}", says(&request), dropped.source);
        }
    }

    /// The order of the wishes does not matter.
    #[test]
    fn order_does_not_matter((request, shuffled) in requests().prop_flat_map(|request| {
        let wishes = request.wishes.clone();
        (Just(request.clone()), Just(wishes).prop_shuffle().prop_map(move |wishes| Request { wishes, ..request.clone() }))
    })) {
        let stack = |request: &Request| best(request).map(|(choice, _)| {
            super::assemble::stack(&Wanted::of(catalog(), request), &choice)
        });
        prop_assert_eq!(stack(&request), stack(&shuffled));
    }

    /// A newer driver never yields an older torch.
    #[test]
    fn newer_drivers_never_mean_older_torch(request in requests(), pair in subsequence(DRIVERS, 2)) {
        let with = |driver: &str| {
            let mut request = request.clone();
            request.wishes.retain(|wish| !matches!(wish.want, Want::Driver(_)));
            let want = Want::Driver(driver.parse().unwrap());
            request.wishes.push(Wish { source: Source::Stated(format!("--driver {driver}")), want });
            best(&request).map(|(choice, _)| choice.place.build.version.clone())
        };
        if let (Some(older), Some(newer)) = (with(pair[0]), with(pair[1])) {
            prop_assert!(newer >= older, "{:?}: {} gives {older}, {} gives \
                {newer}", says(&request), pair[0], pair[1]);
        }
    }
}

#[test]
fn the_order_names_every_package() {
    for name in world().package_names() {
        assert!(ORDER.contains(&name), "{name} is missing in search::ORDER");
    }
    assert!(world().builds.iter().any(|build| series(&build.version) == (2, 15)));
}
