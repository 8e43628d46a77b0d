//! The worked examples in images/ are what envdoc renders. `ENVDOC_REGENERATE=1 cargo test -p envdoc --test
//! it images` writes them.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read and write the source tree")]

use std::fs;
use std::path::{Path, PathBuf};

use build::Planned;
use clap::Parser;
use envdoc::cli::image::ImageArgs;
use image::plan::Plan;
use image::render;

use crate::judge;

/// The day of the examples: what is past its end of life then is avoided and reported.
const DAY: &str = "2026-11-21";

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    image: ImageArgs,
}

fn planned(arguments: &[&str]) -> Plan {
    let command = Command::parse_from(["envdoc"].iter().chain(arguments));
    let mut request = command.image.request(&config::Settings::default()).unwrap();
    DAY.clone_into(&mut request.today);
    match build::plan(resolve::testing::universe(), &request, &|| panic!("no example reads this machine"))
        .unwrap()
    {
        Planned::Plan(planned) => planned.plan,
        Planned::NoStack(none) => panic!("{none:?}"),
    }
}

fn requests(dir: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn rendered_examples_are_current() {
    for dir in requests("images") {
        let plan = planned(&["--request", dir.join("request.yaml").to_str().unwrap()]);
        for file in render::files(&plan).unwrap() {
            same(&dir.join(&file.path), &file.text);
        }
    }
}

/// Every Dockerfile that this file renders: of the examples and of the recipes.
fn dockerfiles() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for dir in requests("images") {
        found.push(dir.join("request.yaml"));
    }
    found.extend(requests("tests/recipes"));
    let render = |path: PathBuf| {
        let name = path.to_str().unwrap().to_owned();
        let text = render::dockerfile(&planned(&["--request", &name])).unwrap();
        (name, text)
    };
    found.into_iter().map(render).collect()
}

#[test]
fn rendered_dockerfiles_pass_lint() {
    for (name, text) in dockerfiles() {
        let findings = lint::lint(
            lint::RULES,
            checks::CHECKS,
            &lint::File::new(catalog::testing::catalog(), &name, &text, lint::Kind::Dockerfile),
        );
        assert!(findings.is_empty(), "{name}: {findings:?}\n{text}");
    }
}

/// Needs hadolint (on PATH, or named by `ENVDOC_HADOLINT`); without it the test says so and proves nothing.
#[test]
fn rendered_dockerfiles_pass_hadolint() {
    let install = "install hadolint, or name it in ENVDOC_HADOLINT";
    let Some(hadolint) = judge::find("hadolint", "ENVDOC_HADOLINT", install) else { return };
    for (name, text) in dockerfiles() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("Dockerfile");
        fs::write(&path, &text).unwrap();
        let output = std::process::Command::new(&hadolint).arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.trim().is_empty(), "{name}: {said}\n{text}");
    }
}

fn same(path: &Path, text: &str) {
    if std::env::var_os("ENVDOC_REGENERATE").is_some() {
        fs::write(path, text).unwrap();
        return;
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    let name = path.display();
    assert!(
        committed == text,
        "{name} is not what the code gives; run: ENVDOC_REGENERATE=1 cargo test -p envdoc --test it images, \
            and review the change"
    );
}

/// What each of the recipes meant that tutorials print, and that cannot be built as printed.
#[test]
fn recipes_of_tutorials() {
    for (name, base, pins) in [
        (
            "cuda-base",
            "nvidia/cuda:12.1.1-devel-ubuntu22.04",
            &["torch==2.5.1+cu121", "git-lfs", "stable-baselines3=="][..],
        ),
        ("python-slim", "nvidia/cuda:12.1.1-devel-ubuntu22.04", &["torch==2.5.1+cu121", "deepspeed=="]),
        (
            "pytorch-devel",
            "nvidia/cuda:12.1.1-devel-ubuntu22.04",
            &["torch==2.2.1", "numpy==1.", "pypi.tuna.tsinghua.edu.cn"],
        ),
        (
            "multi-node",
            "nvidia/cuda:11.7.1-devel-ubuntu22.04",
            &["torch==2.0.1", "deepspeed==0.12.3", "peft==0.6.0", "openssh-server", "pdsh"],
        ),
    ] {
        let plan = planned(&["--request", &format!("tests/recipes/{name}.yaml")]);
        let text = render::dockerfile(&plan).unwrap();
        assert!(text.contains(&format!("FROM {base} AS image")), "{name}: {text}");
        for pin in pins {
            assert!(text.contains(pin), "{name}: {pin}: {text}");
        }
        assert_eq!(plan.expectations.torch.as_deref(), Some(plan.stack.torch.as_str()));
    }
}

#[test]
fn options_win_over_the_file() {
    let plan = planned(&[
        "--request",
        "images/pipeline/request.yaml",
        "--torch",
        "2.2.2",
        "--with",
        "protobuf==4.25.0",
    ]);
    assert_eq!(plan.stack.torch, "2.2.2");
    let requirements: Vec<String> = plan.requirements.iter().map(ToString::to_string).collect();
    assert!(requirements.contains(&"protobuf==4.25.0".to_owned()), "{requirements:?}");
    assert!(!requirements.contains(&"protobuf==3.20.0".to_owned()), "{requirements:?}");
    assert!(
        plan.requested.contains(&"--torch 2.2.2".to_owned())
            && plan.requested.contains(&"cuda 11.8".to_owned()),
        "{:?}",
        plan.requested
    );
}

#[test]
fn plans_the_first_of_several_architectures() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "architectures: [x86_64, aarch64]\ncuda: 12.6\n").unwrap();
    let plan = planned(&["--request", file.path().to_str().unwrap()]);
    assert_eq!(plan.stack.architecture, "x86_64");
}
