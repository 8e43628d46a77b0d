//! The driver, or the CUDA version that it supports, is not what the user said.

use crate::driver::loaded;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::expected::contains;
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "driver-differs-from-expected",
    group: Group::Driver,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "the driver and its CUDA version are as expected",
    explain: include_str!("driver_differs_from_expected.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let (driver, cuda) = (&facts.expected.driver, &facts.expected.cuda);
    if driver.is_none() && cuda.is_none() {
        return Ok(Verdict::NotApplicable(
            "no driver or CUDA version was expected (--expect driver=…, cuda=…)".into(),
        ));
    }
    let loaded = loaded(facts);
    let Some(loaded) = loaded.decided()? else {
        return Ok(Verdict::error(
            "a driver was expected but none is loaded",
            Fix::safe("Read how to install and load the driver:", &["envdoc explain gpu-without-driver"]),
        ));
    };
    let mut wrong = Vec::new();
    if let Some(range) = driver {
        match contains(range, &loaded.to_string()) {
            Some(true) => {}
            Some(false) => wrong.push(format!("driver {loaded} is loaded, but {range} was expected")),
            None => return Err(Verdict::Unknown(format!("could not compare {loaded} with {range}").into())),
        }
    }
    if let Some(range) = cuda {
        let version = facts.gpu.cuda.clone().or_look(|| {
            let row = facts.catalog.drivers().branch(loaded.branch).and_then(|row| row.cuda.clone());
            row.map_or_else(|| Fact::Unknown("the driver's CUDA version is unknown".into()), Fact::Known)
        });
        let version = version.require("the driver's CUDA version is unknown")?;
        match contains(range, version) {
            Some(true) => {}
            Some(false) => {
                wrong.push(format!("the driver supports CUDA up to {version}, but {range} was expected"))
            }
            None => {
                return Err(Verdict::Unknown(format!("could not compare {version} with {range}").into()));
            }
        }
    }
    if wrong.is_empty() {
        return Ok(Verdict::Pass);
    }
    let fix = Fix::needs_reboot("Install the expected driver, or correct --expect.", &[]);
    Ok(Verdict::error(wrong.join("; "), fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::testing::server::server;

    fn expecting(text: &str) -> Facts {
        server(|f| f.expected.add(text).unwrap())
    }

    #[test]
    fn expectations_are_compared() {
        expect(&CHECK, &server(|_| {}), "not-applicable", "was expected (--expect");
        expect(&CHECK, &expecting("driver>=550"), "pass", "");
        expect(&CHECK, &expecting("driver=570"), "error", "580.95.05 is loaded");
        expect(&CHECK, &expecting("cuda=13.0"), "pass", "");
        expect(&CHECK, &expecting("cuda=12.4"), "error", "up to 13.0");
        let mut none = expecting("driver>=550");
        none.driver.module = Fact::Absent;
        none.gpu.driver = Fact::Absent;
        expect(&CHECK, &none, "error", "none is loaded");
        none.driver.module = Fact::Unknown("x".into());
        expect(&CHECK, &none, "unknown", "x");
    }
}
