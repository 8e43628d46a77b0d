//! One reading: the question in the first line, the answer behind it; every fact and check that it reaches.
#![no_main]

const DRIVER: &str =
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n";

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Some((question, answer)) = text.split_once('\n') else { return };
    envdoc_fuzz::machine(&[("read /proc/driver/nvidia/version", DRIVER), (question, answer)]);
});
