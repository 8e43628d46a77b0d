//! Calls in which all ranks of a run take part.

use catalog::distributed_functions::Kind;

use crate::accelerate_starts::is_sharded;
use crate::lightning;
use crate::read::python::{Branch, Call, Function, Program, contains};

/// How many functions are followed from one to the next.
const STEPS_LIMIT: usize = 4;

/// The collective that a function or method of this script calls in any case, itself or through others.
pub(crate) fn reached<'p>(program: &'p Program, call: &Call, steps: usize) -> Option<&'p Call> {
    let function = called(program, call)?;
    let own = || program.calls.iter().filter(|one| one.function == function.at && !one.conditional);
    let direct = own().find(|one| collective(program, one).is_some());
    direct.or_else(|| match steps < STEPS_LIMIT {
        true => own().find_map(|one| reached(program, one, steps + 1)),
        false => None,
    })
}

/// The function of this script that a call runs: `reduce_mean(x)`, `metrics.write(x)` of an object that the
/// script makes, `self.write(x)` in its class.
fn called<'p>(program: &'p Program, call: &Call) -> Option<&'p Function> {
    let Some((object, method)) = call.name.rsplit_once('.') else { return program.function(&call.name) };
    let class = match object {
        "self" => program.classes.iter().find(|class| contains(&class.at, &call.at)),
        _ => {
            let mut sets = program.assignments.iter().filter(|one| one.name == object);
            let set = sets.next().filter(|_| sets.next().is_none())?;
            let made = program.call_at(&set.at)?;
            program.classes.iter().find(|class| class.name == made.name)
        }
    }?;
    let mut methods =
        program.functions.iter().filter(|one| one.name == method && contains(&class.at, &one.at));
    methods.next().filter(|_| methods.next().is_none())
}

/// The name of a collective of the whole run.
pub(crate) fn collective(program: &Program, call: &Call) -> Option<String> {
    let (before, last) = call.name.rsplit_once('.')?;
    let given = call.arguments.iter().filter_map(|one| one.name.as_deref());
    if given.into_iter().any(|name| matches!(name, "*" | "group" | "process_group" | "no_dist")) {
        return None;
    }
    let plain = call.arguments.iter().filter(|one| one.name.is_none()).count();
    let known = program.catalog.distributed_functions().of_kind(&call.name, Kind::Collective);
    if known.is_some_and(|known| known.group_at.is_some_and(|at| plain <= at)) {
        return Some(call.name.clone());
    }
    let made_by = |makers: &[&str]| {
        let mut made = program.assignments.iter().filter(|one| first_name(&one.name) == before);
        made.any(|one| {
            program.call_at(&one.at).is_some_and(|call| {
                makers.iter().any(|maker| call.name == *maker || call.name.ends_with(&format!(".{maker}")))
            })
        })
    };
    let together = match last {
        "save_checkpoint" => made_by(&["deepspeed.initialize"]) || holds_trainer(program, call, before),
        "state_dict" => made_by(&["FullyShardedDataParallel"]),
        "wait_for_everyone"
        | "gather_for_metrics"
        | "gather"
        | "reduce"
        | "pad_across_processes"
        | "get_state_dict" => made_by(&["Accelerator"]),
        // Each rank has a part of the weights.
        "save_state" | "load_state" | "save_model" => made_by(&["Accelerator"]) && is_sharded(program),
        "save" | "load" | "async_save" | "save_state_dict" | "load_state_dict" => {
            before == "torch.distributed.checkpoint"
        }
        _ => false,
    };
    together.then(|| format!("{before}.{last}"))
}

/// `engine` of `engine, _, _, _`.
fn first_name(names: &str) -> &str {
    names.trim_start_matches('(').split(',').next().unwrap_or_default().trim()
}

/// Whether the one rank certainly waits: the barrier of Lightning's Trainer may be met by another one.
pub(crate) fn is_certain(program: &Program, call: &Call) -> bool {
    call.name.strip_suffix(".save_checkpoint").is_none_or(|object| !holds_trainer(program, call, object))
}

/// Whether a name is a Trainer of Lightning: one that the program makes, or the one that a hook gets.
fn holds_trainer(program: &Program, call: &Call, name: &str) -> bool {
    // Releases before 2 had no barrier, and other ranks may come to one by themselves.
    if program.text.contains("strategy.barrier(") || program.text.contains("pytorch_lightning") {
        return false;
    }
    let mut made = program.assignments.iter().filter(|one| one.name == name);
    if made.any(|one| program.call_at(&one.at).is_some_and(lightning::is_trainer)) {
        return true;
    }
    let lightning =
        program.imports.values().any(|full| full == "lightning" || full.starts_with("lightning."));
    let hooks = ["Callback", "LightningModule"];
    let mut classes = program.classes.iter().filter(|class| contains(&class.at, &call.at));
    let hook = classes.any(|class| hooks.iter().any(|base| class.bases.contains(base)));
    lightning && hook && matches!(name, "trainer" | "self.trainer")
}

/// Whether a call is of a module of the program's directory, or of an object that such a call made: what it
/// does is not known.
pub(crate) fn of_own_module(program: &Program, call: &Call) -> bool {
    let own = |name: &str| program.module_of(name).is_some();
    let object = call.name.split('.').next().unwrap_or_default();
    own(&call.name)
        || program
            .assignments
            .iter()
            .filter(|one| one.name == object)
            .any(|one| program.call_at(&one.at).is_some_and(|made| own(&made.name)))
}

/// Whether a method of this name that the script defines has a collective.
fn may_reach(program: &Program, call: &Call) -> bool {
    let Some((_, method)) = call.name.rsplit_once('.') else { return false };
    let mut methods = program.functions.iter().filter(|one| one.name == method);
    methods.any(|method| {
        let from = program.calls.partition_point(|one| one.at.start < method.at.start);
        let within = program.calls[from..].iter().take_while(|one| one.at.start < method.at.end);
        within.into_iter().any(|one| collective(program, one).is_some())
    })
}

/// What the other ranks come to behind a branch that one rank leaves.
#[derive(Debug, Clone, Copy)]
pub(crate) enum After<'p> {
    /// No collective.
    Nothing,
    Same,
    /// A collective of another name.
    Other(&'p Call),
    /// Code of other files, which may have one.
    Unknown,
}

pub(crate) fn after_branch<'p>(program: &'p Program, call: &Call, branch: &Branch) -> After<'p> {
    // In the order of the text.
    let first = program.calls.partition_point(|one| one.at.start < branch.at.end);
    let behind = program.calls[first..].iter().filter(|one| one.function == call.function);
    let mut other = After::Nothing;
    for one in behind {
        let inner = reached(program, one, 0);
        if one.name == call.name || inner.is_some_and(|inner| inner.name == call.name) {
            return After::Same;
        }
        if inner.is_some() || of_own_module(program, one) || may_reach(program, one) {
            return After::Unknown;
        }
        if matches!(other, After::Nothing) && collective(program, one).is_some() {
            other = After::Other(one);
        }
    }
    other
}
