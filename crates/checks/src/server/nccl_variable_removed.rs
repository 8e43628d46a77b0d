//! A variable is set that newer releases do not read any more.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use catalog::variables::Status;
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "nccl-variable-removed",
    group: Group::Environment,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "no variable is set that only old releases read",
    explain: include_str!("nccl_variable_removed.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let settings = facts.environment.settings();
    let settings = settings.require("no environment")?;
    let mut any = false;
    let mut gone = Vec::new();
    for setting in settings {
        let Some(row) = facts.catalog.variable(setting.name) else { continue };
        let Some(owner) = row.owner.name() else { continue };
        any = true;
        if row.status == Status::Removed {
            gone.push((setting, row, owner));
        }
    }
    if !any {
        return Err(Verdict::NotApplicable("no variable of NCCL or PyTorch is set".into()));
    }
    let Some((first, row, owner)) = gone.first() else { return Ok(Verdict::Pass) };
    let last = row.last_seen.as_deref().unwrap_or("an old release");
    let instead = row.deprecated_by.as_ref().map(|name| format!("; use {name}")).unwrap_or_default();
    let message =
        format!("{} has no effect: {owner} {last} was the last release that read it{instead}", first.name);
    let unset: Vec<String> = gone.iter().map(|(setting, ..)| format!("unset {}", setting.name)).collect();
    let commands: Vec<&str> = unset.iter().map(String::as_str).collect();
    let verdict = Verdict::warning(message, Fix::safe("Remove it where it is set:", &commands))
        .about(Subject::name(first.name));
    Ok(gone.iter().fold(verdict, |verdict, (setting, ..)| {
        verdict.evidence(format!("{}={} in {}", setting.name, setting.value, setting.source))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    #[test]
    fn reports_variables_that_current_nccl_ignores() {
        let facts = with_variables(gpu_node(), &[("NCCL_IB_CUDA_SUPPORT", "1")]);
        expect(&CHECK, &facts, "warning", "2.3.7 was the last");
        expect(&CHECK, &with_variables(gpu_node(), &[("NCCL_DEBUG", "WARN")]), "pass", "");
        expect(&CHECK, &gpu_node(), "not-applicable", "");
        let mut unread = gpu_node();
        unread.environment.variables = Fact::Unknown("--root".into());
        expect(&CHECK, &unread, "unknown", "");
    }
}
