//! The resources: pages about the ids that findings have.

use catalog::Catalog;
use checks::CHECKS;
use checks::fleet::FLEET_CHECKS;
use diagnose::message;
use diagnostic::rule::Rule;
use lint::RULES;
use mcp::{Entry, Topic};

use super::LAYOUT;
use crate::cli::explain;

pub(super) fn all(catalog: &'static Catalog) -> Vec<Topic> {
    vec![checks(), rules(), signatures(catalog)]
}

fn entry(rule: &dyn Rule) -> Entry {
    Entry { id: rule.id().to_owned(), summary: rule.summary().to_owned() }
}

fn checks() -> Topic {
    let server = CHECKS.iter().map(|check| entry(*check));
    Topic {
        name: "check",
        title: "Checks of machines and clusters: what each checks, why, and how to fix it",
        entries: server.chain(FLEET_CHECKS.iter().map(|check| entry(*check))).collect(),
        page: Box::new(explain::check_page),
    }
}

fn rules() -> Topic {
    let lint = RULES.iter().map(|rule| entry(*rule));
    Topic {
        name: "rule",
        title: "Lint rules and answers about images: what each finds, why, and how to fix it",
        entries: lint.chain(::image::rules().map(entry)).collect(),
        page: Box::new(explain::rule_page),
    }
}

fn signatures(catalog: &'static Catalog) -> Topic {
    let all = catalog.signatures().all().iter();
    let entry = |one: &catalog::signatures::Signature| Entry {
        id: one.id.to_owned(),
        summary: message::general(one.message),
    };
    Topic {
        name: "signature",
        title: "Signatures of failures in logs: meaning, causes, how to confirm each, fixes",
        entries: all.map(entry).collect(),
        page: Box::new(move |id| {
            explain::signature_page(catalog, id, LAYOUT.width).map(|page| diagnostic::terminal::plain(&page))
        }),
    }
}
