//! daemon.json.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::lint(lint::Kind::DaemonJson, "daemon.json", text);
});
