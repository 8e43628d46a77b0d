use std::path::Path;

use super::*;
use crate::requirements::{Loaded, Reader};

fn declared(text: &str, pythons: &[u32], architecture: &str) -> Declarations {
    let mut load = |_: &Path| Ok(Loaded::Text(text.to_owned()));
    let mut project = Project::default();
    Reader::new(&mut load).file(&mut project, Path::new("r.txt"), DeclaredBy::Main, None).unwrap();
    declare(resolve::testing::universe().catalog, &project, Environment { architecture, pythons }).unwrap()
}

fn sources(text: &str) -> Vec<String> {
    let found = declared(text, &[10, 11, 12], "x86_64");
    found.requirements.iter().map(|one| one.source.to_string()).collect()
}

#[test]
fn packages_of_the_catalog_are_requirements_and_others_are_for_pip() {
    let found = declared(
        "torch==2.4.1\ntorchvision==0.19.1+cu121\nnvidia-cublas-cu12==12.1.3.1\ntriton==3.0.0\n\
         Einops==0.8.0 ; python_version < '3.11'\ntransformers[torch]>=4.40\n",
        &[10, 11],
        "x86_64",
    );
    let shown: Vec<String> = found.requirements.iter().map(|one| one.source.to_string()).collect();
    let expected = [
        "r.txt:1 torch==2.4.1",
        "r.txt:2 torchvision==0.19.1+cu121",
        "r.txt:2 torchvision==0.19.1+cu121",
        "r.txt:6 transformers[torch]>=4.40",
        "r.txt:3 nvidia-cublas-cu12==12.1.3.1",
    ];
    assert_eq!(shown, expected);
    assert_eq!(found.others.packages, ["einops==0.8.0 ; python_version < '3.11'", "transformers[torch]"]);
    assert_eq!((found.others.of_torch, found.others.torch, found.depends_on_python), (2, true, false));
}

#[test]
fn partners_of_the_pinned_torch_change_with_it_and_libraries_name_its_cuda() {
    let pins = "torch==2.4.1\ntorchvision==0.19.1\ntorchaudio==2.4.0\nnvidia-cudnn-cu12==9.1.0.70\n\
        nvidia-cublas-cu12==12.1.3.1\nnvidia-cuda-runtime-cu12==12.1.105\n";
    let found = declared(pins, &[11], "x86_64");
    let shown: Vec<String> = found.requirements.iter().map(|one| one.source.to_string()).collect();
    let expected =
        ["r.txt:1 torch==2.4.1", "r.txt:3 torchaudio==2.4.0", "r.txt:5 nvidia-cublas-cu12==12.1.3.1"];
    assert_eq!(shown, expected);
    assert!(matches!(&found.requirements[2].kind, RequirementKind::Cuda(cuda) if cuda.text == "12.1"));
    assert_eq!(found.others.of_torch, 4);
}

#[test]
fn markers_are_decided_for_linux_the_processor_and_the_pythons() {
    let text = "torch==2.4.1 ; platform_machine == 'x86_64'\ntorch==2.5.1 ; platform_machine == 'aarch64'\n\
        numpy<2 ; python_version < '3.11'\ndeepspeed ; sys_platform == 'win32'\n";
    let sources = |pythons: &[u32], architecture: &str| {
        let found = declared(text, pythons, architecture);
        let shown: Vec<String> = found.requirements.iter().map(|one| one.source.to_string()).collect();
        (shown, found.depends_on_python)
    };
    assert_eq!(
        sources(&[9, 10], "x86_64"),
        (vec!["r.txt:1 torch==2.4.1".into(), "r.txt:3 numpy<2".into()], false)
    );
    assert_eq!(sources(&[12], "aarch64"), (vec!["r.txt:2 torch==2.5.1".into()], false));
    assert_eq!(sources(&[10, 12], "x86_64"), (vec!["r.txt:1 torch==2.4.1".into()], true));
}

#[test]
fn an_index_of_a_build_is_a_requirement_where_it_decides() {
    let cu121 = "https://download.pytorch.org/whl/cu121";
    let index = format!("r.txt:1 --extra-index-url {cu121}");
    assert_eq!(
        sources(&format!("--extra-index-url {cu121}\ntorch==2.4.1\n")),
        ["r.txt:2 torch==2.4.1", &index]
    );
    // Both indexes are asked, and the newest release is on PyPI.
    assert_eq!(sources(&format!("--extra-index-url {cu121}\ntorch>=2.0\n")), ["r.txt:2 torch>=2.0"]);
    // The index has no such release.
    assert_eq!(sources(&format!("--extra-index-url {cu121}\ntorch==2.7.1\n")), ["r.txt:2 torch==2.7.1"]);
    let only = format!("--index-url {cu121}\ntorch\n");
    assert_eq!(sources(&only), ["r.txt:2 torch".to_owned(), format!("r.txt:1 --index-url {cu121}")]);
    let page = format!("-f {cu121}/torch/\ntorch==2.4.1\n");
    assert_eq!(sources(&page).len(), 2);
    assert_eq!(
        sources("-f https://download.pytorch.org/whl/torch_stable.html\ntorch==2.4.1+cu118\n").len(),
        1
    );
    assert_eq!(
        sources("--extra-index-url https://download.pytorch.org/whl/nightly/cu128\ntorch==2.7.1\n").len(),
        1
    );
}

fn of_pyproject(text: &str, extras: &[&str], pythons: &[u32]) -> (Vec<String>, Declarations) {
    let extras = extras.iter().map(|one| (*one).to_owned()).collect();
    let selection = crate::Selection { extras, ..crate::Selection::default() };
    let project = crate::read_text("p.toml/pyproject.toml", text, &selection).unwrap();
    let environment = Environment { architecture: "x86_64", pythons };
    let found = declare(resolve::testing::universe().catalog, &project, environment).unwrap();
    let sources = found.requirements.iter().map(|one| one.source.to_string());
    (sources.map(|one| one.replace("p.toml/pyproject.toml:", "")).collect(), found)
}

/// uv takes torch from the index that a source names, or from the first one that has it.
#[test]
fn a_source_or_the_first_index_of_uv_decides_the_build() {
    let torch = "[project]\nname = \"a\"\ndependencies = [\"torch>=2.4\"]\n";
    let index = |name: &str, more: &str| {
        format!(
            "[[tool.uv.index]]\nname = \"{name}\"\n\
             url = \"https://download.pytorch.org/whl/{name}\"\n{more}\n"
        )
    };
    let explicit = index("cu124", "explicit = true");
    assert_eq!(of_pyproject(&format!("{torch}{explicit}"), &[], &[12]).0, ["3 torch>=2.4"]);
    let sources = format!("{torch}{explicit}[tool.uv.sources]\ntorch = {{index = \"cu124\"}}\n");
    let expected = ["3 torch>=2.4", "9 index https://download.pytorch.org/whl/cu124 for torch"];
    assert_eq!(of_pyproject(&sources, &[], &[12]).0, expected);
    let common = format!("{torch}{}{}", index("cu124", ""), index("cu118", ""));
    let expected = ["3 torch>=2.4", "6 index https://download.pytorch.org/whl/cu124"];
    assert_eq!(of_pyproject(&common, &[], &[12]).0, expected);
    let git = format!("{torch}[tool.uv.sources]\ntorch = {{git = \"https://h.example/torch\"}}\n");
    assert!(of_pyproject(&git, &[], &[12]).0.is_empty());
    let marker = "torch = {git = \"https://h.example/torch\", marker = \"python_version < '3.11'\"}";
    let (shown, found) = of_pyproject(&format!("{torch}[tool.uv.sources]\n{marker}\n"), &[], &[10, 12]);
    assert!(shown.is_empty() && found.depends_on_python);
}

#[test]
fn markers_of_extras_hold_for_chosen_extras_only() {
    let text = "[tool.poetry.dependencies]\ntorch = [{version = \"2.4.1\", markers = \"extra == 'old'\"}, \
        {version = \"2.7.1\", markers = \"extra != 'old'\"}]\n\
        a = {version = \"1.0\", markers = \"extra == 'old'\"}\n\
        [tool.poetry.extras]\nold = []\n";
    let (shown, found) = of_pyproject(text, &["old"], &[12]);
    assert_eq!((shown, found.others.packages), (vec!["2 torch 2.4.1".to_owned()], vec!["a==1.0".to_owned()]));
    let (shown, found) = of_pyproject(text, &[], &[12]);
    assert_eq!((shown, found.others.packages.len()), (vec!["2 torch 2.7.1".to_owned()], 0));
}
