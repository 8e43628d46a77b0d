//! torch, its builds and its partners.

use std::str::FromStr;

use pep440_rs::Version;

use super::{Explanation, plain, same};
use crate::universe::{Universe, series};
use catalog::Sources;
use catalog::torch::{Build, Release};
use diagnostic::words;

pub(super) fn explain(universe: &Universe, version: &str) -> Explanation {
    let (number, build) = match version.split_once('+') {
        Some((number, build)) => (number, Some(build.to_ascii_lowercase())),
        None => (version, None),
    };
    let of_series: Vec<&Release> = universe
        .catalog
        .torch()
        .all()
        .iter()
        .filter(|one| one.version.starts_with(&format!("{number}.")))
        .collect();
    match (universe.catalog.torch().release(number), &of_series[..]) {
        _ if number.is_empty() => all(universe),
        (Some(one), _) | (None, &[one]) => match build {
            None => release(one),
            Some(name) => match one.build(&name) {
                Some(found) => self::build(universe, one, found),
                None if name == universe.catalog.torch().cpu_build() => {
                    super::cpu_build::explanation(universe, one)
                }
                None => no_build(universe, one, &name),
            },
        },
        (None, []) => missing(universe, number),
        (None, several) => series_of(number, several),
    }
}

fn all(universe: &Universe) -> Explanation {
    let known = universe.catalog.torch().all();
    let versions: Vec<&str> = known.iter().map(|one| one.version.as_str()).collect();
    let summary = format!("PyTorch. The catalog knows {} releases, {}.", known.len(), words::span(&versions));
    let mut explanation = Explanation::new("torch", summary);
    for one in known.iter().rev().take(8) {
        explanation.row(&one.version, brief(one));
    }
    explanation.row("more", "`envdoc explain torch==VERSION`, `envdoc matrix`");
    explanation
}

fn series_of(number: &str, releases: &[&Release]) -> Explanation {
    let versions: Vec<String> = releases.iter().map(|one| one.version.clone()).collect();
    let summary = format!("A series of PyTorch with the releases {}.", words::and(&versions));
    let mut explanation = Explanation::new(format!("torch {number}"), summary);
    for one in releases.iter().rev() {
        explanation.row(&one.version, brief(one));
        explanation.sources(one.source.iter());
    }
    explanation
}

/// Day, builds and Pythons in a line.
fn brief(release: &Release) -> String {
    let day = release.released.as_ref().map_or(String::new(), |day| format!("{day}: "));
    let pythons =
        release.pythons.as_deref().map_or(String::new(), |list| format!(", Python {}", plain(list)));
    format!("{day}{}{pythons}", words::and(&names(release)))
}

/// The builds of a release, PyPI's marked.
fn names(release: &Release) -> Vec<String> {
    let pypi = |build: &Build| release.pypi_build.as_deref() == Some(&build.build);
    let mark = |build: &Build| if pypi(build) { " (PyPI's)" } else { "" };
    release.builds.iter().map(|build| format!("{}{}", build.build, mark(build))).collect()
}

fn release(release: &Release) -> Explanation {
    let day = release.released.as_ref().map_or(String::new(), |day| format!(", released {day}"));
    let complete = if release.builds_complete { "" } else { " Builds besides those listed may exist." };
    let summary = format!("Exists{day}.{complete}");
    let mut explanation = Explanation::new(format!("torch {}", release.version), summary);
    for build in &release.builds {
        let nccl = build.nccl.as_ref().map_or(String::new(), |nccl| format!(", NCCL {nccl}"));
        let cuda = build.cuda.as_deref().unwrap_or("of a version that is not known");
        let text = format!("CUDA {cuda}{nccl}, {}; {}", code(build), from(release, build));
        explanation.row(&build.build, text);
    }
    explanation.row("torchaudio", torchaudio(release));
    common(&mut explanation, release);
    explanation
}

/// The torchaudio of a release, and for which of its builds there is one.
fn torchaudio(release: &Release) -> String {
    let Some(version) = &release.torchaudio else { return String::new() };
    let (with, without): (Vec<&Build>, Vec<&Build>) =
        release.builds.iter().partition(|build| release.torchaudio_of(&build.build).is_some());
    let cuda = |builds: &[&Build]| {
        let known = builds.iter().filter_map(|build| build.cuda.as_deref());
        words::and(&known.map(str::to_owned).collect::<Vec<_>>())
    };
    match (&with[..], &without[..]) {
        (_, []) => version.clone(),
        ([], without) => {
            format!("none: it ended with {version}, which was not built for CUDA {}", cuda(without))
        }
        (with, without) => {
            format!("{version} for CUDA {}; it ended before CUDA {} came", cuda(with), cuda(without))
        }
    }
}

fn build(universe: &Universe, release: &Release, build: &Build) -> Explanation {
    let cuda = build.cuda.as_deref().unwrap_or("?");
    let summary = format!("Exists: made for CUDA {cuda}; {}.", from(release, build));
    let mut explanation = Explanation::new(format!("torch {}+{}", release.version, build.build), summary);
    explanation.row("released", release.released.clone().unwrap_or_default());
    explanation.row("GPUs", code(build));
    let ptx = match build.ptx.as_deref() {
        None => "not known".to_owned(),
        Some([]) => "none: GPUs newer than the list above cannot run it".to_owned(),
        Some(list) => words::and(&list.iter().map(|one| catalog::cuda::sm(one)).collect::<Vec<_>>()),
    };
    explanation.row("PTX", ptx);
    explanation.row("driver", drivers(universe, cuda));
    explanation.row("NCCL", build.nccl.clone().unwrap_or_else(|| "not known".to_owned()));
    explanation.row("cuDNN", build.cudnn.clone().unwrap_or_else(|| "not known".to_owned()));
    let abi = build.cxx11_abi.map(|new| if new { "new (cxx11abiTRUE)" } else { "old (cxx11abiFALSE)" });
    explanation.row("C++ ABI", abi.unwrap_or_default());
    let ended = |last: &String| format!("none: it ended with {last}, which was not built for CUDA {cuda}");
    let torchaudio = release.torchaudio_of(&build.build).cloned();
    explanation.row("torchaudio", torchaudio.or(release.torchaudio.as_ref().map(ended)).unwrap_or_default());
    if build.in_release_matrix == Some(false) {
        explanation.row("note", "seen on the wheel index, not in the release matrix");
    }
    explanation.sources(build.source.iter().flat_map(Sources::iter));
    common(&mut explanation, release);
    explanation
}

/// What holds for every build of a release.
fn common(explanation: &mut Explanation, release: &Release) {
    let pythons = release.pythons.as_deref().map(|list| list.join(", "));
    explanation.row("Python", pythons.unwrap_or_else(|| "not known".to_owned()));
    explanation
        .row("glibc", release.glibc_min.as_ref().map_or(String::new(), |one| format!("{one} or newer")));
    let python = release.torchvision_python.as_ref().map(|python| format!(", for Python {python}"));
    let torchvision = release.torchvision.as_ref().map(|one| one.clone() + &python.unwrap_or_default());
    explanation.row("torchvision", torchvision.unwrap_or_default());
    explanation.row("triton", release.triton.clone().unwrap_or_default());
    explanation.row("note", release.note.clone().unwrap_or_default());
    explanation.sources(release.source.iter());
}

/// The drivers for a CUDA: the oldest on which it runs, and the one that knows it in full.
pub(super) fn drivers(universe: &Universe, minor: &str) -> String {
    let major = minor.split('.').next().and_then(|major| major.parse().ok());
    let floor = major
        .and_then(|it| universe.catalog.cuda().major_driver_min(it))
        .map(|floor| format!("{floor} or newer runs it"));
    let full = universe.catalog.cuda().minor(minor).and_then(|row| row.driver_min.as_ref());
    let full = full.map(|driver| format!("{driver} or newer knows CUDA {minor} in full"));
    floor.into_iter().chain(full).collect::<Vec<_>>().join("; ")
}

fn code(build: &Build) -> String {
    match build.architectures.as_deref() {
        None => "for which GPUs it has code is not known".to_owned(),
        Some(list) => {
            let names: Vec<String> = list.iter().map(|one| catalog::cuda::sm(one)).collect();
            format!("code for {}", words::and(&names))
        }
    }
}

fn from(release: &Release, build: &Build) -> String {
    if release.pypi_build.as_deref() == Some(&build.build) {
        return format!("`pip install torch=={}`", release.version);
    }
    format!(
        "`pip install torch=={}+{1} --index-url https://download.pytorch.org/whl/{1}`",
        release.version, build.build
    )
}

fn no_build(universe: &Universe, release: &Release, name: &str) -> Explanation {
    let builds = words::and(&names(release));
    let summary = if release.builds_complete {
        format!("There is no such build: torch {} has the builds {builds}.", release.version)
    } else {
        format!(
            "Not known: of torch {} the catalog knows {builds} only, and others may exist.",
            release.version
        )
    };
    let mut explanation = Explanation::new(format!("torch {}+{name}", release.version), summary);
    let with: Vec<&str> = universe
        .catalog
        .torch()
        .all()
        .iter()
        .filter(|one| one.build(name).is_some())
        .map(|one| one.version.as_str())
        .collect();
    match with.last() {
        Some(newest) => {
            explanation.alternative(format!("torch=={newest}+{name}, the newest with this build"));
            explanation.row(name, format!("torch {} have it", words::span(&with)));
        }
        None => {
            let known: Vec<String> = builds_of(universe);
            explanation.row("builds", format!("no release has {name}; there are {}", words::and(&known)));
        }
    }
    for build in release.builds.iter().rev() {
        explanation.alternative(format!("torch=={}+{}", release.version, build.build));
    }
    explanation.sources(release.source.iter());
    explanation
}

/// The names of all builds, oldest CUDA first.
fn builds_of(universe: &Universe) -> Vec<String> {
    let mut builds: Vec<(&Version, &str)> = universe
        .builds
        .iter()
        .filter_map(|one| Some((one.cuda_version()?, one.build.build.as_str())))
        .collect();
    builds.sort_unstable();
    builds.dedup();
    builds.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// A release that the catalog does not have: it lists all from its first to its newest.
fn missing(universe: &Universe, number: &str) -> Explanation {
    let known: Vec<(Version, &str)> = universe
        .catalog
        .torch()
        .all()
        .iter()
        .filter_map(|one| Some((Version::from_str(&one.version).ok()?, one.version.as_str())))
        .collect();
    let title = format!("torch {number}");
    let Ok(requested) = Version::from_str(number) else {
        return Explanation::new(title, format!("{number:?} is not a version."));
    };
    let (Some((first, oldest)), Some((last, newest))) = (known.first(), known.last()) else {
        return Explanation::new(title, "Not known.");
    };
    let (summary, near): (String, Vec<&str>) = if requested > *last {
        (format!("Not known: the newest release in this catalog is {newest}."), vec![newest])
    } else if requested < *first {
        (format!("Older than the catalog, which begins with {oldest}."), vec![oldest])
    } else {
        let after = known.partition_point(|(one, _)| *one < requested);
        let near = [after.checked_sub(1), Some(after)];
        let near = near.into_iter().flatten().filter_map(|index| known.get(index)).map(|(_, text)| *text);
        let own: Vec<&str> = known
            .iter()
            .filter(|(one, _)| series(one) == series(&requested))
            .map(|(_, text)| *text)
            .collect();
        let (major, minor) = series(&requested);
        let has = match own[..] {
            [] => format!("there is no {major}.{minor}"),
            _ => format!("{major}.{minor} has {}", words::span(&own)),
        };
        (format!("There is no such release: {has}."), near.collect())
    };
    let mut explanation = Explanation::new(title, summary);
    near.iter().rev().for_each(|one| explanation.alternative(format!("torch=={one}")));
    explanation.sources(["releases on PyPI, see the catalog's torch rows"]);
    explanation
}

/// torchvision or torchaudio, and the torch releases that it is compatible with.
pub(super) fn partner(universe: &Universe, name: &str, version: &str) -> Explanation {
    let of = |release: &'static Release| {
        if name == "torchvision" { release.torchvision.as_deref() } else { release.torchaudio.as_deref() }
    };
    let loads = |release: &Release| {
        name != "torchaudio"
            || release.builds.iter().any(|build| release.torchaudio_of(&build.build).is_some())
    };
    let with: Vec<&Release> = universe
        .catalog
        .torch()
        .all()
        .iter()
        .filter(|release| of(release).is_some_and(|own| same(own, version)) && loads(release))
        .collect();
    let mut explanation = if version.is_empty() {
        Explanation::new(name, "Released with torch: each torch release has its own.")
    } else if with.is_empty() {
        Explanation::new(format!("{name} {version}"), "Not known as the partner of a torch release.")
    } else {
        let torches: Vec<&str> = with.iter().map(|release| release.version.as_str()).collect();
        let summary = format!("Exists, and is compatible with torch {}.", words::span(&torches));
        Explanation::new(format!("{name} {version}"), summary)
    };
    if with.is_empty() {
        for release in universe.catalog.torch().all().iter().rev().take(8) {
            let own = match name {
                "torchaudio" => Some(torchaudio(release)),
                _ => release.torchvision.clone(),
            };
            let text = own.unwrap_or_else(|| "none".to_owned());
            explanation.row(&format!("torch {}", release.version), text);
        }
    }
    for release in &with {
        if name == "torchaudio"
            && release.builds.iter().any(|one| release.torchaudio_of(&one.build).is_none())
        {
            explanation.row(&format!("torch {}", release.version), torchaudio(release));
        }
        explanation.sources(release.source.iter());
    }
    explanation
}
