//! config.json of the docker program, .dockerignore, addresses of engines.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = docker::auth::Logins::parse(text);
    let _ = docker::transport::Endpoint::from(text);
    if let Ok(ignore) = docker::ignore::Ignore::parse(text) {
        ignore.excludes("src/main.rs");
        ignore.excludes_all_below("src");
    }
});
