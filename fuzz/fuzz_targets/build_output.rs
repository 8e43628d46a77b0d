//! Messages of a builder, and the diagnosis of the last lines of a step.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    docker::fuzzing::build_output(text);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (last, message) = lines.split_last().map_or((&[][..], ""), |(last, before)| (before, last.as_str()));
    let diagnosis = image::build_log::diagnose(envdoc_fuzz::catalog(), last, message);
    envdoc_fuzz::assert_clean(&diagnose::report::text::report(&diagnosis, envdoc_fuzz::LAYOUT, true));
});
