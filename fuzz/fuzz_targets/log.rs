//! Logs: a diagnosis in every format, none of which has a character that a terminal acts on.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let diagnosis = diagnose::root_cause::diagnose_text(envdoc_fuzz::catalog(), "rank0.log", text);
    envdoc_fuzz::assert_clean(&diagnose::report::text::report(&diagnosis, envdoc_fuzz::LAYOUT, true));
    let markdown = diagnose::report::markdown::report(&diagnosis, true);
    assert!(!markdown.contains('\0'), "{markdown:?}");
    serde_json::to_string(&diagnose::report::json::report(&diagnosis)).unwrap();
});
