//! `pyproject.toml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::lint(lint::Kind::Pyproject, "pyproject.toml", text);
});
