//! Templates of Helm.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::lint(lint::Kind::HelmTemplate, "templates/pod.yaml", text);
});
