//! A decision written out.

use crate::outcome::Decision;
use crate::request::Versions;
use catalog::Sources;
use diagnostic::words;

/// What was requested, in the user's words; nothing where any version would do.
pub(super) fn requested_text(requirements: &[&Versions]) -> Option<String> {
    let texts: Vec<String> = requirements
        .iter()
        .filter(|requirement| !requirement.text.is_empty())
        .map(|requirement| requirement.text.clone())
        .collect();
    (!texts.is_empty()).then(|| words::and(&texts))
}

pub(super) fn entry<'s>(
    part: &str,
    chosen: String,
    reason: String,
    constraints: Vec<&str>,
    sources: impl IntoIterator<Item = &'s Sources>,
) -> Decision {
    let mut each: Vec<String> = Vec::new();
    for source in sources.into_iter().flat_map(Sources::iter) {
        if !each.iter().any(|known| known == source) {
            each.push(source.to_owned());
        }
    }
    Decision {
        part: part.to_owned(),
        chosen,
        message: words::capital(&reason),
        reason: words::capital(&reason),
        constraints: constraints.into_iter().map(str::to_owned).collect(),
        sources: each,
    }
}
