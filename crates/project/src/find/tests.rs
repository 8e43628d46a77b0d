#![expect(clippy::disallowed_methods, reason = "tests write files")]

use std::fs;

use super::disk::FILE_LIMIT_BYTES;
use super::*;

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn selected(folder: &tempfile::TempDir) -> Selection {
    Selection { directory: folder.path().to_owned(), ..Selection::default() }
}

/// Which files were read and which were not, without the folder.
fn names(files: &[(&str, &[u8])]) -> (Vec<String>, Vec<String>) {
    let folder = folder(files);
    let project = read(&selected(&folder)).unwrap();
    let bare =
        |name: &String| name.strip_prefix(&format!("{}/", folder.path().display())).unwrap().to_owned();
    let read = project.read.iter().map(|one| bare(&one.name)).collect();
    (read, project.not_read.iter().map(|one| format!("{} ({})", bare(&one.file), one.reason)).collect())
}

#[test]
fn files_are_chosen_by_their_names() {
    let (read, not_read) = names(&[
        ("requirements.txt", b"torch\n"),
        ("requirements-dev.txt", b"pytest\n"),
        ("requirements.in", b"torch\n"),
        ("requirements_docs.txt", b"sphinx\n"),
        ("pyproject.toml", b"[project]\nname = \"a\"\n"),
        (".python-version", b"3.11\n"),
        ("setup.py", b"setup()\n"),
    ]);
    assert_eq!(read, ["pyproject.toml", "requirements.txt", ".python-version"]);
    let expected = [
        "requirements-dev.txt (development)",
        "requirements_docs.txt (documentation)",
        "setup.py (runs code)",
    ];
    assert_eq!(not_read, expected);
    let (read, not_read) =
        names(&[("requirements/base.txt", b"torch\n"), ("requirements/dev.txt", b"pytest\n")]);
    assert_eq!(
        (read, not_read),
        (vec!["requirements/base.txt".into()], vec!["requirements/dev.txt (development)".into()])
    );
    assert_eq!(names(&[("requirements-gpu.txt", b"torch\n")]).0, ["requirements-gpu.txt"]);
    assert_eq!(names(&[("requirements.in", b"torch\n")]).0, ["requirements.in"]);
}

#[test]
fn nothing_to_read_is_an_error_that_names_what_there_is() {
    let message = |files: &[(&str, &[u8])]| {
        let folder = folder(files);
        let error = read(&selected(&folder)).unwrap_err().to_string();
        error.replace(&format!("{}", folder.path().display()), "D")
    };
    assert_eq!(
        message(&[]),
        "D has no requirements.txt, pyproject.toml, setup.cfg, a lock or .python-version"
    );
    assert_eq!(
        message(&[("requirements-cpu.txt", b""), ("requirements-gpu.txt", b"")]),
        "D has D/requirements-cpu.txt and D/requirements-gpu.txt and no requirements.txt"
    );
    let missing = Selection { directory: "/no/such".into(), ..Selection::default() };
    assert_eq!(read(&missing).unwrap_err().to_string(), "/no/such is not a directory");
}

#[test]
fn nothing_outside_the_project_is_read() {
    let outer =
        folder(&[("secret.txt", b"token\n"), ("p/requirements.txt", b"-r ../secret.txt\n-r link.txt\n")]);
    let directory = outer.path().join("p");
    std::os::unix::fs::symlink(outer.path().join("secret.txt"), directory.join("link.txt")).unwrap();
    let project = read(&Selection { directory: directory.clone(), ..Selection::default() }).unwrap();
    assert!(project.dependencies.is_empty());
    let reasons: Vec<_> = project.not_read.iter().map(|one| one.reason.clone()).collect();
    assert_eq!(reasons, [Reason::OutsideDirectory, Reason::OutsideDirectory]);
    // The repository is the project's too.
    fs::create_dir(outer.path().join(".git")).unwrap();
    let project = read(&Selection { directory, ..Selection::default() }).unwrap();
    assert_eq!(project.dependencies.len(), 2);
}

#[test]
fn encodings() {
    let utf16: Vec<u8> = "\u{feff}torch==2.4.1\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let read = |bytes: &[u8]| {
        let folder = folder(&[("requirements.txt", bytes)]);
        super::read(&selected(&folder)).map(|project| project.dependencies.len())
    };
    assert_eq!(read(&utf16).unwrap(), 1);
    assert_eq!(read(b"# -*- coding: latin-1 -*-\ntorch # gr\xfc\xdfe\n").unwrap(), 1);
    let error = read(b"torch\nnumpy # gr\xfc\xdfe\n").unwrap_err();
    assert!(matches!(&error, ProjectError::Encoding { line: 2, .. }), "{error}");
    let large = vec![b'#'; (FILE_LIMIT_BYTES + 1) as usize];
    assert!(read(&large).unwrap_err().to_string().ends_with("requirements.txt: larger than 4 MiB"));
}

#[test]
fn a_lock_counts_in_place_of_requirements_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("pyproject.toml", "[project]\nname = \"own\"\ndependencies = [\"six\"]\n");
    write("requirements.txt", "torch==2.4.1\n");
    let own =
        "[[package]]\nname = \"own\"\nsource = { virtual = \".\" }\ndependencies = [{ name = \"six\" }]\n";
    let six =
        "[[package]]\nname = \"six\"\nversion = \"1.17.0\"\nsource = { registry = \"https://h.example\" }\n";
    write("uv.lock", &format!("version = 1\n{own}{six}"));
    write("poetry.lock", "[metadata]\nlock-version = \"2.1\"\n");
    let selection = |lock| Selection { directory: folder.path().to_owned(), lock, ..Selection::default() };
    let names = |project: &Project| {
        let name = |file: &str| file.rsplit('/').next().unwrap().to_owned();
        let read: Vec<String> = project.read.iter().map(|one| name(&one.name)).collect();
        let not_read = project.not_read.iter().map(|one| format!("{} ({})", name(&one.file), one.reason));
        (read, not_read.collect::<Vec<_>>())
    };
    let obeyed = read(&selection(LockUse::Used)).unwrap();
    assert_eq!(
        names(&obeyed),
        (
            vec!["pyproject.toml".into(), "uv.lock".into()],
            vec!["poetry.lock (uv.lock is used)".into(), "requirements.txt (not chosen)".into()]
        )
    );
    assert!(obeyed.lock.is_some());
    let renewed = read(&selection(LockUse::Regenerated)).unwrap();
    assert_eq!(renewed.dependencies.len(), 1);
    let ignored = read(&selection(LockUse::Ignored)).unwrap();
    assert!(ignored.lock.is_none() && ignored.dependencies.len() == 2);
}
