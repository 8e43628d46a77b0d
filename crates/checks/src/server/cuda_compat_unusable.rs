//! A cuda-compat library is in use where it cannot work.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use diagnostic::shell;
use facts::Facts;
use facts::driver::DriverVersion;
use facts::gpu::Gpu;
use facts::libraries::{FoundIn, Library};

pub(super) const CHECK: Check = Check {
    id: "cuda-compat-unusable",
    group: Group::Cuda,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "a cuda-compat library on the loader path works with this GPU and driver",
    explain: include_str!("cuda_compat_unusable.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    const NONE: &str = "no cuda-compat library on the loader path";
    let libraries = facts.libraries.compat.require(NONE)?;
    let library = libraries.iter().find(|library| library.is_reachable());
    let library = library.ok_or_else(|| Verdict::NotApplicable(NONE.into()))?;
    let driver = facts.driver_version();
    let driver = *driver.require("the driver is not loaded")?;
    let unknown = || Verdict::Unknown(format!("driver version of {}", library.path).into());
    let version: DriverVersion =
        library.version.known().and_then(|version| version.parse().ok()).ok_or_else(unknown)?;
    if version == driver {
        return Ok(Verdict::Pass);
    }
    let why = if version < driver {
        format!("it is older than the loaded driver {driver}, so CUDA programs may fail with error 803")
    } else {
        let data_centre = facts.data_centre_gpus();
        if !*data_centre.require("nvidia-smi lists no GPU")? {
            // Some RTX cards bear it, in systems that NVIDIA certified; a name does not tell which.
            let consumer = |gpu: &Gpu| gpu.name.contains("GeForce") || gpu.name.contains("TITAN");
            if !facts.gpu.list.known().is_some_and(|gpus| gpus.iter().any(consumer)) {
                return Err(Verdict::Unknown(
                    format!("could not determine whether {} works on these GPUs", library.path).into(),
                ));
            }
            "it does not work on GeForce and TITAN cards, so CUDA programs fail with error 804".to_owned()
        } else {
            let cuda =
                facts.catalog.drivers().branch(version.branch).and_then(|branch| branch.cuda.as_deref());
            let row = cuda.and_then(|it| facts.catalog.cuda().forward(it));
            let row = row.ok_or_else(|| {
                Verdict::Unknown(
                    format!("could not determine which driver branches {} works on", library.path).into(),
                )
            })?;
            if version.branch == driver.branch || row.driver_branches.contains(&driver.branch) {
                return Ok(Verdict::Pass);
            }
            format!(
                "CUDA {} compatibility supports driver branches {}, but {driver} is loaded",
                row.toolkit,
                row.driver_branches.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
            )
        }
    };
    let message = format!("the loader uses the compat library {} (driver {version}): {why}", library.path);
    let verdict = if version < driver {
        Verdict::warning(message, fix(library))
    } else {
        Verdict::error(message, fix(library))
    };
    Ok(verdict
        .evidence(format!("{} found through {} ({})", library.path, library.found_in, library.directory))
        .evidence(format!("driver {driver}")))
}

fn fix(library: &Library) -> Fix {
    match library.found_in {
        FoundIn::LdLibraryPath => Fix::manual(format!("Remove {} from LD_LIBRARY_PATH.", library.directory)),
        _ => Fix::safe(
            format!("Remove {} from /etc/ld.so.conf.d and rebuild the loader cache:", library.directory),
            &[&format!("grep -rl {} /etc/ld.so.conf.d", shell::word(&library.directory)), "sudo ldconfig"],
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::node;

    #[test]
    fn compat_support_depends_on_gpu_and_driver_branch() {
        let (h100, rtx) = ("NVIDIA H100 80GB HBM3 9.0", "NVIDIA GeForce RTX 4090 8.9");
        let ld = "LD_LIBRARY_PATH=/usr/local/cuda-13.0/compat";
        let cases = [
            ("550.54.14", h100, ld, "pass"),
            ("560.35.03", h100, ld, "error"),
            ("550.54.14", rtx, ld, "error"),
            ("590.44.01", h100, ld, "warning"),
            ("580.65.06", rtx, ld, "pass"),
            ("550.54.14", rtx, "HOME=/root", "not-applicable"),
            ("550.54.14", "NVIDIA Unheard Of 9.0", ld, "unknown"),
        ];
        for (driver, card, environment, expected) in cases {
            let files =
                [("environment", environment), ("/usr/local/cuda-13.0/compat/libcuda.so.580.65.06", "")];
            let mut facts = node(driver, card, &files);
            let verdict = crate::judge_one(&CHECK, &facts);
            assert_eq!(status(&verdict), expected, "{driver}, {card}: {verdict:?}");
            facts.libraries.compat = Fact::Unknown("permission denied".into());
            assert_eq!(judge(&facts), Err(Verdict::Unknown("permission denied".into())));
        }
    }
}
