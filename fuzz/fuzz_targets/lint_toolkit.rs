//! The container toolkit's config.toml.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::lint(lint::Kind::ToolkitConfig, "config.toml", text);
});
