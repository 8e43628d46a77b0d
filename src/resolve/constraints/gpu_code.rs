//! torch has code for every GPU.

use crate::facts::Fact;
use crate::facts::support::code_for;
use crate::resolve::constraint::{Constraint, Judge, Judgement};
use crate::resolve::wanted::Wanted;
use crate::resolve::world::Build;

/// See the module.
pub const CONSTRAINT: Constraint = Constraint {
    id: "gpu-has-code",
    says: "The torch build has machine code for the compute capability of every GPU, or PTX that the driver translates.",
    source: "architecture lists of the builds, see the catalog's torch rows; https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility",
    judge: Judge::Build(judge),
};

fn judge(wanted: &Wanted, build: &Build) -> Judgement {
    for gpu in &wanted.gpus {
        let Some(compiled) = &build.compiled else {
            return Judgement::Unknown(format!("for which GPUs {} has code is not known", build.name()));
        };
        let (major, minor) = gpu.capability;
        match code_for(compiled, build.ptx.as_deref(), gpu.capability) {
            Fact::Known(true) => {}
            Fact::Unknown(why) => return Judgement::Unknown(why),
            Fact::Known(false) | Fact::Absent => {
                let list: Vec<String> =
                    compiled.iter().map(|(major, minor)| format!("sm_{major}{minor}")).collect();
                return Judgement::Fails(format!(
                    "it has no code for the {} (sm_{major}{minor}), only for {}",
                    gpu.name,
                    list.join(", ")
                ));
            }
        }
    }
    Judgement::Holds
}
