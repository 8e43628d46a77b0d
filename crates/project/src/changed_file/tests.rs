#![expect(clippy::disallowed_methods, reason = "tests write files")]

use super::*;
use std::fs;

#[test]
fn all_files_are_written_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let changed = |name: &str, on_disk: &str| {
        let path = folder.path().join(name);
        fs::write(&path, on_disk).unwrap();
        let (before, after) = ("old\r\n".to_owned(), "new\r\n".to_owned());
        ChangedFile { name: path.display().to_string(), before, after }
    };
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let files = [changed("a.txt", "old\r\n"), changed("b.txt", "other\n")];
    let error = write_all(&files).unwrap_err();
    assert!(error.message.starts_with(&files[1].name), "{}", error.message);
    assert_eq!(names(), ["a.txt", "b.txt"]);
    // What is noticed only when the second file is written.
    let backup = files[0].write().unwrap();
    files[0].restore(&backup).unwrap();
    assert_eq!((fs::read_to_string(&files[0].name).unwrap(), names().len()), ("old\r\n".into(), 2));
    let files = [files[0].clone(), changed("b.txt", "old\r\n")];
    fs::write(folder.path().join("a.txt.orig"), "mine").unwrap();
    let backups = write_all(&files).unwrap();
    assert!(backups[0].ends_with("a.txt.1.orig") && backups[1].ends_with("b.txt.orig"));
    assert_eq!(fs::read_to_string(&files[1].name).unwrap(), "new\r\n");
    assert_eq!(fs::read_to_string(&backups[1]).unwrap(), "old\r\n");
}
