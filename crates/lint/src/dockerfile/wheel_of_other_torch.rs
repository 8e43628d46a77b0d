//! A wheel by URL that was built for another torch than the one that is installed.

use crate::read::dockerfile::install::Requirement;
use crate::read::dockerfile::{Dockerfile, Run};
use crate::rule::{Found, Judge, Location, Rule, Severity, dockerfile};
use crate::torch::{Known, known};
use catalog::torch::Release;

pub(crate) const RULE: Rule = Rule {
    id: "wheel-of-other-torch",
    severity: Severity::Error,
    summary: "wheels that are made for one torch and one C++ ABI are installed next to that torch",
    explain: include_str!("wheel_of_other_torch.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.10\nRUN pip install torch==2.4.0\nRUN pip install --no-deps \
             https://example.com/flash_attn-2.6.3+cu123torch2.4cxx11abiTRUE-cp310-cp310-linux_x86_64.whl\n",
        ),
        dockerfile(
            "FROM python:3.10\nRUN pip install torch==2.4.0\nRUN pip install --no-deps \
             https://example.com/flash_attn-2.6.3+cu123torch2.3cxx11abiFALSE-cp310-cp310-linux_x86_64.whl\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.10\nRUN pip install torch==2.4.0\nRUN pip install --no-deps \
             https://example.com/flash_attn-2.6.3+cu123torch2.4cxx11abiFALSE-cp310-cp310-linux_x86_64.whl\n",
        ),
        dockerfile(
            "FROM example/base:1\nRUN pip install --no-deps \
             https://example.com/flash_attn-2.6.3+cu123torch2.4cxx11abiTRUE-cp310-cp310-linux_x86_64.whl\n",
        ),
        dockerfile(
            "FROM python:3.10\nRUN pip install torch==2.7.0\nRUN pip install --no-deps \
             https://example.com/flash_attn-2.7.4+cu12torch2.7cxx11abiTRUE-cp310-cp310-linux_x86_64.whl\n",
        ),
    ],
};

/// What the name of a wheel says: `flash_attn-2.6.3+cu123torch2.4cxx11abiTRUE-cp310-cp310-linux_x86_64.whl`.
struct Wheel {
    package: String,
    torch: String,
    abi: bool,
}

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for (_, run) in file.runs() {
        let Some(install) = &run.install else { continue };
        let words = run.command.words.iter().map(|word| (Location::from(word.line), word.text.as_str()));
        let listed = install.requirements.iter().filter(|one| one.file.is_some());
        let listed = listed.map(|one| (Location::from(one), one.text.as_str()));
        for (location, text) in words.chain(listed) {
            let Some(wheel) = wheel(text) else { continue };
            let torch = install.requirement("torch").or_else(|| run.state.packages.get("torch"));
            let Some((certain, message)) = torch.and_then(|torch| fault(run, torch, &wheel)) else {
                continue;
            };
            let fix = format!(
                "Use the wheel of {} for the installed torch, or install that \
                 torch",
                wheel.package
            );
            found.push(Found::error(location, message, fix).unless_certain(install.certain && certain));
        }
    }
    found
}

fn wheel(text: &str) -> Option<Wheel> {
    let name = text.split(['#', '?']).next()?.rsplit('/').next()?.strip_suffix(".whl")?;
    let name = name.replace("%2B", "+").replace("%2b", "+");
    let mut parts = name.split('-');
    let (package, version) = (parts.next()?.to_owned(), parts.next()?);
    let (_, local) = version.split_once('+')?;
    let (_, rest) = local.split_once("torch")?;
    let (torch, abi) = rest.split_once("cxx11abi")?;
    let abi = match abi {
        "TRUE" => true,
        "FALSE" => false,
        _ => return None,
    };
    Some(Wheel { package, torch: torch.to_owned(), abi })
}

/// What is wrong with a wheel next to a torch, and whether it certainly fails.
fn fault(run: &Run, torch: &Requirement, wheel: &Wheel) -> Option<(bool, String)> {
    if torch.default {
        return None;
    }
    let Known::Release(release) = known(run.state.catalog, torch) else { return None };
    let series: Vec<&str> = release.version.split('.').take(2).collect();
    let series = series.join(".");
    let Wheel { package, torch: wanted, abi } = wheel;
    if wanted.split('.').take(2).collect::<Vec<_>>().join(".") != series {
        let message = format!(
            "this wheel of {package} is built for torch {wanted}, but torch {} is installed; its import \
             may fail with \
             an undefined symbol",
            release.version
        );
        return Some((false, message));
    }
    let shown = |abi: bool| if abi { "cxx11abiTRUE" } else { "cxx11abiFALSE" };
    let own = abi_of(release, torch.local.as_deref())?;
    (own != *abi).then(|| {
        let message = format!(
            "this wheel of {package} is {}, but torch {} uses the {} C++ ABI ({}); its import fails with \
             an undefined \
             symbol",
            shown(*abi),
            release.version,
            if own { "new" } else { "old" },
            shown(own)
        );
        (true, message)
    })
}

/// The C++ ABI of every build of a release, or of the one that is named.
fn abi_of(release: &Release, build: Option<&str>) -> Option<bool> {
    if let Some(build) = build {
        return release.builds.iter().find(|one| one.build == build)?.cxx11_abi;
    }
    let first = release.cxx11_abi?;
    let same = release.builds.iter().all(|build| build.cxx11_abi == Some(first));
    same.then_some(first)
}
