//! Files of login shells.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::lint(lint::Kind::Profile, ".bashrc", text);
});
