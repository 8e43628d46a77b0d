//! Code that searches a text for words reads what another program wrote: each such file is listed here with
//! that program. envdoc's own sentences are never taken apart; what is needed of them has a field.

use std::collections::BTreeSet;

use regex::Regex;

use super::imports::{files_outside_tests, production};
use super::source_of;

/// Files that search texts for two or more words, and who wrote these texts.
const READERS: &[(&str, &[(&str, &str)])] = &[
    ("build", &[("build_request.rs", "PEM files")]),
    (
        "checks",
        &[
            ("server/docker_engine_warnings.rs", "dockerd's warnings"),
            ("server/mixed_gpu_models.rs", "NVIDIA's product names"),
            ("server/nccl_transport_disabled.rs", "NVIDIA's product names"),
            ("server/persistence_mode_off.rs", "NVIDIA's product names"),
        ],
    ),
    (
        "cluster",
        &[
            ("activity.rs", "sshd, in the command line of the entrypoint's grep"),
            ("launch.rs", "DeepSpeed's launcher and pdsh"),
            ("smoke/nccl/library.rs", "the dynamic loader"),
            ("smoke/nccl/rank.rs", "NCCL's library"),
            ("smoke/nccl_log.rs", "NCCL"),
        ],
    ),
    (
        "diagnose",
        &[
            ("root_cause/ranking/mod.rs", "the docker client"),
            ("root_cause/recovered.rs", "containerd, curl and pip"),
            ("root_cause/traceback.rs", "Python"),
            ("torchrun.rs", "torchrun"),
        ],
    ),
    ("envdoc", &[("cli/explain/failure.rs", "shells")]),
    (
        "diagnostic",
        &[("missing.rs", "snapshots of schema 1, which had no kinds"), ("yaml.rs", "the YAML parser")],
    ),
    (
        "docker",
        &[
            ("build/classic.rs", "dockerd's classic builder"),
            ("error/connection.rs", "rustls"),
            ("error/messages.rs", "dockerd, BuildKit and credential helpers"),
            ("transport/ssh/messages.rs", "ssh and sshd"),
            ("transport/ssh/login_shell.rs", "nologin"),
        ],
    ),
    (
        "facts",
        &[
            ("cuda.rs", "the version file of a CUDA toolkit"),
            ("docker/daemon_json.rs", "the JSON parser"),
            ("docker/mod.rs", "dockerd's name of its system"),
            ("driver/mod.rs", "the NVIDIA driver"),
            ("fabric.rs", "NVIDIA's fabric manager"),
            ("gpu/nvlink.rs", "nvidia-smi nvlink"),
            ("gpu/smi.rs", "nvidia-smi"),
            ("gpu/warnings.rs", "nvidia-smi"),
            ("kernel_log.rs", "the kernel and the NVIDIA driver"),
            ("modules.rs", "modinfo"),
            ("python/locate.rs", "pyenv's shims"),
            ("system/mod.rs", "the kernel's /proc/cpuinfo"),
        ],
    ),
    (
        "host",
        &[
            ("redact/kernel.rs", "the kernel's log"),
            ("redact/shown.rs", "PEM files"),
            ("redact/system_files.rs", "pyenv's shims"),
        ],
    ),
    ("image", &[("render/mod.rs", "the mark in the first line of files that envdoc may replace")]),
    ("project", &[("patch/header.rs", "comments of pip-tools and uv")]),
    (
        "lint",
        &[
            ("compose/gpu_request_missing.rs", "comments that people write"),
            ("ray.rs", "the command line of Ray"),
            ("script/server_exceeds_gpus.rs", "the command line of Ray"),
            ("compose/sshd_port_taken.rs", "users' compose files"),
            ("dockerfile/apt_without_update.rs", "users' Dockerfiles"),
            ("dockerfile/built_for_other_system.rs", "users' CMakeLists.txt"),
            ("dockerfile/cache_left_in_layer.rs", "users' Dockerfiles"),
            ("dockerfile/private_key_in_image.rs", "users' Dockerfiles"),
            ("dockerfile/ssh_root_login.rs", "users' Dockerfiles"),
            ("dockerfile/started_script_refused.rs", "users' Dockerfiles"),
            ("kubernetes/gpu_resource_renamed.rs", "users' Kubernetes manifests"),
            ("read/settings/mod.rs", "users' compose files"),
            ("read/manifest.rs", "messages of the YAML parser"),
            ("accelerate/wrapped_class_of_other_model.rs", "users' programs"),
            ("collect/context/accelerate.rs", "users' programs"),
            ("script/conda_activate_unprepared.rs", "users' scripts"),
            ("script/lightning_tasks_differ.rs", "users' scripts"),
            ("script/gpus_list_not_quoted.rs", "users' scripts"),
            ("training/gathered_into_one_tensor.rs", "users' scripts"),
            ("script/started_image_without_torch.rs", "users' scripts"),
        ],
    ),
];

const SEARCHES: &str = concat!(
    r"\.(?:contains|find|rfind|split|rsplit|split_once|rsplit_once|splitn|starts_with|ends_with|strip_prefix",
    r"|strip_suffix|trim_start_matches|trim_end_matches|replace|replacen|matches|match_indices)\(\s*"
);

/// A search for a literal, and for a constant of the file.
struct Search {
    literal: Regex,
    constant: Regex,
    defined: Regex,
    words: Regex,
}

impl Search {
    fn new() -> Search {
        let literal = r#""((?:[^"\\]|\\.)*)""#;
        Search {
            literal: Regex::new(&format!("{SEARCHES}{literal}")).unwrap(),
            constant: Regex::new(&format!(r"{SEARCHES}([A-Z][A-Z0-9_]+)\b")).unwrap(),
            defined: Regex::new(&format!(r"\bconst ([A-Z][A-Z0-9_]+): &str =\s*{literal}")).unwrap(),
            words: Regex::new("[A-Za-z]{2,}[^A-Za-z]* [^A-Za-z]*[A-Za-z]{2,}").unwrap(),
        }
    }

    /// The texts of two or more words that a file searches for.
    fn found(&self, text: &str) -> Vec<String> {
        let text = production(text);
        let constants: Vec<_> =
            self.defined.captures_iter(&text).map(|one| (one[1].to_owned(), one[2].to_owned())).collect();
        let literals = self.literal.captures_iter(&text).map(|one| one[1].to_owned());
        let named = self.constant.captures_iter(&text).filter_map(|one| {
            let known = constants.iter().find(|(name, _)| *name == one[1]);
            known.map(|(_, value)| value.clone())
        });
        literals.chain(named).filter(|text| self.words.is_match(text)).collect()
    }
}

#[test]
fn only_declared_readers_search_texts_for_words() {
    let search = Search::new();
    let declared = |name: &str, file: &str| {
        let of_crate = READERS.iter().find(|(known, _)| *known == name);
        of_crate.is_some_and(|(_, files)| files.iter().any(|(known, _)| *known == file))
    };
    let (mut readers, mut shown) = (BTreeSet::new(), String::new());
    for name in super::crate_graph().into_keys() {
        let source = source_of(&name);
        for path in files_outside_tests(&source) {
            let file = path.strip_prefix(&source).unwrap().display().to_string();
            let found = search.found(&std::fs::read_to_string(&path).unwrap());
            if !found.is_empty() && !declared(&name, &file) {
                shown += &format!("    {name}: {file}: {found:?}\n");
            }
            if !found.is_empty() {
                readers.insert((name.clone(), file));
            }
        }
    }
    assert!(
        shown.is_empty(),
        "if envdoc wrote the text, give the part that is needed a field; if another program did, move the \
         search to the file that reads that program, or list it in READERS:\n{shown}"
    );
    let declared_files =
        READERS.iter().flat_map(|(name, files)| files.iter().map(|(file, _)| (*name, *file)));
    let stale: Vec<_> = declared_files
        .filter(|(name, file)| !readers.contains(&((*name).to_owned(), (*file).to_owned())))
        .collect();
    assert!(stale.is_empty(), "no longer search for words, remove them from READERS: {stale:?}");
}

#[test]
fn the_search_finds_what_it_should() {
    let search = Search::new();
    for line in [
        r#"let cut = whole.find(" With torch");"#,
        r#"words.split_once(" goes with ")"#,
        "printed\n    .lines()\n    .any(|line| line.starts_with(\n        \"not in a swarm\"))",
        "const MARK: &str = \"is not running\";\nfn f(line: &str) -> bool { line.ends_with(MARK) }",
    ] {
        assert_eq!(search.found(line).len(), 1, "{line}");
    }
    for line in [
        r#"line.contains("error")"#,
        r#"// text.contains("no wheel for")"#,
        r#"args.contains(", ")"#,
        "#[cfg(test)]\nmod tests {\n    fn f() { text.contains(\"no wheel for\"); }\n}\n",
    ] {
        assert!(search.found(line).is_empty(), "{line}");
    }
}
