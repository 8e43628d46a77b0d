//! Keeps private wording, broken addresses and long lines out of texts. Budgets are today's numbers and only
//! shrink.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read the source tree")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// Words of a private dialect, for which the field has standard ones: next to, again, fix, phase, out of
/// memory, resumed.
const WORDS: &str = r"(?ix)\b(?:
    beside | anew | once\ more | mend(?:ed|ing|s)? | rungs? | for\ want\ of | gone\ on\ with
    | somebody\ else's | in\ vain | parted\ by
    | the\ others\ likewise | (?:newest|oldest)\ that\ goes | what\ tells | (?:brought|carried|taken)\ along
    | lets?\ (?:it|nobody)\ (?:not\ in|join) | nobody\ asked | stands?\ (?:in|there|still|beside)
    | (?:is|are)\ told
    | of\ (?:it|them)\ nothing\ is\ known | to\ type\ next | whose\ fault | without\ a\ (?:word|question)
    | nothing\ comes\ from | the\ way\ to\ its | under\ which\ name | on\ which\ machine\?
    | there\ is\ no\ \S+\ to\ ask | have\ the\ \S+\ replaced | is\ no\ folder | climbs? | crowd
    | told\ apart | what\ can\ be\ had | not\ read:\ there
    | have\ (?:it|the\ \S+)\ checked | next\ chance | the\ others\ go\ on | nothing\ meets | knows\ is
    | to\ be\ had | looked\ at\ again
    | story\ of | overcome | it\ is\ mended | as\ the\ engine\ tells | carried\ across | of\ these: | was\ made\ as
)\b";

/// Identifiers of the same dialect: message, report or explanation; inspected, `in_container`, observed,
/// copied, sibling; fix, transport, fan-out, phase, plan; `..._LIMIT_BYTES`, `CONNECT_TIMEOUT`.
const IDENTIFIERS: &str = r"(?x)\b(?:
    says | told | tells? | [bB]ecause | [lL]ooked | inside | brought | beside | anew | mend | roads? | crowd
    | rungs? | story | settle | wishes | arrive | SOON | FAR | THIN | ALIVE | LONGEST
)\b";

/// Hits that are right: part of the text, and why.
const RIGHT: &[(&str, &str)] = &[
    ("stands in for", "the usual expression"),
    ("once more than", "a number of times"),
    ("return;;", "a shell script"),
    ("_orig_mod.:", "the name of a module"),
];

/// What is allowed of each kind, by the part of the project: words, addresses, punctuation, lines over 110
/// characters.
const BUDGETS: &[(&str, [usize; 4])] = &[
    ("build", [0, 0, 0, 0]),
    ("catalog", [0, 0, 0, 0]),
    ("catalog data", [0, 0, 0, 0]),
    ("checks", [0, 0, 0, 0]),
    ("cluster", [0, 0, 0, 0]),
    ("diagnose", [0, 0, 0, 0]),
    ("diagnostic", [0, 0, 0, 0]),
    ("docker", [0, 0, 0, 0]),
    ("docs", [0, 0, 0, 0]),
    ("facts", [0, 0, 0, 0]),
    ("host", [0, 0, 0, 0]),
    ("image", [0, 0, 0, 0]),
    ("judge", [0, 0, 0, 0]),
    ("lint", [0, 0, 0, 0]),
    ("mcp", [0, 0, 0, 0]),
    ("refresh", [0, 0, 0, 0]),
    ("resolve", [0, 0, 0, 0]),
    ("src", [0, 0, 0, 0]),
    ("templates", [0, 0, 0, 0]),
];

const KINDS: [&str; 4] =
    ["private wording", "broken address", "doubled punctuation", "line over 110 characters"];
const LINE_LIMIT: usize = 110;

fn regex(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

static WORD: LazyLock<Regex> = LazyLock::new(|| regex(WORDS));
/// An address in brackets that a terminal would make part of it, or one that goes on in the next line.
static GLUED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?:^|[^\]])[(\[]https?://[^\s)\]]+[)\]]|https?://\S*[-_=&?]\n\s*[a-z0-9]"));
static IDENTIFIER: LazyLock<Regex> = LazyLock::new(|| regex(IDENTIFIERS));
static DOUBLED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"[a-z)](?:,,|;;|,\.|;\.|:\.|,;|;,|: :|\.\.|\?\?|!!|\.:)(?:\s|$)"));
/// Comments, raw strings, strings and characters of Rust, in the order in which they are tried.
static TEXTS: LazyLock<Regex> =
    LazyLock::new(|| regex(r##"(?s)//[/!]?([^\n]*)|r#+"(.*?)"#+|"((?:[^"\\]|\\.)*)"|'(?:[^'\\]|\\.)'"##));
static CONTINUED: LazyLock<Regex> = LazyLock::new(|| regex(r"\\\n\s*"));

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// The parts of the project and the texts that belong to each.
fn parts() -> Vec<(String, Vec<PathBuf>)> {
    let ends = |path: &PathBuf, endings: &[&str]| {
        path.extension().is_some_and(|ending| endings.contains(&ending.to_string_lossy().as_ref()))
    };
    let below = |name: &str, endings: &[&str]| -> Vec<PathBuf> {
        files(&root().join(name)).into_iter().filter(|path| ends(path, endings)).collect()
    };
    let mut parts = vec![("src".to_owned(), below("src", &["rs", "md"]))];
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        parts.push((name.clone(), below(&format!("crates/{name}/src"), &["rs", "md"])));
    }
    let pages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(|name| root().join(name));
    let mut documents = below("docs", &["md"]);
    documents.extend(pages.into_iter().filter(|path| path.exists()));
    parts.push(("docs".to_owned(), documents));
    parts.push(("catalog data".to_owned(), below("catalog", &["yaml"])));
    parts.push(("templates".to_owned(), below("templates", &["hbs"])));
    parts.sort();
    parts
}

/// What people read of a file: all of it, or the string literals and comments of a Rust file outside its tests.
fn texts(path: &Path, content: &str) -> Vec<String> {
    if path.extension().is_none_or(|ending| ending != "rs") {
        return vec![content.to_owned()];
    }
    let test =
        path.iter().any(|part| ["tests.rs", "tests", "testing"].contains(&part.to_string_lossy().as_ref()));
    let content = if test { "" } else { content.split("#[cfg(test)]\nmod ").next().unwrap_or_default() };
    let found = TEXTS.captures_iter(content).filter_map(|found| (1..=3).find_map(|group| found.get(group)));
    found.map(|text| CONTINUED.replace_all(text.as_str(), "").into_owned()).collect()
}

/// The hits of each kind in one file.
fn hits(path: &Path) -> [Vec<String>; 4] {
    let content = std::fs::read_to_string(path).unwrap();
    let mut found: [Vec<String>; 4] = Default::default();
    for text in texts(path, &content) {
        let around = |start: usize, end: usize| -> String {
            let before = text[..start].char_indices().rev().take(30).last().map_or(start, |(at, _)| at);
            text[before..end]
                .chars()
                .chain(text[end..].chars().take(30))
                .collect::<String>()
                .replace('\n', " ")
        };
        for (kind, pattern) in [&*WORD, &*GLUED, &*DOUBLED].into_iter().enumerate() {
            for hit in pattern.find_iter(&text) {
                let shown = around(hit.start(), hit.end());
                if !RIGHT.iter().any(|(right, _)| shown.contains(right)) {
                    found[kind].push(shown);
                }
            }
        }
    }
    if path.extension().is_some_and(|ending| ending == "rs") {
        let long = content.lines().enumerate().filter(|(_, line)| line.chars().count() > LINE_LIMIT);
        found[3].extend(long.map(|(number, _)| format!("line {}", number + 1)));
    }
    found
}

#[test]
fn texts_keep_within_their_budgets() {
    let budgets: BTreeMap<&str, [usize; 4]> = BUDGETS.iter().copied().collect();
    let (mut over, mut table) = (String::new(), String::new());
    for (part, files) in parts() {
        let budget = budgets.get(part.as_str()).copied().unwrap_or_default();
        let mut counts = [0; 4];
        let mut shown: [String; 4] = Default::default();
        for file in &files {
            for (kind, hits) in hits(file).into_iter().enumerate() {
                counts[kind] += hits.len();
                for hit in hits {
                    let _ =
                        writeln!(shown[kind], "    {}: {hit}", file.strip_prefix(root()).unwrap().display());
                }
            }
        }
        for kind in 0..4 {
            if counts[kind] > budget[kind] {
                let _ = writeln!(
                    over,
                    "{part}: {} of at most {}: {}\n{}",
                    counts[kind], budget[kind], KINDS[kind], shown[kind]
                );
            }
        }
        let _ = writeln!(table, "    ({part:?}, {counts:?}),");
    }
    assert!(
        over.is_empty(),
        "{over}\nUse standard words, or wrap the line. The numbers of today, for BUDGETS:\n{table}"
    );
}

/// A Rust file without what [`TEXTS`] finds: comments, strings, characters.
fn code(content: &str) -> String {
    TEXTS.replace_all(content, "\"\"").into_owned()
}

#[test]
fn identifiers_use_standard_words() {
    let mut found = String::new();
    for file in parts().into_iter().flat_map(|(_, files)| files) {
        if file.extension().is_none_or(|ending| ending != "rs") {
            continue;
        }
        let code = code(&std::fs::read_to_string(&file).unwrap());
        for hit in IDENTIFIER.find_iter(&code) {
            let line = code[..hit.start()].rsplit('\n').next().unwrap_or_default().trim_start();
            let _ =
                writeln!(found, "{}: {line}{}", file.strip_prefix(root()).unwrap().display(), hit.as_str());
        }
    }
    assert!(found.is_empty(), "rename these identifiers (see IDENTIFIERS):\n{found}");
    let text =
        "/// Says: told.\nlet a = \"it says\"; // inside\nlet c = 'x'; f(message); let said = tell_us;";
    assert!(!IDENTIFIER.is_match(&code(text)));
    assert!(IDENTIFIER.is_match(&code("Problem { says: text }")));
}

#[test]
fn language_patterns_match_their_examples() {
    for text in ["Start the container anew", "there is no nvidia-smi to ask", "what can be had of it"] {
        assert!(WORD.is_match(text), "{text}");
    }
    for text in ["next to it", "The run resumes.", "standing"] {
        assert!(!WORD.is_match(text), "{text}");
    }
    assert!(
        GLUED.is_match("see the page (https://example.org/page)")
            && !GLUED.is_match("[page](https://example.org/)")
    );
    assert!(
        GLUED.is_match("https://example.org/long-\n  name") && !GLUED.is_match("https://example.org/ now")
    );
    assert!(
        DOUBLED.is_match("it failed..")
            && DOUBLED.is_match("one,, two")
            && !DOUBLED.is_match("wait ... 3..5, a::b")
    );
    let rust = "/// A doc.\nfn f() { g(\"one \\\n    two\"); } // not\n#[cfg(test)]\nmod tests { const A: \
        &str = \"x\"; }";
    assert_eq!(texts(Path::new("a.rs"), rust), [" A doc.", "one two", " not"]);
}

/// A fix is an imperative with its commands; each is read by itself, in any order.
#[test]
fn no_fix_refers_to_the_one_before_it() {
    let refers = regex(
        r#"(?:fix|manual|safe|restarts_service|needs_reboot)\(\s*(?:format!\(\s*)?"(?:Or|Also|And|Then)\b"#,
    );
    let mut found = String::new();
    for (_, paths) in parts() {
        for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs")) {
            let text = std::fs::read_to_string(path).unwrap();
            for hit in refers.find_iter(&text) {
                found += &format!("{}: {}\n", path.display(), hit.as_str());
            }
        }
    }
    assert!(found.is_empty(), "begin with what to do:\n{found}");
}
