//! NCCL's log, saved baselines, lists of sizes, messages of ssh.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    cluster::smoke::nccl_log::read(text.lines());
    let _ = cluster::smoke::baseline::parse(text);
    let _ = cluster::smoke::bandwidth::sizes(text);
    cluster::ssh::LoginError::of(text);
});
