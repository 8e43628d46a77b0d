//! Snapshots: what is read is what is written, also after redaction; every fact and check runs on one.
#![no_main]

use host::snapshot::Snapshot;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(snapshot) = serde_json::from_str::<Snapshot>(text) else { return };
    let written = serde_json::to_string(&snapshot).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&written).unwrap(), snapshot);
    let redacted = snapshot.clone().redact();
    serde_json::from_str::<Snapshot>(&serde_json::to_string(&redacted).unwrap()).unwrap();
    let host = snapshot.host();
    let facts = facts::gather::recorded(&*host, facts::Expected::default(), envdoc_fuzz::catalog());
    checks::judge(checks::CHECKS, &facts);
});
