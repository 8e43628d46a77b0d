//! An NCCL variable is set that nothing reads.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use catalog::variables::{Status, Variable};
use facts::Facts;

/// `nccl-variable-unknown`.
pub(super) const CHECK: Check = Check {
    id: "nccl-variable-unknown",
    group: Group::Environment,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "every NCCL variable that is set is read by some program",
    explain: include_str!("nccl_variable_unknown.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let settings = facts.environment.settings();
    let settings = settings.require("no environment")?;
    let ours = |name: &str| name.starts_with("NCCL_") || name.starts_with("TORCH_NCCL_");
    let harmless = |name: &str| facts.catalog.variable(name).is_some_and(Variable::is_harmless);
    let set: Vec<_> =
        settings.iter().filter(|setting| ours(setting.name) && !harmless(setting.name)).collect();
    if set.is_empty() {
        return Err(Verdict::NotApplicable("no NCCL variable is set".into()));
    }
    let mut wrong = Vec::new();
    for setting in &set {
        match facts.catalog.variable(setting.name) {
            Some(row) if row.status == Status::NotRead => {
                let meaning = row.meaning.clone().unwrap_or_else(|| "nothing reads it".into());
                wrong.push((
                    setting,
                    meaning.trim_end_matches('.').to_owned(),
                    facts.catalog.variables().nearest(setting.name),
                ));
            }
            Some(_) => {}
            None => {
                if let Some(near) = facts.catalog.variables().nearest(setting.name) {
                    wrong.push((
                        setting,
                        format!("nothing reads it; did you mean {}?", near.name),
                        Some(near),
                    ));
                }
            }
        }
    }
    let Some((first, why, near)) = wrong.first() else { return Ok(Verdict::Pass) };
    let more = if wrong.len() > 1 { format!(" (and {} more)", wrong.len() - 1) } else { String::new() };
    let message = format!("{}={} has no effect: {why}{more}", first.name, first.value);
    let unset: Vec<String> = wrong.iter().map(|(setting, _, _)| format!("unset {}", setting.name)).collect();
    let mut commands: Vec<&str> = unset.iter().map(String::as_str).collect();
    let export =
        near.filter(|_| wrong.len() == 1).map(|near| format!("export {}={}", near.name, first.value));
    commands.extend(export.as_deref().filter(|_| facts.catalog.variable(first.name).is_none()));
    let fix = Fix::safe("Remove the variable where it is set:", &commands);
    let verdict = Verdict::warning(message, fix).about(Subject::name(first.name));
    Ok(wrong.iter().fold(verdict, |verdict, (setting, why, _)| {
        verdict.evidence(format!("{}={} in {}: {why}", setting.name, setting.value, setting.source))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    fn node(name: &str) -> Facts {
        with_variables(gpu_node(), &[(name, "1800")])
    }

    #[test]
    fn names_that_nothing_reads_are_found() {
        expect(&CHECK, &node("NCCL_TIMEOUT"), "warning", "Not read by NCCL or PyTorch");
        expect(&CHECK, &node("NCCL_SOCKET_IFNAM"), "warning", "did you mean NCCL_SOCKET_IFNAME?");
        expect(&CHECK, &node("NCCL_BUFFER_SIZE"), "warning", "no effect");
    }

    #[test]
    fn names_that_are_read_or_belong_to_a_plugin_pass() {
        expect(&CHECK, &node("NCCL_DEBUG"), "pass", "");
        expect(&CHECK, &node("NCCL_OFI_TUNER_TYPE"), "pass", "");
        expect(&CHECK, &node("NCCL_VERSION"), "not-applicable", "");
        expect(&CHECK, &node("NCCL_ROOT"), "not-applicable", "");
        expect(&CHECK, &gpu_node(), "not-applicable", "");
        let mut unread = gpu_node();
        unread.environment.variables = Fact::Unknown("--root".into());
        expect(&CHECK, &unread, "unknown", "");
    }
}
