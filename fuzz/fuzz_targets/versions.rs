//! Versions, ranges of versions, markers and requirements.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    catalog::version::Version::parse(text);
    catalog::version::minor(text);
    catalog::version::compare(text, "12.4");
    catalog::cuda::sm(text);
    let _ = catalog::torch::CudaBuild::parse(text);
    let _ = text.parse::<facts::driver::DriverVersion>();
    let _ = text.parse::<resolve::request::Versions>();
    let _ = resolve::marker::holds_with_all(text, [12], "x86_64", &["a"]);
    resolve::parse::capability(text);
    for requirement in resolve::parse::split_requirements(text) {
        resolve::parse::package_name(requirement);
    }
    facts::packages::upstream(text);
    facts::fabric::version(text);
});
