//! The pins of a project in `resolve`, `render` and `build`.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests run the program")]

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

mod metadata;

struct Project {
    folder: tempfile::TempDir,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Project {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        Project { folder }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
        command.args(arguments).current_dir(self.folder.path()).env("ENVDOC_CATALOG_DIR", "");
        command.env("HOME", self.folder.path()).env("COLUMNS", "200").env("LANG", "C.UTF-8");
        command.output().unwrap()
    }

    /// The exit code, and standard output followed by standard error.
    fn resolve(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(&[&["resolve", "--project", "."], arguments].concat());
        (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
    }

    /// The exit code and the JSON report.
    fn report(&self, arguments: &[&str]) -> (i32, Value) {
        let json = ["resolve", "--project", ".", "--format", "json"];
        let output = self.run(&[&json[..], arguments].concat());
        (output.status.code().unwrap(), serde_json::from_slice(&output.stdout).unwrap())
    }
}

const PINNED: (&str, &str) =
    ("requirements.txt", "# training\naccelerate==0.33.0\ntorch==2.4.1  # do not touch\n");

#[test]
fn a_pin_that_cannot_run_on_the_gpu_is_named_with_its_line() {
    let project = Project::new(&[PINNED]);
    let (code, shown) = project.resolve(&["--gpu", "RTX 5090", "--driver", "575"]);
    assert_eq!(code, 1, "{shown}");
    assert!(shown.starts_with("Read requirements.txt (2 requirements).\n"), "{shown}");
    assert!(shown.contains("requirements.txt:3 torch==2.4.1 and --gpu RTX 5090 are incompatible"), "{shown}");
    assert!(shown.contains("sm_120") && shown.contains("Smallest change"), "{shown}");
    assert!(shown.contains("+torch==2.7.") && !shown.contains("--torch"), "{shown}");
    let (code, shown) = project.resolve(&["--gpu", "h100", "--driver", "535"]);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("torch 2.4.1+cu1"), "{shown}");
}

#[test]
fn files_of_windows_name_the_same_lines() {
    let project = Project::new(&[("requirements.txt", "\u{feff}# ours\r\ntorch==2.4.1\r\n")]);
    let (code, shown) = project.resolve(&["--gpu", "rtx-5090"]);
    assert!(code == 1 && shown.contains("requirements.txt:2 torch==2.4.1"), "{shown}");
}

#[test]
fn an_option_replaces_a_pin_and_says_so() {
    let project = Project::new(&[PINNED, (".python-version", "3.11.9\n")]);
    let (code, shown) = project.resolve(&["--gpu", "rtx-5090", "--torch", "2.7"]);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("requirements.txt:3 torch==2.4.1 is replaced by --torch 2.7"), "{shown}");
    assert!(shown.contains("Python 3.11"), "{shown}");
    let (code, shown) = project.resolve(&["--python", "3.12", "--torch", "2.7"]);
    assert!(code == 0 && shown.contains(".python-version:1 3.11.9 is replaced by --python 3.12"), "{shown}");
}

#[test]
fn an_index_of_a_build_is_a_requirement_with_its_own_line() {
    let index = "--extra-index-url https://download.pytorch.org/whl/cu121";
    let project = Project::new(&[("requirements.txt", &format!("{index}\ntorch==2.4.1\n"))]);
    let (code, shown) = project.resolve(&[]);
    assert!(code == 0 && shown.contains("torch 2.4.1+cu121"), "{shown}");
    let (code, shown) = project.resolve(&["--driver", "470"]);
    assert!(code == 1 && shown.contains(&format!("requirements.txt:1 {index}")), "{shown}");
}

#[test]
fn markers_are_evaluated_for_the_python_of_the_stack() {
    let pins = "torch==2.1.2 ; python_version < '3.12'\ntorch==2.4.1 ; python_version >= '3.12'\n";
    let project = Project::new(&[("requirements.txt", pins)]);
    for (python, torch) in [("3.11", "2.1.2"), ("3.12", "2.4.1")] {
        let (code, shown) = project.resolve(&["--python", python]);
        assert!(code == 0 && shown.contains(&format!("torch {torch}+")), "{shown}");
        assert!(!shown.contains("markers"), "{shown}");
    }
    let (code, shown) = project.resolve(&[]);
    assert!(code == 0 && shown.contains("markers are evaluated for Python 3."), "{shown}");
}

#[test]
fn json_has_the_files() {
    let project =
        Project::new(&[PINNED, ("setup.py", "setup()\n"), ("pyproject.toml", "[project]\nname = \"a\"\n")]);
    let (code, report) = project.report(&[]);
    assert_eq!(code, 0);
    assert_eq!(report["project"]["read"][1]["file"], "requirements.txt");
    assert_eq!(report["project"]["read"][1]["requirements"], 2);
    assert_eq!(report["project"]["not_read"][0]["reason"], "runs code");
    assert_eq!(report["requirements"][1], "requirements.txt:3 torch==2.4.1");
}

#[test]
fn faults_name_the_file_and_the_line_and_exit_with_2() {
    for (files, message) in [
        (
            &[("requirements.txt", "torch=>2.4\n")][..],
            "requirements.txt:1: cannot read the requirement \"torch=>2.4\"",
        ),
        (
            &[("requirements.txt", "\n-r base.txt\n")],
            "requirements.txt:2: cannot read base.txt: no such file",
        ),
        (
            &[("requirements.txt", "-r base.txt\n"), ("base.txt", "-r requirements.txt\n")],
            "base.txt:1: requirements.txt includes itself (requirements.txt → base.txt → requirements.txt)",
        ),
        (&[("pyproject.toml", "[project]\nname = \"a\n")], "pyproject.toml:2: not valid TOML: "),
        (
            &[("main.py", "")],
            ". has no requirements.txt, pyproject.toml, setup.cfg, a lock or .python-version",
        ),
    ] {
        let (code, shown) = Project::new(files).resolve(&[]);
        assert!(code == 2 && shown.contains(message), "{message}: {shown}");
    }
}

#[test]
fn render_and_build_install_the_pins() {
    let project = Project::new(&[("requirements.txt", "torch==2.4.1\nEinops==0.8.0\ntriton==3.0.0\n")]);
    let rendered = project.run(&["render", "dockerfile", "--project", "."]);
    let (dockerfile, notes) = (text(&rendered.stdout), text(&rendered.stderr));
    assert!(rendered.status.success(), "{notes}");
    assert!(notes.contains("Read requirements.txt (3 requirements)."), "{notes}");
    assert!(dockerfile.contains("torch==2.4.1") && dockerfile.contains("einops==0.8.0"), "{dockerfile}");
    assert!(!notes.contains("packages-not-in-catalog") && !notes.contains("Not checked"), "{notes}");
    // No engine is asked for a dry run.
    let build = |arguments: &[&str]| {
        let output = project.run(&[&["build", "--dry-run", "--host", "unix:///no/such"], arguments].concat());
        text(&output.stdout) + &text(&output.stderr)
    };
    let dry = build(&["."]);
    assert!(dry.contains("torch==2.4.1") && dry.contains("einops==0.8.0"), "{dry}");
    for arguments in [&["--no-project", "."][..], &[]] {
        assert!(!build(arguments).contains("torch==2.4.1"), "{}", build(arguments));
    }
    assert!(build(&[]).contains("to use them: `envdoc build .`"));
    fs::write(project.folder.path().join("request.yaml"), "torch: 2.6.0\n").unwrap();
    assert!(build(&["--request", "request.yaml", "."]).contains("torch==2.6.0"));
    let both = build(&["--request", "request.yaml", "--project", "."]);
    assert!(both.contains("requirements.txt:1 torch==2.4.1 is replaced by torch 2.6.0"), "{both}");
}

#[test]
fn resolve_and_render_name_the_same_torch() {
    for pins in [
        "torch~=2.4.0\n",
        "torch>=2.1,<2.4\n",
        "-f https://download.pytorch.org/whl/cu118/torch/\ntorch==2.3.1\n",
    ] {
        let project = Project::new(&[("requirements.txt", pins)]);
        let (_, report) = project.report(&[]);
        let torch = report["stack"]["torch"].as_str().unwrap();
        let rendered = text(&project.run(&["render", "dockerfile", "--project", "."]).stdout);
        assert!(rendered.contains(&format!("torch=={torch}")), "{pins}: {rendered}");
    }
}

const OLD: &str = "\u{feff}# training\r\naccelerate==0.33.0\r\ntorch==2.4.1  # do not touch\r\n";
const NEW: &str = "\u{feff}--find-links https://download.pytorch.org/whl/cu128/torch/\r\n# training\r\n\
                   accelerate==0.33.0\r\ntorch==2.7.1+cu128  # do not touch\r\n";
const RTX_5090: &[&str] = &["--gpu", "RTX 5090", "--driver", "575"];

#[test]
fn the_smallest_change_is_shown_and_written() {
    let project = Project::new(&[("requirements.txt", OLD)]);
    let read = |name: &str| fs::read_to_string(project.folder.path().join(name)).unwrap();
    let (code, shown) = project.resolve(RTX_5090);
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("\nSmallest change (torch 2.7.1+cu128"), "{shown}");
    assert!(
        shown.contains("\n-torch==2.4.1  # do not touch\\r\n+torch==2.7.1+cu128  # do not touch\\r\n"),
        "{shown}"
    );
    assert!(shown.contains("with --write") && !shown.contains("Alternatives"), "{shown}");
    assert_eq!(read("requirements.txt"), OLD);
    let (code, report) = project.report(RTX_5090);
    let edits = report["project"]["change"]["edits"].as_array().unwrap();
    assert_eq!((code, edits.len()), (1, 2));
    assert_eq!((&edits[1]["start"]["line"], &edits[1]["text"]), (&3.into(), &"==2.7.1+cu128".into()));
    let (code, shown) = project.resolve(&[RTX_5090, &["--write"]].concat());
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("wrote requirements.txt; the old text is in "), "{shown}");
    assert_eq!((read("requirements.txt").as_str(), read("requirements.txt.orig").as_str()), (NEW, OLD));
    let (code, shown) = project.resolve(&[RTX_5090, &["--write"]].concat());
    assert!(code == 0 && shown.contains("nothing was written: the project runs as it is"), "{shown}");
    assert_eq!(read("requirements.txt"), NEW);
    assert!(!project.folder.path().join("requirements.txt.1.orig").exists());
}

#[test]
fn what_cannot_be_changed_is_said_and_nothing_is_written() {
    let hashed = "torch==2.4.1 --hash=sha256:aa\n";
    let project = Project::new(&[("requirements.txt", hashed)]);
    let (code, shown) = project.resolve(&[RTX_5090, &["--write"]].concat());
    assert!(code == 1 && shown.contains("has hashes, so the file must be made again"), "{shown}");
    assert!(shown.contains("nothing was written"), "{shown}");
    assert_eq!(fs::read_dir(project.folder.path()).unwrap().count(), 1);
    let old = Project::new(&[("requirements.txt", OLD)]);
    let (code, shown) = old.resolve(&["--driver", "390"]);
    assert!(code == 1 && shown.contains("No change of the project helps: "), "{shown}");
    let output = old.run(&["resolve", "--torch", "2.7", "--write"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn of_several_files_all_are_written_or_none() {
    use std::os::unix::fs::PermissionsExt;
    let pins = [
        ("requirements.txt", "-r locked/base.txt\ntorchvision==0.19.1\n"),
        ("locked/base.txt", "torch==2.4.1\n"),
    ];
    let project = Project::new(&pins);
    let folder = project.folder.path().join("locked");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let is_root = fs::write(folder.join("probe"), "").is_ok();
    if !is_root {
        let (code, shown) = project.resolve(&[RTX_5090, &["--write"]].concat());
        assert_eq!(code, 2, "{shown}");
        for (name, text) in pins {
            assert_eq!(fs::read_to_string(project.folder.path().join(name)).unwrap(), text);
        }
        assert!(!project.folder.path().join("requirements.txt.orig").exists());
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let (code, shown) = project.resolve(&[RTX_5090, &["--write"]].concat());
    assert_eq!(code, 0, "{shown}");
    let base = fs::read_to_string(folder.join("base.txt")).unwrap();
    assert!(base.ends_with("torch==2.7.1+cu128\n") && base.contains("/cu128/torchvision/"), "{base}");
    let own = fs::read_to_string(project.folder.path().join("requirements.txt")).unwrap();
    assert_eq!(own, "-r locked/base.txt\ntorchvision==0.22.1+cu128\n");
}

/// vllm brings torch, and the build that PyPI has of it has no code for the GPU.
#[test]
fn a_build_that_pypi_lacks_is_named_without_a_line_for_torch() {
    let project = Project::new(&[("requirements.txt", "vllm==0.8.5\n")]);
    let (code, shown) = project.resolve(&[RTX_5090, &["--write"]].concat());
    assert!(code == 0 && shown.contains("+vllm==0.9.2\n"), "{shown}");
    assert!(shown.contains("PyPI has another build."), "{shown}");
    let written = fs::read_to_string(project.folder.path().join("requirements.txt")).unwrap();
    assert_eq!(written, "vllm==0.9.2\n");
}

#[test]
fn an_option_that_replaces_an_unchecked_package_is_named() {
    let project = Project::new(&[("requirements.txt", "torch==2.4.1\neinops==0.8.0\n")]);
    let output = project.run(&["render", "dockerfile", "--project", ".", "--with", "einops==0.8.1"]);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("einops==0.8.0 of the project is replaced by einops==0.8.1"), "{stderr}");
    assert!(text(&output.stdout).contains("einops==0.8.1"));
}

/// The version in the name of a wheel is not looked for in an index, which may have a stranger's package.
#[test]
fn an_own_wheel_is_not_taken_from_an_index() {
    let wheel = "torch==2.4.1\nown @ https://files.example/own-1.0-py3-none-any.whl\n";
    let project = Project::new(&[("requirements.txt", wheel)]);
    let output = project.run(&["render", "dockerfile", "--project", "."]);
    assert!(!text(&output.stdout).contains("own=="), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("requirements.txt:2 (URL)"), "{}", text(&output.stderr));
}
