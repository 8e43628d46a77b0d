//! What envdoc installs from a project's lock, held against the program that wrote the lock.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests run the program")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use resolve::marker::{Environment, Marker};
use serde_json::Value;

use crate::judge;

type Packages = BTreeMap<String, BTreeSet<String>>;

fn envdoc(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
    command.args(arguments).current_dir(directory).env("ENVDOC_CATALOG_DIR", "").env("COLUMNS", "200");
    command.output().unwrap()
}

/// The directories that hold a lock of uv: in tests/projects, and those that `ENVDOC_LOCKS` names.
fn locked() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects");
    let own = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named = env::var_os("ENVDOC_LOCKS").unwrap_or_default();
    let mut found: Vec<PathBuf> = own.chain(env::split_paths(&named)).collect();
    found.retain(|directory| directory.join("uv.lock").is_file());
    found.sort();
    found
}

/// The packages that `uv export` names for a Python on x86_64, with their hashes. It asks no index.
fn exported(uv: &Path, directory: &Path, python: u32) -> Packages {
    let mut command = Command::new(uv);
    command.args(["export", "--quiet", "--frozen", "--no-dev", "--no-emit-workspace", "--no-header"]);
    let output =
        command.args(["--no-annotate", "--format", "requirements.txt"]).current_dir(directory).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let environment = Environment::new(python, "x86_64").unwrap();
    let text = String::from_utf8(output.stdout).unwrap().replace("\\\n", " ");
    let mut found = Packages::new();
    for line in text.lines() {
        let mut parts = line.split(" --hash=");
        let requirement = parts.next().unwrap().trim();
        let (pin, marker) = requirement.split_once(" ; ").unwrap_or((requirement, ""));
        let holds = marker.is_empty() || Marker::parse(marker).unwrap().holds(&environment, &[]);
        // flash-attn is installed after torch, in a step of its own.
        if pin.contains("==") && holds && !pin.starts_with("flash-attn==") {
            found.insert(pin.to_owned(), parts.map(|hash| hash.trim().to_owned()).collect());
        }
    }
    found
}

/// What envdoc locks for a Python; `None`: it names a conflict.
fn selected(directory: &Path, python: u32) -> Option<Packages> {
    let python = format!("3.{python}");
    let output = envdoc(directory, &["render", "lock", "--project", ".", "--python", &python]);
    if output.status.code() == Some(1) {
        return None;
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lock: Value = serde_json::from_slice(&output.stdout).unwrap();
    let package = |one: &Value| {
        let hashes = one["hashes"].as_array().unwrap().iter().map(|hash| hash.as_str().unwrap().to_owned());
        (one["requirement"].as_str().unwrap().to_owned(), hashes.collect())
    };
    Some(lock["packages"].as_array().unwrap().iter().map(package).collect())
}

#[test]
fn a_uv_lock_is_obeyed_to_the_hash_as_uv_does() {
    let Some(uv) = judge::find("uv", "ENVDOC_UV", "pip install uv, or name it in ENVDOC_UV") else { return };
    let mut compared = 0;
    for directory in locked() {
        for python in 9..=14 {
            let Some(ours) = selected(&directory, python) else { continue };
            let theirs = exported(&uv, &directory, python);
            assert_eq!(ours, theirs, "{} with Python 3.{python}", directory.display());
            compared += 1;
        }
    }
    assert!(compared >= 2, "{compared}");
}

const PYPROJECT: &str = "[project]\nname = \"own\"\nversion = \"0.1.0\"\nrequires-python = \">=3.11,<3.13\"\n\
    dependencies = [\n  \"torch>=2.4\",  # any that runs\n  \"einops\",\n]\n";

fn lock(torch: &str) -> String {
    let own = "[[package]]\nname = \"own\"\nversion = \"0.1.0\"\nsource = { virtual = \".\" }\n\
        dependencies = [\n  { name = \"torch\" },\n  { name = \"einops\" },\n]\n";
    let package = |name: &str, version: &str, digit: &str| {
        format!(
            "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = {{ registry = \
             \"https://index.example.com/simple\" }}\nwheels = [\n  {{ url = \"https://index.example.com/w.whl\", \
             hash = \"sha256:{}\" }},\n]\n",
            digit.repeat(64)
        )
    };
    let packages = package("einops", "0.8.1", "a") + &package("torch", torch, "b");
    format!("version = 1\nrevision = 3\nrequires-python = \">=3.11, <3.13\"\n{own}{packages}")
}

fn project(torch: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pyproject.toml"), PYPROJECT).unwrap();
    fs::write(folder.path().join("uv.lock"), lock(torch)).unwrap();
    fs::write(folder.path().join("requirements.txt"), "torch==1.13.1\n").unwrap();
    folder
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_image_installs_the_lock_and_nothing_else() {
    let folder = project("2.6.0");
    let to = folder.path().join("out");
    fs::create_dir(&to).unwrap();
    let arguments = ["render", "dockerfile", "--project", ".", "--gpu", "h100", "--output", "out"];
    let output = envdoc(folder.path(), &arguments);
    assert!(output.status.success(), "{}", shown(&output));
    let read = |name: &str| fs::read_to_string(to.join(name)).unwrap();
    let dockerfile = read("Dockerfile");
    assert!(dockerfile.contains("pinned by hash; from uv.lock."), "{dockerfile}");
    assert!(!dockerfile.contains("torchaudio==") && !dockerfile.contains("torch==1.13"), "{dockerfile}");
    let torch = format!("torch==2.6.0 \\\n    --hash=sha256:{}\n", "b".repeat(64));
    assert!(read("requirements.torch.lock").ends_with(&torch), "{}", read("requirements.torch.lock"));
    assert!(read("requirements.lock").contains("einops==0.8.1 \\"), "{}", read("requirements.lock"));
}

#[test]
fn a_locked_torch_that_cannot_run_is_named_with_its_line_and_the_command() {
    let folder = project("2.6.0");
    let output =
        envdoc(folder.path(), &["resolve", "--project", ".", "--gpu", "rtx-5090", "--driver", "575"]);
    let text = shown(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("uv.lock:20 torch==2.6.0 and --gpu rtx-5090 are incompatible"), "{text}");
    assert!(text.contains("\n    uv lock --upgrade-package torch==2.7.0\n"), "{text}");
    assert!(text.contains("Add the index https://download.pytorch.org/whl/cu128 for torch"), "{text}");
    fs::remove_file(folder.path().join("requirements.txt")).unwrap();
    let output = envdoc(folder.path(), &["resolve", "--project", ".", "--gpu", "rtx-5090", "--without-lock"]);
    assert!(
        output.status.success() && shown(&output).contains("uv.lock (not requested)"),
        "{}",
        shown(&output)
    );
}

#[test]
fn options_do_not_replace_what_is_locked() {
    let folder = project("2.6.0");
    for (option, value, named) in
        [("--torch", "2.7.0", "uv.lock:20 torch==2.6.0"), ("--python", "3.13", "uv.lock:3 requires-python")]
    {
        let output = envdoc(folder.path(), &["resolve", "--project", ".", option, value]);
        let text = shown(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(named) && text.contains(value), "{text}");
    }
    let arguments = ["render", "dockerfile", "--project", ".", "--deepspeed"];
    let output = envdoc(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("uv.lock does not have deepspeed"), "{}", shown(&output));
}

#[test]
fn a_lock_that_is_older_than_its_project_is_an_error() {
    let folder = project("2.3.1");
    let output = envdoc(folder.path(), &["resolve", "--project", "."]);
    let text = shown(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("uv.lock has no version that pyproject.toml:6 torch>=2.4 allows"), "{text}");
    assert!(text.contains("`uv lock`") && text.contains("--without-lock"), "{text}");
}

/// envdoc.lock is made from the project's lock; where that has changed, it does not count.
#[test]
fn a_lock_of_envdoc_is_of_the_projects_lock() {
    let folder = project("2.6.0");
    let made = envdoc(folder.path(), &["render", "lock", "--project", ".", "--output", "envdoc.lock"]);
    assert!(made.status.success(), "{}", shown(&made));
    let locked =
        ["render", "dockerfile", "--project", ".", "--lock", "envdoc.lock", "--locked", "--output", "-"];
    let output = envdoc(folder.path(), &locked);
    assert!(output.status.success(), "{}", shown(&output));
    let newer = fs::read_to_string(folder.path().join("uv.lock")).unwrap().replace("0.8.1", "0.8.2");
    fs::write(folder.path().join("uv.lock"), newer).unwrap();
    let output = envdoc(folder.path(), &locked);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("einops==0.8.2 of uv.lock is not in the lock"), "{}", shown(&output));
    let output = envdoc(folder.path(), &locked[..6]);
    assert!(output.status.success() && shown(&output).contains("from uv.lock."), "{}", shown(&output));
}

#[test]
fn what_a_lock_cannot_do_is_refused() {
    let folder = project("2.6.0");
    let dockerfile = |more: &[&str]| {
        let output = envdoc(folder.path(), &[&["render", "dockerfile", "--project", "."], more].concat());
        (output.status.code(), shown(&output))
    };
    let (code, text) = dockerfile(&["--with", "einops<0.8"]);
    assert!(code == Some(2) && text.contains("uv.lock does not have einops<0.8"), "{text}");
    let (code, text) = dockerfile(&["--with", "jieba"]);
    assert!(code == Some(2) && text.contains("uv.lock does not have jieba"), "{text}");
    let evil = "https://index.example.com/x\\n--index-url https://evil.example/simple #/cu124";
    let text = fs::read_to_string(folder.path().join("uv.lock")).unwrap();
    fs::write(folder.path().join("uv.lock"), text.replacen("https://index.example.com/simple", evil, 1))
        .unwrap();
    let (_, text) = dockerfile(&[]);
    assert!(text.contains("uv.lock:13 einops (control characters) is not installed"), "{text}");
    assert!(!text.contains("evil.example"), "{text}");
}

#[test]
fn a_poetry_lock_has_its_python_and_its_groups() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects/14-poetry-lock");
    let output = envdoc(&folder, &["render", "dockerfile", "--project", ".", "--output", "-"]);
    let text = shown(&output);
    assert!(output.status.success() && text.contains("from poetry.lock."), "{text}");
    assert!(text.contains("envdoc.python=3.11") && !text.contains("pytest"), "{text}");
}

#[test]
fn the_lock_of_a_workspace_is_named_to_its_members() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects/16-uv-workspace-lock");
    let output = envdoc(&folder, &["resolve", "--project", "packages/core"]);
    let words = shown(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("uv.lock (of the workspace; to use it: --project .)"), "{words}");
}
