//! The variables that DeepSpeed's launcher reads.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    envdoc_fuzz::lint(lint::Kind::DeepspeedEnvironment, ".deepspeed_env", text);
});
