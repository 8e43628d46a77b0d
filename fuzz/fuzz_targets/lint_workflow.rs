//! Workflows of GitHub Actions.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::lint(lint::Kind::GithubWorkflow, ".github/workflows/ci.yml", text);
});
