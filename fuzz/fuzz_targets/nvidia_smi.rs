//! The XML of `nvidia-smi -q -x`, and its table of links.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::machine(&[("run nvidia-smi -q -x", text), ("run nvidia-smi nvlink -s", text)]);
});
