//! Sentences are output: outside tests, no code takes apart a text that envdoc wrote. The search finds a
//! field or variable with a name that messages have, and a search for a fixed text in it. What other programs
//! wrote is read in the files listed here.

use std::collections::BTreeSet;

use regex::Regex;

use super::imports::{code, files_outside_tests, production};
use super::source_of;

/// A message that is searched for a literal; [`code`] has removed the literal itself.
const SEARCHED: &str = concat!(
    r"\b(?:cause|description|detail|error|explanation|fix|headline|hint|message|note|problem|reason|refusal",
    r"|remark|said|says|sentence|summary|text_of|title|verdict|warning|why)s?(?:\(\))?",
    r"(?:\s*\.(?:to_string\(\)|as_str\(\)|trim\(\)|to_lowercase\(\)))*",
    r"\s*\.(?:contains|starts_with|ends_with|find|rfind|split|rsplit|split_once|rsplit_once|strip_prefix",
    r"|strip_suffix|replace|replacen|matches)\(\s*(?:\)|,|\[|&format!)",
);

/// Files that read texts of other programs, or of snapshots of an older format, and whose.
const FOREIGN: &[(&str, &str, &str)] = &[
    ("checks", "server/docker_engine_warnings.rs", "dockerd's warnings"),
    ("cluster", "smoke/nccl/library.rs", "the dynamic loader's"),
    ("cluster", "smoke/nccl_log.rs", "NCCL's log lines"),
    ("cluster", "smoke/transport.rs", "NCCL's warnings"),
    ("diagnose", "root_cause/traceback.rs", "Python's exceptions"),
    ("diagnostic", "missing.rs", "details in snapshots of schema 1, which had no kinds"),
    ("diagnostic", "yaml.rs", "the YAML parser's"),
    ("docker", "error/connection.rs", "ssh's and the TLS library's"),
    ("docker", "error/messages.rs", "dockerd's"),
    ("facts", "docker/daemon_json.rs", "the JSON parser's"),
    ("facts", "kernel_log.rs", "the NVIDIA driver's kernel messages"),
    ("facts", "toolkit.rs", "the TOML parser's"),
];

#[test]
fn messages_are_never_parsed() {
    let searched = Regex::new(SEARCHED).unwrap();
    let listed: BTreeSet<(String, String)> =
        FOREIGN.iter().map(|(name, file, _)| ((*name).to_owned(), (*file).to_owned())).collect();
    let (mut found, mut shown) = (BTreeSet::new(), String::new());
    for name in super::crate_graph().into_keys() {
        let source = source_of(&name);
        for file in files_outside_tests(&source) {
            let text = code(&std::fs::read_to_string(&file).unwrap());
            let key = (name.clone(), file.strip_prefix(&source).unwrap().display().to_string());
            for hit in searched.find_iter(&text) {
                if !listed.contains(&key) {
                    shown += &format!("    {}: {}: {}\n", key.0, key.1, hit.as_str());
                }
                found.insert(key.clone());
            }
        }
    }
    assert!(shown.is_empty(), "give the part that is needed a field of its own:\n{shown}");
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "these no longer read foreign text, remove them from FOREIGN: {gone:?}");
}

/// The `Result<…, String>` of a code: whoever gets such an error can only print it, or take it apart.
fn errors_without_a_type(text: &str) -> Vec<&str> {
    let written = |start: usize| {
        let (mut depth, mut argument, mut before) = (0, start, ' ');
        for (at, letter) in text[start..].char_indices() {
            match letter {
                '<' | '(' | '[' => depth += 1,
                '>' if before == '-' => {}
                '>' if depth == 1 => {
                    let error = text[argument..start + at].trim().trim_end_matches(',');
                    return (error == "String").then(|| &text[start..=start + at]);
                }
                '>' | ')' | ']' => depth -= 1,
                ',' if depth == 1 && !text[start + at + 1..].trim_start().starts_with('>') => {
                    argument = start + at + 1;
                }
                _ => {}
            }
            before = letter;
        }
        None
    };
    text.match_indices("Result<").filter_map(|(at, word)| written(at + word.len() - 1)).collect()
}

#[test]
fn errors_have_types() {
    let mut shown = String::new();
    for name in super::crate_graph().into_keys() {
        for file in files_outside_tests(&source_of(&name)) {
            for hit in errors_without_a_type(&code(&std::fs::read_to_string(&file).unwrap())) {
                shown += &format!("    {}: Result{hit}\n", file.display());
            }
        }
    }
    assert!(
        shown.is_empty(),
        "an error that is only a text: give it a variant of the crate's Error:\n{shown}"
    );
    for (line, count) in [
        ("fn f() -> Result<(), String> {", 1),
        ("Result<\n    Vec<(u8, String)>,\n    String,\n>", 1),
        ("Result<Box<dyn Fn() -> Result<u8, String>>, Error>", 1),
        ("Result<BTreeMap<String, String>, Error> Result<String> Result<(String, String)>", 0),
    ] {
        assert_eq!(errors_without_a_type(line).len(), count, "{line}");
    }
}

#[test]
fn message_parsing_is_detected() {
    let searched = Regex::new(SEARCHED).unwrap();
    for line in [
        r#"if refusal.message.contains("no wheel") {"#,
        r#"says.split_once(" goes with ")"#,
        r#"why.to_string().starts_with('/')"#,
        r#"error.message().strip_prefix(&format!("{name}: "))"#,
        "said\n            .trim()\n            .ends_with(['.', ':'])",
    ] {
        assert!(searched.is_match(&code(line)), "{line}");
    }
    for line in ["warnings.contains(&says)", r#"line.contains("error")"#, r#"// message.contains("x")"#] {
        assert!(!searched.is_match(&code(line)), "{line}");
    }
}

/// A value of ours that is compared with a text: it should be an enum, or a constant that the compiler knows.
const COMPARED: &str = r#"\.(?:constraint|from|id|kind)(?:\(\)|\.as_str\(\))?\s*(?:==|!=)\s*""#;
/// A list of ours that was made one text.
const TAKEN_APART: &str = r#"split\("; "\)"#;

/// Files that compare words of foreign documents with texts, and whose.
const WORDS: &[(&str, &str, &str)] = &[
    ("checks", "distribution.rs", "os-release"),
    ("facts", "toolkit.rs", "CDI specifications"),
    ("lint", "dockerfile/apt_key_removed.rs", "a row of the catalog's systems"),
    ("lint", "kubernetes/config_key_missing.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/gpu_resource_renamed.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/mpi_slots_exceed_gpus.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/pod_peer_unresolved.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/pod_port_unserved.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/pod_server_on_loopback.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/runtime_class_unknown.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/selector_mismatch.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/volume_bound_to_one_node.rs", "Kubernetes manifests"),
    ("lint", "read/manifest.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/manifest_key_invalid.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/reference_unresolved.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/dns_forbidden.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/patch_target_missing.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/volume_mount_invalid.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/pod_gpu_count_differs.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/ordered_start_waits.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/pod_name_invalid.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/quantity_invalid.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/secret_data_invalid.rs", "Kubernetes manifests"),
    ("lint", "kubernetes/service_variable_collides.rs", "Kubernetes manifests"),
    ("lint", "read/python/structure.rs", "the nodes of a syntax tree"),
    ("lint", "read/python.rs", "the nodes of a syntax tree"),
];

#[test]
fn values_are_not_compared_with_texts() {
    let searched = Regex::new(&format!("{COMPARED}|{TAKEN_APART}")).unwrap();
    let listed: BTreeSet<(String, String)> =
        WORDS.iter().map(|(name, file, _)| ((*name).to_owned(), (*file).to_owned())).collect();
    let (mut found, mut shown) = (BTreeSet::new(), String::new());
    for name in super::crate_graph().into_keys() {
        let source = source_of(&name);
        for file in files_outside_tests(&source) {
            let text = production(&std::fs::read_to_string(&file).unwrap());
            let key = (name.clone(), file.strip_prefix(&source).unwrap().display().to_string());
            for hit in searched.find_iter(&text) {
                if !listed.contains(&key) {
                    shown += &format!("    {}: {}: {}\n", key.0, key.1, hit.as_str());
                }
                found.insert(key.clone());
            }
        }
    }
    assert!(shown.is_empty(), "give it a type, or a list of its own:\n{shown}");
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "these no longer compare words, remove them from WORDS: {gone:?}");
}

#[test]
fn comparisons_with_texts_are_detected() {
    let searched = Regex::new(&format!("{COMPARED}|{TAKEN_APART}")).unwrap();
    for line in [
        r#"if endpoint.from == "DOCKER_HOST" {"#,
        r#"reason.constraint != "package-asked-for""#,
        r#"interface.kind.as_str() == "loopback""#,
        r#"source.split("; ").any(|key| key == "list")"#,
    ] {
        assert!(searched.is_match(line), "{line}");
    }
    for line in [r#"constraint.id == requested::BUILD.id"#, r#"text.split(", ")"#, r#"a.kind == Kind::Heat"#]
    {
        assert!(!searched.is_match(line), "{line}");
    }
}
