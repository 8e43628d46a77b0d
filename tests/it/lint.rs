//! `envdoc lint` on whole files: the recipes that users follow, files that are well, and what the program
//! does with them.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests run the program and read its files"
)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lint");

fn command(arguments: &[&str], dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
    command.arg("lint").args(arguments).current_dir(dir);
    command.env("ENVDOC_CATALOG_DIR", "").env_remove("ENVDOC_LINT_IGNORE");
    command
}

fn lint(arguments: &[&str], dir: &Path) -> Output {
    command(arguments, dir).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn findings(arguments: &[&str], dir: &Path) -> Vec<serde_json::Value> {
    let output = lint(&[arguments, &["--format", "json"]].concat(), dir);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    report["findings"].as_array().unwrap().clone()
}

fn shown(finding: &serde_json::Value) -> String {
    let word = |key: &str| finding[key].as_str().unwrap().to_owned();
    format!("{}:{} {} {}: {}", word("file"), finding["line"], word("severity"), word("rule"), word("says"))
}

fn seeds() -> PathBuf {
    Path::new(FOLDER).join("seeds")
}

/// Whatever is found in the recipes, in full.
#[test]
fn the_recipes() {
    let lines: Vec<String> = findings(&["."], &seeds()).iter().map(shown).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

/// Every true defect of the recipes is named, on its line.
#[test]
fn every_defect_of_the_recipes_is_named() {
    let cuda = "cuda-base.Dockerfile";
    let slim = "python-slim.Dockerfile";
    let literal = "python-slim.literal.Dockerfile";
    let devel = "pytorch-devel.Dockerfile";
    let node = "multi-node.Dockerfile";
    let compose = "multi-node.docker-compose.yml";
    let expected = [
        (cuda, 1, "base-image-missing"),
        (cuda, 3, "torch-release-missing"),
        (cuda, 3, "torch-partners-mismatch"),
        (cuda, 5, "deepspeed-import-fails"),
        (slim, 3, "torch-release-missing"),
        (slim, 3, "torch-partners-mismatch"),
        (slim, 4, "nvcc-missing"),
        (literal, 2, "broken-shell-words"),
        (literal, 4, "broken-shell-words"),
        (literal, 4, "torch-release-missing"),
        (literal, 4, "torch-partners-mismatch"),
        (literal, 5, "nvcc-missing"),
        (literal, 6, "broken-shell-words"),
        (devel, 2, "python-not-in-archive"),
        (devel, 3, "wrong-python-for-pip"),
        (node, 3, "cache-left-in-layer"),
        (node, 7, "python-built-from-source"),
        (compose, 1, "compose-version-obsolete"),
        (compose, 26, "external-network-unseen"),
    ];
    let found = findings(&["."], &seeds());
    for (file, line, rule) in expected {
        let named = found.iter().any(|one| one["file"] == file && one["line"] == line && one["rule"] == rule);
        assert!(named, "{file}:{line} {rule}\n{}", found.iter().map(shown).collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn valid_files_have_no_findings() {
    let found: Vec<String> = findings(&["."], &Path::new(FOLDER).join("valid")).iter().map(shown).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn exit_code_depends_on_severity_and_fail_on() {
    let code = |arguments: &[&str]| lint(arguments, &seeds()).status.code();
    assert_eq!(code(&["."]), Some(1));
    assert_eq!(code(&[".", "--fail-on", "never"]), Some(0));
    assert_eq!(code(&["multi-node.docker-compose.yml"]), Some(0));
    assert_eq!(code(&["multi-node.docker-compose.yml", "--fail-on", "note"]), Some(1));
    assert_eq!(code(&["none.Dockerfile"]), Some(2));
    assert_eq!(code(&[".", "--only", "no-such-rule"]), Some(2));
    assert_eq!(code(&["--rules"]), Some(0));
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(lint(&["."], empty.path()).status.code(), Some(2));
}

#[test]
fn only_and_ignore_select_rules() {
    let rules = |arguments: &[&str]| -> Vec<String> {
        let found = findings(&[&["cuda-base.Dockerfile"], arguments].concat(), &seeds());
        found.iter().map(|one| one["rule"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(rules(&["--only", "base-image-missing"]), ["base-image-missing"]);
    assert!(!rules(&["--ignore", "base-image-missing"]).contains(&"base-image-missing".to_owned()));
    let output = lint(&[".", "--only", "base-image-mising"], &seeds());
    assert!(text(&output.stderr).contains("did you mean base-image-missing?"), "{}", text(&output.stderr));
}

#[test]
fn reads_standard_input_as_the_given_type() {
    let run = |arguments: &[&str], input: &str| {
        let mut child = command(arguments, &seeds())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
    };
    let (code, said) = run(&["-"], "FROM nvidia/cuda:12.1-base\n");
    assert!(code == 1 && said.contains("base-image-missing"), "{said}");
    let (code, said) = run(&["-"], "torch==2.6.0\n");
    assert!(code == 2 && said.contains("--as"), "{said}");
    let stack = "services:\n  a:\n    image: b\n    shm_size: 8g\n";
    assert_eq!(run(&["-", "--as", "compose", "--fail-on", "warning"], stack).0, 0);
    assert_eq!(run(&["-", "--stack", "--fail-on", "warning"], stack).0, 1);
}

#[test]
fn comments_in_the_file_leave_rules_out() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("Dockerfile");
    std::fs::write(
        &file,
        "FROM scratch\n# envdoc: ignore=base-image-missing\nFROM nvidia/cuda:12.1-base\nRUN x\n",
    )
    .unwrap();
    assert_eq!(findings(&["."], dir.path()), Vec::<serde_json::Value>::new());
}

/// Only contents tell a stack file from other programs' `*stack.yaml`, and a Dockerfile from a manifest.
#[test]
fn contents_decide_the_type() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &[u8]| std::fs::write(dir.path().join(path), text).unwrap();
    write("vpc-stack.yaml", b"AWSTemplateFormatVersion: \"2010-09-09\"\nResources: {}\n");
    write("stack.yaml", b"resolver: lts-22.0\npackages: [.]\n");
    write("Dockerfile.pod", b"apiVersion: v1\nkind: Pod\nspec: {{ pod_spec }}\n");
    write("dockerfile-stages.png", b"\x89PNG\r\n\x1a\n\0\0\0\x0d\xff");
    write("train.env", b"NCCL_DEBUG=WARN\n");
    let output = lint(&[".", "--format", "json"], dir.path());
    assert_eq!(output.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["findings"], serde_json::json!([]));
    assert_eq!(report["checked"][0]["type"], "environment");
    let skipped: Vec<String> = report["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one["file"].as_str().unwrap(), one["reason"].as_str().unwrap()))
        .collect();
    let expected = [
        "Dockerfile.pod kubernetes",
        "dockerfile-stages.png binary",
        "stack.yaml unknown-type",
        "vpc-stack.yaml cloudformation",
    ];
    assert_eq!(skipped, expected);
    let alone = lint(&["Dockerfile.pod"], dir.path());
    assert_eq!(alone.status.code(), Some(2));
    assert!(
        text(&alone.stderr).contains("Dockerfile.pod is a template of a Kubernetes manifest"),
        "{alone:?}"
    );
}

/// Each of several files is judged, whatever the others are.
#[test]
fn one_file_keeps_no_other_from_being_linted() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &[u8]| std::fs::write(dir.path().join(path), text).unwrap();
    write("Dockerfile", b"FROM nvidia/cuda:12.1-base\n");
    write("latin1.sh", b"echo \xe9\n");
    write("utf16.env", b"\xff\xfeA\x00=\x001\x00");
    write("pod.yaml", b"apiVersion: v1\nkind: Pod\nspec: {{ pod_spec }}\n");
    write("fine.env", b"NCCL_DEBUG=WARN\n");
    let rules = |arguments: &[&str]| -> Vec<String> {
        let one = |one: &serde_json::Value| {
            format!("{} {}", one["file"].as_str().unwrap(), one["rule"].as_str().unwrap())
        };
        findings(arguments, dir.path()).iter().map(one).collect()
    };
    let expected =
        ["Dockerfile base-image-missing", "latin1.sh file-unreadable", "utf16.env file-unreadable"];
    assert_eq!(rules(&["."]), expected);
    assert_eq!(rules(&["Dockerfile", "latin1.sh", "utf16.env"]), expected);
    assert_eq!(
        rules(&["pod.yaml", "Dockerfile", "gone.env"]),
        ["Dockerfile base-image-missing", "gone.env file-unreadable", "pod.yaml file-type-unknown"]
    );
    // What was not checked is no pass.
    let code = |arguments: &[&str]| lint(arguments, dir.path()).status.code();
    assert_eq!(code(&["pod.yaml", "fine.env"]), Some(3));
    assert_eq!(code(&["pod.yaml", "fine.env", "--fail-on", "warning"]), Some(1));
    assert_eq!(code(&["pod.yaml", "fine.env", "--fail-on", "never"]), Some(0));
}

/// Lists of packages of any tool are of a kind of their own, extras of a project apart.
#[test]
fn lists_of_packages() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("environment.yml", "dependencies:\n  - python=3.12\n  - pip:\n    - torch==2.6.1\n");
    write(
        "pyproject.toml",
        "[project]\ndependencies = [\n  \"numpyy\",\n]\n[project.optional-dependencies]\nold = \
         [\"numpy==1.26.4\"]\n\
         new = [\"numpy==2.0.7\"]\n",
    );
    write("requirements/cuda.txt", "transformers==4.99\n");
    write("dev-requirements.txt", "numpy==1.26.4\nnumpy==2.0.2\n");
    write(".env", "NCCL_IB_DISABLE=yes\n");
    let one = |one: &serde_json::Value| {
        format!("{}:{} {}", one["file"].as_str().unwrap(), one["line"], one["rule"].as_str().unwrap())
    };
    let mut found: Vec<String> = findings(&["."], dir.path()).iter().map(one).collect();
    found.sort();
    let expected = [
        ".env:1 variable-value-not-taken",
        "dev-requirements.txt:2 packages-do-not-resolve",
        "environment.yml:4 torch-release-missing",
        "pyproject.toml:3 package-name-misspelled",
        "pyproject.toml:7 package-release-missing",
        "requirements/cuda.txt:1 package-release-missing",
    ];
    assert_eq!(found, expected);
}

/// Without arguments the current directory is linted; the report says what was checked and what was not.
#[test]
fn the_report_says_what_was_checked() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| std::fs::write(dir.path().join(path), text).unwrap();
    write("train.env", "NCCL_DEBUG=WARN\n");
    write("README.md", "# Training\n");
    let output = lint(&[], dir.path());
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let rules = lint::RULES.iter().filter(|rule| rule.subject() == lint::Subject::Variables).count();
    assert!(said.contains(&format!("environment: 1 file, {rules} rules (train.env)")), "{said}");
    assert!(said.contains("skipped, unknown type: 1 file (README.md)"), "{said}");
    let one = text(&lint(&["--only", "debugging-left-on"], dir.path()).stdout);
    assert!(one.contains("environment: 1 file, 1 rule (train.env)"), "{one}");
}

/// Makefiles are what make reads by itself, and what pip installed is not the project's.
#[test]
fn a_module_named_makefile_and_a_virtual_environment_have_no_findings() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let module = "from io import BytesIO\n\nx: int = 1\n    # a comment\nif x:\n    x = 2\n";
    write("backports/makefile.py", module);
    write("makefile.gpu", "train: data\n  python train.py\n");
    write("env/pyvenv.cfg", "home = /usr/bin\n");
    write("env/lib/Makefile", "train: data\n  python train.py\n");
    let output = lint(&["."], dir.path());
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains("skipped, virtual environment, not searched: 1 directory (env)"), "{shown}");
    assert!(!shown.contains("makefile: "), "{shown}");
    // A directory that was named is searched.
    let named = findings(&["env"], dir.path());
    assert_eq!(named[0]["rule"], "recipe-without-tab", "{named:?}");
}

/// `--as compose` does not make a pass of what docker compose refuses.
#[test]
fn a_file_without_keys_of_compose_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x.yaml"), "foo: bar\n").unwrap();
    let found = findings(&["x.yaml", "--as", "compose"], dir.path());
    let expected = "x.yaml:1 error compose-unreadable: docker compose refuses the file: additional \
     property `foo` \
                    at the top level";
    assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), [expected]);
}

/// The build context is found from any working directory, and whether or not the name has a directory.
#[test]
fn requirements_are_read_from_any_working_directory() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(".git/HEAD", "");
    write("requirements.txt", "torch==2.6.1\n");
    write(
        "docker/Dockerfile",
        "FROM python:3.11\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n",
    );
    write("Dockerfile", "FROM python:3.11\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n");
    let files = |name: &str, folder: &str| -> Vec<String> {
        let arguments = [name, "--only", "torch-release-missing"];
        let found = findings(&arguments, &dir.path().join(folder));
        found.iter().map(|one| one["file"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(files("Dockerfile", "."), ["requirements.txt"]);
    assert_eq!(files("./Dockerfile", "."), ["requirements.txt"]);
    assert_eq!(files("docker/Dockerfile", "."), ["requirements.txt"]);
    assert_eq!(files("Dockerfile", "docker"), ["../requirements.txt"]);
    assert_eq!(files("./Dockerfile", "docker"), ["../requirements.txt"]);
}

/// Lists of packages are read from the build context: next to the Dockerfile, or above it where that lacks
/// what is copied.
#[test]
fn requirements_files_are_followed() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(".git/HEAD", "");
    write("need/base.txt", "numpy==2.1.0\ntorch==2.2.2\n");
    write(
        "docker/Dockerfile",
        "FROM python:3.11\nCOPY need need\nRUN pip install --no-cache-dir -r need/all.txt\n",
    );
    write("need/all.txt", "-r base.txt\ntorchvision==0.16.0 # envdoc: ignore=torch-partners-mismatch\n");
    let found: Vec<String> = findings(&["docker"], dir.path()).iter().map(shown).collect();
    let message = "need/base.txt:1 error numpy-too-new-for-torch: torch 2.2.2 was built against numpy 1 and \
                   fails with numpy 2 (\"Numpy is not available\") (installed in line 3 of \
                   docker/Dockerfile)";
    assert_eq!(found, [message]);
    write(
        "docker/Dockerfile",
        "FROM python:3.11\nCOPY gone need\nRUN pip install --no-cache-dir -r need/all.txt\n",
    );
    assert_eq!(findings(&["docker"], dir.path()).len(), 0);
    assert_eq!(findings(&["docker", "--context", "."], dir.path()).len(), 0);
    write("other/all.txt", "torch==2.6.1\n");
    write(
        "docker/Dockerfile",
        "FROM python:3.11\nCOPY . need\nRUN pip install --no-cache-dir -r need/all.txt\n",
    );
    assert_eq!(findings(&["docker", "--context", "other"], dir.path())[0]["file"], "other/all.txt");
}

/// compose.yaml and compose.override.yaml of a folder are one file, and so are those of --file.
#[test]
fn compose_files_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| std::fs::write(dir.path().join(path), text).unwrap();
    write("compose.yaml", "services:\n  a:\n    image: vllm/vllm-openai:latest\n");
    write(
        "compose.override.yaml",
        "services:\n  a:\n    deploy: {resources: {reservations: {devices: [{count: 1}]}}}\n",
    );
    write("gpu.yaml", "services:\n  a:\n    gpus: all\n    shm_size: 8g\n");
    let rules = |arguments: &[&str]| -> Vec<String> {
        let shown = |one: &serde_json::Value| {
            format!("{}:{} {}", one["file"].as_str().unwrap(), one["line"], one["rule"].as_str().unwrap())
        };
        findings(arguments, dir.path()).iter().map(shown).collect()
    };
    assert_eq!(
        rules(&["compose.yaml", "--only", "gpu-request-missing"]),
        ["compose.yaml:2 gpu-request-missing"]
    );
    let both = rules(&[".", "--only", "gpu-request-missing,gpu-request-invalid"]);
    // A request without capabilities is none, and invalid where it stands.
    assert_eq!(both, ["compose.yaml:2 gpu-request-missing", "compose.override.yaml:3 gpu-request-invalid"]);
    assert_eq!(
        rules(&["-f", "compose.yaml", "-f", "gpu.yaml", "--only", "gpu-request-missing"]),
        Vec::<String>::new()
    );
    assert_eq!(lint(&["-f", "none.yaml"], dir.path()).status.code(), Some(2));
}

#[test]
fn sarif_github_and_text_report_every_finding() {
    let sarif = lint(&["cuda-base.Dockerfile", "--format", "sarif"], &seeds());
    let log: serde_json::Value = serde_json::from_slice(&sarif.stdout).unwrap();
    let result = &log["runs"][0]["results"][0];
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "cuda-base.Dockerfile");
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(rules[index]["id"], result["ruleId"]);
    let github = text(&lint(&["cuda-base.Dockerfile", "--format", "github"], &seeds()).stdout);
    assert!(
        github.starts_with("::error file=cuda-base.Dockerfile,line=1,title=base-image-missing::"),
        "{github}"
    );
    let plain = text(&lint(&["cuda-base.Dockerfile"], &seeds()).stdout);
    assert!(plain.contains("line 1: base-image-missing") && plain.contains("envdoc explain RULE"), "{plain}");
}

#[test]
fn explain_knows_every_rule() {
    for rule in lint::RULES {
        let output = Command::new(env!("CARGO_BIN_EXE_envdoc")).args(["explain", rule.id]).output().unwrap();
        assert!(text(&output.stdout).contains("## Why it matters"), "{}", rule.id);
    }
}

/// The judged findings of public files: facts with their sources, of rules that exist; no error is false.
#[test]
fn the_corpus_is_judged() {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Corpus {
        checked: String,
        repositories: Vec<Repository>,
        judged: Vec<Judged>,
    }
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Repository {
        repository: String,
        commit: String,
        files: usize,
        errors: usize,
        warnings: usize,
        #[serde(rename = "notes")]
        _notes: usize,
    }
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Judged {
        repository: String,
        path: String,
        line: usize,
        rule: String,
        severity: String,
        verdict: bool,
        why: String,
    }
    let file = Path::new(FOLDER).join("corpus.yaml");
    let corpus: Corpus = serde_yaml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(corpus.checked.len(), 10);
    assert!(corpus.repositories.iter().map(|one| one.files).sum::<usize>() >= 100);
    for one in &corpus.repositories {
        assert!(
            one.commit.len() >= 10 && one.commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{}",
            one.repository
        );
        let of = |severity: &str| {
            corpus
                .judged
                .iter()
                .filter(|judged| judged.repository == one.repository && judged.severity == severity)
                .count()
        };
        assert_eq!((of("error"), of("warning")), (one.errors, one.warnings), "{}", one.repository);
    }
    for one in &corpus.judged {
        let label = format!("{}:{}:{} {}", one.repository, one.path, one.line, one.rule);
        assert!(lint::RULES.iter().any(|rule| rule.id == one.rule), "{label}");
        assert!(one.why.len() > 10, "{label}");
        assert!(one.verdict || one.severity != "error", "a false error: {label}");
    }
}

/// What services read from an env file is judged with the compose file, and facts of a machine join in.
#[test]
fn env_files_and_facts() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| std::fs::write(dir.path().join(path), text).unwrap();
    write("compose.yaml", "services:\n  a:\n    image: b\n    env_file: [train.vars]\n");
    write("train.vars", "NCCL_IB_RETRY_CNT=13\nNCCL_SOCKET_IFNAME=enp999s0\n");
    let rules = |arguments: &[&str]| -> Vec<String> {
        let one = |one: &serde_json::Value| {
            format!("{}:{} {}", one["file"].as_str().unwrap(), one["line"], one["rule"].as_str().unwrap())
        };
        findings(arguments, dir.path()).iter().map(one).collect()
    };
    assert_eq!(rules(&["compose.yaml"]), ["train.vars:1 variable-value-not-taken"]);
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/healthy-h100-x8-sxm-ubuntu-22.04.json");
    assert_eq!(
        rules(&["compose.yaml", "--from", server]),
        ["train.vars:1 variable-value-not-taken", "train.vars:2 variable-names-nothing-here"]
    );
}

/// A Dockerfile in the working directory that copies all of it has that directory as its context.
#[test]
fn the_working_directory_is_the_context_of_a_dockerfile_that_copies_it() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| std::fs::write(dir.path().join(path), text).unwrap();
    write(
        "Dockerfile",
        "FROM python:3.12-slim\nCOPY . /app\nWORKDIR /app\nRUN pip install -r requirements.txt\n",
    );
    write("requirements.txt", "torch==2.6.1\n");
    for name in ["Dockerfile", "./Dockerfile", "."] {
        let output = lint(&[name], dir.path());
        assert!(text(&output.stdout).contains("2.6.1"), "{name}: {}", text(&output.stdout));
    }
}

/// What a file names outside of its repository is not read, and the report says so.
#[test]
fn files_outside_of_the_repository_are_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        std::fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
        std::fs::write(dir.path().join(path), text).unwrap();
    };
    write("secret.vars", "NCCL_IB_RETRY_CNT=13\n");
    write("repo/.git/HEAD", "");
    write("repo/all.vars", "NCCL_IB_RETRY_CNT=14\n");
    write(
        "repo/a/compose.yaml",
        "services:\n  a:\n    image: b\n    env_file: [../all.vars, ../../secret.vars]\n",
    );
    let output = lint(&["compose.yaml", "--format", "json"], &dir.path().join("repo/a"));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let found: Vec<&str> =
        report["findings"].as_array().unwrap().iter().map(|one| one["file"].as_str().unwrap()).collect();
    assert_eq!(found, ["../all.vars"]);
    assert_eq!(report["skipped"], serde_json::json!([{"file": "../../secret.vars", "reason": "outside"}]));
    let output = lint(&["compose.yaml"], &dir.path().join("repo/a"));
    assert!(
        text(&output.stdout).contains("not read: 1 file\n    (../../secret.vars)"),
        "{}",
        text(&output.stdout)
    );
}

/// A named pipe would wait for a writer, and a file above the limit would be read by every rule.
#[test]
fn named_pipes_and_large_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Command::new("mkfifo").arg(dir.path().join("x.env")).status().unwrap().success());
    std::fs::File::create(dir.path().join("big.sh")).unwrap().set_len((4 << 20) + 1).unwrap();
    let error = |name: &str| text(&lint(&[name], dir.path()).stderr);
    assert!(
        error("x.env").contains("cannot read x.env: it is a named pipe, not a file"),
        "{}",
        error("x.env")
    );
    assert!(error("big.sh").contains("cannot read big.sh: it is larger than 4 MiB"), "{}", error("big.sh"));
    let whys = findings(&["x.env", "big.sh"], dir.path());
    assert!(whys.iter().all(|one| one["rule"] == "file-unreadable") && whys.len() == 2, "{whys:?}");
}

/// The running environment and the files of this machine.
#[test]
fn here_option_lints_environment_and_local_files() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(".deepspeed_env"), "NCCL_DEBUG=WARN\n\n").unwrap();
    let output = command(&["--here", "--format", "json"], home.path())
        .env("NCCL_TIMEOUT", "1800")
        .env("HOME", home.path())
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let found: Vec<String> = report["findings"].as_array().unwrap().iter().map(shown).collect();
    assert!(
        found.iter().any(|one| one.starts_with("the environment:") && one.contains("variable-not-read")),
        "{found:?}"
    );
    assert!(
        found.iter().any(|one| one.contains(".deepspeed_env:2 error deepspeed-env-invalid")),
        "{found:?}"
    );
}

/// Known mistakes of tutorials are named.
#[test]
fn known_mistakes_of_tutorials_are_reported() {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Trap {
        trap: String,
        rule: String,
        lines: Vec<String>,
    }
    let file = Path::new(FOLDER).join("traps.yaml");
    let traps: Vec<Trap> = serde_yaml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut missed = Vec::new();
    for one in &traps {
        let file = lint::File::new(
            catalog::testing::catalog(),
            "Dockerfile",
            one.lines.join("\n") + "\n",
            lint::Kind::Dockerfile,
        );
        let found: Vec<&str> =
            lint::lint(lint::RULES, checks::CHECKS, &file).iter().map(|one| one.rule.id).collect();
        if !found.contains(&one.rule.as_str()) {
            missed.push(format!("{}: {} is not among {found:?}", one.trap, one.rule));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Every claim of tutorials that is wrong and shows in a file is found there.
#[test]
fn wrong_claims_of_tutorials_are_reported() {
    let missed: Vec<String> = envdoc_claims()
        .into_iter()
        .filter_map(|one| {
            let (rule, name, text) = (one.rule?, one.file?, one.text?);
            let named = lint::recognize::kind_of_name(&name).or_else(|| lint::recognize::kind_of_text(&text));
            let file = lint::File::new(catalog::testing::catalog(), name, text, named.unwrap());
            let found = lint::lint(lint::RULES, checks::CHECKS, &file);
            let ids: Vec<&str> = found.iter().map(|one| one.rule.id).collect();
            (!ids.contains(&rule.as_str()))
                .then(|| format!("{} {}: {rule} is not among {ids:?}", one.id, one.claim))
        })
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    id: String,
    claim: String,
    #[serde(rename = "verdict")]
    _verdict: String,
    rule: Option<String>,
    file: Option<String>,
    text: Option<String>,
    #[serde(rename = "unseen")]
    _unseen: Option<String>,
}

fn envdoc_claims() -> Vec<Claim> {
    serde_yaml::from_str(&std::fs::read_to_string(Path::new(FOLDER).join("claims.yaml")).unwrap()).unwrap()
}

/// Whatever a file contains, lint ends: the files of this folder, cut off and with foreign characters in
/// them.
#[test]
fn damaged_files_break_nothing() {
    let folders = ["seeds", "valid"].map(|name| Path::new(FOLDER).join(name));
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    for path in files.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(kind) = lint::recognize::kind_of_name(&name) else { continue };
        let text = std::fs::read_to_string(&path).unwrap();
        let places = text.char_indices().map(|(offset, _)| offset).step_by(11);
        for (count, offset) in places.enumerate() {
            let (before, after) = text.split_at(offset);
            let marks = [
                "\"", "'", "${", "$(", "`", "<<EOF", "\\\n", "é", "\u{fffd}", "\r\n", "- ", "&a *a", "{",
                " - ",
            ];
            let mark = marks[count % marks.len()];
            for text in [before.to_owned(), after.to_owned(), format!("{before}{mark}{after}")] {
                lint::lint(
                    lint::RULES,
                    checks::CHECKS,
                    &lint::File::new(catalog::testing::catalog(), name.clone(), text, kind),
                );
            }
        }
    }
}

/// What envdoc renders passes its own lint.
#[test]
fn rendered_images_have_no_findings() {
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("images");
    let found: Vec<String> =
        findings(&["."], &images).iter().filter(|one| one["severity"] != "note").map(shown).collect();
    assert_eq!(found, Vec::<String>::new());
}

/// A folder with files that have certain fixes, and one whose mode must stay.
fn broken() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write(
        "compose.yaml",
        "# kept\nversion: \"3.8\"\nservices:\n  a:\n    image: b\n    shmsize: 8gb # why\n",
    );
    write("train.env", "NCCL_IB_DISABLE=yes\r\nA=b");
    let mode = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(dir.path().join("train.env"), mode).unwrap();
    dir
}

fn read(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap()
}

/// `lint --fix` writes what is certain, keeps the old text and the mode, and has nothing to do a second time.
#[test]
fn fix_changes_files_and_keeps_the_old_ones() {
    use std::os::unix::fs::PermissionsExt;
    let dir = broken();
    let (compose, env) = (read(dir.path(), "compose.yaml"), read(dir.path(), "train.env"));
    let dry = lint(&["--fix", "--dry-run"], dir.path());
    let diff = text(&dry.stdout);
    assert!(diff.starts_with("--- compose.yaml\n+++ compose.yaml\n@@"), "{diff}");
    assert!(
        diff.contains("\n-version: \"3.8\"\n") && diff.contains("\n+    shm_size: 8gb # why\n"),
        "{diff}"
    );
    assert!(diff.contains("\n-NCCL_IB_DISABLE=yes\r\n+NCCL_IB_DISABLE=1\r\n"), "{diff}");
    assert_eq!((read(dir.path(), "compose.yaml"), dry.status.code()), (compose.clone(), Some(0)), "{diff}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);

    let output = lint(&["--fix"], dir.path());
    let shown = text(&output.stdout);
    assert!(shown.starts_with("--- compose.yaml\n") && shown.contains("transport-switched-off"), "{shown}");
    assert_eq!(output.status.code(), Some(0), "{shown}");
    let said = text(&output.stderr);
    assert!(said.contains("fixed 3 findings in 2 files; the old text is in "), "{said}");
    let fixed = "# kept\nservices:\n  a:\n    image: b\n    shm_size: 8gb # why\n";
    assert_eq!(read(dir.path(), "compose.yaml"), fixed);
    assert_eq!(read(dir.path(), "train.env"), "NCCL_IB_DISABLE=1\r\nA=b");
    assert_eq!((read(dir.path(), "compose.yaml.orig"), read(dir.path(), "train.env.orig")), (compose, env));
    for name in ["train.env", "train.env.orig"] {
        let mode = std::fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o640, "{name}");
    }

    assert_eq!(text(&lint(&["--fix", "--dry-run"], dir.path()).stdout), "");
    lint(&["--fix"], dir.path());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4, "the backups are not linted");
    // An older backup is never replaced.
    std::fs::write(dir.path().join("train.env"), "NCCL_IB_DISABLE=true\n").unwrap();
    lint(&["--fix"], dir.path());
    assert_eq!(read(dir.path(), "train.env.1.orig"), "NCCL_IB_DISABLE=true\n");
}

/// What cannot be written is reported as it is, and the other files are written.
#[test]
fn fix_reports_files_that_it_cannot_write() {
    let dir = broken();
    // Nothing can take the place of a name that is too long with `.orig` behind it.
    let long = format!("{}.env", "a".repeat(250));
    std::fs::rename(dir.path().join("train.env"), dir.path().join(&long)).unwrap();
    let output = lint(&["--fix", "--format", "json"], dir.path());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("error: cannot") && said.contains("--- compose.yaml"), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let left = report["findings"].as_array().unwrap();
    assert!(left.iter().any(|one| one["rule"] == "variable-value-not-taken"), "{left:?}");
    assert!(read(dir.path(), "compose.yaml").contains("shm_size"));
    assert_eq!(read(dir.path(), &long), "NCCL_IB_DISABLE=yes\r\nA=b");
}

/// A link stays one; the file that it leads to is changed.
#[test]
fn fix_follows_links_and_refuses_what_is_no_file() {
    let dir = broken();
    std::fs::create_dir(dir.path().join("real")).unwrap();
    std::fs::rename(dir.path().join("train.env"), dir.path().join("real/train.env")).unwrap();
    std::os::unix::fs::symlink("real/train.env", dir.path().join("link.env")).unwrap();
    assert_eq!(lint(&["--fix", "link.env"], dir.path()).status.code(), Some(0));
    assert!(std::fs::symlink_metadata(dir.path().join("link.env")).unwrap().is_symlink());
    assert_eq!(read(dir.path(), "real/train.env"), "NCCL_IB_DISABLE=1\r\nA=b");
    for arguments in [
        &["--fix", "-"][..],
        &["--fix", "--here"],
        &["--dry-run"],
        &["--fix", "--dry-run", "--format", "json"],
    ] {
        assert_eq!(lint(arguments, dir.path()).status.code(), Some(2), "{arguments:?}");
    }
}

/// The edits are in the JSON report and in SARIF, by bytes, lines and columns.
#[test]
fn edits_are_in_the_reports() {
    let dir = broken();
    let found = findings(&["compose.yaml"], dir.path());
    let edit = &found.iter().find(|one| one["rule"] == "compose-key-refused").unwrap()["edits"][0];
    let expected = serde_json::json!({
        "file": "compose.yaml",
        "start": {"byte": 54, "line": 6, "column": 5},
        "end": {"byte": 61, "line": 6, "column": 12},
        "text": "shm_size",
    });
    assert_eq!(*edit, expected);
    let sarif = lint(&["compose.yaml", "--format", "sarif"], dir.path());
    let log: serde_json::Value = serde_json::from_slice(&sarif.stdout).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let result = results.iter().find(|one| one["ruleId"] == "compose-key-refused").unwrap();
    let change = &result["fixes"][0]["artifactChanges"][0];
    assert_eq!(change["artifactLocation"]["uri"], "compose.yaml");
    let region = serde_json::json!({"startLine": 6, "startColumn": 5, "endLine": 6, "endColumn": 12});
    assert_eq!(change["replacements"][0]["deletedRegion"], region);
    assert_eq!(change["replacements"][0]["insertedContent"]["text"], "shm_size");
}

/// A file that is not what it was when it was linted stays as it is, and gets no backup.
#[test]
fn a_file_that_changed_meanwhile_is_not_fixed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("train.env");
    std::fs::write(&path, "NCCL_IB_DISABLE=no\n").unwrap();
    let file = project::ChangedFile {
        name: path.display().to_string(),
        before: "NCCL_IB_DISABLE=yes\n".into(),
        after: "NCCL_IB_DISABLE=1\n".into(),
    };
    let error = file.write().unwrap_err();
    assert!(error.message.contains("changed while"), "{}", error.message);
    assert_eq!(read(dir.path(), "train.env"), "NCCL_IB_DISABLE=no\n");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// Only what takes more than a second is shown, and how long the files take depends on the machine and the
/// build: a quick run shows nothing, and proves nothing. That a short wait shows nothing is a matter of
/// `Waiting`; this test shows that `lint` uses it.
#[test]
fn many_files_are_waited_for_visibly() {
    let dir = tempfile::tempdir().unwrap();
    let steps = "RUN apt-get update && apt-get install -y curl\nRUN pip install torch numpy\n".repeat(20);
    for number in 0..1500 {
        let folder = dir.path().join(format!("image{number}"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("Dockerfile"), format!("FROM ubuntu:22.04\n{steps}")).unwrap();
    }
    let began = Instant::now();
    let output = lint(&[], dir.path());
    if began.elapsed() >= Duration::from_secs(2) {
        let stderr = text(&output.stderr);
        assert_eq!(stderr.matches("checking 1500 files ...\n").count(), 1, "{stderr}");
    }
}
