//! What registries and engines answer about an image.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = serde_json::from_str::<image::inspect::image::Index>(text);
    let _ = serde_json::from_str::<image::inspect::image::Manifest>(text);
    let Ok(image) = image::inspect::image::from_engine("image", text, None) else { return };
    for (_, requirement) in image::inspect::requirement::of(&image) {
        image::inspect::requirement::holds(requirement, &image::inspect::requirement::Properties::default());
    }
    image.contents(envdoc_fuzz::catalog());
    image.largest(3);
});
