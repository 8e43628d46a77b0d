//! The driver is there and `nvidia-smi` is not.

use crate::distribution::{Family, family};
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::{Fact, Facts, Role};

pub(super) const CHECK: Check = Check {
    id: "nvidia-smi-missing",
    group: Group::Driver,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "nvidia-smi is installed with the driver",
    explain: include_str!("nvidia_smi_missing.md"),
    judge,
};

const INSTALL: &str = "Install the package that contains nvidia-smi:";

fn judge(facts: &Facts) -> Judged {
    if facts.driver.smi.decided()?.is_some() {
        return Ok(Verdict::Pass);
    }
    let module = facts.driver.module.require("the driver is not loaded")?;
    let library = facts.driver.libraries.decided()?.is_some_and(|found| !found.is_empty());
    if !library {
        return Ok(Verdict::NotApplicable("the driver's user libraries are not installed here".into()));
    }
    let message = "the driver is loaded but nvidia-smi is not on PATH; the state of the GPUs is unknown";
    if matches!(facts.role(), Fact::Known(Role::Container)) {
        let fix = Fix::restarts_service(
            "Start the container with the utility capability:",
            &["docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility …"],
        );
        return Ok(Verdict::warning(message, fix));
    }
    let packages = facts.driver.packages.decided()?;
    let server = packages.is_some_and(|packages| packages.iter().any(|(name, _)| name.contains("-server")));
    let fix = match family(facts) {
        Family::Ubuntu => {
            let server = if server { "-server" } else { "" };
            let command = format!("sudo apt-get install -y nvidia-utils-{}{server}", module.version.branch);
            Fix::safe(INSTALL, &[&command])
        }
        Family::Debian => Fix::safe(INSTALL, &["sudo apt-get install -y nvidia-smi"]),
        Family::Rhel | Family::Fedora => Fix::safe(INSTALL, &["sudo dnf install -y nvidia-driver-cuda"]),
        Family::Other => Fix::manual("Install the driver's utilities in the version of the driver."),
    };
    Ok(Verdict::warning(message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::server::server;

    #[test]
    fn a_driver_without_its_tool_is_a_warning() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        let missing = server(|f| f.driver.smi = Fact::Absent);
        expect(&CHECK, &missing, "warning", "not on PATH");
        let Ok(Verdict::Found(found)) = judge(&missing) else { panic!("no finding") };
        let fix = &found.fixes[0];
        assert_eq!(fix.commands, ["sudo apt-get install -y nvidia-utils-580-server"]);
        expect(&CHECK, &server(|f| f.driver.smi = Fact::Unknown("x".into())), "unknown", "x");
        let none = server(|f| {
            f.driver.smi = Fact::Absent;
            f.driver.module = Fact::Absent;
        });
        expect(&CHECK, &none, "not-applicable", "not loaded");
    }
}
