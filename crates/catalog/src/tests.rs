//! The rules that every row keeps to.

use std::collections::{BTreeMap, BTreeSet};

use super::testing::catalog;
use super::version::{Version, compare};
use super::{images, toolkit, torch};

fn date(text: &str) -> bool {
    text.parse::<jiff::civil::Date>().is_ok()
}

fn ascending<'a>(versions: impl Iterator<Item = &'a str>) {
    let versions: Vec<&str> = versions.collect();
    for pair in versions.windows(2) {
        assert_eq!(compare(pair[0], pair[1]), Some(std::cmp::Ordering::Less), "{pair:?}");
    }
}

#[test]
fn rows_are_sorted_and_unique() {
    ascending(catalog().cuda().all().iter().map(|row| row.toolkit.as_str()));
    ascending(catalog().cuda().architectures().iter().map(|row| row.compute_capability.as_str()));
    ascending(catalog().cuda().forward_compatibilities().iter().map(|row| row.toolkit.as_str()));
    ascending(catalog().deepspeed().all().iter().map(|row| row.version.as_str()));
    ascending(catalog().deepspeed().cuda_minors().iter().map(|row| row.since.as_str()));
    ascending(catalog().nccl().all().iter().map(|row| row.version.as_str()));
    ascending(catalog().toolkit().all().iter().map(|row| row.version.as_str()));
    ascending(catalog().toolkit().all_engine_series().iter().map(|row| row.series.as_str()));
    ascending(catalog().torch().all().iter().map(|row| row.version.as_str()));
    assert!(catalog().drivers().all().windows(2).all(|pair| pair[0].branch < pair[1].branch));
    assert!(catalog().variables().all().windows(2).all(|pair| pair[0].name < pair[1].name));
    assert!(catalog().xids().all().windows(2).all(|pair| pair[0].number < pair[1].number));
    let cves: BTreeSet<&str> = catalog().toolkit().all_cves().iter().map(|row| row.id.as_str()).collect();
    assert_eq!(cves.len(), catalog().toolkit().all_cves().len());
}

#[test]
fn dates_are_valid() {
    for row in catalog().drivers().all() {
        for day in [&row.first_release, &row.end_of_life, &row.latest_date, &row.latest_as_of] {
            assert!(day.as_deref().is_none_or(date), "{row:?}");
        }
        assert!(
            row.end_of_life_disputed.as_deref().is_none_or(|day| date(&format!("{day}-01")) || date(day))
        );
        // The disputed end is the earlier one.
        if let (Some(end), Some(disputed)) = (&row.end_of_life, &row.end_of_life_disputed) {
            assert!(disputed < end, "{row:?}");
        }
    }
    for row in catalog().torch().all() {
        assert!(row.released.as_deref().is_none_or(date), "{}", row.version);
    }
    for row in catalog().toolkit().all_engine_series() {
        assert!(row.end_of_life.as_deref().is_none_or(date), "{}", row.series);
    }
}

#[test]
fn cuda_packages_match_the_minor_of_their_toolkit() {
    for row in catalog().cuda().all() {
        assert_eq!(row.runtime.is_some(), row.metapackage.is_some(), "{}", row.toolkit);
        let minor = Version::parse(&row.toolkit).unwrap().minor();
        for version in [&row.metapackage, &row.runtime, &row.nvcc].into_iter().flatten() {
            assert_eq!(Version::parse(version).unwrap().minor(), minor, "{}: {version}", row.toolkit);
        }
    }
    for runtime in catalog()
        .torch()
        .all()
        .iter()
        .flat_map(|release| &release.builds)
        .filter_map(|build| build.cuda_runtime.as_ref())
    {
        let known = catalog().cuda().all().iter().any(|row| row.runtime.as_ref() == Some(runtime));
        assert!(known || runtime.starts_with("11.7."), "nvidia-cuda-runtime {runtime}");
    }
}

#[test]
fn driver_branches_exist() {
    for row in catalog().cuda().forward_compatibilities() {
        for branch in &row.driver_branches {
            assert!(catalog().drivers().branch(*branch).is_some(), "CUDA {}: branch {branch}", row.toolkit);
        }
    }
    for row in catalog().cuda().architectures() {
        assert!(
            row.last_driver_branch.is_none_or(|branch| catalog().drivers().branch(branch).is_some()),
            "{row:?}"
        );
    }
    for row in catalog().gpus().all() {
        assert!(
            row.driver_branch_min.is_none_or(|branch| catalog().drivers().branch(branch).is_some()),
            "{row:?}"
        );
    }
    for row in catalog().cuda().all() {
        for driver in [&row.driver_min, &row.driver_min_minor_compat].into_iter().flatten() {
            let branch = Version::parse(driver).unwrap().number(0);
            assert!(catalog().drivers().branch(u32::try_from(branch).unwrap()).is_some(), "{driver}");
        }
    }
}

#[test]
fn a_drivers_cuda_matches_the_toolkit_that_came_with_it() {
    for row in catalog().cuda().all().iter().filter(|row| row.toolkit.ends_with(".0")) {
        let Some(driver) = &row.driver_min else { continue };
        let branch = u32::try_from(Version::parse(driver).unwrap().number(0)).unwrap();
        let reported = catalog().drivers().branch(branch).unwrap().cuda.as_deref().unwrap();
        assert_eq!(Version::parse(reported).unwrap().minor(), Version::parse(&row.toolkit).unwrap().minor());
    }
}

#[test]
fn systems_are_unique_and_dated() {
    ascending(catalog().systems().pythons().iter().map(|row| row.python.as_str()));
    let ids: BTreeSet<&str> = catalog().systems().all().iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids.len(), catalog().systems().all().len());
    for row in catalog().systems().all() {
        for day in [&row.released, &row.end_of_life].into_iter().flatten() {
            assert!(date(day), "{}: {day}", row.id);
        }
        assert!(row.image_seen.is_empty() || date(&row.image_seen), "{}", row.id);
        for number in [&row.glibc, &row.gcc, &row.python].into_iter().flatten() {
            assert!(Version::parse(number).is_some(), "{}: {number}", row.id);
        }
    }
    // By family, oldest first.
    let family = |id: &str| id.trim_end_matches(|end: char| end.is_ascii_digit() || end == '.').to_owned();
    for pair in catalog().systems().all().windows(2) {
        let same = family(&pair[0].id) == family(&pair[1].id);
        assert!(!same || pair[0].released < pair[1].released, "{}", pair[1].id);
    }
}

#[test]
fn every_system_has_a_source_for_every_python() {
    let rows = catalog().systems().python_sources();
    assert_eq!(rows.len(), catalog().systems().all().len() * catalog().systems().pythons().len());
    for row in rows {
        let system = catalog().systems().system(&row.system).unwrap();
        // A system has its own default Python, wherever its packages are known at all.
        if system.python.as_deref() == Some(&row.python) {
            assert_ne!(row.distribution, Some(false), "{row:?}");
        }
        assert!(!(row.distribution == Some(true) && row.deadsnakes == Some(true)), "{row:?}");
        assert!(row.deadsnakes != Some(true) || row.system.starts_with("ubuntu"), "{row:?}");
        assert!(date(&row.checked) && row.source.to_string().len() > 10, "{row:?}");
    }
    let of = |system, python| catalog().systems().python_source(system, python).unwrap();
    // Ubuntu 22.04 has a release candidate of 3.11, which is no final release.
    assert_eq!(of("ubuntu22.04", "3.11").distribution, Some(false));
    assert_eq!(of("ubuntu22.04", "3.12").uv, Some(true));
    assert_eq!(of("ubuntu26.04", "3.14").distribution, Some(true));
    assert_eq!(of("rockylinux9", "3.13").distribution, None);
}

#[test]
fn every_cuda_has_its_compilers() {
    for pair in catalog().systems().compilers().windows(2) {
        assert!(compare(&pair[0].cuda_to, &pair[1].cuda_from).unwrap().is_lt(), "{:?}", pair[1]);
    }
    for row in catalog().systems().compilers() {
        assert!(compare(&row.cuda_from, &row.cuda_to).unwrap().is_le(), "{row:?}");
        let newest = row.gcc_max.as_deref().unwrap();
        assert!(
            row.gcc_min.as_deref().is_none_or(|oldest| compare(oldest, newest).unwrap().is_lt()),
            "{row:?}"
        );
    }
    // No gaps; of releases after the last range nothing was read.
    let last = &catalog().systems().compilers().last().unwrap().cuda_to;
    for row in catalog().cuda().all() {
        let read = compare(&row.toolkit, last).unwrap().is_le();
        assert_eq!(catalog().systems().gcc_range(&row.toolkit).is_some(), read, "CUDA {}", row.toolkit);
    }
    assert!(compare(last, "13.5.0").unwrap().is_ge());
    assert_eq!(catalog().systems().gcc_range("12.1").unwrap().gcc_max.as_deref(), Some("12"));
    assert!(
        catalog().systems().gcc_range("10.2").is_none() && catalog().systems().gcc_range("14.0").is_none()
    );
}

#[test]
fn the_system_of_an_image_is_in_the_catalog() {
    for repository in images::REPOSITORIES {
        for image in catalog().images().of(repository) {
            let system = image.system.as_deref();
            assert!(
                system.is_none_or(|id| catalog().systems().system(id).is_some()),
                "{}",
                image.reference()
            );
        }
    }
}

#[test]
fn the_cuda_of_an_image_is_a_release() {
    for repository in images::REPOSITORIES {
        for image in catalog().images().of(repository) {
            let Some(cuda) = &image.cuda else { continue };
            match Version::parse(cuda).unwrap().numbers().len() {
                2 => assert!(catalog().cuda().minor(cuda).is_some(), "{}", image.reference()),
                _ => assert!(
                    catalog().cuda().all().iter().any(|row| row.toolkit == *cuda),
                    "{}",
                    image.reference()
                ),
            }
        }
    }
}

#[test]
fn cuda_versions_exist() {
    for release in catalog().torch().all() {
        for build in &release.builds {
            let cuda = build.cuda.as_deref().unwrap();
            assert!(catalog().cuda().minor(cuda).is_some(), "torch {} {}", release.version, build.build);
            let name = torch::CudaBuild::of_cuda(cuda).unwrap();
            assert_eq!(torch::CudaBuild::parse(&build.build), Some(name));
            assert_eq!(build.build, name.to_string());
        }
        let name = release.pypi_build.as_deref().unwrap();
        let build = release.build(name).unwrap();
        assert_eq!(build.cuda, release.pypi_cuda, "torch {}", release.version);
        assert_eq!(build.nccl, release.nccl, "torch {}", release.version);
    }
    for row in catalog().cuda().architectures() {
        for toolkit in [&row.first_toolkit, &row.last_toolkit].into_iter().flatten() {
            assert!(
                catalog().cuda().minor(toolkit).is_some() || compare(toolkit, "11.0").unwrap().is_lt(),
                "{toolkit}"
            );
        }
    }
    for row in catalog().cuda().forward_compatibilities() {
        assert!(catalog().cuda().minor(&row.toolkit).is_some(), "{}", row.toolkit);
    }
}

#[test]
fn nccl_versions_exist() {
    for release in catalog().torch().all() {
        for nccl in release.builds.iter().filter_map(|build| build.nccl.as_deref()) {
            assert!(catalog().nccl().release(nccl).is_some(), "torch {}: NCCL {nccl}", release.version);
        }
    }
    for row in catalog().nccl().all() {
        assert!(row.fixed_in.as_deref().is_none_or(|version| catalog().nccl().release(version).is_some()));
        assert_eq!(row.known_bad.is_some(), row.fixed_in.is_some(), "{}", row.version);
    }
}

#[test]
fn compute_capabilities_exist() {
    let known =
        |text: &str| catalog().cuda().architectures().iter().any(|row| row.compute_capability == text);
    for release in catalog().torch().all() {
        for build in &release.builds {
            let lists = [&build.architectures, &build.ptx, &build.aarch64_architectures];
            for list in lists.into_iter().flatten() {
                assert!(list.iter().all(|text| known(text)), "torch {} {}", release.version, build.build);
            }
            assert!(build.architectures.as_ref().is_none_or(|list| !list.is_empty()));
        }
    }
    for gpu in catalog().gpus().all() {
        let row = catalog()
            .cuda()
            .architectures()
            .iter()
            .find(|row| row.compute_capability == gpu.compute_capability);
        assert_eq!(row.unwrap().architecture, gpu.architecture, "{}", gpu.name);
    }
}

#[test]
fn gpu_pci_ids_and_patterns_are_unique() {
    let mut ids = BTreeMap::new();
    let mut patterns = BTreeMap::new();
    for gpu in catalog().gpus().all() {
        assert!(!gpu.pci_ids.is_empty() || !gpu.patterns.is_empty(), "{}", gpu.name);
        for id in &gpu.pci_ids {
            assert_eq!(ids.insert(id, &gpu.name), None, "{id:04x} stands twice");
        }
        for pattern in &gpu.patterns {
            assert_eq!(patterns.insert(pattern.to_lowercase(), &gpu.name), None, "{pattern} stands twice");
            assert_eq!(&catalog().gpus().by_name(pattern).unwrap().name, &gpu.name, "{pattern}");
        }
    }
}

#[test]
fn torch_builds_are_consistent_with_their_release() {
    let within = |part: &[String], whole: &[String]| part.iter().all(|python| whole.contains(python));
    for release in catalog().torch().all() {
        let version = &release.version;
        let pythons = release.pythons.as_deref().unwrap();
        for lacks in [&release.torchvision_lacks, &release.torchaudio_lacks] {
            assert!(within(lacks, pythons), "torch {version}");
        }
        assert!(within(release.aarch64_pythons.as_deref().unwrap(), pythons), "torch {version}");
        let aarch64 = release.aarch64_build.as_deref().unwrap();
        assert!(aarch64 == "cpu" || release.build(aarch64).is_some(), "torch {version}: {aarch64}");
        for build in &release.builds {
            let name = &build.build;
            assert!(within(build.pythons.as_deref().unwrap_or_default(), pythons), "torch {version} {name}");
            assert_eq!(
                build.cuda_runtime.is_some(),
                release.pypi_build.as_ref() == Some(name),
                "torch {version} {name}"
            );
            if let (Some(runtime), Some(cuda)) = (&build.cuda_runtime, &build.cuda) {
                assert!(runtime.starts_with(&format!("{cuda}.")), "torch {version} {name}");
            }
            assert!(build.in_release_matrix.is_none_or(|listed| !listed || build.pythons.is_some()));
        }
    }
}

#[test]
fn gpu_aliases_are_unique() {
    let mut aliases = BTreeMap::new();
    for gpu in catalog().gpus().all() {
        for alias in &gpu.aliases {
            let plain =
                |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
            assert!(alias.chars().all(plain), "{alias}");
            assert_eq!(aliases.insert(alias.replace('-', ""), &gpu.name), None, "{alias} stands twice");
            assert_eq!(catalog().gpus().by_alias(alias).unwrap().name, gpu.name, "{alias}");
            assert_eq!(catalog().gpus().nearest_alias(alias), Some(alias.as_str()));
        }
        // A whole product name means its own row, or the row of the same chip that owns the short name.
        for pattern in &gpu.patterns {
            let found = catalog().gpus().by_alias(pattern).unwrap();
            assert_eq!(found.compute_capability, gpu.compute_capability, "{pattern}");
        }
        assert!(gpu.nvlink_generation.is_none() || gpu.nvlink == Some(true), "{}", gpu.name);
        assert!(gpu.memory_gib.is_none_or(|size| size > 1.0), "{}", gpu.name);
    }
}

#[test]
fn deepspeed_version_specifiers_are_valid() {
    let specifier = |text: &str| text.parse::<pep440_rs::VersionSpecifiers>().is_ok();
    for row in catalog().deepspeed().all() {
        assert!(row.released.as_deref().is_some_and(date), "{}", row.version);
        for range in [&row.torch, &row.pydantic].into_iter().flatten() {
            assert!(specifier(range), "DeepSpeed {}: {range}", row.version);
        }
    }
    let mut ids = BTreeSet::new();
    for row in catalog().deepspeed().incompatibilities() {
        assert!(ids.insert(&row.id), "{} stands twice", row.id);
        let ranges = [Some(&row.deepspeed), row.with_versions.as_ref(), row.python.as_ref()];
        assert!(ranges.into_iter().flatten().all(|range| specifier(range)), "{}", row.id);
        assert!(row.with_versions.is_none() || row.with_package.is_some(), "{}", row.id);
        let known = ["torch", "numpy", "pydantic", "python", "transformers", "cuda"];
        assert!(row.with_package.as_deref().is_none_or(|name| known.contains(&name)), "{}", row.id);
    }
}

#[test]
fn deepspeed_operators_are_unique_and_sorted() {
    let rows = catalog().deepspeed().operators();
    assert!(rows.windows(2).all(|pair| pair[0].name < pair[1].name));
    let variables: BTreeSet<&str> = rows.iter().map(|row| row.variable.as_str()).collect();
    assert_eq!(variables.len(), rows.len());
    for row in rows {
        assert!(row.variable.starts_with("DS_BUILD_"), "{}", row.variable);
        assert!(row.needs_toolkit || !row.needs_nvcc, "{}", row.name);
        for version in [&row.since, &row.until].into_iter().flatten() {
            assert!(catalog().deepspeed().release(version).is_some(), "{}: {version}", row.name);
        }
        let capability = row.compute_capability_min.as_deref();
        let known = |text| catalog().cuda().architectures().iter().any(|row| row.compute_capability == text);
        assert!(capability.is_none_or(known), "{}", row.name);
    }
}

#[test]
fn lists_of_cuda_minors_exist() {
    for row in catalog().deepspeed().all() {
        let since = row.cuda_minors.as_deref().unwrap();
        assert!(
            catalog().deepspeed().cuda_minors().iter().any(|list| list.since == since),
            "{}",
            row.version
        );
        assert!(compare(since, &row.version).unwrap().is_le());
    }
}

#[test]
fn fixed_versions_of_a_cve_are_not_vulnerable() {
    for cve in catalog().toolkit().all_cves() {
        assert!(!cve.fixed_in.is_empty(), "{}", cve.id);
        for fixed in &cve.fixed_in {
            assert_ne!(cve.exposure(fixed), toolkit::Exposure::Unknown, "{} {fixed}", cve.id);
            assert_ne!(cve.exposure(fixed), toolkit::Exposure::Vulnerable, "{} {fixed}", cve.id);
        }
    }
}
