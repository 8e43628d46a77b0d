//! Challenges of registries: an identity token goes to no other host and over no plain connection.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let server = docker::fuzzing::token_server("https://registry.example.org/v2/", text);
    if let Some(server) = server {
        let own = ["https://registry.example.org/", "https://registry.example.org:"];
        assert!(own.iter().any(|own| server.starts_with(own)) || server.contains('@'), "{server}");
    }
});
