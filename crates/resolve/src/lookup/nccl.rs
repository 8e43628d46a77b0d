//! NCCL releases.

use super::{Explanation, numbers};
use crate::universe::Universe;
use catalog::nccl;
use catalog::version::Version;
use diagnostic::words;

pub(super) fn explain(universe: &Universe, version: &str) -> Explanation {
    if version.is_empty() {
        return all(universe);
    }
    let Some(row) = universe.catalog.nccl().release(version) else {
        return series(universe, version).unwrap_or_else(|| missing(universe, version));
    };
    let day = row.released.as_ref().map_or(String::new(), |day| format!(", tagged {day}"));
    let fault = row.known_bad.as_ref().map_or(String::new(), |fault| {
        let fixed = row.fixed_in.as_ref().map_or(String::new(), |one| format!(" (fixed in {one})"));
        format!(" Known fault{fixed}: {fault}.")
    });
    let mut explanation = Explanation::new(format!("NCCL {version}"), format!("Exists{day}.{fault}"));
    explanation.row("notes", row.notes.join("; "));
    let ranks = match row.checks_versions {
        Some(true) => "of different versions stop at init with a message",
        Some(false) => "of different versions are not detected: they may hang",
        None => "unknown whether it compares their versions",
    };
    explanation.row("ranks", ranks);
    let names: Vec<String> = row.architectures.iter().flatten().map(|one| catalog::cuda::sm(one)).collect();
    explanation
        .row("GPUs", if names.is_empty() { String::new() } else { format!("code for {}", names.join(", ")) });
    let majors: Vec<String> =
        row.pypi_cuda_majors.iter().map(|major| format!("nvidia-nccl-cu{major}")).collect();
    explanation.row("on PyPI", words::and(&majors));
    let with: Vec<String> = universe
        .builds
        .iter()
        .filter(|build| build.build.nccl.as_deref() == Some(version))
        .map(|build| format!("{}+{}", build.release.version, build.build.build))
        .collect();
    explanation.row("in torch", with.join(", "));
    explanation.sources(row.source.iter());
    explanation
}

fn all(universe: &Universe) -> Explanation {
    let versions: Vec<&str> = universe.catalog.nccl().all().iter().map(|row| row.version.as_str()).collect();
    let summary = format!(
        "NVIDIA's library for collectives. The catalog knows {} releases, {}.",
        versions.len(),
        words::span(&versions)
    );
    let mut explanation = Explanation::new("NCCL", summary);
    for row in universe.catalog.nccl().all().iter().rev().take(6) {
        explanation.row(&row.version, row.released.clone().unwrap_or_else(|| "day not known".to_owned()));
    }
    explanation
}

/// The releases of a series (`2.27`), if there are any.
fn series(universe: &Universe, version: &str) -> Option<Explanation> {
    let begins = format!("{version}.");
    let rows = universe.catalog.nccl().all().iter().filter(|row| row.version.starts_with(&begins));
    let versions: Vec<&str> = rows.clone().map(|row| row.version.as_str()).collect();
    let title = format!("NCCL {version}");
    let summary = format!("A series; the catalog has {}.", words::and(&versions));
    let mut explanation = Explanation::new(title, summary);
    for row in rows {
        explanation.row(&row.version, row.released.clone().unwrap_or_else(|| "day not known".to_owned()));
        explanation.sources(row.source.iter());
    }
    (!versions.is_empty()).then_some(explanation)
}

fn missing(universe: &Universe, version: &str) -> Explanation {
    let title = format!("NCCL {version}");
    let Some((requested, kind)) = numbers(version) else {
        return Explanation::new(title, format!("{version:?} is not a version."));
    };
    let summary = match kind {
        None => "Not in the catalog, which may leave releases out.".to_owned(),
        Some(kind) => format!("Not known: {version} is {kind}, and the catalog has final releases only."),
    };
    let mut explanation = Explanation::new(title, summary);
    let parse = |row: &nccl::Release| Version::parse(&row.version);
    let before =
        universe.catalog.nccl().all().iter().rev().find(|row| parse(row).is_some_and(|one| one <= requested));
    let after =
        universe.catalog.nccl().all().iter().find(|row| parse(row).is_some_and(|one| one > requested));
    for near in [before, after].into_iter().flatten() {
        explanation.alternative(format!("NCCL {}", near.version));
        explanation.sources(near.source.iter());
    }
    explanation
}
