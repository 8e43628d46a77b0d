//! Another cuDNN gets between the libraries of the wheel.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
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
    let incomplete = wheel.name == "nvidia-cudnn-cu13" && wheel.version == "9.20.0.48";
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    // The wheel counts builds in a fourth number that file names do not have.
    let three = |version: &str| version.split('.').take(3).collect::<Vec<_>>().join(".");
    let other = facts.libraries.cudnn.decided()?.into_iter().flatten().find(|library| {
        let own = environment.site_packages.iter().any(|site| library.path.starts_with(site.as_str()));
        let reached = library.found_in == "LD_LIBRARY_PATH" || (incomplete && library.found_in != "cuda");
        let version = library.version.known();
        reached
            && !own
            && version.is_some_and(|v| major(v) == major(&wheel.version) && three(v) != three(&wheel.version))
    });
    let Some(library) = other else { return Ok(Verdict::Pass) };
    let version = library.version.known().map(String::as_str).unwrap_or("of unknown version");
    let message = format!(
        "the loader finds cuDNN {version} in {}, but PyTorch in {} comes with {}; mixing the two in one \
         process fails with CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
        library.directory, environment.prefix, wheel.version
    );
    let fix = match library.found_in.as_str() {
        "LD_LIBRARY_PATH" => Fix::manual(format!(
            "Remove {} from LD_LIBRARY_PATH for programs that use PyTorch.",
            library.directory
        )),
        _ => {
            Fix::manual("Remove the system's cuDNN if nothing else needs it, or run PyTorch in a container.")
        }
    };
    Ok(Verdict::warning(message, fix)
        .evidence(format!("{} ({})", library.path, library.found_in))
        .evidence(format!("{} {} in {}", wheel.name, wheel.version, environment.prefix)))
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
