//! A stub of the driver's library lies in the loader's way.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "driver-stub-library",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "no stub of libcuda is in the loader's directories",
    explain: include_str!("driver_stub_library.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let stubs = facts.driver.stubs.require("no loader directory found")?;
    let Some(stub) = stubs.first() else { return Ok(Verdict::Pass) };
    let message = format!(
        "{stub} is a link-time stub without code, but is in the loader's directories; programs that load it \
         find no GPU"
    );
    let fix = Fix::safe(
        "Remove the directory from LD_LIBRARY_PATH and /etc/ld.so.conf.d; find it with:",
        &["grep -rs stubs /etc/ld.so.conf.d; echo \"$LD_LIBRARY_PATH\""],
    );
    let named = |name: &str| stubs.iter().any(|stub| stub.ends_with(name));
    // Programs load libcuda.so.1; a stub under that name is taken for certain.
    let verdict = match named("libcuda.so.1") || named("libnvidia-ml.so.1") {
        true => Verdict::error(message, fix).about(Subject::file(stub)),
        false => Verdict::warning(message, fix).about(Subject::file(stub)),
    };
    Ok(stubs.iter().fold(verdict, |verdict, stub| verdict.evidence(stub.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::server::server;

    #[test]
    fn reports_stub_libraries_on_the_loader_path() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        let stub = |name: &str| {
            let path = format!("/usr/local/cuda/lib64/stubs/{name}");
            server(|f| f.driver.stubs = Fact::Known(vec![path]))
        };
        expect(&CHECK, &stub("libcuda.so"), "warning", "link-time stub");
        expect(&CHECK, &stub("libcuda.so.1"), "error", "link-time stub");
        expect(&CHECK, &server(|f| f.driver.stubs = Fact::Unknown("x".into())), "unknown", "x");
    }
}
