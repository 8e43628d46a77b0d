//! Cached files of the catalog: one that keeps every rule has rows.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    for name in ["torch.yaml", "drivers.yaml", "gpus.yaml", "systems.yaml"] {
        let other = |name: &str| catalog::embedded::file_named(name).map(|file| file.text.into());
        let broken = catalog::rules::broken(name, text, &other);
        assert!(!broken.is_empty() || catalog::rules::count(name, text) > 0);
    }
    catalog::cache::newest_day(text);
});
