//! Metadata of packages, wheels and source distributions.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    refresh::fuzzing::package(bytes);
});
