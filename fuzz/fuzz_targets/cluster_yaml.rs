//! cluster.yaml, as far as its plan, and the sizes in it.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    cluster::validate::value::bytes(text);
    let Ok(request) = cluster::request::ClusterRequest::parse("cluster.yaml", text) else { return };
    let _ = cluster::validate::validate(&request);
});
