//! Pages read back by a parser of XML, which forgives nothing.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use proptest::prelude::*;
use roxmltree::{Document, Node};

use super::report as page;
use crate::render::sample;
use crate::report::{Body, Column, Outcome, Report, Run, Section};
use crate::rule::Group;
use crate::{Diagnostic, Fix, Subject, Verdict, visible};

fn read(page: &str) -> Document<'_> {
    let text = page.strip_prefix("<!DOCTYPE html>\n").expect("a document type");
    Document::parse(text).unwrap_or_else(|error| panic!("{error}: {page}"))
}

fn elements<'d>(document: &'d Document<'_>, name: &'static str) -> impl Iterator<Item = Node<'d, 'd>> {
    document.descendants().filter(move |node| node.tag_name().name() == name)
}

/// The text of an element and of all in it.
fn text(node: Node) -> String {
    node.descendants().filter_map(|node| node.text().filter(|_| node.is_text())).collect()
}

/// What every page has to be: whole in itself, with landmarks, headers of tables that say what they head, ids
/// that are there once, and links that lead somewhere.
fn sound(page: &str) {
    let document = read(page);
    for landmark in ["header", "main", "footer", "h1", "title"] {
        // A drawing has a title of its own.
        let found = elements(&document, landmark).filter(|node| node.tag_name().namespace().is_none());
        assert_eq!(found.count(), 1, "{landmark}");
    }
    let ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), known.len(), "ids are there once: {ids:?}");
    for node in document.descendants() {
        for attribute in node.attributes().filter(|one| !one.name().starts_with("aria-label")) {
            assert!(
                !matches!(attribute.name(), "src" | "srcset" | "data" | "action" | "style"),
                "{attribute:?}"
            );
            assert!(!attribute.name().starts_with("on"), "{attribute:?}");
        }
        assert!(!matches!(node.tag_name().name(), "script" | "link" | "iframe" | "img" | "object" | "base"));
    }
    for link in elements(&document, "a") {
        let target = link.attribute("href").unwrap();
        match target.strip_prefix('#') {
            Some(id) => assert!(known.contains(id), "{target} leads nowhere"),
            None => assert!(target.starts_with("https://"), "{target}"),
        }
    }
    for node in document.descendants() {
        for id in node.attribute("aria-labelledby").into_iter() {
            assert!(known.contains(id), "{id}");
        }
    }
    for header in elements(&document, "th") {
        assert!(matches!(header.attribute("scope"), Some("col" | "row")), "{header:?}");
    }
    assert_eq!(elements(&document, "caption").count(), elements(&document, "table").count());
    let style: String = elements(&document, "style").map(text).collect();
    assert!(!style.contains("url(") && !style.contains("@import"));
    assert!(style.contains("prefers-color-scheme: dark") && style.contains("@media print"));
}

/// The part of a page that its reader came for.
fn main_part(page: &str) -> &str {
    let (_, rest) = page.split_once("</style>").unwrap();
    rest
}

#[test]
fn pages_are_sound() {
    for report in [sample::report(), sample::test(), sample::files(), sample::fleet()] {
        sound(&page(&report, &sample::run()));
    }
}

#[test]
fn page_of_a_machine() {
    assert_snapshot!(main_part(&page(&sample::report(), &sample::run())));
}

#[test]
fn page_of_a_test() {
    assert_snapshot!(main_part(&page(&sample::test(), &sample::run())));
}

#[test]
fn page_of_a_fleet() {
    assert_snapshot!(main_part(&page(&sample::fleet(), &sample::run())));
}

/// A status is a word or a sign with a text alternative, never a colour alone.
#[test]
fn every_status_is_said_in_words() {
    let page = page(&sample::fleet(), &sample::run());
    let document = read(&page);
    let classes = ["error", "warning", "unknown", "note", "pass"];
    let coloured = document
        .descendants()
        .filter(|node| node.attribute("class").is_some_and(|class| classes.contains(&class)));
    for node in coloured {
        let words = text(node)
            + &node.descendants().filter_map(|one| one.attribute("aria-label")).collect::<String>();
        let said =
            ["error", "warning", "unknown", "note", "passed", "slow"].iter().any(|word| words.contains(word));
        assert!(said, "{words}");
    }
}

#[test]
fn every_id_is_explained_or_stands_with_its_text() {
    for report in [sample::report(), sample::test(), sample::fleet()] {
        let page = page(&report, &sample::run());
        let document = read(&page);
        for outcome in &report.results {
            let id = outcome.rule.id.as_ref();
            let anchor = format!("explain-{id}");
            let explained = document.descendants().any(|node| node.attribute("id") == Some(&anchor));
            let listed = ["tr", "li"].into_iter().flat_map(|name| elements(&document, name)).any(|row| {
                let words = text(row);
                words.contains(id)
                    && (words.contains(outcome.rule.summary.as_ref())
                        || words.contains(outcome.verdict.message()))
            });
            assert!(explained || listed, "{id}");
        }
    }
}

#[test]
fn a_page_without_findings_says_so() {
    let report = Report { results: Vec::new(), ..sample::files() };
    let page = page(&report, &Run::default());
    sound(&page);
    assert!(page.contains("no findings"), "{page}");
}

/// The same finding on 64 nodes is one article, with every node and not every line of evidence.
#[test]
fn one_cause_on_many_nodes_is_shown_once() {
    const GROUP: Group = Group { id: "g", title: "G" };
    let rule = sample::fleet().results[1].rule.clone();
    let outcome = |node: usize| {
        let lines = (0..20).map(|line| format!("node{node} line {line}"));
        let found = lines.fold(Diagnostic::error("gone"), Diagnostic::evidence);
        let rule = crate::report::RuleInfo { group: GROUP, ..rule.clone() };
        Outcome::new(rule, found.into()).on(Subject::node(format!("node{node}")))
    };
    let report = Report { results: (1..=64).map(outcome).collect(), ..sample::files() };
    let page = page(&report, &sample::run());
    sound(&page);
    assert_eq!(page.matches("<article id=\"finding-").count(), 1);
    assert!(page.contains("64 of 64") && page.contains("<li>node64</li>"), "{page}");
    assert!(page.contains("Evidence from 61 more places is left out") && page.contains("… and 8 more lines"));
    assert!(page.len() < 20_000, "{}", page.len());
}

/// Characters that mean something in HTML, that a reader cannot see, and others.
const CHARACTERS: &str =
    "[<>&\"'`/=a-z \\n\\x00-\\x1f\\u{7f}-\\u{a0}\\u{202a}-\\u{202e}\\u{fffe}\\u{1f600}é-]{0,24}";

fn hostile(texts: &[String; 6]) -> Report {
    const COLUMNS: &[Column] = &[Column::words("a"), Column::number("b")];
    let [message, evidence, title, command, node, cell] = texts.clone();
    let fix = Fix { commands: vec![command], ..Fix::safe(title, &[]) };
    let found = Diagnostic::error(message.clone()).evidence(evidence.clone()).fix(fix);
    let rule = sample::report().results[0].rule.clone();
    let subject = || Subject { node: Some(node.clone()), ..Subject::line(cell.clone(), 1) };
    let table = Body::Table { columns: COLUMNS, rows: vec![vec![cell.clone(), node.clone()].into()] };
    let sections =
        [("Table", table), ("Lines", Body::Lines(vec![evidence])), ("List", Body::List(vec![cell.clone()]))];
    Report {
        command: "envdoc check",
        about: vec![message.clone()],
        properties: Vec::new(),
        overview: Vec::new(),
        results: vec![
            Outcome::new(rule.clone(), found.into()).on(subject()),
            Outcome::new(rule.clone(), Verdict::unknown(message.clone())).on(subject()),
            Outcome::new(rule, Verdict::NotApplicable(message)).on(subject()),
        ],
        sections: sections.into_iter().filter_map(|(heading, body)| Section::new(heading, body)).collect(),
    }
}

proptest! {
    #[test]
    fn foreign_text_stays_text(texts in [(); 6].map(|()| CHARACTERS), host in CHARACTERS) {
        let run = Run { time: String::new(), host: host.clone(), command_line: format!("envdoc {host}") };
        let plain = ["a", "b", "c", "d", "e", "f"].map(str::to_owned);
        let page_of = |texts: &[String; 6], run: &Run| page(&hostile(texts), run);
        let other_run = Run { host: "g".into(), ..run.clone() };
        let (shown, usual) = (page_of(&texts, &run), page_of(&plain, &other_run));
        sound(&shown);
        let (shown, usual) = (read(&shown), read(&usual));
        let names = |document: &Document| -> Vec<String> {
            let elements = document.descendants().filter(Node::is_element);
            let names = elements.map(|node| node.tag_name().name().to_owned());
            // An empty host has no row.
            names.filter(|name| name != "dt" && name != "dd").collect()
        };
        prop_assert_eq!(names(&shown), names(&usual), "no text makes an element");
        let body = elements(&shown, "body").map(text).collect::<String>();
        for one in texts.iter().chain([&host]) {
            // The parser of attributes and text keeps everything but the kind of line end.
            let seen = visible::block(one);
            prop_assert!(body.contains(seen.as_ref()), "{:?} of {:?}", seen, body);
            prop_assert!(!body.chars().any(|c| c != '\n' && c != '\t' && visible::is_hidden(c)));
        }
    }
}
