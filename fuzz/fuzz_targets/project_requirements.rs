//! The files of a project: requirements.txt, pyproject.toml and .python-version.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::project(text);
});
