//! Packages for another CUDA than the one of the image.

use crate::read::dockerfile::{Dockerfile, Run, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};
use catalog::version;

pub(crate) const RULE: Rule = Rule {
    id: "cuda-package-mismatch",
    severity: Severity::Warning,
    summary: "CUDA packages are built for the CUDA release of the image",
    explain: include_str!("cuda_package_mismatch.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM nvidia/cuda:11.8.0-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             libnccl2=2.18.3-1+cuda12.1\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             libcudnn8=8.9.7.29-1+cuda11.8\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             cuda-cudart-dev-11-8\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip install --no-cache-dir cupy-cuda11x\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             libnccl2=2.21.5-1+cuda12.4 cuda-nvcc-12-4\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.6.3-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             libnccl2=2.21.5-1+cuda12.4\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip install --no-cache-dir cupy-cuda12x\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y libnccl2=2.18.3-1+cuda12.1\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.runs().filter_map(|(_, run)| fault(run)).collect()
}

fn fault(run: &Run) -> Option<Found> {
    let image = run.state.image.filter(|image| image.repository == "nvidia/cuda")?;
    let cuda = image.cuda.as_deref()?;
    let (major, minor) = version::minor(cuda)?;
    for word in apt::packages(run.state.catalog, &run.command).into_iter().filter(|word| word.known) {
        // `2.18.3-1+cuda12.1`: the CUDA that a library was built for.
        if let Some(built) = word.text.split_once("+cuda").and_then(|(_, built)| version::minor(built))
            && built.0 != major
        {
            let message = format!(
                "{} is built for CUDA {}.{}, but the image has CUDA {cuda}",
                word.text, built.0, built.1
            );
            return Some(
                Found::warning(word.line, message, format!("Pin a version that ends with +cuda{major}.x"))
                    .about(apt::name(word)),
            );
        }
        if let Some(other) = of_name(apt::name(word)).filter(|other| *other != (major, minor)) {
            let message = format!(
                "{} belongs to CUDA {}.{}, but the image has CUDA {cuda}",
                word.text, other.0, other.1
            );
            return Some(
                Found::warning(word.line, message, format!("Install the package for {major}-{minor}"))
                    .about(apt::name(word)),
            );
        }
    }
    let install = run.install.as_ref()?;
    install.requirements.iter().find_map(|one| {
        let built: u32 = one.name.strip_prefix("cupy-cuda")?.trim_end_matches('x').get(..2)?.parse().ok()?;
        let message = format!("{} is built for CUDA {built}, but the image has CUDA {cuda}", one.name);
        (built != major).then(|| Found::warning(one, message, format!("Install cupy-cuda{major}x")))
    })
}

/// The release at the end of a package of NVIDIA's archive: `cuda-cudart-dev-12-4`.
fn of_name(name: &str) -> Option<(u32, u32)> {
    let starts = [
        "cuda-",
        "libcublas-",
        "libcufft-",
        "libcurand-",
        "libcusolver-",
        "libcusparse-",
        "libnpp-",
        "libcufile-",
    ];
    // The driver's libraries for older drivers are meant to be of another release.
    if !starts.iter().any(|start| name.starts_with(start)) || name.starts_with("cuda-compat") {
        return None;
    }
    let mut parts = name.rsplit('-');
    let (minor, major) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some((major, minor))
}
