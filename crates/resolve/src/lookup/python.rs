//! Pythons, and the distributions that have them.

use super::Explanation;
use crate::universe::Universe;
use catalog::systems::{OtherRelease, System};
use diagnostic::words;

pub(super) fn explain(universe: &Universe, version: &str) -> Explanation {
    // 3.12.4 is of the series 3.12.
    let series: String = version.split('.').take(2).collect::<Vec<_>>().join(".");
    let Some(row) = universe.catalog.systems().python(&series) else { return missing(universe, version) };
    let days = [
        row.released.as_ref().map(|day| format!("released {day}")),
        row.end_of_life.as_ref().map(|day| format!("end of life {day}")),
    ];
    let days: Vec<String> = days.into_iter().flatten().collect();
    let summary = match days.is_empty() {
        true => "A Python series; its dates are unknown.".to_owned(),
        false => format!("A Python series, {}.", days.join(", ")),
    };
    let mut explanation = Explanation::new(format!("Python {series}"), summary);
    let own: Vec<String> = universe
        .catalog
        .systems()
        .python_sources()
        .iter()
        .filter(|source| source.python == series && source.distribution == Some(true))
        .filter_map(|source| universe.catalog.systems().system(&source.system))
        .map(|system| system.name.clone())
        .collect();
    explanation.row(
        "packaged in",
        if own.is_empty() { "no system in the catalog".to_owned() } else { words::and(&own) },
    );
    let by_uv = universe
        .catalog
        .systems()
        .python_sources()
        .iter()
        .any(|source| source.python == series && source.uv == Some(true));
    explanation.row("uv", if by_uv { "available" } else { "not known" });
    let torches: Vec<&str> = universe
        .catalog
        .torch()
        .all()
        .iter()
        .filter(|one| one.pythons.as_ref().is_some_and(|list| list.contains(&series)))
        .map(|one| one.version.as_str())
        .collect();
    let text = match torches[..] {
        [] => "no release has wheels for it".to_owned(),
        [one] => format!("{one} has wheels for it"),
        _ => format!("{} have wheels for it", words::span(&torches)),
    };
    explanation.row("torch", text);
    explanation.sources(row.source.iter());
    explanation
}

fn missing(universe: &Universe, version: &str) -> Explanation {
    let known: Vec<&str> =
        universe.catalog.systems().pythons().iter().map(|row| row.python.as_str()).collect();
    let summary = format!("The catalog knows Python {}.", words::span(&known));
    let mut explanation = Explanation::new(
        if version.is_empty() { "Python".to_owned() } else { format!("Python {version}") },
        summary,
    );
    for row in universe.catalog.systems().pythons().iter().rev() {
        let end = row.end_of_life.as_ref().map_or(String::new(), |day| format!("end of life {day}"));
        explanation.row(&row.python, end);
        explanation.sources(row.source.iter());
    }
    explanation
}

pub(super) fn system(universe: &Universe, system: &System) -> Explanation {
    let days = [
        system.released.as_ref().map(|day| format!("released {day}")),
        system.end_of_life.as_ref().map(|day| format!("end of standard support {day}")),
    ];
    let days: Vec<String> = days.into_iter().flatten().collect();
    let mut explanation = Explanation::new(&system.name, format!("A base system: {}.", days.join(", ")));
    explanation.row("image", system.image.clone().unwrap_or_default());
    explanation.row("Python", system.python.clone().unwrap_or_else(|| "not known".to_owned()));
    explanation.row("glibc", system.glibc.clone().unwrap_or_else(|| "not known".to_owned()));
    explanation.row("gcc", system.gcc.clone().unwrap_or_else(|| "not known".to_owned()));
    let pip = match system.externally_managed {
        Some(true) => "refuses the system's own Python (PEP 668): use a virtual environment",
        Some(false) => "may install into the system's own Python",
        None => "",
    };
    explanation.row("pip", pip);
    let uv: Vec<&str> = universe
        .catalog
        .systems()
        .python_sources()
        .iter()
        .filter(|source| source.system == system.id && source.uv == Some(true))
        .map(|source| source.python.as_str())
        .collect();
    explanation
        .row("from uv", if uv.is_empty() { String::new() } else { format!("Python {}", words::span(&uv)) });
    explanation.row("note", system.note.clone().unwrap_or_default());
    explanation.sources(system.source.iter());
    explanation
}

/// A release that is no base system, by its name or code name: `mantic`, `Ubuntu 23.10`.
pub(super) fn other_release(universe: &Universe, text: &str) -> Option<Explanation> {
    let systems = universe.catalog.systems();
    let named = |release: &&OtherRelease| {
        release.codename.eq_ignore_ascii_case(text) || release.name.eq_ignore_ascii_case(text)
    };
    let release = systems.other_releases().iter().find(named)?;
    let summary = format!(
        "A release with the code name {}: released {}, end of standard support {}. `envdoc resolve` does \
         not use it as a base system.",
        release.codename, release.released, release.end_of_life
    );
    let mut explanation = Explanation::new(&release.name, summary);
    let archived = systems.archive_of(&release.name);
    explanation.row("packages", archived.map_or_else(String::new, |row| format!("moved to {}", row.archive)));
    explanation.sources(release.source.iter().chain(archived.iter().flat_map(|row| row.source.iter())));
    Some(explanation)
}
