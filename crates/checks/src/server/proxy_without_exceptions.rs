//! A proxy is set, and nothing says that this machine itself is reached without it.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::{Facts, environment::without_credentials};

pub(super) const CHECK: Check = Check {
    id: "proxy-without-exceptions",
    group: Group::Network,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "requests to localhost bypass the proxy",
    explain: include_str!("proxy_without_exceptions.md"),
    judge,
};

const PROXIES: &[&str] =
    &["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];

fn judge(facts: &Facts) -> Judged {
    let variables = facts.environment.variables.require("no environment")?;
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    let Some(proxy) = PROXIES.iter().find(|name| set(name).is_some()) else {
        return Err(Verdict::NotApplicable("no proxy is set".into()));
    };
    let exceptions = set("no_proxy").or_else(|| set("NO_PROXY")).map_or("", String::as_str);
    let entries: Vec<&str> = exceptions.split(',').map(str::trim).collect();
    let local = |entry: &&str| *entry == "*" || entry.starts_with("127.") || *entry == "localhost";
    if entries.iter().any(local) {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "{proxy} is set but no_proxy does not contain localhost; requests to this machine itself go to the \
         proxy"
    );
    let mut all = vec!["localhost", "127.0.0.1", "::1"];
    all.extend(entries.iter().filter(|entry| !entry.is_empty()));
    let export = format!("export no_proxy={0} NO_PROXY={0}", all.join(","));
    Ok(Verdict::warning(
        message,
        Fix::safe("Exclude localhost (and the networks and domains of your cluster):", &[&export]),
    )
    .about(Subject::name(*proxy))
    .evidence(format!("{proxy}={}", without_credentials(set(proxy).map_or("", String::as_str))))
    .evidence(format!("no_proxy={exceptions}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    #[test]
    fn reports_missing_no_proxy_and_hides_the_password() {
        let facts = with_variables(build_host(), &[("http_proxy", "http://ember:secret@proxy.example:3128")]);
        expect(&CHECK, &facts, "warning", "http_proxy is set");
        assert!(!format!("{:?}", crate::judge_one(&CHECK, &facts)).contains("secret"));
        let proxy = ("HTTPS_PROXY", "http://proxy.example:3128");
        let facts = with_variables(build_host(), &[proxy, ("NO_PROXY", ".example, localhost")]);
        expect(&CHECK, &facts, "pass", "");
        expect(&CHECK, &build_host(), "not-applicable", "");
        let mut unread = build_host();
        unread.environment.variables = Fact::Unknown("--root".into());
        expect(&CHECK, &unread, "unknown", "");
    }
}
