//! Pages of package indexes in both forms: addresses are those of the web.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let base = "https://127.0.0.1/simple/x/";
    let json = refresh::page::from_json(text, base).unwrap_or_default();
    for file in json.into_iter().chain(refresh::page::from_html(text, base)) {
        assert!(file.url.starts_with("http"), "{file:?}");
    }
});
