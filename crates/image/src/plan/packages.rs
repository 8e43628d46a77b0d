//! The Python packages, and how they are installed.

use super::base::{Need, need};
use super::python::{Source, uv_mounts};
use super::step::{Instruction, Step};
use super::{LOCKED, Work, arch_list, operators};
use diagnostic::error::Error;
use resolve::answer::Warning;
use resolve::install::{HELD, flash_attn_wheel, held, hold, others, partners, torch_of_image, torch_pin};
use resolve::parse;

/// Where the directory of wheels is mounted.
const WHEELS: &str = "/run/wheels";

/// What a package is compiled with that imports torch while it is built.
pub const TOOLS: [&str; 5] = ["ninja", "packaging", "psutil", "setuptools", "wheel"];

/// What pip and uv may keep between builds.
pub fn pip_cache(work: &Work) -> Vec<String> {
    match work.request.caches() {
        true => vec!["type=cache,target=/root/.cache/pip".into()],
        false => Vec::new(),
    }
}

/// Packages of the request that the catalog does not know: pip chooses their versions.
pub fn unknown(work: &Work) -> Vec<String> {
    let known = parse::package_names();
    let foreign = |text: &&String| !known.contains(&parse::package_name(text).as_str());
    work.request.packages.iter().filter(foreign).cloned().collect()
}

/// What is to know of them; nothing where a lock pins them.
pub fn warning(work: &Work) -> Option<Warning> {
    let unknown = unknown(work);
    if unknown.is_empty() || work.locked.is_some() {
        return None;
    }
    let known = parse::package_names();
    let typing_errors = unknown.iter().filter_map(|text| {
        let name = parse::package_name(text);
        let near = known.iter().find(|known| strsim::jaro_winkler(&name, known) > 0.93)?;
        Some(format!("; is {name} {near}?"))
    });
    Some(Warning {
        id: "packages-not-in-catalog".into(),
        says: format!(
            "Not in the catalog: {}. pip chooses their versions, and envdoc did not check that they are \
             compatible; `envdoc render lock` pins them{}",
            unknown.join(", "),
            typing_errors.collect::<String>()
        ),
    })
}

/// Everything that is installed, as a requirements file names it.
pub fn requirements(work: &Work) -> Vec<String> {
    let stack = work.stack;
    let flash_attn = stack.packages.get("flash-attn").map(|version| {
        match flash_attn_wheel(work.catalog, stack, version) {
            Some(url) => format!("flash-attn @ {url}"),
            None => format!("flash-attn=={version}"),
        }
    });
    // NVIDIA's torch is in its image and on no index.
    let torch = (!torch_of_image(stack)).then(|| torch_pin(stack));
    torch
        .into_iter()
        .chain(partners(stack))
        .chain(others(stack))
        .chain(unknown(work))
        .chain(flash_attn)
        .collect()
}

/// The steps that install.
pub fn steps(work: &Work) -> Result<Vec<Step>, Error> {
    let stack = work.stack;
    let mut steps = Vec::new();
    let with_torch: Vec<String> = [torch_pin(stack)].into_iter().chain(partners(stack)).collect();
    let rest: Vec<String> = others(stack).into_iter().chain(unknown(work)).collect();
    // Built with operators it is a step of its own, after torch.
    let built =
        |text: &String| parse::package_name(text) == "deepspeed" && !work.request.deepspeed_ops.is_empty();
    let rest: Vec<String> = rest.into_iter().filter(|text| !built(text)).collect();
    operators::check(work)?;
    if work.locked.is_some() {
        steps.extend(LOCKED.map(|file| locked(work, file)));
        steps.extend(flash_attn(work));
        return Ok(steps);
    }
    if torch_of_image(stack) {
        return Ok([beside_image(work, &rest), operators::steps(work)].concat());
    }
    let own_torch = work.python.source == Source::Image && work.base.has_torch(&stack.torch);
    if own_torch {
        // The image's own torch has no build in its version: pinning one would replace it.
        let pins: Vec<String> = [format!("torch=={}", stack.torch)].into_iter().chain(rest).collect();
        let why = format!(
            "torch {} is already in the image; it is listed so that pip does not replace it.",
            stack.torch
        );
        steps.push(install(work, &[], &pins).because(why));
    } else if let Some(url) = &stack.index_url {
        let step = install(work, &[format!("--index-url {url}")], &with_torch)
            .maybe_because(torch_because(work).as_deref());
        steps.push(step);
        if !rest.is_empty() {
            let why = "torch is listed again so that pip does not replace it; without the build suffix, \
                which PyPI does not have.";
            let pins: Vec<String> = [format!("torch=={}", stack.torch)].into_iter().chain(rest).collect();
            steps.push(install(work, &[], &pins).because(why));
        }
    } else {
        // torch alone in its layer: it is the largest part and changes least.
        steps.push(install(work, &[], &with_torch).maybe_because(torch_because(work).as_deref()));
        if !rest.is_empty() {
            let pins: Vec<String> = [torch_pin(stack)].into_iter().chain(rest).collect();
            let why = "torch is listed again so that pip does not replace it.";
            steps.push(install(work, &[], &pins).because(why));
        }
    }
    steps.extend(operators::steps(work));
    steps.extend(flash_attn(work));
    Ok(steps)
}

/// What is installed into an image of NVIDIA's, where nothing that is there may be replaced.
fn beside_image(work: &Work, rest: &[String]) -> Vec<Step> {
    let flash_attn = work.stack.packages.get("flash-attn").map(|version| format!("flash-attn=={version}"));
    let packages: Vec<String> = rest.iter().cloned().chain(flash_attn.clone()).collect();
    if packages.is_empty() {
        return Vec::new();
    }
    let options = if flash_attn.is_some() { vec!["--no-build-isolation".to_owned()] } else { Vec::new() };
    let step = holding(install(work, &options, &packages), &packages);
    let steps = arch_list(work).filter(|_| flash_attn.is_some()).into_iter();
    steps
        .chain([step.because(format!(
            "Keeps all packages of {}, torch included: their versions are written to a constraints file for \
             pip. pip refuses a package that needs another version; add that dependency to `packages` to \
             replace it.",
            work.base.image
        ))])
        .collect()
}

/// An installation that keeps to what is in the image, but for the packages themselves.
pub fn holding(mut step: Step, packages: &[String]) -> Step {
    if let Instruction::Run { commands, .. } = &mut step.does {
        commands.insert(0, vec![hold(packages)]);
        commands.push(vec![format!("rm {HELD}")]);
    }
    step
}

/// What a file of the lock names, with its hashes.
fn locked(work: &Work, file: &str) -> Step {
    let options =
        ["--no-deps".to_owned(), "--require-hashes".to_owned(), format!("--requirement /run/{file}")];
    let mut step = install(work, &options, &[]);
    if let Instruction::Run { mounts, .. } = &mut step.does {
        mounts.push(format!("type=bind,source={file},target=/run/{file}"));
    }
    step.because("All packages including dependencies, pinned by hash; generated by `envdoc render lock`.")
}

/// Why it is this torch, without its partners where they are left out.
fn torch_because(work: &Work) -> Option<String> {
    let whole = work.because("torch")?;
    let cut = whole.find(" With torch").filter(|_| work.request.partners == Some(false));
    Some(whole[..cut.unwrap_or(whole.len())].to_owned())
}

/// One `pip install`, a package a line.
pub fn install(work: &Work, options: &[String], packages: &[String]) -> Step {
    let uv = work.python.source == Source::Uv;
    let mut flags: Vec<String> = Vec::new();
    if !work.request.caches() {
        flags.push(if uv { "--no-cache" } else { "--no-cache-dir" }.into());
    }
    if work.python.externally_managed {
        flags.push("--break-system-packages".into());
    }
    match &work.request.wheels {
        // The wheels are all there is: of the options none may name an index.
        Some(_) => {
            flags.extend(["--no-index".to_owned(), format!("--find-links {WHEELS}")]);
            flags.extend(options.iter().filter(|option| !option.starts_with("--index-url")).cloned());
        }
        None => flags.extend(options.iter().cloned()),
    }
    let program = match (uv, work.request.caches()) {
        (true, true) => "UV_LINK_MODE=copy /mnt/uv pip install",
        (true, false) => "/mnt/uv pip install",
        (false, _) => "pip install",
    };
    let program = if torch_of_image(work.stack) { held() } else { program.to_owned() };
    let first = flags.iter().fold(program, |text, flag| format!("{text} {flag}"));
    let mut command = vec![work.trusting(first)];
    command.extend(packages.iter().map(|package| quoted(package)));
    let mut mounts = if uv { uv_mounts(work) } else { [pip_cache(work), work.trust()].concat() };
    mounts.extend(work.request.wheels.iter().map(|dir| format!("type=bind,source={dir},target={WHEELS}")));
    let step = Step::of(Instruction::Run { mounts, commands: vec![command] });
    let loose = packages.iter().any(|package| !package.contains("==") && !package.contains("://"));
    let step = match loose {
        // The rule knows pip alone.
        true if !uv => {
            step.ignoring("DL3013", "the request pins no version for some packages, or they are build tools.")
        }
        _ => step,
    };
    match work.python.externally_managed {
        true => {
            step.because("pip may install into the Python of the image, which has no other use (PEP 668).")
        }
        false => step,
    }
}

/// A requirement as the shell needs it.
fn quoted(package: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+=:/,@".contains(c);
    if package.chars().all(plain) { package.to_owned() } else { format!("'{}'", package.replace('\'', "")) }
}

/// flash-attn: its wheel, or a build with the torch that is there.
fn flash_attn(work: &Work) -> Vec<Step> {
    let Some(version) = work.stack.packages.get("flash-attn") else { return Vec::new() };
    // PyPI does not know its build; the one that is there satisfies the version.
    let pin = format!("torch=={}", work.stack.torch);
    if let Some(url) = flash_attn_wheel(work.catalog, work.stack, version) {
        return vec![
            install(work, &[], &[pin, url])
                .because("Prebuilt flash-attn wheel for this torch, Python and CUDA; nothing is compiled."),
        ];
    }
    // The operators of DeepSpeed were compiled before, with the same tools for the same GPUs.
    let mut steps = Vec::new();
    if work.request.deepspeed_ops.is_empty() {
        steps.push(install(work, &[], &TOOLS.map(str::to_owned)));
        steps.extend(arch_list(work));
    }
    steps.push(
        Step::of(Instruction::Arg("MAX_JOBS".into(), Some("4".into())))
            .because("Parallel compile jobs; each needs several GB of memory."),
    );
    let package = format!("flash-attn=={version}");
    steps.push(
        install(work, &["--no-build-isolation".into()], &[pin, package])
            .because("--no-build-isolation: its build imports torch."),
    );
    steps
}

/// For which GPUs is compiled.
pub fn arch_list(work: &Work) -> Option<Step> {
    if need(work.catalog, work.request, work.stack).0 == Need::Never {
        return None;
    }
    let (list, why) = arch_list::list(work)?;
    Some(Step::of(Instruction::Arg("TORCH_CUDA_ARCH_LIST".into(), Some(list))).because(why))
}
