//! The rule about an image that its registry does not have.

use diagnostic::rule;
use judge::Severity;

use super::judge::GROUP;

/// The registry has the image; only ever reported where it does not.
#[derive(Debug)]
pub struct ExistenceRule;

impl rule::Rule for ExistenceRule {
    fn id(&self) -> &'static str {
        "image-not-found"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn group(&self) -> rule::Group {
        GROUP
    }
    fn summary(&self) -> &'static str {
        "the registry has the image"
    }
    fn explain(&self) -> &'static str {
        include_str!("image_not_found.md")
    }
}
