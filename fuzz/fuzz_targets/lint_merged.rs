//! Compose files that are merged, with three dots on a line between them, alone and as a stack.
#![no_main]

use lint::{File, Kind, Over, RULES, Stack};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let mut parts = text.split("\n...\n");
    let base = parts.next().unwrap_or_default();
    let mut file = File::new(envdoc_fuzz::catalog(), "compose.yaml", base, Kind::Compose);
    file.over = parts.map(|text| Over { name: "over.yaml".into(), text: text.into() }).collect();
    for stack in [Stack::Unsaid, Stack::Yes] {
        file.stack = stack;
        lint::env_files(&file);
        lint::nearby(&file);
        let findings = lint::lint(RULES, checks::CHECKS, &file);
        envdoc_fuzz::assert_clean(&lint::report::text(
            &findings,
            &lint::report::Coverage::of(lint::RULES, std::slice::from_ref(&file), 0, Vec::new()),
            envdoc_fuzz::LAYOUT,
        ));
    }
});
