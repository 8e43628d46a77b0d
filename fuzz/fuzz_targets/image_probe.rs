//! What the probe prints inside an image, and conditions of images on a driver.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    image::inspect::probe::Probe::parse(text);
    let properties = image::inspect::requirement::Properties {
        cuda: Some("12.4".into()),
        driver: Some("550.90.07".into()),
        arch: Some("9.0".into()),
        brand: Some("tesla".into()),
    };
    image::inspect::requirement::holds(text, &properties);
});
