//! What ssh leaves behind when it ends: every error has a message of one line and says what to do.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    cluster::ssh::LoginError::of(text);
    for status in [255, 1] {
        let lines = docker::fuzzing::ssh_ended(status, text);
        assert!(lines.len() > 1 && !lines[0].contains('\n'), "{lines:?}");
    }
});
