use super::*;
use crate::declared::Dependency;

use crate::selection::Selection;

pub(super) fn chosen(
    text: &str,
    extras: &[&str],
    groups: &[&str],
) -> Result<(Project, Vec<Included>), ProjectError> {
    let names = |names: &[&str]| names.iter().map(|one| (*one).to_owned()).collect();
    let selection = Selection { extras: names(extras), groups: names(groups), ..Selection::default() };
    let (mut project, mut choice) = (Project::default(), Choice::of(&selection));
    let read = super::read(&mut project, &mut choice, "pyproject.toml", text)?;
    choice.check()?;
    Ok((project, read.files))
}

fn read(text: &str) -> (Project, Vec<Included>) {
    chosen(text, &[], &[]).unwrap()
}

/// The dependencies with their markers.
pub(super) fn shown(project: &Project) -> Vec<String> {
    let marker = |one: &Declared<Dependency>| {
        one.value.marker.as_ref().map_or(String::new(), |marker| format!(" ; {marker}"))
    };
    project.dependencies.iter().map(|one| format!("{}{}", one.origin, marker(one))).collect()
}

pub(super) fn reasons(project: &Project) -> Vec<String> {
    project.not_read.iter().map(|one| one.reason.to_string()).collect()
}

#[test]
fn dependencies_and_python_have_their_bytes() {
    let text = "\u{feff}[project]\r\nname = \"a\"\r\nrequires-python = \">=3.10,<3.13\"\r\n\
        dependencies = [\r\n  'torch==2.4.1',  # pinned\r\n  \"numpy<2; python_version < '3.13'\",\r\n  \
        \"pkg @ git+https://h.example/a\",\r\n]\r\n";
    let (project, _) = read(text);
    let shown: Vec<(usize, &str)> = project
        .dependencies
        .iter()
        .map(|one| (one.origin.line, &text[one.origin.span.clone().unwrap()]))
        .collect();
    assert_eq!(shown, [(5, "==2.4.1"), (6, "<2")]);
    let python = &project.python[0].origin;
    assert_eq!((&text[python.span.clone().unwrap()], python.line), (">=3.10,<3.13", 3));
    assert_eq!((project.not_read[0].line, &project.not_read[0].reason), (Some(7), &Reason::Vcs));
}

#[test]
fn what_is_dynamic_or_of_another_tool_is_not_read() {
    let (project, files) = read(
        "[project]\nname = \"a\"\ndynamic = [\"dependencies\", \"version\"]\n\
         [project.optional-dependencies]\ndev = [\"pytest\"]\n[dependency-groups]\n\
         test = [\"tox\"]\n[[tool.pdm.source]]\nurl = \"https://h.example\"\n",
    );
    assert_eq!(
        reasons(&project),
        [
            "extra dev: add --extra dev",
            "group test: add --group test",
            "dependencies is dynamic",
            "[tool.pdm.source] is not supported"
        ]
    );
    assert!(files.is_empty());
    let (project, files) = read(
        "[project]\nname = \"a\"\ndynamic = [\"dependencies\"]\n[tool.setuptools.dynamic]\n\
         dependencies = { file = [\"reqs.txt\"] }\n",
    );
    assert!(project.not_read.is_empty());
    assert_eq!(files, [Included { name: "reqs.txt".to_owned(), line: 5 }]);
}

#[test]
fn faults_name_the_line() {
    let error = |text: &str| chosen(text, &[], &[]).unwrap_err().to_string();
    let broken = error("[project]\nname = \"a\"\ndependencies = [\n  \"torch\n]\n");
    assert!(broken.starts_with("pyproject.toml:4: not valid TOML: "), "{broken}");
    let broken = error("[project]\ndependencies = \"torch\"\n");
    assert_eq!(broken, "pyproject.toml:2: dependencies is not a list");
    let broken = error("[project]\ndependencies = [\n \"torch=2\",\n]\n");
    assert!(broken.starts_with("pyproject.toml:3: cannot read the requirement \"torch=2\": "), "{broken}");
    let broken = error("[project]\nrequires-python = \"3.x\"\n");
    assert!(broken.starts_with("pyproject.toml:2: requires-python \"3.x\" is not a range"), "{broken}");
}

const CHOICES: &str = "[project]\nname = \"My.Pkg\"\ndependencies = [\"numpy\"]\n\
    [project.optional-dependencies]\ngpu = [\"torch==2.7.1\"]\nServe_it = [\"vllm==0.10.0\"]\n\
    all = [\"my_pkg[gpu, serve-it] ; python_version < '3.13'\", \"my-pkg[all]\"]\n\
    [dependency-groups]\ndev = [\"pytest\", {include-group = \"lint\"}]\nlint = [\"ruff\"]\n\
    train = [{include-group = \"lint\"}, \"deepspeed\"]\n";

#[test]
fn extras_that_are_chosen_with_those_that_they_include() {
    let (project, _) = chosen(CHOICES, &["GPU"], &[]).unwrap();
    assert_eq!(shown(&project), ["pyproject.toml:3 numpy", "pyproject.toml:5 torch==2.7.1"]);
    assert_eq!(
        (project.read[0].requirements, &project.read[0].parts[..]),
        (Some(2), &["extra gpu".to_owned()][..])
    );
    assert_eq!(
        reasons(&project),
        ["extras serve-it, all: add --extra NAME", "groups dev, lint, train: add --group NAME"]
    );
    let (project, _) = chosen(CHOICES, &["all"], &[]).unwrap();
    let marker = "python_version < '3.13'";
    assert_eq!(
        shown(&project)[1..],
        [
            format!("pyproject.toml:5 torch==2.7.1 ; {marker}"),
            format!("pyproject.toml:6 vllm==0.10.0 ; {marker}")
        ]
    );
    assert_eq!(project.extras, ["all", "gpu", "serve-it"]);
}

#[test]
fn groups_include_each_other_and_not_themselves() {
    let (project, _) = chosen(CHOICES, &[], &["train", "dev"]).unwrap();
    let expected = ["9 pytest", "10 ruff", "11 deepspeed"].map(|one| format!("pyproject.toml:{one}"));
    assert_eq!(shown(&project)[1..], expected);
    let uv =
        format!("{CHOICES}[tool.uv]\ndefault-groups = [\"dev\", \"train\"]\ndev-dependencies = [\"tox\"]\n");
    let (project, _) = read(&uv);
    assert_eq!(project.read[0].parts, ["group train"]);
    assert_eq!(reasons(&project)[1], "group dev: add --group dev");
    let circular = "[dependency-groups]\na = [{include-group = \"b\"}]\nb = [{include-group = \"a\"}]\n";
    let error = chosen(circular, &[], &["b"]).unwrap_err().to_string();
    assert_eq!(error, "pyproject.toml:2: the group b includes itself (b → a → b)");
    let unknown = chosen("[dependency-groups]\ntests = []\na = [{include-group = \"test\"}]\n", &[], &["a"]);
    let error = diagnostic::error::Error::from(unknown.unwrap_err());
    assert_eq!(error.message, "pyproject.toml:3: the group \"test\" does not exist");
    assert_eq!(error.hints, ["did you mean tests?"]);
    let wrong = chosen("[dependency-groups]\na = [{x = 1}]\n", &[], &["a"]).unwrap_err().to_string();
    assert_eq!(wrong, "pyproject.toml:2: a is not a requirement or {include-group = \"NAME\"}");
}

#[test]
fn names_that_the_project_does_not_have() {
    let error = |extras: &[&str], groups: &[&str]| {
        diagnostic::error::Error::from(chosen(CHOICES, extras, groups).unwrap_err())
    };
    let unknown = error(&["gpus"], &[]);
    assert_eq!(unknown.message, "the project has no extra \"gpus\"");
    assert_eq!(unknown.hints, ["did you mean gpu?", "extras of the project: all, gpu, serve-it"]);
    assert_eq!(error(&[], &["x"]).hints, ["groups of the project: dev, lint, train"]);
}

#[test]
fn files_of_dynamic_extras_are_read_when_they_are_chosen() {
    let text = "[project]\nname = \"a\"\ndynamic = [\"optional-dependencies\"]\n[tool.setuptools.dynamic]\n\
        optional-dependencies.train = {file = [\"train.txt\"]}\n";
    assert_eq!(
        chosen(text, &["train"], &[]).unwrap().1,
        [Included { name: "train.txt".to_owned(), line: 5 }]
    );
    let (project, files) = read(text);
    assert!(files.is_empty() && reasons(&project) == ["extra train: add --extra train"]);
}

#[test]
fn many_nested_includes_end() {
    let groups: String =
        (0..300).map(|one| format!("g{one} = [{{include-group = \"g{}\"}}]\n", one + 1)).collect();
    let text = format!("[dependency-groups]\n{groups}g300 = []\n");
    let error = chosen(&text, &[], &["g0"]).unwrap_err().to_string();
    assert!(error.ends_with("extras or groups include each other more than 100 times"), "{error}");
}
