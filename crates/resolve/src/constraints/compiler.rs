//! The image's nvcc accepts the system's gcc.

use std::cmp::Ordering;

use crate::constraint::{Constraint, Judge};
use crate::criteria::Criteria;
use crate::universe::{Base, Build};
use crate::verdict::{BaseGap, CompilerRefusal, Cost, Gap, Judgement, Refusal};
use catalog::Catalog;
use catalog::systems::{Compilers, System};

pub(crate) const CONSTRAINT: Constraint = Constraint {
    id: "compiler-range",
    description: "Where CUDA code is compiled, nvcc accepts the gcc of the image's system: each CUDA has an \
        oldest and a newest one.",
    sources: &[
        "spack/spack-packages:repos/spack_repo/builtin/build_systems/cuda.py",
        "see the catalog's rows of compilers",
    ],
    judge: Judge::Base(judge),
};

fn judge(criteria: &Criteria, _build: &Build, base: &Base) -> Judgement {
    if !criteria.uses_nvcc() || base.has_nvcc() != Some(true) {
        return Judgement::Holds;
    }
    let (Some(nvcc), Some(system)) = (base.cuda_text(), base.system) else {
        return Judgement::Unknown(Gap::Base(BaseGap::Compiler));
    };
    match accepts(criteria.catalog, nvcc, system) {
        // DeepSpeed itself runs, what it would compile does not.
        Judgement::Fails(refusal) if !criteria.compile => {
            Judgement::Costs(Cost::Compilation(Box::new(refusal)))
        }
        judgement => judgement,
    }
}

/// Whether the nvcc of a CUDA (`11.8.0`) accepts the gcc of a system.
pub(crate) fn accepts(catalog: &Catalog, nvcc: &str, system: &System) -> Judgement {
    let Some(gcc) = &system.gcc else {
        return Judgement::Unknown(Gap::Base(BaseGap::Gcc { system: system.name.clone() }));
    };
    let within = |row: &&Compilers| {
        compare(nvcc, &row.cuda_from) != Ordering::Less && compare(nvcc, &row.cuda_to) != Ordering::Greater
    };
    let Some(row) = catalog.systems().compilers().iter().find(within) else {
        return Judgement::Unknown(Gap::Base(BaseGap::GccOfNvcc { nvcc: nvcc.to_owned() }));
    };
    let newest = row.gcc_max.as_deref().filter(|max| compare(gcc, max) == Ordering::Greater);
    let oldest = row.gcc_min.as_deref().filter(|min| compare(gcc, min) == Ordering::Less);
    let (system, gcc, nvcc) = (system.name.clone(), gcc.clone(), nvcc.to_owned());
    match (newest, oldest) {
        (Some(max), _) => Judgement::Fails(Refusal::Compiler(CompilerRefusal::GccTooNew {
            system,
            gcc,
            nvcc,
            newest: max.to_owned(),
        })),
        (_, Some(min)) => Judgement::Fails(Refusal::Compiler(CompilerRefusal::GccTooOld {
            system,
            gcc,
            nvcc,
            oldest: min.to_owned(),
        })),
        _ => Judgement::Holds,
    }
}

/// Compares as many numbers as the limit has: 13.3.0 is within a limit of 13, 12.6.3 within one of 12.6.
fn compare(version: &str, limit: &str) -> Ordering {
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    let mut own = version.split('.').map(number);
    let parts = limit.split('.').map(|part| own.next().unwrap_or(0).cmp(&number(part)));
    parts.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::testing::{base, build, compile, judged_base, python, with};
    use crate::request::Requirement;
    use catalog::testing::catalog;

    fn on(requirements: &[Requirement], image: &str) -> Judgement {
        judged_base(&CONSTRAINT, requirements, build("2.5.1", "cu121"), python("3.11"), base(image))
    }

    #[test]
    fn compares_only_the_numbers_the_limit_has() {
        assert_eq!(compare("13.3.0", "13"), Ordering::Equal);
        assert_eq!(compare("11.4.0", "11.1"), Ordering::Greater);
        assert_eq!(compare("9.4.0", "11"), Ordering::Less);
        assert_eq!(compare("12.6.3", "12.6.3"), Ordering::Equal);
    }

    #[test]
    fn gcc_of_the_system_must_be_supported_by_nvcc() {
        for image in ["nvidia/cuda:12.1.1-devel-ubuntu22.04", "nvidia/cuda:12.6.3-devel-ubuntu24.04"] {
            assert_eq!(on(&[compile()], image), Judgement::Holds, "{image}");
        }
        // gcc 11.4 and CUDA 11.5: a known conflict.
        let old = "nvidia/cuda:11.5.2-devel-ubuntu20.04";
        assert_eq!(on(&[compile()], old), Judgement::Holds);
        let made = Base {
            image: base(old).image,
            system: catalog().systems().system("ubuntu22.04"),
            cuda: base(old).cuda.clone(),
            flavour: base(old).flavour,
        };
        let (build, python) = (build("2.5.1", "cu121"), python("3.11"));
        let message = judged_base(&CONSTRAINT, &[compile()], build, python, &made);
        let Judgement::Fails(Refusal::Compiler(CompilerRefusal::GccTooNew { newest, .. })) = message else {
            panic!("{message:?}")
        };
        assert_eq!(newest, "11.1");
        let message = judged_base(&CONSTRAINT, &[with("deepspeed", "")], build, python, &made);
        assert!(matches!(message, Judgement::Costs(_)));
        assert_eq!(judged_base(&CONSTRAINT, &[], build, python, &made), Judgement::Holds);
    }

    #[test]
    fn unknown_without_system_or_cuda_version() {
        let unknown = Base {
            image: base("nvidia/cuda:12.1.1-devel-ubuntu22.04").image,
            system: None,
            cuda: None,
            flavour: catalog::images::Flavour::Devel,
        };
        let message =
            judged_base(&CONSTRAINT, &[compile()], build("2.5.1", "cu121"), python("3.11"), &unknown);
        assert!(matches!(message, Judgement::Unknown(_)));
    }
}
