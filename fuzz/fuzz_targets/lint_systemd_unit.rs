//! Services of systemd.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::lint(lint::Kind::SystemdUnit, "vllm.service", text);
});
