//! A Linux driver is installed inside WSL2.

use crate::distribution::{Family, family};
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "linux-driver-in-wsl",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "WSL2 uses the Windows driver and has no Linux driver installed",
    explain: include_str!("linux_driver_in_wsl.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    facts.system.wsl.require("this is not WSL")?;
    let packages = facts.driver.packages.decided()?;
    let libraries = facts.driver.libraries.decided()?.map(Vec::as_slice).unwrap_or_default();
    let foreign: Vec<_> =
        libraries.iter().filter(|library| !library.path.starts_with("/usr/lib/wsl/")).collect();
    if packages.is_none() && foreign.is_empty() {
        return Ok(Verdict::Pass);
    }
    let message = "a Linux driver is installed inside WSL2, which uses the Windows driver; programs that \
                   load its libcuda.so find no GPU";
    let names: Vec<&str> = packages.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let names = names.join(" ");
    let remove = match family(facts) {
        _ if packages.is_none() => "sudo nvidia-uninstall".to_owned(),
        Family::Ubuntu | Family::Debian => format!("sudo apt-get purge {names}"),
        Family::Rhel | Family::Fedora => format!("sudo dnf remove {names}"),
        Family::Other => String::new(),
    };
    let text = match packages {
        None => "Uninstall the Linux driver, which NVIDIA's .run installer put there:",
        Some(_) => "Remove the Linux driver:",
    };
    let commands: Vec<&str> =
        [remove.as_str(), "sudo ldconfig"].into_iter().filter(|c| !c.is_empty()).collect();
    let fix = Fix::safe(text, &commands);
    // Without the libraries, packages of tools alone do no harm yet.
    let mut verdict =
        if foreign.is_empty() { Verdict::warning(message, fix) } else { Verdict::error(message, fix) };
    for library in foreign {
        verdict = verdict.evidence(library.path.clone());
    }
    for (name, version) in packages.into_iter().flatten() {
        verdict = verdict.evidence(format!("package {name} {version}"));
    }
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::system::Wsl;
    use facts::testing::server::server;

    #[test]
    fn linux_driver_inside_wsl_is_an_error() {
        let wsl = |change: fn(&mut Facts)| {
            server(|f| {
                f.system.wsl = Fact::Known(Wsl { version: 2, dxg: true });
                change(f);
            })
        };
        expect(&CHECK, &server(|_| {}), "not-applicable", "not WSL");
        expect(&CHECK, &wsl(|_| {}), "error", "inside WSL2");
        expect(&CHECK, &wsl(|f| f.driver.libraries = Fact::Known(vec![])), "warning", "inside WSL2");
        let clean = wsl(|f| {
            f.driver.libraries = Fact::Known(vec![]);
            f.driver.packages = Fact::Absent;
        });
        expect(&CHECK, &clean, "pass", "");
        expect(&CHECK, &wsl(|f| f.driver.packages = Fact::Unknown("x".into())), "unknown", "x");
    }
}
