//! pip is pointed to an index over plain HTTP that it will not trust.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use diagnostic::shell;
use facts::{Facts, environment::without_credentials};

pub(super) const CHECK: Check = Check {
    id: "python-index-not-trusted",
    group: Group::Environment,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "pip trusts the configured package indexes",
    explain: include_str!("python_index_not_trusted.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let variables = facts.environment.variables.require("no environment")?;
    let file = facts.environment.pip.require("no configuration")?;
    let mut indexes: Vec<(&str, &str)> = Vec::new();
    let mut trusted: Vec<&str> = Vec::new();
    for (key, value) in file {
        match key.as_str() {
            "index-url" | "extra-index-url" => {
                indexes.extend(value.split_whitespace().map(|url| (key.as_str(), url)))
            }
            "trusted-host" => trusted.extend(value.split_whitespace()),
            _ => {}
        }
    }
    for (name, value) in variables {
        match name.as_str() {
            "PIP_INDEX_URL" | "PIP_EXTRA_INDEX_URL" => {
                indexes.extend(value.split_whitespace().map(|url| (name.as_str(), url)));
            }
            "PIP_TRUSTED_HOST" => trusted.extend(value.split_whitespace()),
            _ => {}
        }
    }
    if indexes.is_empty() {
        return Err(Verdict::NotApplicable("no index is configured".into()));
    }
    for (from, url) in indexes {
        let url = without_credentials(url);
        let Some(rest) = url.strip_prefix("http://") else { continue };
        let authority = rest.split('/').next().unwrap_or(rest);
        let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
        if host == "localhost"
            || host.starts_with("127.")
            || trusted.iter().any(|name| *name == host || *name == authority)
        {
            continue;
        }
        let message = format!(
            "{from} is {url}, which uses plain HTTP and is not a trusted host; pip ignores this index"
        );
        let command = format!("pip config set global.trusted-host {}", shell::word(authority));
        let fix = Fix::safe("Use the mirror's HTTPS address, or mark the host as trusted:", &[&command]);
        return Ok(Verdict::warning(message, fix)
            .about(Subject::name(from))
            .evidence(format!("{from} = {url}")));
    }
    Ok(Verdict::Pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    #[test]
    fn an_index_over_plain_http_is_found_without_its_password() {
        let url = ("PIP_INDEX_URL", "http://ember:secret@mirror.example:8081/simple");
        let mut facts = with_variables(build_host(), &[url]);
        facts.environment.pip = Fact::Known(vec![]);
        expect(&CHECK, &facts, "warning", "http://mirror.example:8081/simple");
        assert!(!format!("{:?}", crate::judge_one(&CHECK, &facts)).contains("secret"));
        facts.environment.pip = Fact::Known(vec![("trusted-host".into(), "mirror.example".into())]);
        expect(&CHECK, &facts, "pass", "");
        facts.environment.pip = Fact::Unknown("permission denied".into());
        expect(&CHECK, &facts, "unknown", "");
        let mut plain = build_host();
        plain.environment.pip = Fact::Known(vec![]);
        expect(&CHECK, &plain, "not-applicable", "");
    }
}
