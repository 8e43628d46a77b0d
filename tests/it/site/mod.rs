//! The documentation site: the source that `docs/site/build.sh` gives to mdBook. `docs/` is taken as it is in
//! the repository, and a page for each check, rule and signature is made of what `envdoc explain` shows.
//! Nothing of it is committed; these tests make all pages in memory, and follow their links.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read and write the source tree")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

mod markdown;
pub(crate) mod pages;
mod session;

use tempfile::TempDir;

use crate::hostile::{envdoc, on_terminal};
use markdown::{anchors, is_external, targets, title, with_addresses, with_ids, with_targets};
use pages::{Page, language};

/// The outline, with links to files of the repository.
const OUTLINE: &str = "docs/site/SUMMARY.md";
/// Where the first page has the recorded session.
const SESSION: &str =
    "![A terminal in which envdoc checks a server, resolves a stack and lints a file](session.svg)";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The files below a directory of the repository, without hidden ones.
fn files(directory: &str) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(root().join(&directory)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{directory}/{}", entry.file_name().to_string_lossy());
            match entry.path().is_dir() {
                true => open.push(name),
                false if entry.file_name().to_string_lossy().starts_with('.') => {}
                false => found.push(name),
            }
        }
    }
    found.sort();
    found
}

/// The documents that people wrote or tests generated.
fn documents() -> Vec<String> {
    let mut found = files("docs");
    found.retain(|file| file.ends_with(".md") && file != OUTLINE);
    found.extend(["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(str::to_owned));
    found
}

/// A path without `.` and `..`, from a directory.
fn joined(directory: &str, path: &str) -> String {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => assert!(parts.pop().is_some(), "{directory}/{path} leaves the repository"),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

fn directory(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// The file, and `#anchor` or nothing, that a link on a page leads to.
fn led<'t>(page: &str, target: &'t str) -> (String, &'t str) {
    let (path, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
    match path {
        "" => (page.to_owned(), anchor),
        _ => (joined(directory(page), path), anchor),
    }
}

/// A link from one page of the site to another.
fn relative(from: &str, to: &str) -> String {
    let (from, to): (Vec<&str>, Vec<&str>) = (from.split('/').collect(), to.split('/').collect());
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let shared = shared.min(from.len() - 1).min(to.len() - 1);
    "../".repeat(from.len() - 1 - shared) + &to[shared..].join("/")
}

/// The source of the site.
struct Site {
    /// Pages of the repository's files that have a page of their own.
    known: BTreeMap<String, String>,
    /// The same for ids, as they appear in texts.
    ids: BTreeMap<String, String>,
    /// Files and directories that a page links to, and that are no documents: each becomes a page.
    linked: RefCell<BTreeSet<String>>,
    pages: BTreeMap<String, String>,
    /// Files that are copied as they are: schemas, for programs.
    copies: BTreeSet<String>,
}

impl Site {
    /// The page of a file or directory of the repository.
    fn page_of(&self, file: &str) -> String {
        if let Some(page) = self.known.get(file) {
            return page.clone();
        }
        if file == "docs/site/session.svg" {
            return "session.svg".to_owned();
        }
        if let Some(schema) = file.strip_prefix("docs/schemas/") {
            return format!("schemas/{schema}");
        }
        assert!(root().join(file).exists(), "a link leads to {file}, which does not exist");
        self.linked.borrow_mut().insert(file.to_owned());
        format!("files/{file}.md")
    }

    /// The text of a file of the repository as the text of a page.
    fn moved(&self, text: &str, file: &str, page: &str) -> String {
        with_targets(text, |target| {
            let (to, anchor) = led(file, target);
            let to = self.page_of(&to);
            if to == page && !anchor.is_empty() { anchor.to_owned() } else { relative(page, &to) + anchor }
        })
    }

    fn add(&mut self, page: &str, text: String) {
        assert!(self.pages.insert(page.to_owned(), text).is_none(), "two pages {page}");
    }

    fn add_document(&mut self, file: &str) {
        let page = self.known[file].clone();
        let text = with_addresses(&self.moved(&read(file), file, &page));
        self.add(&page, text);
    }

    /// The page about one id, with links to those that it names.
    fn add_page(&mut self, kind: &str, page: &Page) {
        let path = format!("{kind}/{}.md", page.id);
        let ids = self.ids.iter().map(|(id, to)| (id.clone(), relative(&path, to))).collect();
        let text = with_addresses(&with_ids(&page.text, page.id, &ids));
        assert!(targets(&page.text).is_empty(), "{}: a link in a text for terminals", page.id);
        self.add(&path, text);
    }

    /// A page with the text of a file, or of the files below a directory.
    fn add_files(&mut self, path: &str) {
        let page = format!("files/{path}.md");
        let name = path.rsplit('/').next().unwrap();
        if !root().join(path).is_dir() {
            let text = format!("# {path}\n\n{}", markdown::fenced(language(name), &read(path)));
            return self.add(&page, text);
        }
        let below = files(path);
        let nested = |file: &&String| file[path.len() + 1..].matches('/').count() > 0;
        if path.contains('/') || !below.iter().any(|file| nested(&file)) {
            let introduction = format!("{path}/README.md");
            let mut text = match below.contains(&introduction) {
                true => self.moved(&read(&introduction), &introduction, &page) + "\n",
                false => format!("# {name}\n\n"),
            };
            for file in below.iter().filter(|file| **file != introduction) {
                let shown = markdown::fenced(language(file), &read(file));
                let _ = writeln!(text, "## {}\n\n{shown}", &file[path.len() + 1..]);
            }
            return self.add(&page, text);
        }
        let mut text = format!("# {path}\n\n");
        let parts: BTreeSet<&str> =
            below.iter().filter_map(|file| file[path.len() + 1..].split('/').next()).collect();
        for part in parts {
            let to = self.page_of(&format!("{path}/{part}"));
            let _ = writeln!(text, "- [{part}]({})", relative(&page, &to));
        }
        self.add(&page, text);
    }

    /// The outline with the pages below their lists.
    fn outline(&self, lists: &[List]) -> String {
        let mut text = String::new();
        let outline = self.moved(&read(OUTLINE), OUTLINE, "SUMMARY.md");
        for line in outline.lines() {
            let _ = writeln!(text, "{line}");
            let indent = " ".repeat(line.len() - line.trim_start().len() + 4);
            if let Some(list) = lists.iter().find(|list| line.ends_with(&format!("({}.md)", list.kind))) {
                list.outline(&mut text, &indent);
            }
            if line.ends_with("(measurements.md)") {
                for page in self.pages.keys().filter(|page| page.starts_with("measurements/")) {
                    let _ = writeln!(text, "{indent}- [{}]({page})", plain_title(&self.pages[page]));
                }
            }
        }
        text.push_str("\n---\n\n# Files\n\n");
        for page in self.pages.keys().filter(|page| page.starts_with("files/")) {
            let depth = page.matches('/').count().saturating_sub(1);
            let name = page.trim_start_matches("files/").trim_end_matches(".md");
            // Below a directory that has a page itself, its name is known.
            let parent = directory(name);
            let nested = self.pages.contains_key(&format!("files/{parent}.md"));
            let (indent, name) = match nested {
                true => (" ".repeat(4 * depth), name.rsplit('/').next().unwrap()),
                false => (String::new(), name),
            };
            let _ = writeln!(text, "{indent}- [{name}]({page})");
        }
        text
    }
}

/// Pages that have an index page of the same name, in groups.
struct List {
    kind: &'static str,
    groups: Vec<&'static str>,
    /// The page of each group; empty where groups have none.
    group_pages: Vec<String>,
    pages: Vec<Page>,
}

impl List {
    fn all() -> [List; 4] {
        let list = |kind, groups: Vec<&'static str>, pages| {
            let group_pages = vec![String::new(); groups.len()];
            List { kind, groups, group_pages, pages }
        };
        let (areas, group_pages) = pages::component_groups();
        let signatures = List { kind: "signatures", groups: areas, group_pages, pages: pages::signatures() };
        [
            list("checks", pages::check_groups(), pages::checks()),
            list("lints", pages::lint_groups(), pages::lints()),
            list("image-rules", Vec::new(), pages::images()),
            signatures,
        ]
    }

    fn outline(&self, text: &mut String, indent: &str) {
        let line = |page: &Page| format!("[{}]({}/{}.md)", page.id, self.kind, page.id);
        for page in self.pages.iter().filter(|page| !self.groups.contains(&page.group)) {
            let _ = writeln!(text, "{indent}- {}", line(page));
        }
        for (group, group_page) in self.groups.iter().zip(&self.group_pages) {
            let _ = writeln!(text, "{indent}- [{group}]({group_page})");
            for page in self.pages.iter().filter(|page| page.group == *group) {
                let _ = writeln!(text, "{indent}    - {}", line(page));
            }
        }
    }
}

fn plain_title(text: &str) -> String {
    title(text).replace('`', "")
}

/// Where the site has the documents of the repository.
fn known(lists: &[List]) -> BTreeMap<String, String> {
    let mut known = BTreeMap::from(
        [
            ("README.md", "index.md"),
            ("docs/site/index.md", "index.md"),
            ("docs/schemas", "schemas.md"),
            ("docs/measurements", "measurements.md"),
            ("CHANGELOG.md", "changelog.md"),
            ("CONTRIBUTING.md", "contributing.md"),
        ]
        .map(|(file, page)| (file.to_owned(), page.to_owned())),
    );
    for file in documents() {
        let page = file.strip_prefix("docs/").map(str::to_owned);
        known.entry(file).or_insert_with(|| page.unwrap());
    }
    for list in lists {
        for page in &list.pages {
            let path = format!("{}/{}.md", list.kind, page.id);
            assert!(known.insert(page.source.clone(), path).is_none(), "{}: one text, two ids", page.source);
        }
    }
    known
}

fn site() -> Site {
    let lists = List::all();
    let known = known(&lists);
    let mut ids = BTreeMap::new();
    for (list, page) in lists.iter().flat_map(|list| list.pages.iter().map(move |page| (list, page))) {
        // A word without a dash may be one of the language.
        if page.id.contains('-') {
            ids.entry(page.id.to_owned()).or_insert_with(|| format!("{}/{}.md", list.kind, page.id));
        }
    }
    let copies = files("docs/schemas").into_iter().collect();
    let mut site = Site { known, ids, linked: RefCell::default(), pages: BTreeMap::new(), copies };
    for file in documents().iter().filter(|file| *file != "README.md") {
        site.add_document(file);
    }
    for list in &lists {
        list.pages.iter().for_each(|page| site.add_page(list.kind, page));
    }
    site.add("schemas.md", schemas(&site.copies));
    let measurements = measurements(&site.pages);
    site.add("measurements.md", measurements);
    let first = site.pages.get_mut("index.md").unwrap();
    assert!(first.contains(SESSION));
    *first =
        first.replace(SESSION, &format!("<div class=\"session\">\n{}</div>", read("docs/site/session.svg")));
    let mut done = BTreeSet::new();
    loop {
        let open: Vec<String> = site.linked.borrow().difference(&done).cloned().collect();
        if open.is_empty() {
            break;
        }
        for path in open {
            site.add_files(&path);
            done.insert(path);
        }
    }
    let outline = site.outline(&lists);
    site.add("SUMMARY.md", outline);
    site
}

/// The pages of the ids that reports name, which link to `explain/ID.html`.
fn explained() -> BTreeMap<String, String> {
    let lists = List::all();
    let pages = lists.iter().flat_map(|list| list.pages.iter().map(move |page| (list.kind, page.id)));
    let mut explained = BTreeMap::new();
    for (kind, id) in pages {
        explained.entry(id.to_owned()).or_insert_with(|| format!("{kind}/{id}"));
    }
    let xids = catalog::testing::catalog().xids().all().iter();
    explained.extend(xids.map(|xid| (format!("xid-{}", xid.number), "signatures/gpu-xid".to_owned())));
    explained
}

/// The part of mdBook's configuration that leads from `explain/ID.html` to the page of the id.
fn redirects() -> String {
    let line = |(id, page): (String, String)| format!("\"/explain/{id}.html\" = \"../{page}.html\"\n");
    "\n[output.html.redirect]\n".to_owned() + &explained().into_iter().map(line).collect::<String>()
}

fn schemas(files: &BTreeSet<String>) -> String {
    let mut text = String::from(
        "# JSON schemas\n\nFor programs that read envdoc's reports, and for editors of the files that envdoc \
         reads.\n\n| of | schema |\n|---|---|\n",
    );
    for file in files {
        let name = file.rsplit('/').next().unwrap();
        let schema: serde_json::Value = serde_json::from_str(&read(file)).unwrap();
        let about = schema["description"].as_str().unwrap_or_default();
        let about = about.split("\n\n").next().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(text, "| {about} | [{name}](schemas/{name}) |");
    }
    text
}

fn measurements(pages: &BTreeMap<String, String>) -> String {
    let mut text =
        String::from("# Measurements\n\nWhat was measured or tried, how, and on which machine.\n\n");
    for (page, content) in pages.iter().filter(|(page, _)| page.starts_with("measurements/")) {
        let _ = writeln!(text, "- [{}]({page})", title(content));
    }
    text
}

/// Links of documents that lead nowhere.
fn dead_links<'t>(
    pages: impl Iterator<Item = (&'t str, &'t str)>,
    exists: impl Fn(&str) -> bool,
    text_of: impl Fn(&str) -> Option<String>,
) -> String {
    let mut dead = String::new();
    for (page, text) in pages {
        for target in targets(text).into_iter().filter(|target| !is_external(target)) {
            let (to, anchor) = led(page, target);
            let found = exists(&to)
                && match (anchor.strip_prefix('#'), text_of(&to)) {
                    (Some(anchor), Some(text)) => anchors(&text).contains(anchor),
                    (Some(_), None) => false,
                    (None, _) => true,
                };
            if !found {
                let _ = writeln!(dead, "{page}: {target}");
            }
        }
    }
    dead
}

#[test]
fn links_of_documents_lead_to_files_and_headings() {
    let mut texts: BTreeMap<String, String> =
        documents().into_iter().map(|file| (file.clone(), read(&file))).collect();
    texts.insert(OUTLINE.to_owned(), read(OUTLINE));
    let dead = dead_links(
        texts.iter().map(|(file, text)| (file.as_str(), text.as_str())),
        |file| root().join(file).exists(),
        |file| file.ends_with(".md").then(|| read(file)),
    );
    assert!(dead.is_empty(), "links that lead nowhere:\n{dead}");
}

/// With `ENVDOC_SITE=DIRECTORY`, the pages are written there.
#[test]
fn pages_of_the_site_are_linked_and_listed() {
    let site = site();
    let dead = dead_links(
        site.pages.iter().map(|(page, text)| (page.as_str(), text.as_str())),
        |page| site.pages.contains_key(page) || site.copies.contains(&format!("docs/{page}")),
        |page| site.pages.get(page).cloned(),
    );
    assert!(dead.is_empty(), "links that lead nowhere:\n{dead}");
    let listed: BTreeSet<&str> = targets(&site.pages["SUMMARY.md"]).into_iter().collect();
    let forgotten: Vec<&String> =
        site.pages.keys().filter(|page| *page != "SUMMARY.md" && !listed.contains(page.as_str())).collect();
    assert!(forgotten.is_empty(), "not in {OUTLINE}: {forgotten:?}");
    let untitled: Vec<&String> =
        site.pages.iter().filter(|(_, text)| title(text).is_empty()).map(|(page, _)| page).collect();
    assert_eq!(untitled.len(), 0, "pages without a title: {untitled:?}");
    let Some(directory) = std::env::var_os("ENVDOC_SITE") else { return };
    let directory = Path::new(&directory);
    let texts = site.pages.iter().map(|(page, text)| (page.clone(), text.clone()));
    let copies = site.copies.iter().map(|file| (file.trim_start_matches("docs/").to_owned(), read(file)));
    let texts = texts.chain([("redirects.toml".to_owned(), redirects())]);
    for (page, text) in texts.chain(copies) {
        let path = directory.join(page);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn ids_in_reports_link_to_pages() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("Dockerfile"), "FROM debian:bookworm-slim\nRUN pip install torch\n")
        .unwrap();
    fs::write(
        directory.path().join("job.log"),
        "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n",
    )
    .unwrap();
    let run = |arguments: &[&str]| {
        let mut program = envdoc(arguments, directory.path());
        program.env("FORCE_HYPERLINK", "1").env("ENVDOC_DOCS_URL", "https://docs.example/envdoc");
        program
    };
    let (site, explained) = (site(), explained());
    for arguments in [&["lint", "Dockerfile"], &["diagnose", "job.log"]] {
        let shown = String::from_utf8(on_terminal(run(arguments), None)).unwrap();
        let links = shown.split("\x1b]8;;https://docs.example/envdoc/explain/").skip(1);
        let links: Vec<&str> = links.map(|link| link.split_once(".html\x1b\\").unwrap().0).collect();
        assert!(!links.is_empty(), "{shown:?}");
        for id in links {
            let page = explained.get(id).unwrap_or_else(|| panic!("{id} has no page"));
            assert!(site.pages.contains_key(&format!("{page}.md")), "{page}");
        }
        // A variable that is wrong, or set to nothing, is no reason to refuse a command.
        for address in ["", "nowhere"] {
            let mut command = run(arguments);
            command.env("ENVDOC_DOCS_URL", address).env_remove("FORCE_HYPERLINK");
            let output = command.output().unwrap();
            assert!(!output.stdout.is_empty());
            let noted = String::from_utf8(output.stderr).unwrap().contains("ENVDOC_DOCS_URL is ignored");
            assert_eq!(noted, !address.is_empty(), "{address:?}");
        }
        let piped = run(arguments).output().unwrap();
        assert!(!piped.stdout.contains(&0x1b), "a pipe gets no links");
    }
}

#[test]
fn paths_of_links_are_followed() {
    assert_eq!(led("docs/a/b.md", "../c.md#d"), ("docs/c.md".to_owned(), "#d"));
    assert_eq!(led("docs/a.md", "#d"), ("docs/a.md".to_owned(), "#d"));
    assert_eq!(relative("checks/a.md", "checks.md"), "../checks.md");
    assert_eq!(relative("a/b.md", "a/c.md"), "c.md");
    assert_eq!(relative("a.md", "b/c.md"), "b/c.md");
    let dead = dead_links(
        [("a.md", "# A\n[x](#a) [y](b.md) [z](#b)\n")].into_iter(),
        |page| page == "a.md",
        |_| Some("# A\n".to_owned()),
    );
    assert_eq!(dead, "a.md: b.md\na.md: #b\n");
}
