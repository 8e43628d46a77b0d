//! CUDA code compiled by the nvcc of another CUDA than torch's.

use super::architecture_list_missing::{projects, setup_of};
use crate::compiles;
use crate::cuda_extensions::makes_extension;
use crate::read::dockerfile::install::{Install, Requirement};
use crate::read::dockerfile::{Dockerfile, Run, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile, with};
use crate::torch::{self, Known};
use catalog::Catalog;
use catalog::version::minor;

/// A setup.py with CUDA code, for the examples.
const EXTENSION: &str = "from setuptools import setup\nfrom torch.utils.cpp_extension import BuildExtension, \
                         CUDAExtension\nsetup(name='a', ext_modules=[CUDAExtension('a', ['a.cu'])], \
                         cmdclass={'build_ext': BuildExtension})\n";

pub(crate) const RULE: Rule = Rule {
    id: "cuda-differs-from-torch",
    severity: Severity::Error,
    summary: "nvcc has the same CUDA version as the torch build",
    explain: include_str!("cuda_differs_from_torch.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM nvidia/cuda:13.0.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=9.0\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip3 install torch==2.6.0+cu124 --index-url https://download.pytorch.org/whl/cu124\n\
             RUN DS_BUILD_FUSED_ADAM=1 pip3 install deepspeed\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:11.8.0-devel-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip3 install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124\n\
             RUN pip3 install deepspeed\n",
        ),
        with(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=8.0\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip3 install torch==2.4.1 --index-url https://download.pytorch.org/whl/cu118\n\
             COPY ops/ /build/ops/\nRUN pip3 install --no-build-isolation /build/ops\n",
            &[("ops/setup.py", EXTENSION)],
        ),
        with(
            "FROM nvidia/cuda:11.8.0-devel-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip3 install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124\n\
             WORKDIR /build\nCOPY . .\nRUN cd kernels && python3 setup.py bdist_wheel\n",
            &[("kernels/setup.py", EXTENSION)],
        ),
    ],
    silent: &[
        // Another minor version is a warning of torch.
        with(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=8.0\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip3 install torch==2.4.1 --index-url https://download.pytorch.org/whl/cu121\n\
             COPY ops/ /build/ops/\nRUN pip3 install --no-build-isolation /build/ops\n",
            &[("ops/setup.py", EXTENSION)],
        ),
        // Isolated: pip compiles it with the torch that pyproject.toml names.
        with(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip3 install torch==2.4.1 --index-url https://download.pytorch.org/whl/cu118\n\
             COPY ops/ /build/ops/\nRUN pip3 install /build/ops\n",
            &[("ops/setup.py", EXTENSION)],
        ),
        with(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV CUDA_HOME=/opt/cuda-11.8\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip3 install torch==2.4.1 --index-url https://download.pytorch.org/whl/cu118\n\
             COPY ops/ /build/ops/\nRUN pip3 install --no-build-isolation /build/ops\n",
            &[("ops/setup.py", EXTENSION)],
        ),
        dockerfile(
            "FROM nvidia/cuda:11.8.0-devel-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip3 install torch==2.1.0 --index-url https://download.pytorch.org/whl/cu118\n\
             RUN pip3 install torch==2.1.0 deepspeed==0.11.2\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.8.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=9.0\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip3 install torch==2.6.0+cu124 --index-url https://download.pytorch.org/whl/cu124\n\
             RUN DS_BUILD_FUSED_ADAM=1 pip3 install deepspeed==0.16.4\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:13.0.1-devel-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip3 install torch==2.6.0+cu124 --index-url https://download.pytorch.org/whl/cu124\n\
             RUN pip3 install transformers\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:11.8.0-devel-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install torch\n\
             RUN pip3 install deepspeed\n",
        ),
    ],
};

/// What the torch of a stage is at some place.
struct Torch {
    version: String,
    name: String,
    cuda: String,
    certain: bool,
}

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().flat_map(|one| stage(file, one)).collect()
}

fn stage(file: &Dockerfile, stage: &Stage) -> Vec<Found> {
    let mut torch: Option<Torch> = None;
    let mut found: Vec<Found> = Vec::new();
    for run in &stage.runs {
        let install = run.install.as_ref();
        if install.zip(torch.as_ref()).is_some_and(|(install, there)| keeps(install, there)) {
            // What is there meets the requirement: pip and uv leave it.
        } else if let Some(install) = install.filter(|install| install.requirement("torch").is_some()) {
            torch = of(run, install);
        } else if install.is_some_and(|install| install.more) && projects(run).is_empty() {
            torch = torch.take().map(|torch| Torch { certain: false, ..torch });
        }
        let usable = run.state.image.is_some() && !run.state.opaque && !run.state.toolkit;
        if let (Some(torch), Some(cuda), true) = (&torch, run.state.cuda(), usable && !run.state.lacks_nvcc())
        {
            found.extend(differs(run, torch, cuda).or_else(|| extension(file, run, torch, cuda)));
        }
    }
    found
}

fn of(run: &Run, install: &Install) -> Option<Torch> {
    let requirement = install.requirement("torch")?;
    let Known::Release(release) = torch::known(run.state.catalog, requirement) else { return None };
    let name = torch::build(run, install, release)?;
    let build = release.build(&name)?;
    let certain = install.certain && !requirement.default;
    Some(Torch {
        version: release.version.clone(),
        name: format!("torch {}+{name}", release.version),
        cuda: build.cuda.clone()?,
        certain,
    })
}

/// Whether a command that names torch leaves the one that is there: `torch==2.1.0` is met by 2.1.0+cu118.
fn keeps(install: &Install, there: &Torch) -> bool {
    let again = [
        "-U",
        "--upgrade",
        "--force-reinstall",
        "--reinstall",
        "--reinstall-package",
        "-I",
        "--ignore-installed",
    ];
    install.requirement("torch").is_some_and(|one| {
        let same = one.pin_text == there.version
            || (one.pin.is_none() && one.versions.as_ref().is_some_and(|any| any.is_empty()));
        one.local.is_none() && same && !again.iter().any(|option| install.option(option))
    })
}

fn differs(run: &Run, torch: &Torch, cuda: &str) -> Option<Found> {
    let install = run.install.as_ref()?;
    let (image, own) = (minor(cuda)?, minor(&torch.cuda)?);
    let ahead = compiles::ahead(run, install);
    let deepspeed = install.requirement("deepspeed");
    let flash = install.requirement("flash-attn").filter(|_| install.option("--no-build-isolation"));
    let one = deepspeed.or(flash)?;
    let what = if deepspeed.is_some() { "DeepSpeed operators are" } else { "flash-attn is" };
    let major = image.0 != own.0;
    let minor_refused = deepspeed.is_some()
        && image != own
        && !allowed(run.state.catalog, deepspeed, image, own)
        && !skips(run);
    if !major && !minor_refused {
        return None;
    }
    let message = format!(
        "{what} compiled with the image's CUDA {}.{}, but {} is built for CUDA {}; the versions must match",
        image.0, image.1, torch.name, torch.cuda
    );
    let fix = format!(
        "Use an image with CUDA {} or a torch build for CUDA \
         {}.{}",
        torch.cuda, image.0, image.1
    );
    let certain = ahead.is_some() && torch.certain && install.certain;
    Some(Found::error(one, message, fix).unless_certain(certain))
}

/// A CUDAExtension of a project that is compiled here; torch refuses another major version.
fn extension(file: &Dockerfile, run: &Run, torch: &Torch, cuda: &str) -> Option<Found> {
    let (image, own) = (minor(cuda)?, minor(&torch.cuda)?);
    let elsewhere = ["CUDA_HOME", "CUDA_PATH"].iter().any(|name| {
        let set = run.variable(name);
        set.is_some_and(|value| value.text.is_none_or(|text| text.trim_end_matches('/') != "/usr/local/cuda"))
    });
    if image.0 == own.0 || elsewhere {
        return None;
    }
    let projects = projects(run);
    let name = projects.iter().find(|project| {
        let text = file.text_at(&run.state, &setup_of(project));
        text.is_some_and(|(_, text)| makes_extension(text, run).is_some())
    })?;
    let message = format!(
        "the CUDAExtension of {name} is compiled with the image's CUDA {}.{}, but {} is built for CUDA {}; \
         torch refuses another major version",
        image.0, image.1, torch.name, torch.cuda
    );
    let fix =
        format!("Use an image with CUDA {} or a torch build for CUDA {}.{}", torch.cuda, image.0, image.1);
    let certain = torch.certain && run.command.certain;
    Some(Found::error(run.command.line, message, fix).unless_certain(certain))
}

/// Whether the DeepSpeed lets nvcc and torch differ in these minors; true where it is not known which one it
/// is.
fn allowed(
    catalog: &'static Catalog,
    requirement: Option<&Requirement>,
    image: (u32, u32),
    own: (u32, u32),
) -> bool {
    let pinned = requirement.filter(|one| one.pin.is_some()).map(|one| one.pin_text.as_str());
    let list = match pinned {
        Some(version) => {
            match catalog.deepspeed().release(version).and_then(|row| row.cuda_minor_allowed(image.0)) {
                Some(list) => list,
                None => return true,
            }
        }
        None => catalog.deepspeed().cuda_minor_allowed(image.0),
    };
    // Of a release that is not named later ones may allow more.
    let has = |minor: (u32, u32)| list.iter().any(|one| *one == format!("{}.{}", minor.0, minor.1));
    image.0 != own.0 || (has(image) && has(own)) || (pinned.is_none() && image.0 < 13)
}

fn skips(run: &Run) -> bool {
    run.variable("DS_SKIP_CUDA_CHECK").is_some()
}
