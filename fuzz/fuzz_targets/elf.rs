//! Headers of libraries.
#![no_main]

use std::io::Cursor;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = cluster::smoke::nccl::elf::dynamic(&mut Cursor::new(bytes));
});
