//! GPU models and compute capabilities.

use super::Explanation;
use crate::parse;
use crate::universe::{Build, Universe};
use catalog::gpus;
use facts::Fact;
use facts::support::has_code;

pub(super) fn explain(universe: &Universe, text: &str) -> Option<Explanation> {
    if let Some(capability) = capability(text) {
        return Some(architecture(universe, capability));
    }
    universe
        .catalog
        .gpus()
        .by_alias(text)
        .or_else(|| universe.catalog.gpus().by_name(text))
        .map(|gpu| model(universe, gpu))
}

/// `sm_90`, `sm90`, `compute_90`; a bare `9.0` may be any version.
fn capability(text: &str) -> Option<(u32, u32)> {
    let text = text.to_ascii_lowercase();
    let digits = text.strip_prefix("sm").or_else(|| text.strip_prefix("compute"))?;
    let digits = digits.trim_start_matches(['_', ' ', '-']).replace('.', "");
    let digits = digits.trim_end_matches(['a', 'f']);
    let (major, minor) = digits.split_at_checked(digits.len().checked_sub(1)?)?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn model(universe: &Universe, gpu: &gpus::Gpu) -> Explanation {
    let sold = if gpu.data_centre { "a data-centre card" } else { "not a data-centre card" };
    let summary = format!("{} ({}), {sold}.", gpu.architecture, catalog::cuda::sm(&gpu.compute_capability),);
    let mut explanation = Explanation::new(&gpu.name, summary);
    explanation.row("memory", gpu.memory_gib.map_or(String::new(), |size| format!("{size} GiB")));
    let nvlink = match (gpu.nvlink, gpu.nvlink_generation) {
        (Some(true), Some(generation)) => format!("generation {generation}"),
        (Some(true), None) => "yes".to_owned(),
        (Some(false), _) => "none".to_owned(),
        (None, _) => "not known, or differs by board".to_owned(),
    };
    explanation.row("NVLink", nvlink);
    let module = match (gpu.open_module, gpu.open_module_only) {
        (_, Some(true)) => "NVIDIA's open one only",
        (Some(true), _) => "open or proprietary",
        (Some(false), _) => "the proprietary one",
        _ => "",
    };
    explanation.row("kernel module", module);
    let branch = gpu.driver_branch_min.map(|branch| format!("branch {branch} or newer (open kernel module)"));
    explanation.row("driver", branch.unwrap_or_default());
    let forward = match gpu.forward_compatible() {
        Some(true) => "works (cuda-compat)",
        Some(false) => "does not work on this card",
        None => "unknown; NVIDIA names data-centre GPUs and selected RTX cards in certified servers",
    };
    explanation.row("forward compatibility", forward);
    explanation.row("note", gpu.note.clone().unwrap_or_default());
    explanation.sources(gpu.source.iter());
    if let Some(capability) = self::capability(&catalog::cuda::sm(&gpu.compute_capability)) {
        rows(&mut explanation, universe, capability, gpu.processor.as_deref());
    }
    explanation
}

fn architecture(universe: &Universe, (major, minor): (u32, u32)) -> Explanation {
    let name = format!("sm_{major}{minor}");
    let Some(row) = universe.catalog.cuda().architecture((major, minor)) else {
        let mut explanation = Explanation::new(name, "Not a compute capability that the catalog knows.");
        let known = universe.catalog.cuda().architectures().iter().filter(|row| {
            row.compute_capability.split('.').next().is_some_and(|text| text == major.to_string())
        });
        for row in known {
            let text = format!("{} ({})", catalog::cuda::sm(&row.compute_capability), row.architecture);
            explanation.alternative(text);
            explanation.sources(row.source.iter());
        }
        return explanation;
    };
    let summary = format!("Compute capability {}, {}.", row.compute_capability, row.architecture);
    let mut explanation = Explanation::new(name, summary);
    let models: Vec<String> = universe
        .catalog
        .gpus()
        .all()
        .iter()
        .filter(|gpu| gpu.compute_capability == row.compute_capability)
        .map(|gpu| gpu.name.clone())
        .collect();
    let shown = &models[..models.len().min(8)];
    let more = models.len() - shown.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    explanation.row("GPUs", format!("{}{more}", shown.join(", ")));
    explanation.row("note", row.note.clone().unwrap_or_default());
    let common = parse::of_capability(universe.catalog, "", (major, minor));
    rows(&mut explanation, universe, (major, minor), common.processor.as_deref());
    explanation
}

/// What toolkits, drivers and torch builds know a compute capability. `processor`: of every machine with it.
fn rows(explanation: &mut Explanation, universe: &Universe, capability: (u32, u32), processor: Option<&str>) {
    if let Some(row) = universe.catalog.cuda().architecture(capability) {
        let first = row.first_toolkit.as_ref().map(|one| format!("from {one}"));
        let last = row.last_toolkit.as_ref().map(|one| format!("up to {one}"));
        let range: Vec<String> = first.into_iter().chain(last).collect();
        explanation.row("CUDA compiles for it", range.join(" "));
        let last = row.last_driver_branch.map(|branch| format!("branch {branch}"));
        explanation.row("last driver", last.unwrap_or_default());
        explanation.sources(row.source.iter());
    }
    let processor = processor.unwrap_or("x86_64");
    let with = |build: &&Build| {
        build.build.architectures_for(processor).is_some_and(|compiled| {
            has_code(universe.catalog, compiled, build.build.ptx.as_deref(), capability) == Fact::Known(true)
        })
    };
    let on = if processor == "x86_64" { String::new() } else { format!(" for {processor}") };
    let order = |build: &&Build| (build.version.clone(), build.pypi, build.cuda_version().cloned());
    let newest = universe.builds.iter().filter(with).max_by_key(order);
    let oldest = universe.builds.iter().filter(with).min_by_key(order);
    match (oldest, newest) {
        (Some(oldest), Some(newest)) => {
            explanation.row("newest torch", format!("{}{on}", newest.name()));
            explanation.row("oldest torch", format!("{}{on}", oldest.name()));
        }
        _ => explanation.row("torch", "no build in the catalog is known to have code for it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_compute_capabilities() {
        for (text, known) in [
            ("sm_90", Some((9, 0))),
            ("sm90", Some((9, 0))),
            ("sm_90a", Some((9, 0))),
            ("compute_120", Some((12, 0))),
            ("sm", None),
            ("smart", None),
            ("h100", None),
        ] {
            assert_eq!(capability(text), known, "{text}");
        }
    }
}
