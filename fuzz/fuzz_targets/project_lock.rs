//! The locks of a project: uv.lock, poetry.lock and pylock.toml.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::project_lock(text);
});
