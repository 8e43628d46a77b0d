//! Driver branches and releases.

use super::Explanation;
use crate::universe::Universe;
use catalog::version::at_least;
use diagnostic::words;
use facts::driver::DriverVersion;

pub(super) fn explain(universe: &Universe, version: &str) -> Explanation {
    if version.is_empty() {
        return all(universe);
    }
    let number = version.split('.').next().and_then(|branch| branch.parse().ok());
    let Some(number) = number else {
        return Explanation::new(
            format!("driver {version}"),
            format!("{version:?} is not a driver version such as 550.144.03."),
        );
    };
    let Some(row) = universe.catalog.drivers().branch(number) else {
        return missing(universe, version, number);
    };
    let full: Option<DriverVersion> = version.parse().ok();
    let kind = match row.kind.as_deref() {
        Some("LTSB") => "a long-term branch",
        Some("PB") => "a production branch",
        Some("NFB") => "a new-feature branch",
        _ => "a branch",
    };
    let summary = match full {
        None => format!("{} of NVIDIA's Linux driver.", words::capital(kind)),
        Some(_) => format!(
            "A release of branch {number}, {kind} of NVIDIA's Linux driver. Single releases are not in the \
                catalog."
        ),
    };
    let mut explanation = Explanation::new(format!("driver {version}"), summary);
    explanation.row(
        "CUDA",
        row.cuda.as_ref().map_or_else(
            || "not known".to_owned(),
            |cuda| format!("{cuda} (CUDA version shown by nvidia-smi)"),
        ),
    );
    runs(&mut explanation, universe, number, full);
    explanation.row("first release", row.first_release.clone().unwrap_or_default());
    let end = row.end_of_life.as_ref().map_or(String::new(), |day| match &row.end_of_life_disputed {
        Some(other) => format!("{day}; another source says {other}"),
        None => day.clone(),
    });
    explanation.row("end of life", end);
    let latest = row.latest.as_ref().map_or(String::new(), |latest| {
        let as_of = row.latest_as_of.as_ref().map_or(String::new(), |day| format!(" (newest on {day})"));
        format!("{latest}{as_of}")
    });
    explanation.row("newest", latest);
    explanation.row("GPUs from", row.oldest_architecture.clone().unwrap_or_default());
    explanation.row("note", row.note.clone().unwrap_or_default());
    explanation.sources(row.source.iter());
    explanation
}

/// What programs run on it. Of a branch alone its first releases may be too old for what its later ones run.
fn runs(explanation: &mut Explanation, universe: &Universe, branch: u32, full: Option<DriverVersion>) {
    // Without a release the floor's own branch is in doubt.
    let new_enough = |floor: &str| match full {
        Some(version) => at_least(&version.to_string(), floor),
        None => match floor.split('.').next()?.parse::<u32>().ok()? {
            needed if needed == branch && floor.contains('.') => None,
            needed => Some(branch >= needed),
        },
    };
    let majors: Vec<String> = universe
        .catalog
        .cuda()
        .majors()
        .iter()
        .filter(|major| new_enough(&major.driver_min) == Some(true))
        .map(|major| major.major.to_string())
        .collect();
    let doubt: Vec<String> = universe
        .catalog
        .cuda()
        .majors()
        .iter()
        .filter(|major| new_enough(&major.driver_min).is_none())
        .map(|major| format!("CUDA {} from {} on", major.major, major.driver_min))
        .collect();
    let mut text = match majors[..] {
        [] => String::new(),
        _ => format!("programs of CUDA {} (minor-version compatibility)", words::and(&majors)),
    };
    if !doubt.is_empty() {
        text = [text, words::and(&doubt)]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("; ");
    }
    explanation.row("runs", text);
    let newest = universe
        .builds
        .iter()
        .filter(|build| {
            let floor = build.cuda().and_then(|cuda| universe.catalog.cuda().major_driver_min(cuda.major()));
            floor.and_then(new_enough) == Some(true)
        })
        .max_by_key(|build| (&build.version, build.pypi, build.cuda_version()));
    if let Some(build) = newest {
        explanation.row("newest torch", format!("{} (driver limit only)", build.name()));
    }
    let forward: Vec<String> = universe
        .catalog
        .cuda()
        .forward_compatibilities()
        .iter()
        .filter(|row| row.driver_branches.contains(&branch))
        .map(|row| row.toolkit.clone())
        .collect();
    if !forward.is_empty() {
        let text = format!("on data center GPUs cuda-compat adds CUDA {}", words::span(&forward));
        explanation.row("forward compatibility", text);
    }
}

fn all(universe: &Universe) -> Explanation {
    let mut explanation = Explanation::new("driver", "NVIDIA's Linux driver; its branches, newest first.");
    for row in universe.catalog.drivers().all().iter().rev().take(12) {
        let parts = [
            row.cuda.as_ref().map(|cuda| format!("CUDA {cuda}")),
            row.kind.clone(),
            row.end_of_life.as_ref().map(|day| format!("end of life {day}")),
        ];
        explanation.row(&row.branch.to_string(), parts.into_iter().flatten().collect::<Vec<_>>().join(", "));
        explanation.sources(row.source.iter());
    }
    explanation
}

fn missing(universe: &Universe, version: &str, number: u32) -> Explanation {
    let newest = universe.catalog.drivers().all().last().map_or(0, |row| row.branch);
    let summary = if number > newest {
        format!("Not known: the newest branch in this catalog is {newest}.")
    } else {
        "The catalog does not know this branch of the Linux driver.".to_owned()
    };
    let mut explanation = Explanation::new(format!("driver {version}"), summary);
    let before = universe.catalog.drivers().all().iter().rev().find(|row| row.branch < number);
    let after = universe.catalog.drivers().all().iter().find(|row| row.branch > number);
    for near in [before, after].into_iter().flatten() {
        let cuda = near.cuda.as_ref().map_or(String::new(), |cuda| format!(" (CUDA {cuda})"));
        explanation.alternative(format!("driver {}{cuda}", near.branch));
        explanation.sources(near.source.iter());
    }
    explanation
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::universe;

    #[test]
    fn newest_torch_of_old_drivers() {
        let universe = universe();
        let row = |version: &str, label: &str| {
            let explanation = explain(universe, version);
            explanation
                .rows
                .iter()
                .find(|(name, _)| name == label)
                .map(|(_, text)| text.clone())
                .unwrap_or_default()
        };
        // 470 runs CUDA 11 only, 550 no CUDA 13.
        let old = row("470.256.02", "newest torch");
        let build = universe.builds.iter().find(|build| old.starts_with(&build.name())).unwrap();
        assert_eq!(build.cuda().unwrap().major(), 11);
        assert!(row("550", "newest torch").contains("+cu12"));
        assert!(row("525", "runs").contains("CUDA 12 from 525.60.13 on"), "{}", row("525", "runs"));
        assert!(row("580", "runs").contains("11, 12 and 13"));
    }
}
