//! Packets on an interface, among them a datagram of this run, and answers of DNS servers.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    cluster::fuzzing::packet(bytes);
    cluster::fuzzing::dns_answer(bytes);
});
