//! What is generated and committed is made again and compared. `ENVDOC_REGENERATE=1 cargo test -p envdoc
//! --test it generated` writes it.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read and write the source tree")]

use std::fmt::Write;
use std::fs;
use std::path::Path;

use build::Planned;
use catalog::signatures::Component;
use checks::fleet::FLEET_CHECKS;
use checks::{self, CHECKS, Group};
use cluster::request::ClusterRequest;
use diagnose::message;
use diagnostic::error::EXIT_CODES;
use envdoc::cli::explain::text as explain;
use envdoc::cli::image::ImageArgs;
use host::snapshot::Snapshot;
use image::request::ImageRequest;
use judge::report::json;
use lint::{self, RULES, Subject};
use resolve::parse::{self, StackOptions};
use resolve::request::Request;

use crate::site::pages;

pub(crate) fn same(name: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("ENVDOC_REGENERATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, generated).unwrap();
        return;
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == generated,
        "{name} is not what the code gives; run: ENVDOC_REGENERATE=1 cargo test -p envdoc --test it \
            generated, and review the change"
    );
}

fn schema<T: schemars::JsonSchema>() -> String {
    serde_json::to_string_pretty(&schemars::schema_for!(T)).unwrap() + "\n"
}

/// A row of a list of ids: the id, which links to the file with its explanation, and the other cells.
fn row(id: &str, source: &str, cells: &[&str]) -> String {
    let cells = cells.iter().map(|cell| cell.replace('|', "\\|").replace('<', "&lt;"));
    format!("| [`{id}`](../{source}) | {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

#[test]
fn checks_page_is_current() {
    let mut text = String::from(
        "# Checks\n\n<!-- Generated from crates/checks by tests/it/generated.rs; edit there. -->\n\n\
         The checks of `envdoc check`, in report order. Each id links to what the check does, \
         why, how to fix a\n\
         finding, and the sources; `envdoc explain ID` shows the same text offline. Ids go after `--only` \
         and `--ignore`,\n\
         and so do the names of groups.\n",
    );
    for &group in Group::ALL {
        let (title, id) = (group.title(), group.id());
        let _ = writeln!(text, "\n## {title} (`{id}`)\n\n| check | a healthy machine |\n|---|---|");
        for check in CHECKS.iter().filter(|check| check.group == group) {
            text += &row(check.id, &pages::explanation(check.id, check.explain), &[check.summary]);
        }
    }
    text.push_str(
        "\n## Several machines together (`envdoc cluster check`)\n\n| check | healthy machines \
         |\n|---|---|\n",
    );
    for check in FLEET_CHECKS {
        text += &row(check.id, &pages::explanation(check.id, check.explain), &[check.summary]);
    }
    same("docs/checks.md", &text);
}

#[test]
fn lint_rules_page_is_current() {
    let mut text = String::from(
        "# Lint rules\n\n<!-- Generated from crates/lint/src by tests/it/generated.rs; edit there. -->\n\n\
         The rules of `envdoc lint`. Each id links to what the rule finds, why it matters, how to fix it, and \
         the sources;\n\
         `envdoc explain RULE` shows the same text offline. Ids go after `--only` and `--ignore`, and into a \
         file:\n\
         `# envdoc: ignore=RULE`.\n",
    );
    for subject in Subject::ALL {
        let title = subject.title();
        let _ = writeln!(text, "\n## {title}\n\n| rule | at worst | a sound file |\n|---|---|---|");
        for rule in RULES.iter().filter(|rule| rule.subject() == *subject) {
            let source = pages::explanation(rule.id, rule.explain);
            text += &row(rule.id, &source, &[rule.severity.word(), rule.summary]);
        }
    }
    same("docs/lints.md", &text);
}

#[test]
fn image_rules_page_is_current() {
    let mut text = String::from(
        "# Image rules\n\n<!-- Generated from crates/image/src by tests/it/generated.rs; edit there. -->\n\n\
         What `envdoc inspect` and `envdoc build` find. Each id links to its explanation; `envdoc explain \
         ID` shows it\n\
         offline.\n\n\
         | rule | at worst | a sound image |\n|---|---|---|\n",
    );
    for rule in image::rules() {
        let source = pages::explanation(rule.id(), rule.explain());
        text += &row(rule.id(), &source, &[rule.severity().word(), rule.summary()]);
    }
    same("docs/image-rules.md", &text);
}

/// Claims of tutorials that are wrong or outdated, and the rule that finds each; `tests/lint.rs` lints them.
#[test]
fn claims_page_is_current() {
    #[derive(serde::Deserialize)]
    struct Claim {
        id: String,
        claim: String,
        verdict: String,
        rule: Option<String>,
        file: Option<String>,
        unseen: Option<String>,
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint/claims.yaml");
    let claims: Vec<Claim> = serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let (seen, unseen): (Vec<&Claim>, Vec<&Claim>) = claims.iter().partition(|one| one.rule.is_some());
    let cell = |text: &str| text.replace('|', "\\|");
    let mut text = format!(
        "# Claims of tutorials, and the rules that find them\n\n<!-- Generated from tests/lint/claims.yaml \
            by tests/it/generated.rs; edit there. -->\n\n\
         Claims of tutorials that are wrong or outdated. {} of them are visible in a file, and `envdoc lint` \
         finds each of them\n\
         (a test lints them); {} are not.\n\n## Visible in a file\n\n\
         | id | claim | verdict | file | rule |\n|---|---|---|---|---|\n",
        seen.len(),
        unseen.len()
    );
    for one in seen {
        let (rule, file) = (one.rule.as_deref().unwrap(), one.file.as_deref().unwrap());
        let found = RULES.iter().find(|known| known.id == rule).unwrap();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {file} | [`{rule}`](../{}) |",
            one.id,
            cell(&one.claim),
            one.verdict,
            pages::explanation(rule, found.explain)
        );
    }
    text.push_str("\n## Not visible in a file\n\n| id | claim | verdict | why |\n|---|---|---|---|\n");
    for one in unseen {
        let why = cell(one.unseen.as_deref().unwrap());
        let _ = writeln!(text, "| {} | {} | {} | {why} |", one.id, cell(&one.claim), one.verdict);
    }
    same("docs/claims.md", &text);
}

/// An index of the areas, and a list for each.
#[test]
fn signature_pages_are_current() {
    let all = catalog::testing::catalog().signatures().all();
    let book = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/site/book.toml")).unwrap();
    let comment = "<!-- Generated from catalog/signatures by tests/it/generated.rs; edit there. -->";
    let mut text = format!(
        "# Signatures of failures\n\n{comment}\n\n\
         envdoc recognizes {} failures in logs. `envdoc explain 'a line of a log'` lists the signatures that \
         match;\n\
         `envdoc explain ID` shows causes, how to confirm each, fixes, example lines and the source, \
         offline.\n\n| area | signatures |\n|---|---|\n",
        all.len()
    );
    for component in Component::ALL {
        let (title, id) = (component.title(), component.id());
        let of_area: Vec<_> = all.iter().filter(|one| one.component == *component).collect();
        let _ = writeln!(text, "| [{title}](signatures/{id}.md) | {} |", of_area.len());
        let mut list = format!(
            "# Signatures of failures: {title}\n\n{comment}\n\n\
             [All areas](../signatures.md). Each id links to its row of the catalog. A *root cause* is where a \
             failure began; a\n\
             *symptom* follows from another failure; *context* is no failure by itself.\n\n\
             | signature | role | message |\n|---|---|---|\n"
        );
        for one in of_area {
            let cells = [one.role.describe(), &message::general(one.message)];
            list += &row(one.id, &format!("../{}", pages::row(one)), &cells);
        }
        same(&format!("docs/signatures/{id}.md"), &list);
        let left_out = format!("\"signatures/{id}.md\" = {{ enable = false }}");
        assert!(book.lines().any(|line| line == left_out), "docs/site/book.toml: search has no {left_out}");
    }
    same("docs/signatures.md", &text);
}

#[test]
fn command_line_page_is_current() {
    same("docs/cli.md", &crate::command_line::markdown());
}

#[test]
fn exit_codes_page_is_current() {
    let mut text = String::from(
        "# Exit codes\n\n<!-- Generated from crates/diagnostic/src/error.rs by tests/it/generated.rs; \
         edit there. -->\n\n| code | \
            meaning |\n|---|---|\n",
    );
    for (code, meaning) in EXIT_CODES {
        let _ = writeln!(text, "| {code} | {meaning} |");
    }
    same("docs/exit-codes.md", &text);
}

#[test]
fn json_schemas_are_current() {
    same("docs/schemas/build.json", &schema::<image::report::BuildReport>());
    same("docs/schemas/check.json", &schema::<json::CheckReport>());
    same("docs/schemas/checks.json", &schema::<explain::CheckList>());
    same("docs/schemas/explain.json", &schema::<envdoc::cli::explain::ExplainReport>());
    same("docs/schemas/config.json", &schema::<envdoc::cli::config::ConfigReport>());
    same("docs/schemas/cluster-check.json", &schema::<cluster::report::check::ClusterCheckReport>());
    same("docs/schemas/inspect.json", &schema::<image::inspect::report::Report>());
    same("docs/schemas/lint.json", &schema::<lint::report::json::LintReport>());
    same("docs/schemas/diagnose.json", &schema::<diagnose::report::json::DiagnoseReport>());
    same("docs/schemas/lock.json", &schema::<resolve::lock::Lock>());
    same("docs/schemas/request.json", &schema::<ImageRequest>());
    same("docs/schemas/resolve.json", &schema::<resolve::report::json::ResolveReport>());
    same("docs/schemas/smoke.json", &schema::<cluster::smoke::report::SmokeReport>());
    same("docs/schemas/snapshot.json", &schema::<Snapshot>());
}

/// Readers tell by the number whether a report has the new keys next to the former ones.
#[test]
fn formats_with_former_keys_have_a_new_number() {
    for (format, schema, number) in [
        ("build", schema::<image::report::BuildReport>(), image::report::SCHEMA),
        ("check", schema::<json::CheckReport>(), json::SCHEMA),
        (
            "cluster-check",
            schema::<cluster::report::check::ClusterCheckReport>(),
            cluster::report::check::SCHEMA,
        ),
        ("inspect", schema::<image::inspect::report::Report>(), image::inspect::report::SCHEMA),
        ("lint", schema::<lint::report::json::LintReport>(), lint::report::json::SCHEMA),
        ("lock", schema::<resolve::lock::Lock>(), resolve::lock::SCHEMA),
        ("resolve", schema::<resolve::report::json::ResolveReport>(), resolve::report::json::SCHEMA),
    ] {
        assert!(schema.contains("under its former name"), "{format} has no former key any more");
        assert!(number > 1, "{format} has new keys and its first number");
    }
}

/// The keys of a request file, with the words of the schema.
#[test]
fn cluster_page_and_schema_are_current() {
    let mut text = String::from(
        "# cluster.yaml\n\n<!-- Generated from crates/cluster/src/request.rs by tests/it/generated.rs; \
         edit there. \
            -->\n\n\
         The cluster file of `envdoc cluster`; `envdoc cluster init` creates one. An unknown key is an \
         error. Worked examples:\n\
         [compose/](../compose). For editors: [the JSON Schema](schemas/cluster.json). For more than \
         about 64 \
         machines, see\n\
         [clusters at scale](clusters-at-scale.md).\n\n\
         Names and values may contain only characters that compose files, SSH configuration and shells \
         leave unchanged: no `$`, quotes,\n\
         backslashes or line breaks. The error message for a refused value says why.\n\n",
    );
    let schema = serde_json::to_value(schemars::schema_for!(ClusterRequest)).unwrap();
    keys(&mut text, &schema);
    for (title, name) in [
        ("nodes", "NodeRequest"),
        ("network", "NetworkRequest"),
        ("ssh", "SshRequest"),
        ("storage", "Storage"),
        ("limits", "Limits"),
        ("secrets", "SecretRequest"),
    ] {
        let _ = writeln!(text, "\n## `{title}`\n");
        keys(&mut text, &schema["$defs"][name]);
    }
    same("docs/cluster.md", &text);
    same("docs/schemas/cluster.json", &self::schema::<ClusterRequest>());
}

#[test]
fn request_page_is_current() {
    let mut text = String::from(
        "# Request files\n\n<!-- Generated from crates/image/src/request.rs by tests/it/generated.rs; \
         edit there. \
            -->\n\n\
         `images/<name>/request.yaml` describes an image. `envdoc render` and `envdoc build` take it with \
         `--request`; options override\n\
         it. An unknown key is an error, and every key is optional. Worked examples: \
         [images/](../images). For editors:\n\
         [the JSON Schema](schemas/request.json).\n\n\
         A version is the beginning of a version (`12.1`, without quotes) or a range (`'>=2.4,<2.7'`). \
         Paths are relative to\n\
         the file.\n\n",
    );
    let schema = serde_json::to_value(schemars::schema_for!(ImageRequest)).unwrap();
    keys(&mut text, &schema);
    for (title, name) in [("mirrors", "Mirrors"), ("copy", "Copy")] {
        let _ = writeln!(text, "\n## `{title}`\n");
        keys(&mut text, &schema["$defs"][name]);
    }
    text.push_str("\n## Mirrors by name\n\n| name | whose | packages | archive |\n|---|---|---|---|\n");
    for mirror in catalog::testing::catalog().mirrors().all() {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            mirror.name, mirror.summary, mirror.pip_index, mirror.apt
        );
    }
    same("docs/request.md", &text);
}

fn keys(text: &mut String, schema: &serde_json::Value) {
    text.push_str("| key | meaning |\n|---|---|\n");
    for (key, value) in schema["properties"].as_object().unwrap() {
        let meaning =
            value["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(text, "| `{key}` | {meaning} |");
    }
}

const SERVER: &str = "tests/servers/broken-driver-library-mismatch.json";

/// The transcripts of the README and of docs/build.md are what envdoc prints for a recorded server, a
/// request, a log.
#[test]
fn transcripts_are_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(path.join("README.md")).unwrap();
    let check = format!("envdoc check --from {SERVER} --only driver,toolkit");
    let readme = replaced(&readme, "transcript", &printed(path, &check));
    let resolved = resolve_transcript();
    // The reasons and the install command are in docs/build.md.
    let (stack, _) = resolved.split_once("\nWhy\n").unwrap();
    let readme = replaced(&readme, "resolve", &format!("{stack}…\n```\n"));
    let readme = replaced(
        &readme,
        "diagnose",
        &printed(path, "envdoc diagnose tests/logs/failures/a9-kernel-oom-a.log"),
    );
    let lint = printed(path, "envdoc lint tests/lint/seeds/multi-node.Dockerfile");
    same("README.md", &replaced(&readme, "lint", &lint));
    let build = fs::read_to_string(path.join("docs/build.md")).unwrap();
    let build = replaced(&build, "resolve-whole", &resolved);
    same("docs/build.md", &replaced(&build, "render", &render_transcript()));
}

#[test]
fn transcripts_of_a_project_are_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let project = path.join("tests/projects/pinned");
    let text = fs::read_to_string(path.join("docs/project.md")).unwrap();
    let runs = printed(&project, "envdoc resolve --project . --gpu h100 --driver 535");
    let text = replaced(&text, "project-runs", &runs);
    let conflict = printed(&project, "envdoc resolve --project . --gpu rtx-5090 --driver 575");
    same("docs/project.md", &replaced(&text, "project-conflict", &conflict));
}

#[test]
fn the_readme_is_short() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let lines = fs::read_to_string(path).unwrap().lines().count();
    assert!(lines <= 150, "{lines} lines: move details to docs/");
}

/// What the program itself prints, below the command that prints it.
fn printed(path: &Path, command: &str) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_envdoc"))
        .args(command.split(' ').skip(1))
        .env("COLUMNS", "96")
        .env("LANG", "C.UTF-8")
        .current_dir(path)
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    // Findings or none; 2 would be a command that does not work.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{shown}");
    format!("```console\n$ {command}\n{}\n```\n", shown.trim_end())
}

/// A text with what stands between two marks replaced.
fn replaced(text: &str, mark: &str, transcript: &str) -> String {
    let (begin, end) =
        (format!("<!-- {mark}: made by tests/it/generated.rs -->\n"), format!("<!-- /{mark} -->\n"));
    let (before, rest) = text.split_once(&begin).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    format!("{before}{begin}{transcript}{end}{after}")
}

const LAYOUT: diagnostic::layout::Layout =
    diagnostic::layout::Layout { width: 96, unicode: true, verbose: false, root: true };

fn render_transcript() -> String {
    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        image: ImageArgs,
    }
    let options = "--torch 2.7.1 --cuda 12.6 --deepspeed --user trainer --copy src:/workspace/src";
    let command = <Command as clap::Parser>::parse_from(["envdoc"].into_iter().chain(options.split(' ')));
    let mut request = command.image.request(&config::Settings::default()).unwrap();
    request.today = "2026-11-21".into();
    let planned =
        build::plan(resolve::testing::universe(), &request, &|| panic!("reads no machine")).unwrap();
    let Planned::Plan(planned) = planned else { panic!("{planned:?}") };
    let text = image::render::dockerfile(&planned.plan).unwrap();
    // Shown without the labels, of which one holds the whole stack.
    let (before, after) = text.split_once("LABEL ").unwrap();
    let rest = after.split_once("\n\n").map_or("", |(_, rest)| rest);
    format!("```console\n$ envdoc render dockerfile {options}\n{before}LABEL …\n\n{rest}```\n")
}

/// What `envdoc resolve --cuda 12.1 --python 3.12` prints on a fixed day.
pub(crate) fn resolve_report(layout: diagnostic::layout::Layout) -> String {
    let typed =
        StackOptions { cuda: Some("12.1".into()), python: Some("3.12".into()), ..StackOptions::default() };
    let requirements = parse::requirements(resolve::testing::universe(), &typed).unwrap().requirements;
    let request = Request { requirements, today: "2026-11-21".into(), ..Request::default() };
    let outcome = resolve::resolve(resolve::testing::universe(), &request);
    let report = resolve::report::Report {
        requirements: &request.requirements,
        outcome: &outcome,
        warnings: &[],
        notes: &[],
        project: None,
    };
    resolve::report::text::report(&report, layout)
}

fn resolve_transcript() -> String {
    let shown = anstream::adapter::strip_str(&resolve_report(LAYOUT)).to_string();
    format!("```console\n$ envdoc resolve --cuda 12.1 --python 3.12\n\n{shown}```\n")
}
