//! What a user pastes: names and error lines to explain, expectations, requirements, GPUs, versions.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let catalog = envdoc_fuzz::catalog();
    let universe = resolve::testing::universe();
    resolve::lookup::explain(universe, text);
    let hits: Vec<_> = {
        let scanner = diagnose::scan::Scanner::new(catalog);
        text.lines().flat_map(|line| scanner.scan(line)).collect()
    };
    envdoc_fuzz::assert_clean(&diagnose::report::signature::hits(catalog, &hits, 80));
    diagnose::code::code(catalog, text);
    let _ = facts::Expected::default().add(text);
    let _ = image::verify::Expectations::default().add(text);
    let _ = resolve::lookup::why(universe, &resolve::request::Request::default(), text);
});
