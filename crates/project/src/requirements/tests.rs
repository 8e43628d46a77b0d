use std::collections::BTreeMap;

use super::*;

fn read(files: &[(&str, &str)]) -> Result<Project, ProjectError> {
    let texts: BTreeMap<&str, &str> = files.iter().copied().collect();
    let mut load = |path: &Path| {
        Ok(match texts.get(path.to_str().unwrap()) {
            Some(text) => Loaded::Text((*text).to_owned()),
            None => Loaded::Missing,
        })
    };
    let mut project = Project::default();
    let mut reader = Reader::new(&mut load);
    reader.file(&mut project, Path::new(files[0].0), DeclaredBy::Main, None)?;
    Ok(project)
}

fn error(files: &[(&str, &str)]) -> String {
    read(files).unwrap_err().to_string()
}

#[test]
fn each_requirement_has_its_line_and_the_bytes_of_its_specifier() {
    let text = "\u{feff}# training\r\ntorch==2.4.1          # do not touch\r\n\
        numpy <2 ; python_version < '3.13'\r\n\
        accelerate>=0.30,\\\r\n  <1\r\neinops\r\n";
    let project = read(&[("requirements.txt", text)]).unwrap();
    let shown: Vec<(usize, String, Option<&str>)> = project
        .dependencies
        .iter()
        .map(|one| (one.origin.line, one.value.specifier(), one.origin.span.clone().map(|span| &text[span])))
        .collect();
    let expected =
        [(2, "==2.4.1", Some("==2.4.1")), (3, "<2", Some("<2")), (4, ">=0.30,<1", None), (6, "", None)];
    assert_eq!(shown, expected.map(|(line, text, span)| (line, text.to_owned(), span)));
    assert_eq!(project.dependencies[0].origin.to_string(), "requirements.txt:2 torch==2.4.1");
    assert_eq!(project.read, [ReadFile { requirements: Some(4), ..ReadFile::new("requirements.txt") }]);
}

#[test]
fn included_files_and_constraints() {
    let project = read(&[
        ("requirements/train.txt", "-r base.txt\n-c ../constraints.txt\ntorch\n--requirement=base.txt\n"),
        ("requirements/base.txt", "numpy<2\n"),
        ("constraints.txt", "torch==2.4.1\n"),
    ])
    .unwrap();
    let shown: Vec<(String, DeclaredBy)> =
        project.dependencies.iter().map(|one| (one.origin.to_string(), one.value.kind)).collect();
    assert_eq!(
        shown,
        [
            ("requirements/base.txt:1 numpy<2".to_owned(), DeclaredBy::Main),
            ("constraints.txt:1 torch==2.4.1".to_owned(), DeclaredBy::Constraint),
            ("requirements/train.txt:3 torch".to_owned(), DeclaredBy::Main),
        ]
    );
    let counts: Vec<_> = project.read.iter().map(|one| one.requirements).collect();
    assert_eq!(counts, [Some(1), Some(1), Some(1)]);
}

#[test]
fn hashes_and_indexes_are_kept_without_logins() {
    let text = "--index-url https://me:pw@pypi.example/simple\n--extra-index-url \
        https://download.pytorch.org/whl/cu121\n-f ./wheels\ntorch==2.4.1 \\\n    --hash=sha256:aa \\\n    \
        --hash=sha256:bb\n";
    let project = read(&[("requirements.txt", text)]).unwrap();
    assert_eq!(project.dependencies[0].value.hashes, ["sha256:aa", "sha256:bb"]);
    let indexes: Vec<String> = project.indexes.iter().map(|one| one.origin.to_string()).collect();
    assert_eq!(
        indexes,
        [
            "requirements.txt:1 --index-url https://pypi.example/simple",
            "requirements.txt:2 --extra-index-url https://download.pytorch.org/whl/cu121",
            "requirements.txt:3 --find-links ./wheels",
        ]
    );
    assert!(project.indexes[0].value.has_login && !format!("{project:?}").contains("pw"));
}

#[test]
fn what_is_not_read_has_its_line() {
    let text = "-e .\ngit+https://h.example/a.git#egg=a\n-r https://h.example/r.txt\n\
        --index-url https://${TOKEN}@h.example/simple\nx==${VERSION}\n--frobnicate\n--pre\n";
    let project = read(&[("requirements.txt", text)]).unwrap();
    let shown: Vec<String> = project
        .not_read
        .iter()
        .map(|one| format!("{} {}", one.line.unwrap_or_default(), one.reason))
        .collect();
    assert_eq!(
        shown,
        [
            "1 editable",
            "2 version control",
            "3 URL",
            "5 environment variable VERSION",
            "6 option --frobnicate is unknown"
        ]
    );
}

#[test]
fn faults_name_the_file_and_the_line() {
    assert_eq!(
        error(&[("a.txt", "x\n-r b.txt\n"), ("b.txt", "-r a.txt\n")]),
        "b.txt:1: a.txt includes itself (a.txt → b.txt → a.txt)"
    );
    assert_eq!(error(&[("a.txt", "\n-r no.txt\n")]), "a.txt:2: cannot read no.txt: no such file");
    let broken = error(&[("a.txt", "numpy=1.26\n")]);
    assert!(broken.starts_with("a.txt:1: cannot read the requirement \"numpy=1.26\": "), "{broken}");
    let deep: Vec<(String, String)> =
        (0..12).map(|one| (format!("{one}.txt"), format!("-r {}.txt\n", one + 1))).collect();
    let deep: Vec<(&str, &str)> = deep.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(error(&deep), "8.txt:1: files include each other more than 8 levels deep");
}
