//! Outputs in pieces: of a container in frames, of a job as lines. The first byte is the size of a piece.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((size, bytes)) = bytes.split_first() else { return };
    docker::fuzzing::printed(bytes, usize::from(*size));
    cluster::fuzzing::job_output(bytes, usize::from(*size));
});
