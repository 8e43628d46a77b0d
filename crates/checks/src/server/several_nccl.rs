//! The loader finds an old NCCL before a newer one.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use catalog::version::{Version, compare};
use facts::Facts;
use facts::libraries::FoundIn;

pub(super) const CHECK: Check = Check {
    id: "several-nccl",
    group: Group::Nccl,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "the loader finds the newest installed NCCL first",
    explain: include_str!("several_nccl.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let found = facts.libraries.nccl.require("no NCCL outside Python")?;
    let reachable: Vec<_> = found.iter().filter(|library| library.is_reachable()).collect();
    let first = *reachable
        .first()
        .ok_or_else(|| Verdict::NotApplicable("no NCCL in the loader's directories".into()))?;
    if reachable.len() == 1 {
        return Ok(Verdict::Pass);
    }
    let mut versions = Vec::new();
    for library in &reachable {
        let Some(version) = library.version.known() else {
            return Err(Verdict::Unknown(format!("version of {}", library.path).into()));
        };
        versions.push((version, *library));
    }
    let newest = versions.iter().max_by_key(|(version, _)| Version::parse(version));
    let Some((newest, other)) = newest else { return Ok(Verdict::Pass) };
    let own = first.version.require("").map_err(|_| Verdict::unknown(first.path.clone()))?;
    if compare(own, newest).is_none_or(|order| order.is_ge()) {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "programs outside Python load NCCL {own} from {}, but {newest} is installed in {}",
        first.directory, other.directory
    );
    let fix = match first.found_in {
        FoundIn::LdLibraryPath => Fix::manual(format!("Remove {} from LD_LIBRARY_PATH.", first.directory)),
        _ => Fix::safe(
            format!(
                "Remove the old copy {} with the package or installer that installed it, then refresh the \
                 loader cache:",
                first.path
            ),
            &["sudo ldconfig"],
        ),
    };
    let verdict = Verdict::warning(message, fix);
    Ok(versions.iter().fold(verdict, |verdict, (version, library)| {
        verdict.evidence(format!("{version}: {} ({})", library.path, library.found_in))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::machine;

    #[test]
    fn older_nccl_first_on_the_loader_path_is_a_warning() {
        let ld = ("environment", "LD_LIBRARY_PATH=/opt/nccl");
        let cases: [(&[(&str, &str)], &str); 4] = [
            (&[ld, ("/opt/nccl/libnccl.so.2.18.5", ""), ("/usr/lib/libnccl.so.2.21.5", "")], "warning"),
            (&[ld, ("/opt/nccl/libnccl.so.2.26.5", ""), ("/usr/lib/libnccl.so.2.21.5", "")], "pass"),
            (&[("/usr/lib/libnccl.so.2.21.5", "")], "pass"),
            (&[("environment", "")], "not-applicable"),
        ];
        for (files, expected) in cases {
            let verdict = crate::judge_one(&CHECK, &machine(files));
            assert_eq!(status(&verdict), expected, "{files:?}: {verdict:?}");
        }
        let mut facts = machine(&[ld]);
        facts.libraries.nccl = Fact::Unknown("permission denied".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("permission denied".into())));
    }
}
