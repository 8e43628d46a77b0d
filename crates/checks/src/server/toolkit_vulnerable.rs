//! The toolkit has known vulnerabilities.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use catalog::toolkit::Exposure;
use catalog::version::Version;
use facts::Fact;
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "toolkit-vulnerable",
    group: Group::Toolkit,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "the toolkit has no known vulnerability",
    explain: include_str!("toolkit_vulnerable.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let text = facts.toolkit.version.require("the container toolkit is not installed")?;
    let (mut found, mut open) = (Vec::new(), Vec::new());
    for cve in facts.catalog.toolkit().cves("nvidia-container-toolkit") {
        match cve.exposure(text) {
            Exposure::Vulnerable => found.push(cve),
            Exposure::Unknown => open.push(cve.id.as_str()),
            Exposure::Safe => {}
        }
    }
    let Some(newest) = found
        .iter()
        .filter_map(|cve| cve.fixed_in.first())
        .filter_map(|v| Some((Version::parse(v)?, v)))
        .max_by(|(a, _), (b, _)| a.cmp(b))
    else {
        return if open.is_empty() {
            Ok(Verdict::Pass)
        } else {
            Err(Verdict::Unknown(
                format!("could not determine whether toolkit {text} is affected by {}", open.join(", "))
                    .into(),
            ))
        };
    };
    let ids: Vec<&str> = found.iter().map(|cve| cve.id.as_str()).collect();
    let message =
        format!("toolkit {text} is affected by {}; {} is the first fixed release", ids.join(", "), newest.1);
    let packages = "nvidia-container-toolkit nvidia-container-toolkit-base libnvidia-container-tools \
                    libnvidia-container1";
    let mut fix = Fix::safe("Upgrade the toolkit packages together:", &[]);
    fix.commands.extend(facts.system.os.known().and_then(|os| os.install(packages)));
    let mut verdict = Verdict::warning(message, fix.punctuated());
    for cve in &found {
        let what = cve.summary.as_deref().unwrap_or("no description in envdoc's catalog");
        verdict = verdict.evidence(format!("{}: fixed in {}: {what}", cve.id, cve.fixed_in.join(", ")));
    }
    let worked_around = facts
        .toolkit
        .config
        .known()
        .is_some_and(|config| config.disable_cuda_compat_hook == Fact::Known(true));
    Ok(if worked_around {
        verdict.evidence(
            "features.disable-cuda-compat-lib-hook is set in config.toml, which mitigates CVE-2025-23266",
        )
    } else {
        verdict
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::gpu_host};

    fn of(version: &str) -> String {
        let mut facts = gpu_host(&Sparse::new(&[]));
        facts.toolkit.version = Fact::Known(version.into());
        verdict_line(&CHECK, &facts)
    }

    #[test]
    fn ids_and_the_first_good_release_are_named() {
        let old = of("1.14.6");
        assert!(old.starts_with("warning: toolkit 1.14.6 is affected by CVE-2024-0132"), "{old}");
        assert!(old.ends_with("1.17.8 is the first fixed release"), "{old}");
        assert_eq!(
            of("1.17.7"),
            "warning: toolkit 1.17.7 is affected by CVE-2025-23266, CVE-2025-23267; 1.17.8 is the first \
             fixed release"
        );
        assert_eq!(of("1.17.8"), "pass");
        assert_eq!(of("1.20.0"), "pass");
        assert!(of("git").starts_with("unknown: "));
    }
}
