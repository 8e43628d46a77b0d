//! The catalog from outside: what is shown, which files are used, and what a broken one does.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests run the program")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn envdoc(cache: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
    command.args(arguments).env("ENVDOC_CATALOG_DIR", cache).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn catalog(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog").join(name)).unwrap()
}

/// A release that does not exist yet.
const TORCH_2_99: &str = r#"- version: "2.99.0"
  released: 2099-01-15
  pypi_build: cu132
  pypi_cuda: "13.2"
  requires_python: ">=3.11"
  nccl: "2.30.7"
  builds_complete: false
  checked: 2099-01-20
  source: [a test]
  builds:
    - {build: cu132, cuda: "13.2", nccl: "2.30.7"}
"#;

#[test]
fn cached_file_adds_a_torch_release() {
    let cache = tempfile::tempdir().unwrap();
    let before = envdoc(cache.path(), &["catalog", "show", "torch", "2.99.0"]);
    assert_eq!(before.status.code(), Some(2));
    assert!(text(&before.stderr).contains("has no row \"2.99.0\""), "{}", text(&before.stderr));

    fs::write(cache.path().join("torch.yaml"), catalog("torch.yaml") + TORCH_2_99).unwrap();
    let after = envdoc(cache.path(), &["catalog", "show", "torch", "2.99.0"]);
    let shown = text(&after.stdout);
    assert_eq!(after.status.code(), Some(0), "{}", text(&after.stderr));
    for part in ["released: 2099-01-15", "- build: cu132", "source: a test", "checked: 2099-01-20"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(text(&after.stderr), "");

    let version = text(&envdoc(cache.path(), &["--version", "-v"]).stdout);
    assert!(version.starts_with(concat!("envdoc ", env!("CARGO_PKG_VERSION"), "\n")), "{version}");
    assert!(version.contains("torch.yaml, 2099-01-20"), "{version}");
    assert!(!version.contains("nccl.yaml"), "{version}");
    assert!(text(&envdoc(cache.path(), &["catalog", "show"]).stdout).contains("2099-01-20"));
    assert_eq!(envdoc(cache.path(), &["catalog", "verify"]).status.code(), Some(0));
    // Switched off.
    assert_eq!(envdoc(Path::new(""), &["catalog", "show", "torch", "2.99.0"]).status.code(), Some(2));
}

#[test]
fn a_broken_cached_file_is_named_and_changes_nothing() {
    let cache = tempfile::tempdir().unwrap();
    let no_source = TORCH_2_99.replace("source: [a test]", "source: []");
    let cases = [
        (catalog("torch.yaml") + "rows: [", "type"),
        (
            catalog("torch.yaml") + &TORCH_2_99.replace("13.2", "19.9").replace("cu132", "cu199"),
            "no CUDA 19.9",
        ),
        (catalog("torch.yaml") + &no_source, "no source"),
        ("\u{0}".repeat(10), "no `checked:` date"),
    ];
    for (broken, expected) in cases {
        fs::write(
            cache.path().join("torch.yaml"),
            broken.replace("checked: 2026-11-21", "checked: 2099-01-01"),
        )
        .unwrap();
        let output = envdoc(cache.path(), &["catalog", "show", "torch", "2.5.1"]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("embedded"), "{}", text(&output.stdout));
        let note = text(&output.stderr);
        assert!(note.contains("torch.yaml is not used") && note.contains(expected), "{expected}: {note}");
        assert_eq!(note.lines().count(), 1, "{note}");
        assert_eq!(envdoc(cache.path(), &["catalog", "verify"]).status.code(), Some(1));
    }
}

#[test]
fn a_folder_is_verified_row_by_row() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    let empty = envdoc(Path::new(""), &["catalog", "verify", path]);
    assert_eq!(empty.status.code(), Some(2));
    assert!(text(&empty.stderr).contains("no catalog files in"), "{}", text(&empty.stderr));

    fs::write(dir.path().join("nccl.yaml"), catalog("nccl.yaml")).unwrap();
    let whole = envdoc(Path::new(""), &["catalog", "verify", path]);
    assert_eq!(whole.status.code(), Some(0), "{}", text(&whole.stdout));
    // torch.yaml names NCCL releases: those of the file next to it count, not the embedded ones.
    fs::write(dir.path().join("torch.yaml"), catalog("torch.yaml")).unwrap();
    fs::write(
        dir.path().join("nccl.yaml"),
        "checked: 2026-11-21\nrows:\n- {version: \"2.99.1\", source: [a test]}\n",
    )
    .unwrap();
    let output = envdoc(Path::new(""), &["catalog", "verify", path, "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let verified: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let broken = verified["broken"].as_array().unwrap();
    let first = broken.iter().find(|one| one["row"] == "2.5.1").unwrap();
    assert_eq!((first["file"].as_str(), first["rule"].as_str()), (Some("torch.yaml"), Some("reference")));
    assert!(first["message"].as_str().unwrap().contains("no NCCL 2.21.5"), "{first}");
    assert_eq!(first["message"], first["says"]);
}

#[test]
fn every_fact_is_shown_with_its_source() {
    let none = Path::new("");
    let output = envdoc(none, &["catalog", "show", "drivers", "580", "--format", "json"]);
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["file"], "drivers.yaml");
    let row = &shown["found"][0]["row"];
    assert_eq!(row["cuda"], "13.0");
    assert!(row["source"].as_str().unwrap().contains("endoflife-date/"), "keys are written out: {row}");
    assert_eq!(row["checked"].as_str().map(str::len), Some(10));

    let yaml = text(&envdoc(none, &["catalog", "show", "nccl", "2.21.5", "--format", "yaml"]).stdout);
    assert!(yaml.contains("version: 2.21.5"), "{yaml}");
    let all = envdoc(none, &["catalog", "show", "xids"]);
    assert!(text(&all.stdout).lines().count() > 70);
    for (arguments, expected) in [
        (&["catalog", "show", "torhc"][..], "did you mean torch?"),
        (&["catalog", "show", "torch", "2.5.9"], "did you mean 2.5.1?"),
        (&["catalog"], "Usage"),
        (&["-v"], "--version"),
    ] {
        let output = envdoc(none, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(expected), "{arguments:?}: {}", text(&output.stderr));
    }
}
