//! Environments of conda.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::lint(lint::Kind::Conda, "environment.yml", text);
});
