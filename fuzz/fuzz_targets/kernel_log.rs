//! Records of the kernel's log.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    facts::kernel_log::xids(text);
    facts::kernel_log::oom_kills(text);
    facts::kernel_log::driver_errors(text);
    facts::environment::parse(text);
    facts::network::name_servers(text);
});
