//! What every registry of rules has in common: checks of a machine and of a fleet, lint rules, questions
//! about an image, items of an image's verification.

use crate::Severity;

/// A rule as documentation, `envdoc explain` and reports see it. What it is given and how it runs is its own.
pub trait Rule: Sync {
    /// Kebab case, names the fault, never the fix; reads well after `--ignore`.
    fn id(&self) -> &'static str;
    /// The worst that it says.
    fn severity(&self) -> Severity;
    /// Where it is in reports and documentation.
    fn group(&self) -> Group;
    /// What a sound subject shows, in one line without a full stop: "module and library are one version".
    fn summary(&self) -> &'static str;
    /// Markdown with fixed headings: what it checks, why it matters, how to fix it, sources.
    fn explain(&self) -> &'static str;
}

/// A group of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// Kebab case, as after `--only`: `driver`.
    pub id: &'static str,
    /// As in the text report: `NVIDIA driver`.
    pub title: &'static str,
}
