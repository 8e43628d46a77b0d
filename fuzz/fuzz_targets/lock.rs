//! Locks: what is read is written as it was, and is a lock still.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    image::lock::parse(text);
    let Ok(lock) = resolve::lock::Lock::parse(text) else { return };
    let written = serde_json::to_string(&lock).unwrap();
    let again = resolve::lock::Lock::parse(&written).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), written);
    let _ = lock.requirements("lock.json");
});
