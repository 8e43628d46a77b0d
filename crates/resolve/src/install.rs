//! The commands that install a stack.
//!
//! Three steps at most: torch and its partners from the index of the build; everything else from PyPI, with
//! torch pinned so that it is not replaced; flash-attn last, because it imports torch while it is built.
//! Where torch's build is PyPI's own, the first two are one. DeepSpeed is on PyPI as source, and builds
//! without torch and without nvcc: its operators are compiled when they are first used.

use catalog::Catalog;
use std::str::FromStr;

use pep440_rs::Version;

use super::outcome::{PythonFrom, Stack};
use super::pip::{PipRequirement, words};
use catalog::flash_attn::Target;
use catalog::images::{self, Existence};

/// Since this release the names of flash-attn's wheels carry the CUDA major alone (`cu12`; 2.6.3 had
/// `cu123`).
const FLASH_ATTN_NAMES_SINCE: [u64; 2] = [2, 7];

/// Commands for the active environment, in order.
pub fn commands(catalog: &Catalog, stack: &Stack) -> Vec<String> {
    if torch_of_image(stack) {
        return nvidia_image_commands(stack);
    }
    let install = format!("{} install{}", installer(stack), break_system_packages(catalog, stack));
    let with_torch: Vec<PipRequirement> = [torch_pin(stack)].into_iter().chain(partners(stack)).collect();
    let rest: Vec<PipRequirement> = other_packages(stack).into_iter().chain(unchecked(stack)).collect();
    let mut commands = Vec::new();
    match &stack.index_url {
        None => commands.push(format!("{install} {}", words(with_torch.iter().chain(&rest)))),
        Some(url) => {
            commands.push(format!("{install} {} --index-url {url}", words(&with_torch)));
            if !rest.is_empty() {
                commands.push(format!("{install} {}", words([&torch_pin(stack)].into_iter().chain(&rest))));
            }
        }
    }
    if let Some(version) = stack.packages.get("flash-attn") {
        commands.extend(flash_attn(catalog, stack, version, &install));
    }
    commands
}

/// Whether the torch is that of an NVIDIA image, which nothing may replace.
pub fn torch_of_image(stack: &Stack) -> bool {
    stack.base_image.as_ref().is_some_and(|image| image.repository == images::NGC)
}

/// Where the constraints are kept that hold what is in the image.
pub const CONSTRAINTS_FILE: &str = "/tmp/image.txt";

/// The command that writes down everything that is in the image but the packages that are to be installed.
pub fn freeze(packages: &[PipRequirement]) -> String {
    let names = packages.iter().map(|package| format!(" --exclude {}", package.name()));
    format!("pip list --format=freeze{} > {CONSTRAINTS_FILE}", names.collect::<String>())
}

/// `pip install` on top of what the image has. NVIDIA's own list of constraints (PIP_CONSTRAINT, from 25.03
/// on) is left out: it would refuse packages that were asked for in another version, and hold for the tools
/// of a build too.
pub fn install_frozen() -> String {
    format!("PIP_CONSTRAINT='' PIP_BREAK_SYSTEM_PACKAGES=1 pip install --constraint {CONSTRAINTS_FILE}")
}

/// The commands for NVIDIA's images, in which nothing may be replaced.
fn nvidia_image_commands(stack: &Stack) -> Vec<String> {
    let mut packages: Vec<PipRequirement> =
        other_packages(stack).into_iter().chain(unchecked(stack)).collect();
    let flash_attn = stack.packages.get("flash-attn");
    packages.extend(flash_attn.map(|version| PipRequirement::pin("flash-attn", version)));
    if packages.is_empty() {
        return Vec::new();
    }
    // It imports torch while it is built; the tools for that are in the image.
    let isolated = if flash_attn.is_some() { " --no-build-isolation" } else { "" };
    vec![freeze(&packages), format!("{}{isolated} {}", install_frozen(), words(&packages))]
}

/// uv's environments have no pip in them.
fn installer(stack: &Stack) -> &'static str {
    if stack.python_from == PythonFrom::Uv { "uv pip" } else { "pip" }
}

/// The option with which pip installs into a Python that its distribution manages (PEP 668).
pub(crate) const BREAK_SYSTEM_PACKAGES: &str = "--break-system-packages";

/// That option, where the Python of the image needs it: on top of its torch there is no other way
/// without a virtual environment.
fn break_system_packages(catalog: &Catalog, stack: &Stack) -> String {
    let managed = || match catalog.images().exists(&stack.base_image.as_ref()?.to_string()) {
        Existence::Yes(image) => image.externally_managed,
        _ => None,
    };
    if stack.python_from == PythonFrom::Image && managed() == Some(true) {
        format!(" {BREAK_SYSTEM_PACKAGES}")
    } else {
        String::new()
    }
}

/// torch as a requirement. The build is named where it is not PyPI's: without it another build of the same
/// version that is there already would do.
pub fn torch_pin(stack: &Stack) -> PipRequirement {
    match &stack.index_url {
        Some(_) => PipRequirement::pin("torch", format!("{}+{}", stack.torch, stack.torch_build)),
        None => PipRequirement::pin("torch", &stack.torch),
    }
}

/// torchvision and torchaudio with their versions: from the same index as torch.
fn partner_releases(stack: &Stack) -> impl Iterator<Item = (&'static str, &str)> {
    let all = [("torchvision", &stack.torchvision), ("torchaudio", &stack.torchaudio)];
    all.into_iter().filter_map(|(name, version)| Some((name, version.as_deref()?)))
}

/// torchvision and torchaudio as requirements.
pub fn partners(stack: &Stack) -> impl Iterator<Item = PipRequirement> {
    partner_releases(stack).map(|(name, version)| PipRequirement::pin(name, version))
}

/// The packages that come from the index of torch's build.
pub fn on_torch_index(stack: &Stack) -> impl Iterator<Item = &'static str> {
    ["torch"].into_iter().chain(partner_releases(stack).map(|(name, _)| name))
}

/// DeepSpeed and the packages, without flash-attn.
pub fn other_packages(stack: &Stack) -> Vec<PipRequirement> {
    let pin = |(name, version): (&str, &String)| PipRequirement::pin(name, version);
    let deepspeed = stack.deepspeed.iter().map(|version| ("deepspeed", version));
    let packages = stack.packages.iter().map(|(name, version)| (name.as_str(), version));
    deepspeed.chain(packages.filter(|(name, _)| *name != "flash-attn")).map(pin).collect()
}

/// What envdoc did not check.
pub fn unchecked(stack: &Stack) -> impl Iterator<Item = PipRequirement> {
    stack.unchecked.iter().cloned().map(PipRequirement::Requested)
}

/// flash-attn: a wheel of its GitHub release where there is one, else a build with the torch that is there.
/// Its setup fetches a wheel that fits by itself, or compiles for a long time.
fn flash_attn(catalog: &Catalog, stack: &Stack, version: &str, install: &str) -> Vec<String> {
    if let Some(wheel) = flash_attn_wheel(catalog, stack, version) {
        return vec![format!("{install} {}", words(&[torch_pin(stack), wheel]))];
    }
    let pins = [torch_pin(stack), PipRequirement::pin("flash-attn", version)];
    vec![
        format!("{install} packaging ninja psutil setuptools wheel"),
        format!("{install} --no-build-isolation {}", words(&pins)),
    ]
}

/// The wheel of flash-attn, where the catalog knows that there is one.
pub fn flash_attn_wheel(catalog: &Catalog, stack: &Stack, version: &str) -> Option<PipRequirement> {
    let number = Version::from_str(version).ok()?;
    if number.release() < FLASH_ATTN_NAMES_SINCE.as_slice() {
        return None;
    }
    let release = catalog.torch().release(&stack.torch)?;
    let build = release.build(&stack.torch_build)?;
    let abi = build.cxx11_abi.or_else(|| release.cxx11_abi.filter(|_| stack.index_url.is_none()))?;
    let series = stack.torch.rsplit_once('.').map(|(series, _)| series)?;
    let cuda: u32 = stack.cuda.split('.').next()?.parse().ok()?;
    let row = catalog.flash_attn().release(version)?;
    let target = Target { torch: series, cuda, cxx11_abi: abi, architecture: &stack.architecture };
    if !row.has(target, &stack.python) {
        return None;
    }
    let python = format!("cp{}", stack.python.replace('.', ""));
    let abi = if abi { "TRUE" } else { "FALSE" };
    let url = format!(
        "https://github.com/Dao-AILab/flash-attention/releases/download/v{version}/\
         flash_attn-{version}+cu{cuda}torch{series}cxx11abi{abi}-{python}-{python}-linux_{}.whl",
        stack.architecture
    );
    Some(PipRequirement::Wheel { name: "flash-attn", url })
}

#[cfg(test)]
mod tests {
    use catalog::testing::catalog;
    use std::collections::BTreeMap;

    use super::*;

    fn stack(torch: &str, build: &str, cuda: &str, index: bool) -> Stack {
        let release = catalog().torch().release(torch).unwrap();
        Stack {
            python: "3.12".into(),
            torch: torch.into(),
            torch_build: build.into(),
            torchvision: release.torchvision.clone(),
            torchaudio: release.torchaudio_of(build).cloned(),
            triton: None,
            cuda: cuda.into(),
            cudnn: None,
            nccl: None,
            deepspeed: None,
            packages: BTreeMap::from([("numpy".into(), "1.26.4".into())]),
            unchecked: Vec::new(),
            base_image: None,
            system: None,
            architecture: "x86_64".into(),
            index_url: index.then(|| format!("https://download.pytorch.org/whl/{build}")),
            driver_min: None,
            driver_max_branch: None,
            gpu_archs: None,
            python_from: PythonFrom::Apt,
            install: Vec::new(),
        }
    }

    #[test]
    fn pypi_build_needs_no_index_url() {
        let mut stack = stack("2.5.1", "cu124", "12.4", false);
        stack.deepspeed = Some("0.16.4".into());
        assert_eq!(
            commands(catalog(), &stack),
            ["pip install torch==2.5.1 torchvision==0.20.1 torchaudio==2.5.1 deepspeed==0.16.4 \
                    numpy==1.26.4"]
        );
    }

    #[test]
    fn other_build_is_installed_first_and_stays_pinned() {
        let mut stack = stack("2.5.1", "cu121", "12.1", true);
        stack.python_from = PythonFrom::Uv;
        assert_eq!(
            commands(catalog(), &stack),
            [
                "uv pip install torch==2.5.1+cu121 torchvision==0.20.1 torchaudio==2.5.1 --index-url \
                    https://download.pytorch.org/whl/cu121",
                "uv pip install torch==2.5.1+cu121 numpy==1.26.4",
            ]
        );
    }

    #[test]
    fn flash_attn_is_built_with_the_torch_that_is_there() {
        let mut stack = stack("2.6.0", "cu124", "12.4", false);
        stack.packages.insert("flash-attn".into(), "2.6.3".into());
        let commands = commands(catalog(), &stack);
        assert_eq!(commands.len(), 3, "{commands:?}");
        assert!(!commands[0].contains("flash-attn"));
        assert_eq!(commands[2], "pip install --no-build-isolation torch==2.6.0 flash-attn==2.6.3");
    }

    #[test]
    fn flash_attn_wheels() {
        // Without a row nothing is claimed; with one, the address is that of the release.
        for row in catalog().flash_attn().all() {
            for set in row.wheels.iter().filter(|_| row.version.starts_with("2.7")) {
                let mut stack = stack("2.6.0", "cu124", "12.4", false);
                stack.python = "3.10".into();
                let target = Target { torch: "2.6", cuda: 12, cxx11_abi: false, architecture: "x86_64" };
                if !set.torch.contains(&"2.6".to_owned()) || !row.has(target, "3.10") {
                    continue;
                }
                let url = flash_attn_wheel(catalog(), &stack, &row.version).unwrap();
                assert!(
                    url.word().ends_with(&format!(
                        "/v{0}/flash_attn-{0}+cu12torch2.6cxx11abiFALSE-cp310-cp310-linux_x86_64.whl",
                        row.version
                    )),
                    "{url}"
                );
            }
        }
    }
}
