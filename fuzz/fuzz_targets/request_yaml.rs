//! request.yaml, as far as its requirements.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(request) = image::request::ImageRequest::parse("request.yaml", text) else { return };
    let _ = resolve::parse::requirements(resolve::testing::universe(), &request.stack_options());
});
