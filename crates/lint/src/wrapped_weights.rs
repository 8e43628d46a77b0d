//! Wrapped models, and the weights that programs save and load.

use crate::read::python::{Assignment, Call, Program, is_name, names};

/// What wraps a model, and the prefix that its weights get.
pub(crate) const WRAPPERS: &[(&str, &str)] = &[
    ("DistributedDataParallel", "module."),
    ("torch.nn.DataParallel", "module."),
    ("torch.compile", "_orig_mod."),
];

/// Whether a variable still holds at a call what this assignment gave it.
pub(crate) fn holds_at(program: &Program, one: &Assignment, call: &Call) -> bool {
    if one.function == call.function {
        return program.value(&one.name, &call.function, call.at.start).is_some_and(|set| set.at == one.at);
    }
    let last = program.assignments.iter().rfind(|set| set.name == one.name);
    let parameter = program.functions.iter().any(|function| {
        function.at == call.function && function.parameters.iter().any(|given| given.name == one.name)
    });
    let shared = one.name.starts_with("self.") || one.function.is_empty();
    shared && !parameter && last.is_some_and(|set| set.at == one.at)
}

/// The class whose object a text is, or a variable holds at a call: `Net` of `Net(dim=8).cuda()`.
pub(crate) fn class_of(program: &Program, text: &str, call: &Call) -> Option<String> {
    let text = match is_name(text) {
        true => program.value(text, &call.function, call.at.start)?.text.as_str(),
        false => text,
    };
    let name = text.split_once('(')?.0.rsplit('.').next()?;
    let class = is_name(name) && name.starts_with(|letter: char| letter.is_ascii_uppercase());
    class.then(|| name.to_owned())
}

/// What becomes of names that `load_state_dict` does not find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mismatch {
    Raises,
    /// With strict=False, and the program uses the result.
    Returned,
    /// With strict=False, and nothing uses the result.
    Ignored,
}

impl Mismatch {
    pub(crate) fn of(program: &Program, load: &Call) -> Mismatch {
        let strict = load.argument(1, "strict").is_none_or(|one| one.text != "False");
        let alone = program.statements.iter().any(|one| one.at == load.at);
        match (strict, alone) {
            (true, _) => Mismatch::Raises,
            (false, true) => Mismatch::Ignored,
            (false, false) => Mismatch::Returned,
        }
    }
}

/// The `torch.load` whose result, or an entry of it, goes into a model.
pub(crate) fn read_by<'p>(program: &'p Program, load: &'p Call) -> Option<&'p Call> {
    let given = load.arguments.first()?;
    let direct = program.calls.iter().find(|call| {
        call.name == "torch.load" && given.at.start <= call.at.start && call.at.end <= given.at.end
    });
    direct.or_else(|| {
        let name = names(&given.text).next()?;
        let set = program.value(name, &load.function, load.at.start)?;
        program.call_at(&set.at).filter(|call| call.name == "torch.load")
    })
}
