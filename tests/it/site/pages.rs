//! A page for each check, rule and signature, from the texts that `envdoc explain` shows.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use catalog::signatures::{Component, Signature};
use checks::fleet::FLEET_CHECKS;
use checks::{CHECKS, Group};
use diagnose::{message, report::signature};
use envdoc::cli::explain::text as explain;
use lint::{RULES, Subject};

use super::markdown::{escaped, fenced};
use super::{files, root};

/// A page about one id.
pub(crate) struct Page {
    pub(crate) id: &'static str,
    /// The group of the list that it is in.
    pub(crate) group: &'static str,
    /// Without the links to other ids.
    pub(crate) text: String,
    /// The file of the repository that its text comes from.
    pub(crate) source: String,
}

/// Files with explanations, by their names without dashes and ending.
static EXPLANATIONS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let mut found = BTreeMap::new();
    for directory in ["crates/checks/src", "crates/lint/src", "crates/image/src"] {
        for file in files(directory).into_iter().filter(|file| file.ends_with(".md")) {
            let name = Path::new(&file).file_stem().unwrap().to_string_lossy().replace('-', "_");
            assert_eq!(found.insert(name, file), None);
        }
    }
    found
});

/// The file of the explanation of a check or rule.
pub(crate) fn explanation(id: &str, text: &str) -> String {
    let file = EXPLANATIONS.get(&id.replace('-', "_")).unwrap_or_else(|| panic!("{id} has no file"));
    assert!(fs::read_to_string(root().join(file)).unwrap() == text, "{id} is not explained in {file}");
    file.clone()
}

/// The file of a signature.
pub(crate) fn row(one: &Signature) -> String {
    let file = format!("catalog/signatures/{}/{}.yaml", one.component.id(), one.id);
    assert!(root().join(&file).is_file(), "{file}");
    file
}

/// Groups of the checks of one machine, and of those of several.
pub(crate) fn check_groups() -> Vec<&'static str> {
    let mut groups: Vec<&str> = Group::ALL.iter().map(|group| group.title()).collect();
    groups.push(FLEET);
    groups
}

const FLEET: &str = "Several machines";

pub(crate) fn checks() -> Vec<Page> {
    let one = CHECKS.iter().map(|check| Page {
        id: check.id,
        group: check.group.title(),
        text: format!(
            "# {}\n\nA healthy machine: {}.\n\n*{} · applies to {}*\n\n{}\n{}",
            check.id,
            escaped(check.summary),
            check.group.title(),
            explain::applies(check.applies),
            fenced("sh", &format!("envdoc check --only {}", check.id)),
            check.explain
        ),
        source: explanation(check.id, check.explain),
    });
    let several = FLEET_CHECKS.iter().map(|check| Page {
        id: check.id,
        group: FLEET,
        text: format!(
            "# {}\n\nHealthy machines: {}.\n\n*{FLEET} · applies to clusters*\n\n{}\n{}",
            check.id,
            escaped(check.summary),
            fenced("sh", "envdoc cluster check"),
            check.explain
        ),
        source: explanation(check.id, check.explain),
    });
    one.chain(several).collect()
}

pub(crate) fn lint_groups() -> Vec<&'static str> {
    Subject::ALL.iter().map(|subject| subject.title()).collect()
}

pub(crate) fn lints() -> Vec<Page> {
    let page = |rule: &&'static lint::Rule| {
        let example = &rule.fires[0];
        let mut text = format!(
            "# {}\n\nA sound file: {}.\n\n*{} · at worst: {}*\n\n",
            rule.id,
            escaped(rule.summary),
            rule.subject().title(),
            rule.severity.word(),
        );
        let language = language(example.name);
        let _ = write!(
            text,
            "{}\n{}\n## Example\n\nFound in `{}`:\n\n{}",
            fenced("sh", &format!("envdoc lint --only {}", rule.id)),
            rule.explain,
            example.name,
            fenced(language, example.text)
        );
        Page { id: rule.id, group: rule.subject().title(), text, source: explanation(rule.id, rule.explain) }
    };
    RULES.iter().map(page).collect()
}

/// The language of a file, for highlighting.
pub(crate) fn language(name: &str) -> &'static str {
    match name.rsplit(['.', '/']).next().unwrap_or_default() {
        "Dockerfile" => "dockerfile",
        "yaml" | "yml" => "yaml",
        "json" => "json",
        "py" => "python",
        "sh" | "enter" | "entrypoint" | "health" | "node" => "sh",
        "md" => "markdown",
        "toml" => "toml",
        _ => "text",
    }
}

pub(crate) fn images() -> Vec<Page> {
    let page = |rule: &'static dyn diagnostic::rule::Rule| Page {
        id: rule.id(),
        group: rule.group().title,
        text: format!(
            "# {}\n\nA sound image: {}.\n\n*{} · at worst: {}*\n\n{}",
            rule.id(),
            escaped(rule.summary()),
            rule.group().title,
            rule.severity().word(),
            rule.explain()
        ),
        source: explanation(rule.id(), rule.explain()),
    };
    image::rules().map(page).collect()
}

/// The titles of the areas, and the list page of each.
pub(crate) fn component_groups() -> (Vec<&'static str>, Vec<String>) {
    Component::ALL.iter().map(|area| (area.title(), format!("signatures/{}.md", area.id()))).unzip()
}

pub(crate) fn signatures() -> Vec<Page> {
    let all = catalog::testing::catalog().signatures().all();
    let page = |one: &'static Signature| Page {
        id: one.id,
        group: one.component.title(),
        text: signature_page(one),
        source: row(one),
    };
    all.iter().map(page).collect()
}

fn signature_page(one: &Signature) -> String {
    let mut text = format!(
        "# {}\n\n{}\n\n{}\n\n*{}*\n\n## {}\n\n",
        one.id,
        escaped(&message::general(one.message)),
        escaped(one.meaning),
        escaped(&signature::classification(one)),
        if one.causes.len() == 1 { "Cause" } else { "Possible causes and how to confirm each" }
    );
    for (number, cause) in one.causes.iter().enumerate() {
        let _ = writeln!(text, "{}. **{}**", number + 1, escaped(cause.cause));
        let mut add = |label: &str, shown: &str| {
            let _ = writeln!(text, "    - {label}: {shown}");
        };
        if let Some(check) = cause.check {
            add("check", &format!("`{check}` (`envdoc check --only {check}`)"));
        }
        if let Some(command) = cause.confirm {
            add("check", &span(command));
        }
        if let Some(look_at) = cause.look_at {
            add("look at", &escaped(look_at));
        }
        add("fix", &escaped(cause.fix));
        if !cause.commands.is_empty() {
            let commands = fenced("sh", &cause.commands.join("\n"));
            let _ = write!(text, "\n{}", indented(&commands, "      "));
        }
        text.push('\n');
    }
    if !one.leads_to.is_empty() {
        let ids: Vec<String> = one.leads_to.iter().map(|id| format!("`{id}`")).collect();
        let _ = writeln!(text, "## Leads to\n\n{}\n", ids.join(", "));
    }
    match one.is_derived() {
        true => text.push_str(
            "No single line matches: `envdoc diagnose` derives it from several lines, or from a dump.\n\n",
        ),
        false => {
            let _ = writeln!(text, "## Example lines\n\n{}", fenced("text", &one.matches.join("\n")));
        }
    }
    let _ = writeln!(text, "## Source\n\n{} (verified in {})", escaped(one.source), one.verified.describe());
    text
}

/// A command of one line as code, whatever it contains.
fn span(command: &str) -> String {
    match command.contains('`') {
        true => format!("`` {command} ``"),
        false => format!("`{command}`"),
    }
}

fn indented(text: &str, indent: &str) -> String {
    text.lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{indent}{line}\n") })
        .collect()
}
