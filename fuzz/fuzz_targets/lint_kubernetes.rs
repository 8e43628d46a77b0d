//! Manifests of Kubernetes.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::lint(lint::Kind::Kubernetes, "job.yaml", text);
});
