//! DeepSpeed's configuration.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::lint(lint::Kind::DeepspeedConfig, "ds_config.json", text);
});
