//! nccl.h and the NCCL library are of different versions.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::libraries::FoundIn;

pub(super) const CHECK: Check = Check {
    id: "nccl-header-mismatch",
    group: Group::Nccl,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "nccl.h and the NCCL library have the same version",
    explain: include_str!("nccl_header_mismatch.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let header = facts.libraries.nccl_header.require("no /usr/include/nccl.h")?;
    let found = facts.libraries.nccl.require("no NCCL library in the loader's directories")?;
    let library = found.iter().find(|library| library.is_reachable());
    let library = library
        .ok_or_else(|| Verdict::NotApplicable("no NCCL library in the loader's directories".into()))?;
    let unknown = |_| Verdict::Unknown(format!("version of {}", library.path).into());
    let version = library.version.require("").map_err(unknown)?;
    if version == header {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "/usr/include/nccl.h is NCCL {header} but the loader finds NCCL {version}; programs are compiled for \
         one version and run with the other"
    );
    let like = |name: &str| {
        facts.system.os.known().is_some_and(|os| os.id == name || os.id_like.iter().any(|id| id == name))
    };
    let packages = if like("rhel") || like("fedora") || like("centos") {
        Some("libnccl libnccl-devel")
    } else if like("debian") || like("ubuntu") {
        Some("libnccl2 libnccl-dev")
    } else {
        None
    };
    let command = packages.and_then(|packages| facts.system.os.known()?.install(packages));
    let commands: Vec<&str> = command.iter().map(String::as_str).collect();
    let fix = match library.found_in {
        FoundIn::LdLibraryPath => Fix::manual(format!("Remove {} from LD_LIBRARY_PATH.", library.directory)),
        _ => Fix::safe("Install the library and the headers in the same version:", &commands).punctuated(),
    };
    Ok(Verdict::warning(message, fix)
        .evidence(format!("NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH: {header} (/usr/include/nccl.h)"))
        .evidence(format!("{} ({})", library.path, library.found_in)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::machine;

    #[test]
    fn header_and_library_are_compared() {
        let header =
            ("/usr/include/nccl.h", "#define NCCL_MAJOR 2\n#define NCCL_MINOR 21\n#define NCCL_PATCH 5\n");
        let cases: [(&[(&str, &str)], &str); 4] = [
            (&[header, ("/usr/lib/libnccl.so.2.21.5", "")], "pass"),
            (&[header, ("/usr/lib/libnccl.so.2.18.5", "")], "warning"),
            (&[header], "not-applicable"),
            (&[("/usr/include/nccl.h", "what"), ("/usr/lib/libnccl.so.2.18.5", "")], "unknown"),
        ];
        for (files, expected) in cases {
            let mut files = files.to_vec();
            files.push(("environment", ""));
            let verdict = crate::judge_one(&CHECK, &machine(&files));
            assert_eq!(status(&verdict), expected, "{files:?}: {verdict:?}");
        }
        let mut facts = machine(&[header]);
        facts.libraries.nccl = Fact::Unknown("permission denied".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("permission denied".into())));
    }
}
