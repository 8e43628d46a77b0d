//! User libraries of more than one driver lie in the loader's directories.

use std::collections::BTreeSet;

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::{Facts, Role};

pub(super) const CHECK: Check = Check {
    id: "several-driver-libraries",
    group: Group::Driver,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "the loader's directories contain the user libraries of one driver only",
    explain: include_str!("several_driver_libraries.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let libraries = facts.driver.libraries.require("the driver's user library is not installed")?;
    let versions: BTreeSet<_> = libraries.iter().map(|library| library.version).collect();
    match versions.len() {
        0 => return Ok(Verdict::NotApplicable("the driver's user library is not installed".into())),
        1 => return Ok(Verdict::Pass),
        _ => {}
    }
    let names = versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
    let module = match &facts.driver.module {
        facts::Fact::Known(module) => format!(" (loaded module: {})", module.version),
        _ => String::new(),
    };
    let message = format!(
        "user libraries of drivers {names} are installed side by side{module}; the next ldconfig run may \
         select the wrong one"
    );
    let in_container = matches!(facts.role(), facts::Fact::Known(Role::Container));
    let fix = if in_container {
        Fix::manual(
            "Remove driver packages (libnvidia-compute…, libcuda1) from the image; the host's driver is \
             mounted at startup.",
        )
    } else {
        Fix::safe(
            "Remove the driver that does not match the loaded module, then refresh the loader cache:",
            &["sudo ldconfig"],
        )
    };
    Ok(libraries
        .iter()
        .fold(Verdict::warning(message, fix), |verdict, library| verdict.evidence(library.path.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::driver::DriverLibrary;
    use facts::testing::server::server;

    #[test]
    fn two_drivers_side_by_side_are_a_warning() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        let two = server(|f| {
            if let Fact::Known(libraries) = &mut f.driver.libraries {
                let path = "/usr/lib64/libcuda.so.570.86.15".into();
                libraries.push(DriverLibrary { path, version: "570.86.15".parse().unwrap() });
            }
        });
        expect(&CHECK, &two, "warning", "570.86.15 and 580.95.05");
        expect(&CHECK, &server(|f| f.driver.libraries = Fact::Known(vec![])), "not-applicable", "");
        expect(&CHECK, &server(|f| f.driver.libraries = Fact::Unknown("x".into())), "unknown", "x");
    }
}
