//! A Dockerfile with files of its build context, each after a line with three dots: .dockerignore,
//! requirements.txt, pyproject.toml.
#![no_main]

use lint::{File, Kind, RULES};

const NAMES: [&str; 3] = [".dockerignore", "requirements.txt", "pyproject.toml"];

libfuzzer_sys::fuzz_target!(|text: &str| {
    let mut parts = text.split("\n...\n");
    let dockerfile = parts.next().unwrap_or_default();
    let mut file = File::new(envdoc_fuzz::catalog(), "Dockerfile", dockerfile, Kind::Dockerfile);
    let asks = lint::asks(&file);
    for path in asks.copies.iter().chain(&asks.wants).chain(&asks.looks) {
        file.context.insert(path.clone(), None);
    }
    file.context
        .extend(NAMES.into_iter().zip(parts).map(|(name, text)| (name.to_owned(), Some(text.to_owned()))));
    let findings = lint::lint(RULES, checks::CHECKS, &file);
    envdoc_fuzz::assert_clean(&lint::report::text(
        &findings,
        &lint::report::Coverage::of(lint::RULES, std::slice::from_ref(&file), 0, Vec::new()),
        envdoc_fuzz::LAYOUT,
    ));
});
