//! Dumps of PyTorch's flight recorder: pickles and JSON.
#![no_main]

use diagnose::read::formats::{Format, read};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for format in [Format::Pickle(true), Format::Recorder, Format::JsonFile, Format::ErrorFile] {
        read(envdoc_fuzz::catalog(), "nccl_trace_rank_0", format, Box::new(bytes));
    }
});
