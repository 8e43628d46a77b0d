//! Tables of cron.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::lint(lint::Kind::Crontab, "gpu.cron", text);
});
