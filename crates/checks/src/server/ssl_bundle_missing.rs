//! A variable names certificates that are not there.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "ssl-bundle-missing",
    group: Group::Environment,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "certificate files set in variables exist",
    explain: include_str!("ssl_bundle_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    facts.environment.variables.require("no environment")?;
    let named = &facts.environment.certificates;
    if named.is_empty() {
        return Err(Verdict::NotApplicable("no variable sets a certificate file".into()));
    }
    let mut unread = None;
    for (name, path, there) in named {
        match there.decided() {
            Ok(Some(true)) => {}
            Ok(_) => {
                let message = format!(
                    "{name} is {path}, which does not exist; programs that use it fail at every TLS \
                     connection"
                );
                let unset = format!("unset {name}");
                let fix = Fix::safe("Unset the variable to use the distribution's certificates:", &[&unset]);
                return Ok(Verdict::error(message, fix)
                    .about(Subject::name(name))
                    .evidence(format!("{name}={path}")));
            }
            Err(why) => unread = Some(why),
        }
    }
    unread.map_or(Ok(Verdict::Pass), |why| Err(why.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    #[test]
    fn a_bundle_that_is_not_there_is_found() {
        let mut facts = build_host();
        expect(&CHECK, &facts, "not-applicable", "");
        let named = |there| vec![("PIP_CERT".to_owned(), "/opt/ca.pem".to_owned(), there)];
        facts.environment.certificates = named(Fact::Known(false));
        expect(&CHECK, &facts, "error", "/opt/ca.pem");
        facts.environment.certificates = named(Fact::Known(true));
        expect(&CHECK, &facts, "pass", "");
        facts.environment.certificates = named(Fact::Unknown("permission denied".into()));
        expect(&CHECK, &facts, "unknown", "");
    }
}
