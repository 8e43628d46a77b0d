//! A system whose C library is too old for torch's wheels.

use crate::read::dockerfile::Dockerfile;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};
use crate::torch::{self, Known};
use catalog::version::at_least;

pub(crate) const RULE: Rule = Rule {
    id: "glibc-too-old-for-torch",
    severity: Severity::Error,
    summary: "glibc of the base image is new enough for the torch wheels",
    explain: include_str!("glibc_too_old_for_torch.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[dockerfile(
        "FROM nvidia/cuda:11.8.0-devel-ubuntu18.04\nRUN apt-get update && apt-get install -y python3-pip\n\
         RUN pip3 install torch==2.7.1\n",
    )],
    silent: &[
        dockerfile(
            "FROM nvidia/cuda:11.8.0-devel-ubuntu20.04\n\
             RUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install torch==2.3.1\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:11.8.0-devel-ubuntu18.04\n\
             RUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install torch\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let installs = file.installs().filter(|(_, _, install)| !install.elsewhere());
    installs
        .filter_map(|(_, run, install)| {
            let one = install.requirement("torch")?;
            let Known::Release(release) = torch::known(run.state.catalog, one) else { return None };
            let system = run.state.system?;
            let build = one.local.as_deref().and_then(|local| release.build(local));
            let wanted =
                build.and_then(|build| build.glibc_min.as_deref()).or(release.glibc_min.as_deref())?;
            let has = system.glibc.as_deref()?;
            if at_least(has, wanted) != Some(false) {
                return None;
            }
            let message = format!(
                "torch {} wheels require glibc {wanted}, but {} has {has}; pip finds no matching \
                 distribution",
                release.version, system.name
            );
            Some(
                Found::error(
                    one,
                    message,
                    "Use a newer base \
                     image",
                )
                .unless_certain(install.certain && !one.default),
            )
        })
        .collect()
}
