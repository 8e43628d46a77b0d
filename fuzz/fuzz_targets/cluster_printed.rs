//! What the kernel's files and the scripts in a container print, /etc/hosts, and labels of volumes.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    cluster::fuzzing::printed(text);
    cluster::fuzzing::label(text);
});
