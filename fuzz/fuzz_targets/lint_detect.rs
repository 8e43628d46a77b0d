//! The kind of a file: what its contents show is a kind that can be linted, or a reason why not.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    for name in ["file", "file.yaml", "file.yml", "file.json", "file.txt", "file.conf", "file.sh"] {
        lint::detect::detect(name, text);
    }
    if let Some(kind) = lint::recognize::kind_of_text(text) {
        assert!(lint::Kind::ALL.contains(&kind));
    }
});
