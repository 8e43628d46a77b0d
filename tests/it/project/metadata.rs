//! Extras, groups, tables of Poetry and uv, and setup.cfg.

use std::fs;

use super::{Project, RTX_5090, text};

const UV: &str = "[project]\nname = \"a\"\nrequires-python = \">=3.10\"\ndependencies = [\"torch==2.6.0\"]\n\
    [project.optional-dependencies]\nserve = [\"vllm==0.10.0\"]\n[dependency-groups]\ntrain = \
    [\"deepspeed==0.16.4\"]\n[tool.uv.sources]\ntorch = {index = \"pytorch-cu124\"}\n\
    [[tool.uv.index]]\nname = \"pytorch-cu124\"\nurl = \"https://download.pytorch.org/whl/cu124\"\n\
    explicit = true\n";

#[test]
fn extras_and_groups_are_chosen_by_options() {
    let project = Project::new(&[("pyproject.toml", UV)]);
    let (code, shown) = project.resolve(&["--group", "train"]);
    assert_eq!(code, 0, "{shown}");
    let first = "Read pyproject.toml (2 requirements, group train). Not read: pyproject.toml (extra serve: add \
        --extra serve).";
    // It is wrapped.
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.starts_with(first), "{shown}");
    assert!(shown.contains("DeepSpeed      0.16.4") && shown.contains("torch 2.6.0+cu124"), "{shown}");
    let (code, shown) = project.resolve(&["--extra", "served"]);
    assert!(code == 2 && shown.contains("the project has no extra \"served\""), "{shown}");
    assert!(shown.contains("did you mean serve?"), "{shown}");
    let dry = project.run(&["build", "--dry-run", "--host", "unix:///no/such", ".", "--group", "train"]);
    assert!(text(&dry.stdout).contains("deepspeed==0.16.4"), "{}", text(&dry.stderr));
}

#[test]
fn an_index_of_uv_decides_the_build_and_changes_with_it() {
    let project = Project::new(&[("pyproject.toml", UV)]);
    let (code, shown) = project.resolve(RTX_5090);
    assert!(
        code == 1
            && shown.contains("pyproject.toml:10 index https://download.pytorch.org/whl/cu124 for torch"),
        "{shown}"
    );
    let (code, shown) = project.resolve(&[RTX_5090, &["--write"]].concat());
    assert_eq!(code, 0, "{shown}");
    let written = fs::read_to_string(project.folder.path().join("pyproject.toml")).unwrap();
    // The index, its name, the source and the pin, and no other line.
    assert!(!written.contains("cu124") && !written.contains("2.6.0"), "{written}");
    let changed = written.lines().zip(UV.lines()).filter(|(new, old)| new != old).count();
    assert_eq!((changed, written.lines().count()), (4, UV.lines().count()), "{written}");
}

#[test]
fn constraints_of_poetry_are_read_and_written() {
    let poetry =
        "[tool.poetry.dependencies]\npython = \"^3.10\"\ntorch = \"~2.3.0\"\ntorchvision = \"0.18.*\"\n";
    let project = Project::new(&[("pyproject.toml", poetry)]);
    let (code, shown) = project.resolve(&["--gpu", "h100", "--driver", "535"]);
    assert!(code == 0 && shown.contains("torch 2.3.1+"), "{shown}");
    let (code, shown) = project.resolve(&[RTX_5090, &["--write"]].concat());
    assert!(code == 0 && shown.contains("-torch = \"~2.3.0\""), "{shown}");
    let written = fs::read_to_string(project.folder.path().join("pyproject.toml")).unwrap();
    assert_eq!(written, poetry.replace("~2.3.0", "~2.7.1").replace("0.18.*", "0.22.*"));
}

#[test]
fn setup_cfg_counts_where_it_declares_requirements() {
    let cfg = "[options]\npython_requires = >=3.8,<3.11\ninstall_requires =\n    torch>=1.13,<2.1\n";
    let project = Project::new(&[("setup.cfg", cfg), ("setup.py", "setup()\n")]);
    let (code, shown) = project.resolve(RTX_5090);
    assert!(code == 1 && shown.contains("setup.cfg:4 torch>=1.13,<2.1"), "{shown}");
    let (code, shown) = project.resolve(&["--gpu", "h100", "--driver", "535"]);
    assert!(code == 0 && shown.contains("torch 2.0.1+cu118"), "{shown}");
    let tools = Project::new(&[("setup.cfg", "[flake8]\nmax-line-length = 100\n")]);
    assert_eq!(tools.resolve(&[]).0, 2);
}

/// `-e .[train]` of a requirements file is the project itself.
#[test]
fn the_project_itself_in_its_requirements_chooses_an_extra() {
    let project = Project::new(&[
        ("requirements.txt", "-e .[train]\n"),
        (
            "pyproject.toml",
            "[project]\nname = \"a\"\ndynamic = [\"optional-dependencies\"]\n[tool.setuptools.dynamic]\n\
             optional-dependencies.train = {file = [\"train.txt\"]}\n",
        ),
        ("train.txt", "torch==2.0.1\n"),
    ]);
    let (code, shown) = project.resolve(&[]);
    assert!(code == 0 && shown.contains("torch 2.0.1+") && !shown.contains("editable"), "{shown}");
    assert!(shown.contains("train.txt (1 requirement)"), "{shown}");
}
