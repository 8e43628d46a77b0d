//! CUDA toolkits.

use super::{Explanation, numbers, torch};
use crate::universe::Universe;
use catalog::cuda;
use catalog::systems;
use catalog::version::Version;
use diagnostic::words;

/// The toolkit releases of a minor version, or the one release of a full version.
fn releases(universe: &Universe, version: &str) -> Vec<&'static cuda::Release> {
    let Some(requested) = Version::parse(version) else { return Vec::new() };
    universe
        .catalog
        .cuda()
        .all()
        .iter()
        .filter(|row| {
            Version::parse(&row.toolkit).is_some_and(|one| one.numbers().starts_with(requested.numbers()))
        })
        .collect()
}

pub(super) fn explain(universe: &Universe, version: &str) -> Explanation {
    if version.is_empty() {
        return all(universe);
    }
    let rows = releases(universe, version);
    let Some(first) = rows.first() else { return missing(universe, version) };
    let names: Vec<&str> = rows.iter().map(|row| row.toolkit.as_str()).collect();
    let summary = match names[..] {
        [one] if one == version => "A toolkit release that exists.".to_owned(),
        _ => {
            format!("Exists: {}.", words::and(&names.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>()))
        }
    };
    let mut explanation = Explanation::new(format!("CUDA {version}"), summary);
    for row in &rows {
        let driver = row.driver_min.as_ref().map_or_else(
            || "which driver it comes with is not known".to_owned(),
            |driver| format!("comes with driver {driver}, which its full features need"),
        );
        explanation.row(&row.toolkit, driver);
        explanation.row("", row.note.clone().unwrap_or_default());
        explanation.sources(row.source.iter());
    }
    let minor = Version::parse(&first.toolkit).map(|one| one.minor()).unwrap_or_default();
    rest(&mut explanation, universe, minor);
    explanation
}

/// What holds for a minor version.
fn rest(explanation: &mut Explanation, universe: &Universe, (major, minor): (u64, u64)) {
    let name = format!("{major}.{minor}");
    let floor = u32::try_from(major).ok().and_then(|it| universe.catalog.cuda().major_driver_min(it));
    explanation.row(
        "driver",
        floor.map_or(String::new(), |floor| {
            format!("{floor} or newer runs it (minor-version compatibility of CUDA {major})")
        }),
    );
    let forward = universe.catalog.cuda().forward(&name).map_or_else(
        || "on which older branches its cuda-compat package works is not known".to_owned(),
        |row| {
            let list: Vec<String> = row.driver_branches.iter().map(u32::to_string).collect();
            format!("data-centre cards only: cuda-compat works on driver branches {}", words::and(&list))
        },
    );
    explanation.row("forward compatibility", forward);
    let new: Vec<String> = universe
        .catalog
        .cuda()
        .architectures()
        .iter()
        .filter(|row| row.first_toolkit.as_deref() == Some(&name))
        .map(|row| format!("{} ({})", catalog::cuda::sm(&row.compute_capability), row.architecture))
        .collect();
    explanation.row("first for", words::and(&new));
    let last: Vec<String> = universe
        .catalog
        .cuda()
        .architectures()
        .iter()
        .filter(|row| row.last_toolkit.as_deref() == Some(&name))
        .map(|row| catalog::cuda::sm(&row.compute_capability))
        .collect();
    explanation.row("last for", words::and(&last));
    explanation.row("torch", torches(universe, &name));
    explanation.row("gcc for nvcc", compilers(universe, &name));
    explanation.row("images", base_images(universe, &name));
}

fn torches(universe: &Universe, minor: &str) -> String {
    let with: Vec<&str> = universe
        .builds
        .iter()
        .filter(|build| build.build.cuda.as_deref() == Some(minor))
        .map(|build| build.release.version.as_str())
        .collect();
    match with[..] {
        [] => "no release in this catalog has a build for it".to_owned(),
        _ => format!("{} have a build for it", words::span(&with)),
    }
}

fn compilers(universe: &Universe, minor: &str) -> String {
    let within = |row: &&systems::Compilers| {
        let parse = |text: &str| Version::parse(text).map(|one| one.minor());
        let requested = parse(minor);
        parse(&row.cuda_from) <= requested && requested <= parse(&row.cuda_to)
    };
    // Of a minor that two ranges share, the last one holds for its newest patch release.
    universe.catalog.systems().compilers().iter().rfind(within).map_or(String::new(), |row| {
        match (&row.gcc_min, &row.gcc_max) {
            (Some(min), Some(max)) => format!("{min} to {max}"),
            (None, Some(max)) => format!("up to {max}"),
            _ => String::new(),
        }
    })
}

fn base_images(universe: &Universe, minor: &str) -> String {
    let requested = Version::parse(minor).map(|one| one.minor());
    let mut systems: Vec<&str> = universe
        .catalog
        .images()
        .of("nvidia/cuda")
        .iter()
        .filter(|image| image.cuda.as_deref().and_then(Version::parse).map(|one| one.minor()) == requested)
        .filter_map(|image| image.system.as_deref())
        .collect();
    systems.sort_unstable();
    systems.dedup();
    match systems[..] {
        [] => "none of nvidia/cuda is known".to_owned(),
        _ => format!("nvidia/cuda on {}", systems.join(", ")),
    }
}

fn all(universe: &Universe) -> Explanation {
    let mut explanation = Explanation::new("CUDA", "NVIDIA's toolkit: compiler, runtime and libraries.");
    let mut minors: Vec<(u64, u64)> = universe
        .catalog
        .cuda()
        .all()
        .iter()
        .filter_map(|row| Version::parse(&row.toolkit))
        .map(|one| one.minor())
        .collect();
    minors.dedup();
    for major in universe.catalog.cuda().majors() {
        let of: Vec<String> = minors
            .iter()
            .filter(|(number, _)| *number == u64::from(major.major))
            .map(|(number, minor)| format!("{number}.{minor}"))
            .collect();
        let text = format!("{}; driver {} or newer", of.join(", "), major.driver_min);
        explanation.row(&format!("CUDA {}", major.major), text);
        explanation.sources(major.source.iter());
    }
    explanation
}

fn missing(universe: &Universe, version: &str) -> Explanation {
    let title = format!("CUDA {version}");
    let Some((requested, kind)) = numbers(version) else {
        return Explanation::new(title, format!("{version:?} is not a version."));
    };
    let (Some(first), Some(last)) =
        (universe.catalog.cuda().all().first(), universe.catalog.cuda().all().last())
    else {
        return Explanation::new(title, "Not known.");
    };
    let parse = |row: &cuda::Release| Version::parse(&row.toolkit);
    let summary = if let Some(kind) = kind {
        format!("Not known: {version} is {kind}, and the catalog has final releases only.")
    } else if parse(last).is_some_and(|last| requested > last) {
        format!("Not known: the newest toolkit in this catalog is {}.", last.toolkit)
    } else if parse(first).is_some_and(|first| requested < first) {
        format!("Older than the catalog, which begins with {}.", first.toolkit)
    } else {
        let branch = universe.catalog.drivers().all().iter().find(|row| row.cuda.as_deref() == Some(version));
        let reported = branch.map_or(String::new(), |row| {
            format!(
                " Drivers of branch {} report it, though: that is what they support, not what is installed.",
                row.branch
            )
        });
        format!("There is no such toolkit.{reported}")
    };
    let mut explanation = Explanation::new(title, summary);
    nearest(&mut explanation, universe, &requested);
    explanation
}

/// The releases before and after one that the catalog does not have.
fn nearest(explanation: &mut Explanation, universe: &Universe, requested: &Version) {
    let parse = |row: &cuda::Release| Version::parse(&row.toolkit);
    let before = universe
        .catalog
        .cuda()
        .all()
        .iter()
        .rev()
        .find(|row| parse(row).is_some_and(|one| one <= *requested));
    let after =
        universe.catalog.cuda().all().iter().find(|row| parse(row).is_some_and(|one| one > *requested));
    for near in [before, after].into_iter().flatten() {
        let driver = torch::drivers(
            universe,
            &near.toolkit.rsplit_once('.').map_or(String::new(), |(minor, _)| minor.to_owned()),
        );
        explanation.alternative(format!("CUDA {}: driver {driver}", near.toolkit));
        explanation.sources(near.source.iter());
    }
}
