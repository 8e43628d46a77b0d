//! Names of images: what is parsed has one name, which is parsed to the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    docker::reference::registry(text);
    docker::reference::split(text);
    let _ = docker::image::check_name(text);
    docker::registry::join("https://127.0.0.1/v2/", text);
    docker::registry::without_password(text);
    let Ok(reference) = docker::reference::Reference::parse(text) else { return };
    let name = reference.familiar();
    let again = docker::reference::Reference::parse(&name).unwrap();
    assert_eq!(again.familiar(), name);
});
