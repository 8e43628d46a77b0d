//! There are wheels for the Python.

use crate::resolve::constraint::{Constraint, Judge, Judgement};
use crate::resolve::wanted::Wanted;
use crate::resolve::world::{Build, Python, Release};

const SOURCE: &str = "wheel tags and Requires-Python on PyPI, see the catalog's rows";

/// torch's wheels.
pub const CONSTRAINT: Constraint = Constraint {
    id: "torch-wheel-for-python",
    says: "torch has a wheel for the Python.",
    source: SOURCE,
    judge: Judge::Python(torch),
};

/// Wheels of packages.
pub const PACKAGE: Constraint = Constraint {
    id: "package-wheel-for-python",
    says: "A package allows the Python, and has a wheel for it where it has wheels.",
    source: SOURCE,
    judge: Judge::PackagePython(package),
};

fn torch(_wanted: &Wanted, build: &Build, python: &Python) -> Judgement {
    let Some(pythons) = &build.release.pythons else {
        return Judgement::Unknown(format!(
            "for which Pythons torch {} has wheels is not known",
            build.release.version
        ));
    };
    Judgement::unless(pythons.contains(&python.text), || {
        let plain: Vec<&str> = pythons.iter().map(String::as_str).filter(|one| !one.ends_with('t')).collect();
        let range = match plain[..] {
            [] => "none".to_owned(),
            [one] => one.to_owned(),
            [first, .., last] => format!("{first} to {last}"),
        };
        format!("torch {} has no wheel for Python {}, only for {range}", build.release.version, python.text)
    })
}

fn package(_wanted: &Wanted, python: &Python, release: &Release) -> Judgement {
    if let Some(allowed) = release.python.as_ref().filter(|allowed| !python.within(allowed)) {
        return Judgement::Fails(format!("{} asks for Python {allowed}", release.name()));
    }
    Judgement::unless(release.pythons.is_none_or(|list| list.contains(&python.text)), || {
        format!("{} has no wheel for Python {}", release.name(), python.text)
    })
}
