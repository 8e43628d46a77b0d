//! The directory of CUDA's stub libraries is in LD_LIBRARY_PATH.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "ld-library-path-stubs",
    group: Group::Cuda,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "LD_LIBRARY_PATH contains no directory of CUDA stub libraries",
    explain: include_str!("ld_library_path_stubs.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let directories = facts.libraries.ld_library_path.require("LD_LIBRARY_PATH is not set")?;
    let is_stub = |dir: &&String| dir.trim_end_matches('/').rsplit('/').next() == Some("stubs");
    let Some(stubs) = directories.iter().find(is_stub) else { return Ok(Verdict::Pass) };
    let reported =
        facts.driver.stubs.known().is_some_and(|found| found.iter().any(|stub| stub.starts_with(stubs)));
    if reported {
        return Err(Verdict::NotApplicable("see driver-stub-library".into()));
    }
    let message = format!(
        "LD_LIBRARY_PATH contains {stubs}; programs may load the stub instead of the driver's library and \
         find no GPU"
    );
    let rest: Vec<&str> = directories.iter().filter(|dir| !is_stub(dir)).map(String::as_str).collect();
    let command = match rest.is_empty() {
        true => "unset LD_LIBRARY_PATH".to_owned(),
        false => format!("export LD_LIBRARY_PATH={}", rest.join(":")),
    };
    let fix = Fix::safe(
        "Remove the directory from LD_LIBRARY_PATH (the linker needs it in LIBRARY_PATH only):",
        &[&command],
    );
    Ok(Verdict::warning(message, fix)
        .about(Subject::name("LD_LIBRARY_PATH"))
        .evidence(format!("LD_LIBRARY_PATH={}", directories.join(":"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::node;

    #[test]
    fn stubs_directory_in_ld_library_path_is_a_warning() {
        let cases = [
            ("LD_LIBRARY_PATH=/usr/local/cuda/lib64:/usr/local/cuda/lib64/stubs/", "warning"),
            ("LD_LIBRARY_PATH=/usr/local/cuda/lib64", "pass"),
            ("LIBRARY_PATH=/usr/local/cuda/lib64/stubs", "not-applicable"),
        ];
        for (environment, expected) in cases {
            let mut facts = node("550.54.14", "NVIDIA H100 80GB HBM3 9.0", &[("environment", environment)]);
            let verdict = crate::judge_one(&CHECK, &facts);
            assert_eq!(status(&verdict), expected, "{environment}: {verdict:?}");
            facts.libraries.ld_library_path = Fact::Unknown("no environment".into());
            assert_eq!(judge(&facts), Err(Verdict::Unknown("no environment".into())));
        }
    }
}
