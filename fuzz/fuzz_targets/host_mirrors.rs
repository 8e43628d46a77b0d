//! Mirrors in pip.conf, uv.toml, apt's sources and variables: what is shown of one has no login.
#![no_main]

use image::host_mirrors::HostMirrors;

libfuzzer_sys::fuzz_target!(|text: &str| {
    refresh::fuzzing::pip_config(text);
    let mut mirrors = HostMirrors::default();
    mirrors.pip("pip.conf", text);
    mirrors.uv("uv.toml", text);
    mirrors.apt("ubuntu.sources", text);
    mirrors.apt("sources.list", text);
    mirrors.variable("PIP_EXTRA_INDEX_URL", text);
    mirrors.variable("UV_DEFAULT_INDEX", text);
    let HostMirrors { index, extra, apt, python } = &mirrors;
    for mirror in index.iter().chain(extra).chain(apt.values()).chain(python) {
        let shown = mirror.redacted();
        let before = shown.split_once("***@").map(|(before, _)| before);
        let hidden = before.is_some_and(|before| before.is_empty() || before.ends_with("://"));
        assert!(if mirror.has_login() { hidden } else { shown == mirror.address }, "{mirror:?}");
    }
});
