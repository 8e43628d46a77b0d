//! Logs as bytes: packed, UTF-16, of a container's driver, of the flight recorder, pickles.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let read = diagnose::read::source::stream(envdoc_fuzz::catalog(), "log", bytes);
    let reads = [read];
    let diagnosis = diagnose::root_cause::diagnose(envdoc_fuzz::catalog(), &reads, None);
    envdoc_fuzz::assert_clean(&diagnose::report::text::report(&diagnosis, envdoc_fuzz::LAYOUT, true));
});
