//! The lines between envdoc and its worker, the greeting among them: what is read is written as it was.
#![no_main]

use cluster::worker::Reply;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = serde_json::from_str::<cluster::worker::Request>(text);
    let Ok(reply) = serde_json::from_str::<Reply>(text) else { return };
    let written = serde_json::to_string(&reply).unwrap();
    assert_eq!(serde_json::from_str::<Reply>(&written).unwrap(), reply);
});
