//! A user library of the driver is an empty file or a link that leads nowhere.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::{Fact, Facts, Role};

pub(super) const CHECK: Check = Check {
    id: "driver-library-broken",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "the driver's user libraries are intact files",
    explain: include_str!("driver_library_broken.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let broken = facts.driver.broken.require("no loader directory found")?;
    if broken.is_empty() {
        let none = facts.driver.libraries.decided()?.is_none_or(|found| found.is_empty());
        return Ok(match none {
            true => Verdict::NotApplicable("the driver's user library is not installed".into()),
            false => Verdict::Pass,
        });
    }
    let (path, what) = &broken[0];
    let more = if broken.len() > 1 { format!(" (and {} more)", broken.len() - 1) } else { String::new() };
    let message = format!("{path} {what}{more}; programs that load it fail");
    let in_container = matches!(facts.role(), Fact::Known(Role::Container));
    let fix = if in_container {
        Fix::manual(
            "Rebuild the image with the default runtime (it was built while the NVIDIA runtime had mounted \
             libraries there), or delete these files in it.",
        )
    } else {
        Fix::safe("Reinstall the driver packages, then refresh the loader cache:", &["sudo ldconfig"])
    };
    Ok(broken
        .iter()
        .fold(Verdict::error(message, fix).about(Subject::file(path)), |verdict, (path, what)| {
            verdict.evidence(format!("{path} {what}"))
        }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::server::server;

    #[test]
    fn empty_libraries_are_an_error() {
        expect(&CHECK, &server(|_| {}), "pass", "");
        let path = "/usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03".to_owned();
        let empty = server(|f| f.driver.broken = Fact::Known(vec![(path, "is empty")]));
        expect(&CHECK, &empty, "error", "is empty");
        expect(&CHECK, &server(|f| f.driver.broken = Fact::Unknown("x".into())), "unknown", "x");
        expect(&CHECK, &server(|f| f.driver.libraries = Fact::Known(vec![])), "not-applicable", "");
    }
}
