//! A container has the GPU's device nodes and not the driver's libraries.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "driver-libraries-not-injected",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::Container,
    summary: "a container with a GPU has the driver's libraries",
    explain: include_str!("driver_libraries_not_injected.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let nodes = facts.driver.device_nodes.require("this container has no GPU")?;
    if nodes.gpus.is_empty() {
        return Ok(Verdict::NotApplicable("this container has no GPU".into()));
    }
    let found = facts.driver.libraries.decided()?.is_some_and(|found| !found.is_empty());
    let other = facts.driver.unversioned.decided()?.is_some_and(|found| !found.is_empty());
    if found || other {
        return Ok(Verdict::Pass);
    }
    let message = "this container has GPU device nodes but no libcuda.so.1: the driver's libraries were not \
                   mounted, so CUDA finds no driver";
    let fix = Fix::restarts_service(
        "Restart the container with the compute and utility capabilities:",
        &["docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility …"],
    );
    Ok(Verdict::error(message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::server::server;

    #[test]
    fn device_nodes_alone_are_not_enough() {
        let container = |change: fn(&mut Facts)| {
            server(|f| {
                f.system.container = Fact::Known("docker".into());
                change(f);
            })
        };
        expect(&CHECK, &server(|_| {}), "not-applicable", "not a container");
        expect(&CHECK, &container(|_| {}), "pass", "");
        expect(&CHECK, &container(|f| f.driver.libraries = Fact::Known(vec![])), "error", "no libcuda.so.1");
        expect(&CHECK, &container(|f| f.driver.libraries = Fact::Unknown("x".into())), "unknown", "x");
        expect(&CHECK, &container(|f| f.driver.device_nodes = Fact::Absent), "not-applicable", "no GPU");
    }
}
