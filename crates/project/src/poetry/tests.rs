use crate::project::Project;
use crate::{Selection, read_text};

fn read(text: &str, extras: &[&str], groups: &[&str]) -> Project {
    let names = |names: &[&str]| names.iter().map(|one| (*one).to_owned()).collect();
    let selection = Selection { extras: names(extras), groups: names(groups), ..Selection::default() };
    read_text("pyproject.toml", text, &selection).unwrap()
}

fn shown(project: &Project) -> Vec<String> {
    let line = |one: &crate::Declared<crate::Dependency>| {
        let marker = one.value.marker.as_ref().map_or(String::new(), |marker| format!(" ; {marker}"));
        format!("{} {}{}{marker}", one.origin.line, one.value.name, one.value.specifier())
    };
    project.dependencies.iter().map(line).collect()
}

fn reasons(project: &Project) -> Vec<String> {
    project.not_read.iter().map(|one| format!("{} {}", one.line.unwrap_or_default(), one.reason)).collect()
}

const TEXT: &str = "[tool.poetry]\nname = \"a\"\n[tool.poetry.dependencies]\npython = \"^3.10\"\n\
    torch = \"~2.3.0\"\nNumpy_ = \"*\"\nvllm = {version = \"^0.8\", optional = true, extras = [\"x\"]}\n\
    triton = {version = \"3.0.0\", markers = \"platform_machine == 'x86_64'\", python = \"<3.13\"}\n\
    a = [{version = \"1.*\", python = \"3.10.*\"}, {version = \">=2 <3\", platform = \"linux\"}]\n\
    b = {git = \"https://h.example/b\"}\nc = {path = \"../c\"}\nd = \"^1 || ^2\"\n\
    [tool.poetry.extras]\nserve = [\"vllm\"]\n[tool.poetry.group.dev.dependencies]\npytest = \"^8\"\n\
    [tool.poetry.group.train.dependencies]\ndeepspeed = \"0.15.0\"\n\
    [tool.poetry.group.eval]\noptional = true\n[tool.poetry.group.eval.dependencies]\nlm-eval = \"*\"\n";

#[test]
fn dependencies_in_all_forms() {
    let text = TEXT.replace("Numpy_", "Numpy");
    let project = read(&text, &[], &[]);
    assert_eq!(
        shown(&project),
        [
            "5 torch>=2.3.0,<2.4.0",
            "6 numpy",
            "8 triton==3.0.0 ; (platform_machine == 'x86_64') and (python_version < '3.13')",
            "9 a==1.* ; python_version == '3.10'",
            "9 a>=2,<3 ; sys_platform == 'linux'",
            "18 deepspeed==0.15.0"
        ]
    );
    assert_eq!(
        reasons(&project),
        [
            "0 extra serve: add --extra serve",
            "10 version control",
            "11 local path",
            "12 \"^1 || ^2\" cannot be expressed as a range",
            "0 groups dev, eval: add --group NAME"
        ]
    );
    let torch = &project.dependencies[0].origin;
    assert_eq!((&text[torch.span.clone().unwrap()], torch.text.as_str()), ("~2.3.0", "torch ~2.3.0"));
    assert_eq!(project.python[0].value.specifiers.to_string(), ">=3.10, <4.0");
    assert_eq!(project.read[0].parts, ["group train"]);
    let project = read(&text, &["serve"], &["eval"]);
    assert!(shown(&project).contains(&"7 vllm>=0.8,<0.9".to_owned()), "{:?}", shown(&project));
    assert!(
        shown(&project).contains(&"22 lm-eval".to_owned()) && project.dependencies[2].value.extras == ["x"]
    );
    assert_eq!(project.read[0].parts, ["extra serve", "group train", "group eval"]);
}

#[test]
fn a_project_table_has_the_dependencies_unless_they_are_dynamic() {
    let table = "[tool.poetry.dependencies]\ntorch = {version = \"^2.4\", source = \"pt\"}\n\
        [[tool.poetry.source]]\nname = \"pt\"\nurl = \"https://download.pytorch.org/whl/cu121\"\n\
        priority = \"explicit\"\n";
    let project =
        read(&format!("[project]\nname = \"a\"\ndependencies = [\"torch==2.4.1\"]\n{table}"), &[], &[]);
    assert_eq!(shown(&project), ["3 torch==2.4.1"]);
    assert_eq!(project.sources[0].origin.text, "index https://download.pytorch.org/whl/cu121 for torch");
    let dynamic = format!("[project]\nname = \"a\"\ndynamic = [\"dependencies\"]\n{table}");
    assert_eq!(shown(&read(&dynamic, &[], &[])), ["5 torch>=2.4,<3.0"]);
}

#[test]
fn sources_must_be_defined() {
    let text = "[[tool.poetry.source]]\nname = \"torch-cpu\"\nurl = \"https://h.example/whl/cpu\"\n\
        [tool.poetry.dependencies]\ntorch = {version = \"^2.4\", source = \"torch-gpu\"}\n";
    let error = read_text("pyproject.toml", text, &Selection::default()).unwrap_err();
    assert_eq!(error.to_string(), "pyproject.toml:5: no index has the name \"torch-gpu\"");
    let pypi = text.replace("torch-gpu", "PyPI");
    assert!(read_text("pyproject.toml", &pypi, &Selection::default()).is_ok());
}
