//! Another cuDNN gets between the libraries of the wheel.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::libraries::{FoundIn, Library};
use facts::python::PythonEnvironment;

pub(super) const CHECK: Check = Check {
    id: "cudnn-shadowed",
    group: Group::Cuda,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "no other cuDNN overrides the one installed with PyTorch",
    explain: include_str!("cudnn_shadowed.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    const NONE: &str = "no cuDNN wheel in the active Python environments";
    let environments = facts.python.environments.require(NONE)?;
    Verdict::together(environments.iter().filter(|e| e.active()).map(|e| one(facts, e)), NONE)
}

fn one(facts: &Facts, environment: &PythonEnvironment) -> Judged {
    let packages = environment.packages.require("no packages")?;
    let wheel = packages.iter().find(|package| package.name.starts_with("nvidia-cudnn-cu"));
    let wheel = wheel.ok_or_else(|| Verdict::NotApplicable("no cuDNN wheel".into()))?;
    let by_name = facts.catalog.cudnn_wheels().loads_by_name(&wheel.name, &wheel.version);
    let own = |path: &str| environment.site_packages.iter().any(|site| path.starts_with(site.as_str()));
    let libraries = facts.libraries.cudnn.decided()?.into_iter().flatten();
    let reached: Vec<&Library> = libraries
        .filter(|it| it.found_in == FoundIn::LdLibraryPath || (by_name && it.is_reachable()))
        .filter(|library| !own(&library.path))
        .collect();
    let found = |wanted| reached.iter().find(|library| differs(library, &wheel.version) == wanted);
    let Some(library) = found(Some(true)) else {
        return match found(None) {
            Some(library) => Err(Verdict::unknown(format!(
                "the loader finds {} ({}), whose version is not known, so that it cannot be compared with {} \
                 {}",
                library.path, library.found_in, wheel.name, wheel.version
            ))),
            None => Ok(Verdict::Pass),
        };
    };
    let version = number(library);
    let message = format!(
        "the loader finds cuDNN {version} in {}, but PyTorch in {} comes with {}; mixing the two in one \
         process fails with CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
        library.directory, environment.prefix, wheel.version
    );
    Ok(Verdict::warning(message, fix(library))
        .evidence(format!("{} ({})", library.path, library.found_in))
        .evidence(format!("{} {} in {}", wheel.name, wheel.version, environment.prefix)))
}

fn fix(library: &Library) -> Fix {
    match library.found_in {
        FoundIn::LdLibraryPath => Fix::manual(format!(
            "Remove {} from LD_LIBRARY_PATH for programs that use PyTorch.",
            library.directory
        )),
        _ => {
            Fix::manual("Remove the system's cuDNN if nothing else needs it, or run PyTorch in a container.")
        }
    }
}

/// The version in the name of a library's file: `9.5.1`; as little as `9`, or nothing.
fn number(library: &Library) -> &str {
    let name = || library.path.rsplit_once(".so.").map_or("", |(_, number)| number);
    library.version.known().map_or_else(name, String::as_str)
}

/// Whether a library is another release of the wheel's major, so that the two do not mix; `None` where its
/// name is not precise enough.
fn differs(library: &Library, wheel: &str) -> Option<bool> {
    let parts: Vec<&str> = number(library).split('.').filter(|part| !part.is_empty()).collect();
    // The wheel counts builds in a fourth number that file names do not have.
    let wheel: Vec<&str> = wheel.split('.').take(3).collect();
    if wheel.starts_with(&parts) && parts.len() < wheel.len() {
        return None;
    }
    Some(parts.first() == wheel.first() && !parts.starts_with(&wheel))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::{node, venv};

    #[test]
    fn other_cudnn_of_the_same_major_shadows_the_wheel() {
        let ld = "HOME=/root\nVIRTUAL_ENV=/venv\nLD_LIBRARY_PATH=/opt/cudnn";
        let plain = "HOME=/root\nVIRTUAL_ENV=/venv";
        let cases = [
            (ld, "/opt/cudnn/libcudnn.so.9.5.1", "nvidia_cudnn_cu12-9.1.0.70", "warning"),
            (ld, "/opt/cudnn/libcudnn.so.9.1.0", "nvidia_cudnn_cu12-9.1.0.70", "pass"),
            (ld, "/opt/cudnn/libcudnn.so.8.9.2", "nvidia_cudnn_cu12-9.1.0.70", "pass"),
            (ld, "/opt/cudnn/libcudnn.so.8", "nvidia_cudnn_cu12-9.1.0.70", "pass"),
            (ld, "/opt/cudnn/libcudnn.so.9", "nvidia_cudnn_cu12-9.1.0.70", "unknown"),
            (ld, "/opt/cudnn/libcudnn.so", "nvidia_cudnn_cu12-9.1.0.70", "unknown"),
            (plain, "/usr/lib/libcudnn.so.9.5.1", "nvidia_cudnn_cu12-9.1.0.70", "pass"),
            (plain, "/usr/lib/libcudnn.so.9.23.0", "nvidia_cudnn_cu13-9.20.0.48", "warning"),
            (ld, "/opt/cudnn/libcudnn.so.9.5.1", "numpy-2.1.3", "not-applicable"),
        ];
        for (environment, library, wheel, expected) in cases {
            let mut files = venv("2.5.1+cu124 12.4", &[wheel]);
            files[0].1 = environment;
            files.push((library, ""));
            let facts = node("580.65.06", "NVIDIA H100 80GB HBM3 9.0", &files);
            let verdict = crate::judge_one(&CHECK, &facts);
            assert_eq!(status(&verdict), expected, "{library}, {wheel}: {verdict:?}");
        }
        let files = venv("2.5.1+cu124 12.4", &["nvidia_cudnn_cu12-9.1.0.70"]);
        let mut facts = node("580.65.06", "NVIDIA H100 80GB HBM3 9.0", &files);
        facts.libraries.cudnn = Fact::Unknown("permission denied".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("permission denied".into())));
    }
}
