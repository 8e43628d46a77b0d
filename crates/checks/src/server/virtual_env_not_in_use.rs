//! VIRTUAL_ENV names an environment, and python3 starts another one.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use diagnostic::shell;
use facts::Facts;
use facts::python::{FoundBy, PythonEnvironment};

pub(super) const CHECK: Check = Check {
    id: "virtual-env-not-in-use",
    group: Group::Python,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "python3 runs the environment in VIRTUAL_ENV",
    explain: include_str!("virtual_env_not_in_use.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let environments = facts.python.environments.require("no Python found")?;
    let by = |found_by: FoundBy| environments.iter().find(|environment| environment.found_by == found_by);
    let value = facts.environment.variable("VIRTUAL_ENV");
    let value = value.require("VIRTUAL_ENV is not set")?.trim_end_matches('/');
    let Some(named) = by(FoundBy::VirtualEnv) else {
        // An environment that PATH leads to is listed once, as found through PATH.
        if environments.iter().any(|environment| environment.prefix == value) {
            return Ok(Verdict::Pass);
        }
        let message =
            format!("VIRTUAL_ENV is {value}, which contains no Python; python3 runs another environment");
        return Ok(Verdict::warning(
            message,
            Fix::safe("Unset the variable, or activate an environment that exists:", &["unset VIRTUAL_ENV"]),
        )
        .about(Subject::name("VIRTUAL_ENV")));
    };
    let used = by(FoundBy::Path).ok_or_else(|| Verdict::NotApplicable("no python3 on PATH".into()))?;
    let torch = |environment: &PythonEnvironment| {
        Ok::<_, Verdict>(environment.torch.decided()?.map(|torch| torch.full()))
    };
    let (wanted, got) = (torch(named)?, torch(used)?);
    if wanted == got {
        return Err(Verdict::NotApplicable("both environments have the same PyTorch, or none".into()));
    }
    let word =
        |torch: &Option<String>| torch.as_ref().map_or("no PyTorch".into(), |torch| format!("torch {torch}"));
    let message = format!(
        "VIRTUAL_ENV is {} ({}) but python3 runs {} ({})",
        named.prefix,
        word(&wanted),
        used.prefix,
        word(&got)
    );
    let fix = Fix::safe(
        "Activate the environment again in this shell:",
        &[&format!("source {}/bin/activate", shell::word(&named.prefix))],
    );
    Ok(Verdict::warning(message, fix).about(Subject::name("VIRTUAL_ENV")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::{machine, venv};

    #[test]
    fn path_and_variable_disagree() {
        let mut files = venv("2.5.1+cu124 12.4", &[]);
        files.push(("program python3", "/usr/bin/python3"));
        files.push(("/usr/bin/python3", ""));
        files.push(("/usr/lib/python3.12/os.py", ""));
        let verdict = crate::judge_one(&CHECK, &machine(&files));
        assert_eq!(status(&verdict), "warning", "{verdict:?}");
        let gone = [
            ("environment", "HOME=/root\nVIRTUAL_ENV=/gone"),
            ("/usr/bin/python3", ""),
            ("/usr/lib/python3.12/os.py", ""),
        ];
        let verdict = crate::judge_one(&CHECK, &machine(&gone));
        assert_eq!(status(&verdict), "warning", "{verdict:?}");
        let mut files = venv("2.5.1+cu124 12.4", &[]);
        files.push(("program python3", "/venv/bin/python3"));
        let mut facts = machine(&files);
        let verdict = crate::judge_one(&CHECK, &facts);
        assert_eq!(status(&verdict), "pass", "{verdict:?}");
        facts.python.environments = Fact::Unknown("no PATH".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("no PATH".into())));
        let verdict = crate::judge_one(
            &CHECK,
            &machine(&[
                ("environment", "HOME=/root"),
                ("/usr/bin/python3", ""),
                ("/usr/lib/python3.12/os.py", ""),
            ]),
        );
        assert_eq!(status(&verdict), "not-applicable", "{verdict:?}");
    }
}
