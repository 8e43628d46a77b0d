//! Repairs of pins that projects have.

use catalog::testing::catalog;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::has_stack;
use crate::outcome::Outcome;
use crate::parameter::Source;
use crate::testing::universe;
use crate::universe::series;

/// A line of a requirements file: `torch==2.4.1+cu121`, `python>=3.10`.
fn pin(line: &str) -> Requirement {
    let at = line.find(|c: char| "<>=!~".contains(c)).unwrap_or(line.len());
    let (name, specifiers) = line.split_at(at);
    let (specifiers, build) = match specifiers.split_once('+') {
        Some((specifiers, build)) => (specifiers, Some(build.to_owned())),
        None => (specifiers, None),
    };
    let specifiers: VersionSpecifiers = specifiers.parse().unwrap();
    let versions = Versions { text: line[at..].to_owned(), specifiers, build };
    let kind = match name {
        "torch" => RequirementKind::Torch(versions),
        "cuda" => RequirementKind::Cuda(versions),
        "python" => RequirementKind::Python(versions),
        name => RequirementKind::Package(name.to_owned(), versions),
    };
    Requirement { source: Source::Stated(line.to_owned()), kind }
}

/// The index of a torch build.
fn index(build: &str) -> Requirement {
    let versions = Versions { text: format!("+{build}"), build: Some(build.to_owned()), ..Versions::any() };
    Requirement { source: Source::Stated(build.to_owned()), kind: RequirementKind::Torch(versions) }
}

/// Requirements on the machine: GPUs and a driver.
fn machine(gpus: &[&str], driver: &str) -> Vec<Requirement> {
    let gpu = |name: &&str| {
        let row = catalog().gpus().by_alias(name).unwrap();
        RequirementKind::Gpu(crate::parse::of_model(&row.name, row).unwrap())
    };
    let driver = (!driver.is_empty()).then(|| RequirementKind::Driver(driver.parse().unwrap()));
    let stated = |kind| Requirement { source: Source::Stated("machine".into()), kind };
    gpus.iter().map(gpu).chain(driver).map(stated).collect()
}

fn request(pins: &[Requirement], machine: &[Requirement]) -> (Request, Vec<usize>) {
    let requirements = [pins, machine].concat();
    let request = Request { requirements, today: "2026-11-21".into(), ..Request::default() };
    (request, (0..pins.len()).collect())
}

/// The changes of some pins on a machine, as `torch ==2.4.1 -> ==2.7.1`.
fn changes(repair: &Repair) -> Vec<String> {
    let name = |part: &Part| match part {
        Part::Torch => "torch".to_owned(),
        Part::Cuda => "cuda".to_owned(),
        Part::Python => "python".to_owned(),
        Part::Package(name) => name.clone(),
    };
    repair
        .changed
        .iter()
        .map(|one| format!("{} {} -> {}", name(&one.part), one.from.text, one.to.text))
        .collect()
}

fn repair(pins: &[Requirement], machine: &[Requirement]) -> Option<Repair> {
    let (request, changeable) = request(pins, machine);
    smallest(universe(), &request, &changeable)
}

fn pins(lines: &[&str]) -> Vec<Requirement> {
    lines.iter().map(|line| pin(line)).collect()
}

#[test]
fn rtx_5090_needs_the_next_torch_with_its_code() {
    let repair = repair(&pins(&["torch==2.4.1", "numpy<2"]), &machine(&["rtx5090"], "575.51.03")).unwrap();
    assert_eq!(changes(&repair), ["torch ==2.4.1 -> ==2.7.1"]);
    let gone = ["5.0", "6.0", "7.0"].map(str::to_owned).into();
    assert_eq!(repair.lost, Lost { architectures: Some(gone), driver: None });
    assert_eq!((repair.stack.torch.as_str(), repair.stack.torch_build.as_str()), ("2.7.1", "cu128"));
}

#[test]
fn b200_with_a_build_for_cuda_12_1() {
    let lines = ["torch==2.5.1+cu121", "torchvision==0.20.1+cu121"];
    let repair = repair(&pins(&lines), &machine(&["b200"], "570.86.15")).unwrap();
    let changed = ["torch ==2.5.1+cu121 -> ==2.7.1+cu128", "torchvision ==0.20.1+cu121 -> ==0.22.1+cu128"];
    assert_eq!(changes(&repair), changed);
    assert_eq!(repair.changed[1].version.to_string(), "0.22.1+cu128");
}

#[test]
fn wheels_of_torchs_build_move_with_it() {
    let lines = ["torch==2.5.1+cu118", "torchvision==0.20.1+cu118", "cuda==12.4.*"];
    let (request, _) = request(&pins(&lines), &[]);
    let repair = smallest(universe(), &request, &[0, 1]).unwrap();
    let changed = ["torch ==2.5.1+cu118 -> ==2.5.1+cu124", "torchvision ==0.20.1+cu118 -> ==0.20.1+cu124"];
    assert_eq!(changes(&repair), changed);
    assert_eq!(repair.lost.driver, Some(("450.80.02".to_owned(), "525.60.13".to_owned())));
}

#[test]
fn driver_535_runs_cuda_13_on_data_centre_cards_alone() {
    let pins = [pin("torch==2.9.0"), index("cu130")];
    // Through CUDA forward compatibility.
    assert!(repair(&pins, &machine(&["h100"], "535.54.03")).unwrap().changed.is_empty());
    let repair = repair(&pins, &machine(&["rtx4090"], "535.54.03")).unwrap();
    assert_eq!(changes(&repair), ["torch +cu130 -> +cu128"]);
}

#[test]
fn v100_with_driver_470_and_vllm() {
    let repair = repair(&pins(&["torch==2.4.1", "vllm==0.6.0"]), &machine(&["v100"], "470.82.01")).unwrap();
    assert_eq!(changes(&repair), ["torch ==2.4.1 -> ==2.0.1", "vllm ==0.6.0 -> ==0.2.1.post1"]);
    assert_eq!(repair.lost.architectures, Some(vec!["9.0".to_owned()]));
}

#[test]
fn styles_stay() {
    let repair = repair(
        &pins(&["torch>=2.1,<2.5", "torchvision~=0.19.0", "python==3.11.9"]),
        &machine(&["rtx5090"], "575.51.03"),
    )
    .unwrap();
    let changed = ["torch >=2.1,<2.5 -> >=2.1,<2.8", "torchvision ~=0.19.0 -> ~=0.22.1"];
    assert_eq!(changes(&repair), changed);
    let repair = self::repair(&pins(&["python==3.8.10", "numpy==2.1.0"]), &[]).unwrap();
    assert_eq!(changes(&repair), ["python ==3.8.10 -> ==3.10.*"]);
}

#[test]
fn a_requirement_that_depends_on_the_python_does_not_end_the_search() {
    let (request, _) = request(&pins(&["setuptools==75.8.0", "vllm==0.10.1.1"]), &[]);
    assert!(has_stack(universe(), &request), "on Python 3.11 vllm does not require setuptools");
}

const FROZEN: &[&str] = &[
    "accelerate==1.3.0",
    "bitsandbytes==0.45.1",
    "datasets==3.2.0",
    "deepspeed==0.16.3",
    "flash-attn==2.7.4.post1",
    "huggingface-hub==0.28.1",
    "lightning==2.5.0.post0",
    "numba==0.60.0",
    "numpy==1.26.4",
    "peft==0.14.0",
    "pydantic==2.10.6",
    "ray==2.40.0",
    "setuptools==75.8.0",
    "tokenizers==0.21.0",
    "torch==2.5.1",
    "torchaudio==2.5.1",
    "torchvision==0.20.1",
    "transformers==4.48.2",
    "triton==3.1.0",
    "vllm==0.7.3",
    "xformers==0.0.28.post3",
];

#[test]
fn frozen_environment_holds() {
    let (request, _) = request(&pins(FROZEN), &machine(&["h100"], "550.54.14"));
    assert!(holds(&request));
}

#[test]
fn frozen_environment_on_an_rtx_5090() {
    let repair = repair(&pins(FROZEN), &machine(&["rtx5090"], "575.51.03")).unwrap();
    assert!(repair.fewest && repair.searches <= 40, "{}", repair.searches);
    let changed = [
        "flash-attn ==2.7.4.post1 -> ==2.8.3.post1",
        "huggingface-hub ==0.28.1 -> ==0.33.5",
        "ray ==2.40.0 -> ==2.43.0",
        "tokenizers ==0.21.0 -> ==0.21.4",
        "torch ==2.5.1 -> ==2.7.0",
        "torchaudio ==2.5.1 -> ==2.7.0",
        "torchvision ==0.20.1 -> ==0.22.0",
        "transformers ==4.48.2 -> ==4.51.3",
        "triton ==3.1.0 -> ==3.3.0",
        "vllm ==0.7.3 -> ==0.9.2",
        "xformers ==0.0.28.post3 -> ==0.0.30",
    ];
    assert_eq!(changes(&repair), changed);
}

#[test]
fn a_driver_that_is_too_old_for_everything_has_no_repair() {
    let (request, changeable) = request(&pins(FROZEN), &machine(&["h100"], "450.80.02"));
    assert_eq!(smallest(universe(), &request, &changeable), None);
    let (request, changeable) =
        self::request(&pins(&["torch==2.5.1", "numpy<2"]), &machine(&["h100"], "450.80.02"));
    let Outcome::Conflict(conflict) = crate::resolve(universe(), &relaxed(universe(), &request, &changeable))
    else {
        panic!("no version helps")
    };
    assert!(conflict.requirements.iter().all(|one| one == "machine"), "{conflict:?}");
}

/// Pins of a project, and its machine.
fn projects() -> impl Strategy<Value = (Vec<Requirement>, Vec<Requirement>)> {
    const PINS: &[&[&str]] = &[
        &[
            "torch==1.13.1",
            "torch==2.1.2",
            "torch==2.4.1",
            "torch==2.5.1+cu121",
            "torch>=2.1,<2.5",
            "torch==2.9.0",
        ],
        &["torchvision==0.19.1", "torchvision==0.20.1", "torchaudio==2.4.1"],
        &["vllm==0.2.7", "vllm==0.7.3", "vllm==0.11.0", "deepspeed==0.14.0", "deepspeed==0.9.5"],
        &["numpy==1.26.4", "numpy<2", "numpy==2.1.0", "transformers==4.36.2", "transformers==4.48.2"],
        &["xformers==0.0.27.post2", "xformers==0.0.28.post3", "bitsandbytes==0.45.1", "triton==3.0.0"],
        &["python==3.8.*", "python==3.10.12", "python>=3.12", "python==3.13.*"],
    ];
    let pins = subsequence(PINS, 1..=5).prop_flat_map(|pools| {
        pools.into_iter().map(select).collect::<Vec<_>>().prop_map(|lines| pins(&lines))
    });
    let gpu = select(&["v100", "a100", "h100", "rtx4090", "rtx5090", "b200"][..]);
    let driver = select(&["", "470.82.01", "535.54.03", "550.54.14", "575.51.03", "580.65.06"][..]);
    (pins.prop_shuffle(), (gpu, driver).prop_map(|(gpu, driver)| machine(&[gpu], driver)))
}

fn holds(request: &Request) -> bool {
    search::any_within(universe(), request, Tolerance::LOOSEST, None).is_some()
}

/// All sets of changes are tried; the fewest changes with which a stack exists.
fn fewest(pins: &[Requirement], machine: &[Requirement]) -> Option<u32> {
    let (request, changeable) = request(pins, machine);
    let mut sets: Vec<u32> = (0..1 << pins.len()).collect();
    sets.sort_by_key(|set| set.count_ones());
    let enough = |set: &u32| {
        let changed: Vec<usize> = changeable.iter().copied().filter(|pin| set & (1 << pin) != 0).collect();
        holds(&relaxed(universe(), &request, &changed))
    };
    sets.into_iter().find(enough).map(u32::count_ones)
}

/// Series of torch that are nearer to an exact pin than the one of a repair.
fn nearer(change: &Change) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = universe().builds.iter().map(|build| series(&build.version)).collect();
    all.sort_unstable();
    all.dedup();
    let Some(pinned) = change.from.named() else { return Vec::new() };
    let position = |one: (u64, u64)| all.iter().position(|other| *other == one).unwrap();
    let (from, to) = (position(series(&pinned)), position(series(&change.version)));
    let distance = |position: usize| (position.abs_diff(from), position < from);
    all.iter().copied().filter(|one| distance(position(*one)) < distance(to)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24, failure_persistence: None, max_shrink_iters: 30, ..ProptestConfig::default()
    })]

    #[test]
    fn no_smaller_and_no_nearer_repair_exists((pins, machine) in projects()) {
        let (request, changeable) = request(&pins, &machine);
        let repair = smallest(universe(), &request, &changeable);
        prop_assert_eq!(repair.as_ref().map(|one| one.fewest), repair.as_ref().map(|_| true));
        let count = repair.as_ref().map(|one| u32::try_from(one.changed.len()).unwrap());
        prop_assert_eq!(count, fewest(&pins, &machine));
        let Some(repair) = repair else { return Ok(()) };
        let mut repaired = request.clone();
        for change in &repair.changed {
            prop_assert!(change.to.contain(&change.version.clone().without_local()));
            repaired.requirements[change.index].kind = change.kind();
        }
        let Some((_, tolerance)) = search::best(universe(), &repaired, None) else {
            return Err(TestCaseError::fail("the changes do not hold"));
        };
        let changed: Vec<usize> = repair.changed.iter().map(|one| one.index).collect();
        let torch = |one: &&Change| one.part == Part::Torch;
        for change in repair.changed.iter().filter(torch) {
            for (major, minor) in nearer(change) {
                let mut other = relaxed(universe(), &request, &changed);
                let versions = format!(">={major}.{minor},<{major}.{}", minor + 1).parse().unwrap();
                other.requirements[change.index].kind = RequirementKind::Torch(versions);
                let found = search::any_within(universe(), &other, tolerance, None);
                prop_assert!(found.is_none(), "torch {major}.{minor}: {:?}", changes(&repair));
            }
        }
    }
}
