//! Fixes of every kind of file: the first byte chooses the kind. A fixed file has nothing more to fix, or the
//! fixes need another pass; what they do is in their diff.
#![no_main]

use lint::{File, Kind, RULES};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Some((first, text)) = text.split_at_checked(1) else { return };
    let kind = Kind::ALL[usize::from(first.as_bytes()[0]) % Kind::ALL.len()];
    let mut files = [File::new(envdoc_fuzz::catalog(), "file", text, kind)];
    let fixes = lint::fix::fix(RULES, checks::CHECKS, &mut files);
    for file in &fixes.files {
        assert_eq!(file.change.before, text);
        assert_ne!(file.change.before, file.change.after);
        let diff = file.change.diff();
        assert!(file.fixed > 0 && diff.starts_with("--- file\n+++ file\n"), "{diff}");
    }
    if fixes.files.is_empty() {
        assert_eq!(files[0].text, text);
    }
});
