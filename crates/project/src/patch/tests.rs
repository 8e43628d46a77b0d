use super::*;
use crate::{Selection, read_text};

fn selection() -> Selection {
    let names = vec!["gpu".to_owned()];
    Selection { extras: names.clone(), groups: names, ..Selection::default() }
}

/// Another version, as `NAME` of `LINE` gets it.
fn wanted(project: &Project, name: &str, specifiers: &str, version: &str) -> Wanted {
    let dependency = project.dependencies.iter().find(|one| one.value.name == name);
    let origin = match dependency {
        Some(one) => &one.origin,
        None => &project.python[0].origin,
    };
    Wanted {
        file: origin.file.clone(),
        line: origin.line,
        text: origin.text.clone(),
        specifiers: specifiers.parse().unwrap(),
        version: version.parse().unwrap(),
    }
}

fn build(name: &str, index: bool) -> NewBuild {
    let index = index.then(|| format!("https://download.pytorch.org/whl/{name}"));
    let partners = vec![("torchvision", "0.22.1".parse().unwrap()), ("torchaudio", "2.7.1".parse().unwrap())];
    NewBuild { torch: format!("2.7.1+{name}"), name: name.to_owned(), index, partners }
}

/// The text with the changes, after which it declares what was meant; or what to change by hand.
fn patched(
    file: &str,
    text: &str,
    changes: &[(&str, &str, &str)],
    build: Option<&NewBuild>,
) -> Result<(String, Vec<String>), Vec<String>> {
    let project = read_text(file, text, &selection()).unwrap();
    let mut texts = Texts::default();
    texts.read.insert(file.to_owned(), Some(text.to_owned()));
    let wanted: Vec<Wanted> =
        changes.iter().map(|(name, to, version)| wanted(&project, name, to, version)).collect();
    let patch = patch(&project, &texts, &wanted, build)?;
    let mut again = text.to_owned();
    for edit in patch.edits.iter().rev() {
        again.replace_range(edit.start.byte..edit.end.byte, &edit.text);
    }
    let Some(changed) = patch.files.first() else { return Ok((text.to_owned(), patch.notes)) };
    assert_eq!((&changed.before, &changed.after), (&text.to_owned(), &again));
    assert!(patch.is_exact(&read_text(file, &again, &selection()).unwrap()), "{again}");
    assert!(!patch.is_exact(&project), "{again}");
    Ok((again, patch.notes))
}

fn requirements(text: &str, changes: &[(&str, &str, &str)], build: Option<&NewBuild>) -> String {
    patched("requirements.txt", text, changes, build).unwrap().0
}

const TORCH: &[(&str, &str, &str)] = &[("torch", "==2.7.1", "2.7.1")];

#[test]
fn nothing_but_the_specifier_changes() {
    let pypi = build("cu126", false);
    for (before, after) in [
        ("torch==2.4.1\n", "torch==2.7.1\n"),
        ("torch==2.4.1", "torch==2.7.1"),
        (
            "\u{feff}# ä\r\n  Torch == 2.4.1   # see wiki\r\nnumpy<2\r\n",
            "\u{feff}# ä\r\n  Torch == 2.7.1   # see wiki\r\nnumpy<2\r\n",
        ),
        ("torch[x]==2.4.1 ; sys_platform == 'linux'\n\n", "torch[x]==2.7.1 ; sys_platform == 'linux'\n\n"),
        (
            "numpy<2\n\\\n torch==2.4.1 \\\n  ; python_version > '3.8'\n",
            "numpy<2\n\\\n torch==2.7.1 \\\n  ; python_version > '3.8'\n",
        ),
        ("torch (==2.4.1)\n", "torch (==2.7.1)\n"),
    ] {
        assert_eq!(requirements(before, TORCH, Some(&pypi)), after, "{before}");
    }
    let range = |text: &str, to: &str| requirements(text, &[("torch", to, "2.7.1")], Some(&pypi));
    assert_eq!(range("torch >= 2.1, <2.5\n", ">=2.1,<2.8"), "torch >= 2.1, <2.8\n");
    assert_eq!(range("torch~=2.4.1\n", "~=2.7.1"), "torch~=2.7.1\n");
    assert_eq!(range("torch==2.4.*\n", "==2.7.*"), "torch==2.7.*\n");
    let both = [TORCH[0], ("numpy", "<3", "2.1.0")];
    assert_eq!(requirements("numpy<2\r\ntorch==2.4.1\n", &both, Some(&pypi)), "numpy<3\r\ntorch==2.7.1\n");
}

#[test]
fn partners_that_nothing_was_said_of_change_with_torch() {
    let text = "torchvision==0.19.1\ntorch==2.4.1\ntorchaudio>=2\n";
    let expected = "torchvision==0.22.1\ntorch==2.7.1\ntorchaudio>=2\n";
    assert_eq!(requirements(text, TORCH, Some(&build("cu126", false))), expected);
}

#[test]
fn builds_and_indexes_move_together() {
    let new = build("cu128", true);
    let line = "--extra-index-url https://download.pytorch.org/whl/cu121  # ours\r\n";
    let text = format!("{line}torch==2.4.1+cu121\r\ntorchvision==0.19.1+cu121\r\n");
    let changes = [TORCH[0], ("torchvision", "==0.22.1", "0.22.1")];
    assert_eq!(
        requirements(&text, &changes, Some(&new)),
        "--extra-index-url https://download.pytorch.org/whl/cu128  # ours\r\ntorch==2.7.1+cu128\r\n\
         torchvision==0.22.1+cu128\r\n"
    );
    // Only the build is another one.
    let same = [("torch", "==2.4.1", "2.4.1")];
    assert_eq!(
        requirements(
            "-i https://me:pw@h.example/whl/cu121/\ntorch==2.4.1+cu121\n",
            &same,
            Some(&build("cu118", true))
        ),
        "-i https://me:pw@h.example/whl/cu118/\ntorch==2.4.1+cu118\n"
    );
    let pages = "-f https://download.pytorch.org/whl/cu121/torch/\ntorch==2.4.1\n";
    assert_eq!(
        requirements(pages, TORCH, Some(&new)),
        pages.replace("cu121", "cu128").replace("2.4.1", "2.7.1")
    );
}

#[test]
fn pages_are_added_where_no_index_is_named() {
    let text = "\u{feff}# ours\r\ntorch==2.4.1  # keep\r\ntorchaudio>=2.4,<2.5\r\n";
    let changes = [TORCH[0], ("torchaudio", ">=2.4,<2.8", "2.7.1")];
    assert_eq!(
        requirements(text, &changes, Some(&build("cu128", true))),
        "\u{feff}--find-links https://download.pytorch.org/whl/cu128/torch/\r\n--find-links \
         https://download.pytorch.org/whl/cu128/torchaudio/\r\n# ours\r\ntorch==2.7.1+cu128  # keep\r\n\
         torchaudio>=2.4,<2.8\r\n"
    );
}

#[test]
fn what_comes_with_torch_loses_its_version() {
    let text = "nvidia-cublas-cu12==12.1.3.1\ntorch==2.4.1\ntriton == 3.0.0 # x\nnvidia-ml-py==12.1\n";
    let (after, notes) = patched("requirements.txt", text, TORCH, Some(&build("cu126", false))).unwrap();
    assert_eq!(after, "nvidia-cublas-cu12\ntorch==2.7.1\ntriton  # x\nnvidia-ml-py==12.1\n");
    assert_eq!(notes, ["torch 2.7.1+cu126 decides the versions of nvidia-cublas-cu12, triton."]);
    let by_hand = patched("requirements.txt", text, TORCH, Some(&build("cu118", false))).unwrap_err();
    assert_eq!(
        by_hand,
        ["remove requirements.txt:1 nvidia-cublas-cu12==12.1.3.1: torch 2.7.1+cu118 requires other packages"]
    );
}

#[test]
fn what_cannot_be_changed_is_said() {
    let by_hand =
        |text: &str| patched("requirements.txt", text, TORCH, Some(&build("cu126", false))).unwrap_err();
    let header = "# This file is autogenerated by pip-compile with Python 3.11\n\
                  # by the following command:\n#\n\
                  #    pip-compile --generate-hashes requirements.in\n#\n";
    assert_eq!(
        by_hand(&format!("{header}torch==2.4.1 \\\n    --hash=sha256:aa\n")),
        ["requirements.txt:6 torch==2.4.1 has hashes, so the file must be made again: require \
             torch==2.7.1 in \
          requirements.in and run `pip-compile --generate-hashes requirements.in`"]
    );
    let made = by_hand("torch==2.4.1 --hash=sha256:aa\n");
    assert!(made[0].contains("run `uv pip compile --generate-hashes -o requirements.txt FILE`"), "{made:?}");
    let split = by_hand("torch==2.4.1,\\\n>2\n");
    assert!(
        split[0].starts_with("requirements.txt:1 torch==2.4.1,>2 is not written in one piece"),
        "{split:?}"
    );
    let wheel = by_hand("torch @ https://h.example/torch-2.4.1-cp311-cp311-linux_x86_64.whl\n");
    assert!(wheel[0].contains("is not written in one piece"), "{wheel:?}");
    let project = read_text("requirements.txt", "torch==2.4.1\n", &selection()).unwrap();
    let mut texts = Texts::default();
    texts.read.insert("requirements.txt".to_owned(), None);
    let latin = patch(&project, &texts, &[wanted(&project, "torch", "==2.7.1", "2.7.1")], None).unwrap_err();
    assert!(latin[0].contains("is not UTF-8"), "{latin:?}");
    let compiled = format!("{}torch==2.4.1\n", header.replace(" --generate-hashes", ""));
    let (_, notes) = patched("requirements.txt", &compiled, TORCH, Some(&build("cu126", false))).unwrap();
    assert_eq!(
        notes,
        ["requirements.txt is made by `pip-compile requirements.in`; change what it is made from too."]
    );
}

#[test]
fn strings_of_pyproject_keep_quotes_and_comments() {
    let text = "\u{feff}[project]\r\nname = \"a\"\r\nrequires-python = '>=3.8,<3.9'  # old\r\n\
                dependencies = [\r\n  \
                'torch==2.4.1', # pinned\r\n  \"torchvision >=0.19, <0.20 ; python_version > '3.8'\"]\r\n";
    let changes = [("python", ">=3.8,<3.13", "3.12"), TORCH[0], ("torchvision", ">=0.19,<0.23", "0.22.1")];
    let (after, notes) = patched("pyproject.toml", text, &changes, Some(&build("cu128", true))).unwrap();
    let expected = text.replace("<3.9", "<3.13").replace("2.4.1", "2.7.1").replace("<0.20", "<0.23");
    assert_eq!(after, expected);
    let note =
        "Install torch 2.7.1+cu128 from https://download.pytorch.org/whl/cu128: PyPI has another build.";
    assert_eq!(notes, [note]);
    let escaped = "[project]\nname = \"a\"\ndependencies = [\"torch\\u003d=2.4.1\"]\n";
    assert!(patched("pyproject.toml", escaped, TORCH, None).is_err());
}

#[test]
fn python_versions_keep_their_form() {
    for (before, after, to) in [
        ("# ours\r\n3.8\r\n3.9\r\n", "# ours\r\n3.12\r\n3.9\r\n", "==3.12.*"),
        ("3.8.10", "3.12", "==3.12.*"),
        ("cpython-3.8\n", "cpython-3.12\n", "==3.12.*"),
        (">=3.7,<3.9\n", ">=3.7,<3.13\n", ">=3.7,<3.13"),
    ] {
        let (text, _) = patched(".python-version", before, &[("python", to, "3.12")], None).unwrap();
        assert_eq!(text, after, "{before}");
    }
}

#[test]
fn constraints_of_poetry_keep_their_operator() {
    let text = "[tool.poetry.dependencies]\npython = \"~3.8\"\ntorch = \"~2.3.0\" # ours\n\
        torchvision = {version = '0.18.*', optional = false}\nnumpy = \">=1.24 <2\"\n\
        [tool.poetry.group.train.dependencies]\ndeepspeed = \"0.14.0\"\n";
    let changes = [
        ("python", ">=3.8,<3.13", "3.12"),
        ("torch", ">=2.3.0,<2.8.0", "2.7.1"),
        ("torchvision", "==0.22.*", "0.22.1"),
        ("numpy", ">=1.24,<3", "2.1.0"),
        ("deepspeed", "==0.16.0", "0.16.0"),
    ];
    let (after, _) = patched("pyproject.toml", text, &changes, Some(&build("cu126", false))).unwrap();
    let expected = text.replace("~3.8", "~3.12").replace("~2.3.0", "~2.7.1").replace("0.18.*", "0.22.*");
    let expected = expected.replace(">=1.24 <2", ">=1.24,<3").replace("0.14.0", "0.16.0");
    assert_eq!(after, expected);
}

#[test]
fn an_index_of_uv_gets_the_address_and_the_name_of_the_new_build() {
    let text = "[project]\nname = \"a\"\ndependencies = [\"torch==2.6.0\"]\n[tool.uv.sources]\n\
        torch = [{index = \"pytorch-cu124\", marker = \"sys_platform == 'linux'\"}]\ntorchvision = {index = \
        'pytorch-cu124'}\n[[tool.uv.index]]\nname = \"pytorch-cu124\"\nurl = \
        \"https://download.pytorch.org/whl/cu124\"\nexplicit = true\n";
    let change = |text: &str| patched("pyproject.toml", text, TORCH, Some(&build("cu128", true))).unwrap().0;
    let expected = text.replace("2.6.0", "2.7.1").replace("cu124", "cu128");
    assert_eq!(change(text), expected);
    // A source that does not count here has the old name too.
    let other = format!("{text}[tool.uv.sources.torchaudio]\nindex = \"pytorch-cu124\"\nextra = \"none\"\n");
    assert_eq!(change(&other), other.replace("2.6.0", "2.7.1").replace("whl/cu124", "whl/cu128"));
}

#[test]
fn extras_groups_and_setup_cfg_change_where_they_are() {
    let text = "[project]\nname = \"a\"\n[project.optional-dependencies]\ngpu = [\"torch==2.4.1\"]\n\
        [dependency-groups]\ngpu = ['deepspeed==0.14.0']\n";
    let changes = [TORCH[0], ("deepspeed", "==0.16.0", "0.16.0")];
    let (after, _) = patched("pyproject.toml", text, &changes, Some(&build("cu126", false))).unwrap();
    assert_eq!(after, text.replace("2.4.1", "2.7.1").replace("0.14.0", "0.16.0"));
    let text = "[options]\r\npython_requires = >=3.8,<3.11\r\ninstall_requires =\r\n    torch>=1.13,<2.1\r\n\
        [options.extras_require]\r\ngpu = torchvision==0.15.2; ninja\r\n";
    let changes = [
        ("python", ">=3.8,<3.13", "3.12"),
        ("torch", ">=1.13,<2.8", "2.7.1"),
        ("torchvision", "==0.22.1", "0.22.1"),
    ];
    let (after, notes) = patched("setup.cfg", text, &changes, Some(&build("cu128", true))).unwrap();
    let expected = text.replace("<3.11", "<3.13").replace("<2.1", "<2.8").replace("0.15.2", "0.22.1");
    assert_eq!(after, expected);
    assert!(notes[0].contains("PyPI has another build."), "{notes:?}");
}
