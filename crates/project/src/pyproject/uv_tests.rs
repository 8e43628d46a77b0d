use super::tests::{chosen, reasons, shown};
use crate::declared::IndexRole;
use crate::project::Project;

const SOURCES: &str = "[project]\nname = \"a\"\ndependencies = [\"torch==2.6.0\", \"numpy>=1.26\"]\n\
    [project.optional-dependencies]\ncpu = []\ncu124 = []\n\
    [[tool.uv.index]]\nname = \"cpu\"\nurl = \"https://download.pytorch.org/whl/cpu\"\nexplicit = true\n\
    [[tool.uv.index]]\nname = \"cu124\"\n\
    url = \"https://me:pw@download.pytorch.org/whl/cu124\"\nexplicit = true\n\
    [tool.uv.sources]\n";

fn read(sources: &str, extras: &[&str]) -> Project {
    chosen(&format!("{SOURCES}{sources}"), extras, &[]).unwrap().0
}

fn indexes(project: &Project) -> Vec<(&str, IndexRole)> {
    project.indexes.iter().map(|one| (one.value.url.as_str(), one.value.role)).collect()
}

#[test]
fn an_explicit_index_counts_where_a_source_on_linux_names_it() {
    let project = read(
        "torch = [{index = \"cu124\", marker = \"sys_platform == 'linux'\"}, {index = \"cpu\", marker = \
         \"sys_platform == 'darwin'\"}]\n",
        &[],
    );
    assert_eq!(indexes(&project), [("https://download.pytorch.org/whl/cu124", IndexRole::Explicit)]);
    assert!(project.indexes[0].value.has_login && !format!("{project:?}").contains("pw"));
    let sources: Vec<String> = project.sources.iter().map(|one| one.origin.to_string()).collect();
    assert_eq!(sources, ["pyproject.toml:16 index https://download.pytorch.org/whl/cu124 for torch"]);
    assert!(indexes(&read("", &[])).is_empty());
}

#[test]
fn a_source_of_an_extra_counts_with_it() {
    let sources = "torch = [{index = \"cpu\", extra = \"cpu\"}, {index = \"cu124\", extra = \"cu124\"}]\n\
        torchvision = [{index = \"cpu\", extra = \"cpu\"}, {index = \"cu124\", extra = \"cu124\"}]\n";
    assert_eq!(
        indexes(&read(sources, &["cpu"])),
        [("https://download.pytorch.org/whl/cpu", IndexRole::Explicit)]
    );
    let project = read(sources, &[]);
    assert!(project.sources.is_empty() && indexes(&project).is_empty());
    let expected =
        "the index of torch and torchvision depends on the extra: add --extra cpu or --extra cu124";
    assert!(reasons(&project).iter().any(|one| one == expected), "{:?}", reasons(&project));
    let conflict =
        format!("{SOURCES}{sources}[tool.uv]\nconflicts = [[{{extra = \"cpu\"}}, {{extra = \"cu124\"}}]]\n");
    let error = chosen(&conflict, &["cpu", "cu124"], &[]).unwrap_err().to_string();
    assert_eq!(error, "pyproject.toml:19: extra cpu and extra cu124 cannot be combined");
    assert!(chosen(&conflict, &["cpu"], &[]).is_ok());
}

#[test]
fn other_sources_and_undefined_indexes() {
    let project = read("torch = {git = \"https://h.example/t\"}\nnumpy = {workspace = true}\n", &[]);
    assert!(reasons(&project).ends_with(&["version control".to_owned(), "local path".to_owned()]));
    let undefined = chosen(&format!("{SOURCES}torch = {{index = \"cu12\"}}\n"), &[], &[]).unwrap_err();
    assert_eq!(undefined.to_string(), "pyproject.toml:16: no index has the name \"cu12\"");
}

#[test]
fn overrides_replace_and_constraints_limit() {
    let text = format!(
        "{SOURCES}[tool.uv]\noverride-dependencies = [\"numpy<2.3\", \"pandas<3\"]\n\
         constraint-dependencies = [\"scipy<1.15\"]\n"
    );
    let (project, _) = chosen(&text, &[], &[]).unwrap();
    let expected = ["3 torch==2.6.0", "17 numpy<2.3", "17 pandas<3", "18 scipy<1.15"];
    assert_eq!(shown(&project), expected.map(|one| format!("pyproject.toml:{one}")));
    assert!(reasons(&project).contains(&"replaced by override-dependencies".to_owned()));
}

#[test]
fn indexes_of_all_forms_and_environments() {
    let text = "[[tool.uv.index]]\nurl = \"https://a.example/simple\"\n[[tool.uv.index]]\nurl = \
        \"https://b.example/f.html\"\nformat = \"flat\"\n\
        [tool.uv]\nindex-url = \"https://c.example/simple\"\n\
        extra-index-url = [\"https://d.example/simple\"]\nfind-links = [\"./wheels\"]\n\
        environments = [\"sys_platform == 'darwin'\"]\n";
    let (project, _) = chosen(text, &[], &[]).unwrap();
    use IndexRole::{Default, FindLinks, First};
    let expected = [
        ("https://a.example/simple", First),
        ("https://b.example/f.html", FindLinks),
        ("https://c.example/simple", Default),
        ("https://d.example/simple", First),
        ("./wheels", FindLinks),
    ];
    assert_eq!(indexes(&project), expected);
    assert_eq!(reasons(&project), ["environments leave out Linux"]);
}
