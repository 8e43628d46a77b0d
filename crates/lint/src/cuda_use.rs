//! Where a program uses CUDA.

use std::ops::Range;

use crate::read::python::{Argument, Assignment, Call, Class, Function, Program, contains};

/// A dataset that is made.
pub(crate) struct Made<'p> {
    /// The file that makes it, and where.
    pub program: &'p Program,
    pub call: &'p Call,
    /// The file of its class.
    pub home: &'p Program,
    pub class: &'p Class,
}

/// `x.cuda()`, `x.to("cuda:0")`, `device="cuda"`.
pub(crate) fn uses_cuda(program: &Program, made: Option<&Made<'_>>, call: &Call) -> bool {
    let cuda = |one: &Argument| {
        is_cuda(program, one, &call.function, DEPTH_LIMIT)
            || made.is_some_and(|made| member_is_cuda(made, &one.text) || given_cuda(made, call, &one.text))
    };
    match call.name.rsplit('.').next().unwrap_or_default() {
        "cuda" => call.name != "torch.cuda",
        "to" => call.argument(0, "device").is_some_and(cuda),
        // It only names a device.
        "device" => false,
        _ => call.keyword("device").is_some_and(cuda),
    }
}

/// The line of the first use of CUDA that every run of a program reaches: at its top, or in its `main`.
/// `None` for a program that asks what there is.
pub(crate) fn always_uses_cuda(program: &Program) -> Option<usize> {
    const ASKS: &[&str] = &["is_available", "device_count", "CUDA_VISIBLE_DEVICES"];
    if ASKS.iter().any(|name| program.text.contains(name)) {
        return None;
    }
    let entered = |call: &Call| {
        let main = || program.functions.iter().find(|one| one.at == call.function && one.name == "main");
        let called = || program.calls.iter().any(|one| one.name == "main" && one.function.is_empty());
        call.function.is_empty() || main().is_some() && called()
    };
    let caught = |call: &Call| program.tries.iter().any(|one| contains(&one.body, &call.at));
    let moves = |call: &Call| {
        let literal = |one: &Argument| one.text.trim_matches(['"', '\'']).starts_with("cuda");
        let quoted = |one: &&Argument| one.text.starts_with(['"', '\'']);
        match call.name.rsplit('.').next().unwrap_or_default() {
            "cuda" => call.name != "torch.cuda" && call.arguments.is_empty(),
            "to" => uses_cuda(program, None, call),
            _ => {
                call.name.starts_with("torch.") && call.keyword("device").filter(quoted).is_some_and(literal)
            }
        }
    };
    let mut calls = program.calls.iter();
    let first = calls.find(|call| !call.conditional && moves(call) && entered(call) && !caught(call));
    first.map(|call| call.line)
}

/// Names that are followed to what they were set to.
const DEPTH_LIMIT: usize = 4;

/// Whether an expression is a GPU: `"cuda:0"`, `torch.device("cuda")`, a name of one.
fn is_cuda(program: &Program, one: &Argument, function: &Range<usize>, depth: usize) -> bool {
    let text = match one.text.split_once(" if ") {
        Some((text, condition)) if condition.contains("cuda.is_available()") => text.trim(),
        Some(_) => return false,
        None => one.text.as_str(),
    };
    let quoted = text.strip_prefix('f').unwrap_or(text);
    if quoted.starts_with(['"', '\'']) {
        return quoted.trim_start_matches(['"', '\'']).starts_with("cuda");
    }
    if depth == 0 {
        return false;
    }
    if let Some(call) = program.call_at(&one.at) {
        let device = call.argument(0, "device").filter(|_| call.name == "torch.device");
        return device.is_some_and(|device| is_cuda(program, device, function, depth - 1));
    }
    let set = program.value(text, function, one.at.start);
    set.is_some_and(|set| {
        let value = Argument { name: None, text: set.text.clone(), line: set.line, at: set.at.clone() };
        is_cuda(program, &value, &set.function, depth - 1)
    })
}

/// Whether `self.device` is a GPU by what the constructor of the class was given.
fn member_is_cuda(made: &Made<'_>, text: &str) -> bool {
    if !text.starts_with("self.") {
        return false;
    }
    let Some(init) = made.home.method(made.class, "__init__") else { return false };
    let mut sets = made.home.assignments.iter().filter(|one| one.name == text && one.function == init.at);
    let (Some(set), None) = (sets.next(), sets.next()) else { return false };
    let value = Argument { name: None, text: set.text.clone(), line: set.line, at: set.at.clone() };
    is_cuda(made.home, &value, &init.at, DEPTH_LIMIT) || parameter_is_cuda(made, init, &set.text)
}

/// Whether a name in the constructor is a parameter that is a GPU.
fn given_cuda(made: &Made<'_>, call: &Call, name: &str) -> bool {
    let init = made.home.method(made.class, "__init__").filter(|init| init.at == call.function);
    init.is_some_and(|init| parameter_is_cuda(made, init, name))
}

/// Whether a parameter of the constructor is a GPU, as it was given or by its default.
fn parameter_is_cuda(made: &Made<'_>, init: &Function, name: &str) -> bool {
    let Some(index) = init.parameters.iter().position(|one| one.name == name) else { return false };
    // The first is the object itself.
    let given = index.checked_sub(1).and_then(|index| made.call.argument(index, name));
    if let Some(given) = given {
        return is_cuda(made.program, given, &made.call.function, DEPTH_LIMIT);
    }
    let spread = made.call.arguments.iter().any(|one| one.name.as_deref() == Some("*"));
    let default = init.parameters[index].default.as_deref().filter(|_| !spread);
    default.is_some_and(|text| text.trim_matches(['"', '\'']).starts_with("cuda"))
}

/// Methods that give a tensor or module on the same device.
const SAME_DEVICE: &[&str] = &[
    "float",
    "half",
    "bfloat16",
    "double",
    "long",
    "int",
    "bool",
    "type",
    "contiguous",
    "detach",
    "clone",
    "requires_grad_",
    "eval",
    "train",
    "view",
    "reshape",
    "unsqueeze",
    "squeeze",
    "permute",
    "transpose",
];

/// Whether an expression is a tensor or a module on a GPU: `load(path).float().cuda()`.
fn is_on_gpu(program: &Program, made: Option<&Made<'_>>, at: &Range<usize>, depth: usize) -> bool {
    let Some(call) = program.call_at(at) else { return false };
    if uses_cuda(program, made, call) {
        return true;
    }
    let last = call.name.rsplit('.').next().unwrap_or_default();
    if depth == 0 || !SAME_DEVICE.contains(&last) || !call.name.contains('.') {
        return false;
    }
    // What the method is called on begins where the call begins.
    let from = program.calls.partition_point(|one| one.at.start < at.start);
    let same = program.calls[from..].iter().take_while(|one| one.at.start == at.start);
    let inner = same.filter(|one| one.at.end < at.end).max_by_key(|one| one.at.end);
    inner.is_some_and(|inner| is_on_gpu(program, made, &inner.at, depth - 1))
}

/// The members of a dataset that its constructor sets to something on a GPU: `self.text`.
pub(crate) fn members_on_gpu<'p>(made: &Made<'p>) -> Vec<&'p Assignment> {
    let Some(init) = made.home.method(made.class, "__init__") else { return Vec::new() };
    let sets = made.home.assignments.iter().filter(|one| {
        one.function == init.at && one.name.strip_prefix("self.").is_some_and(|rest| !rest.contains('.'))
    });
    let sets: Vec<&Assignment> = sets.collect();
    let last = |set: &Assignment| sets.iter().rfind(|one| one.name == set.name).map(|one| one.at.clone());
    let given = |name: &str| {
        let place = init.parameters.iter().position(|one| one.name == name)?.checked_sub(1)?;
        let given = made.call.argument(place, name)?;
        let from = made.program.origin(&given.at, &made.call.function);
        Some(is_on_gpu(made.program, None, &from.at, DEPTH_LIMIT))
    };
    let on_gpu = |set: &&&Assignment| {
        let own = is_on_gpu(made.home, Some(made), &set.at, DEPTH_LIMIT);
        last(set).as_ref() == Some(&set.at) && (own || given(&set.text) == Some(true))
    };
    sets.iter().filter(on_gpu).copied().collect()
}

/// Attributes of a tensor that every process may read.
const DESCRIBING: &[&str] = &[
    "device",
    "dtype",
    "shape",
    "size",
    "ndim",
    "dim",
    "numel",
    "is_cuda",
    "requires_grad",
    "nbytes",
    "element_size",
    "itemsize",
    "share_memory_",
    "is_shared",
];

/// The line, from 0 within a text, on which a member is indexed or called, or a method of it:
/// `self.text[i]`.
pub(crate) fn computes_with(text: &str, member: &str) -> Option<usize> {
    let word = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.lines().position(|line| {
        let code = line.split('#').next().unwrap_or_default();
        code.match_indices(member).any(|(at, _)| {
            let before = code[..at].chars().next_back();
            let rest = &code[at + member.len()..];
            let called = rest.strip_prefix('.').is_some_and(|rest| {
                let name: String = rest.chars().take_while(|letter| word(*letter)).collect();
                rest[name.len()..].starts_with('(') && !DESCRIBING.contains(&name.as_str())
            });
            let whole = !before.is_some_and(|letter| word(letter) || letter == '.');
            whole && (rest.starts_with(['[', '(']) || called)
        })
    })
}
