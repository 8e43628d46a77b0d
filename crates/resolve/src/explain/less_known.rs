//! Newer releases of torch of which less is known.

use super::Explainer;
use super::merge::Refused;
use crate::rank;
use crate::universe::{Build, Universe};
use diagnostic::words;

impl Explainer<'_, '_> {
    /// Newer releases of which nothing refuses a build, but of which less is known than of the chosen one.
    pub(super) fn less_known(&self, universe: &Universe, refused: &[Refused]) -> Option<String> {
        let chosen = self.choice.environment.build;
        let missing = |build: &Build| rank::missing_facts(&self.criteria, build);
        let open: Vec<&Build> = universe
            .candidates(&self.criteria)
            .iter()
            .filter(|build| build.version > chosen.version && missing(build) > missing(chosen))
            .filter(|build| refused.iter().all(|one| one.version != build.release.version))
            .filter(|build| self.build(build).is_empty())
            .collect();
        let distinct = |texts: Vec<&'static str>| -> Vec<&'static str> {
            let mut seen = Vec::new();
            texts.into_iter().for_each(|text| {
                if !seen.contains(&text) {
                    seen.push(text)
                }
            });
            seen
        };
        let builds = distinct(open.iter().map(|build| build.build.build.as_str()).collect());
        let releases = distinct(open.iter().map(|build| build.release.version.as_str()).collect());
        (!open.is_empty()).then(|| {
            let verb = if builds.len() == 1 { "has" } else { "have" };
            format!(
                "It is unknown whether {} of {} {verb} what this request needs; more is known of {}.",
                words::and(&builds),
                words::span(&releases),
                chosen.release.version
            )
        })
    }
}
