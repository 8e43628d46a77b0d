//! limits.conf of pam_limits.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::lint(lint::Kind::Limits, "limits.conf", text);
});
