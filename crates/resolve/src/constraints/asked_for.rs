//! What the user asked for by version or name.

use crate::constraint::{Constraint, Judge};
use crate::request::{Base as Wished, Versions};
use crate::verdict::{Judgement, Refusal};
use crate::wanted::Wanted;
use crate::world::{Base, Build, Python, Release, series};

const SOURCE: &str = "the request";

/// torch, its build and its CUDA.
pub const BUILD: Constraint = Constraint {
    id: "torch-asked-for",
    says: "torch, its build and its CUDA are what was asked for.",
    source: SOURCE,
    judge: Judge::Build(build),
};

/// Python.
pub const PYTHON: Constraint = Constraint {
    id: "python-asked-for",
    says: "Python is what was asked for.",
    source: SOURCE,
    judge: Judge::Python(python),
};

/// The base image and its system.
pub const BASE: Constraint = Constraint {
    id: "base-asked-for",
    says: "The base image and its system are what was asked for.",
    source: SOURCE,
    judge: Judge::Base(base),
};

/// Packages.
pub const PACKAGE: Constraint = Constraint {
    id: "package-asked-for",
    says: "A package has the version that was asked for.",
    source: SOURCE,
    judge: Judge::Package(package),
};

fn build(wanted: &Wanted, build: &Build) -> Judgement {
    if let Some(wish) = wanted.torch.iter().find(|wish| !wish.contain(&build.version)) {
        return Judgement::Fails(Refusal::TorchRequested { wish: wish.text.clone() });
    }
    let other = |wish: &&&Versions| wish.build.as_deref().is_some_and(|name| name != build.build.build);
    if let Some(wish) = wanted.torch.iter().find(other) {
        return Judgement::Fails(Refusal::TorchRequested { wish: wish.text.clone() });
    }
    match wanted.cuda.iter().find(|wish| !cuda_within(wish, build)) {
        Some(wish) => Judgement::Fails(Refusal::CudaRequested { wish: wish.text.clone() }),
        None => Judgement::Holds,
    }
}

/// Whether the build's CUDA minor (`12.1`), or a patch release of it, is among the wished ones.
pub(crate) fn cuda_within(wish: &Versions, build: &Build) -> bool {
    wish.contain(&build.cuda) || build.toolkits.iter().any(|full| wish.contain(full))
}

fn python(wanted: &Wanted, _build: &Build, python: &Python) -> Judgement {
    let refused = wanted.python.iter().find(|wish| !python.within(&wish.specifiers));
    refused.map_or(Judgement::Holds, |wish| {
        Judgement::Fails(Refusal::PythonRequested { wish: wish.text.clone() })
    })
}

fn base(wanted: &Wanted, build: &Build, base: &Base) -> Judgement {
    let id = base.system.map(|system| system.id.as_str());
    if let Some(wish) = wanted.systems.iter().find(|wish| Some(**wish) != id) {
        return Judgement::Fails(Refusal::SystemRequested { wish: (*wish).to_owned() });
    }
    for wish in &wanted.bases {
        let fits = match wish {
            Wished::Repository(name) => base.image.is_some_and(|image| image.repository == name),
            Wished::Image(reference) => base.image.is_some_and(|image| {
                reference.strip_prefix(image.repository).and_then(|rest| rest.strip_prefix(':'))
                    == Some(&image.tag)
            }),
            Wished::None => base.image.is_none(),
        };
        if !fits {
            return Judgement::Fails(Refusal::BaseRequested);
        }
    }
    // A patch release (12.1.0) can only be told from the image; a minor was looked at with the build.
    let Some(cuda) = &base.cuda else { return Judgement::Holds };
    let same_minor = series(cuda) == series(&build.cuda);
    // `<=12.1` and `==12.1` mean the minor; a wish with three numbers means what it says.
    let of_minor = |wish: &Versions| wish.specifiers.iter().all(|one| one.version().release().len() < 3);
    let other = |wish: &&&Versions| {
        !(wish.contain(cuda) || same_minor && of_minor(wish) && wish.contain(&build.cuda))
    };
    match wanted.cuda.iter().find(other) {
        Some(wish) => {
            Judgement::Fails(Refusal::BaseCudaRequested { has: cuda.clone(), wish: wish.text.clone() })
        }
        None => Judgement::Holds,
    }
}

fn package(wanted: &Wanted, release: &Release) -> Judgement {
    let refused = wanted.package(release.package).iter().find(|wish| !wish.contain(&release.version));
    refused.map_or(Judgement::Holds, |wish| {
        Judgement::Fails(Refusal::PackageRequested { package: release.package, wish: wish.text.clone() })
    })
}
