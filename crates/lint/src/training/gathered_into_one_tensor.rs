//! A list for the results of all ranks whose entries are one and the same tensor.

use crate::read::python::{Call, Program, number};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "gathered-into-one-tensor",
    severity: Severity::Error,
    summary: "lists for gathered tensors have a tensor of its own for each rank",
    explain: include_str!("gathered_into_one_tensor.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndef gather(x):\n    \
             out = [torch.empty_like(x)] * dist.get_world_size()\n    dist.all_gather(out, x)\n    \
             return torch.cat(out)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nbuffer = torch.zeros(8).cuda()\n\
             dist.gather(x, [buffer for _ in range(world_size)] if rank == 0 else None)\n\
             parts = [buffer for _ in range(world_size)]\ndist.gather(x, gather_list=parts)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\n\
             dist.all_gather(tensor_list=world_size * [torch.zeros_like(x)], tensor=x)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nworld = dist.get_world_size()\n\
             out = [torch.empty_like(x) for _ in range(world)]\ndist.all_gather(out, x)\n\
             names = [None] * world\ndist.all_gather_object(names, name)\n\
             sizes = [x.clone() for x in parts]\ndist.all_gather(sizes, y)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nout = [None] * world\nfor i in \
             range(world):\n    \
             out[i] = torch.empty_like(x)\ndist.all_gather(out, x)\nsame = [x] * world\n\
             dist.all_to_all(out, same)\ndist.scatter(y, [x] * world)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nout = [x] * world\nout = [t.clone() for t in \
             out]\n\
             dist.all_gather(out, x)\n",
        ),
    ],
};

/// Collectives that fill a list, with its place.
const FILLED: &[(&str, usize, &str)] = &[
    ("all_gather", 0, "tensor_list"),
    ("gather", 1, "gather_list"),
    ("all_to_all", 0, "output_tensor_list"),
];

fn judge(program: &Program) -> Vec<Found> {
    program.calls.iter().filter_map(|call| fault(program, call)).collect()
}

fn fault(program: &Program, call: &Call) -> Option<Found> {
    let name = call.name.strip_prefix("torch.distributed.")?;
    let (_, index, keyword) = FILLED.iter().find(|(known, _, _)| *known == name)?;
    let list = call.argument(*index, keyword)?;
    let (line, entry) = match repeated(&list.text) {
        Some(entry) => (list.line, entry),
        None => {
            // Set once, and no entry of it later.
            let own = |other: &str| {
                other == list.text
                    || other.strip_prefix(list.text.as_str()).is_some_and(|rest| rest.starts_with('['))
            };
            let mut sets = program.assignments.iter().filter(|one| own(&one.name));
            let set =
                sets.next().filter(|one| one.function == call.function && one.at.start < call.at.start)?;
            if sets.next().is_some() || set.name != list.text {
                return None;
            }
            (set.line, repeated(&set.text)?)
        }
    };
    // A call that only reserves memory reads nothing of it.
    if list.text.contains("dummy") || list.text.contains("warmup") {
        return None;
    }
    let entry = entry.replace('\n', " ");
    let message = format!(
        "all entries of the list for {name} are one tensor, `{entry}`; each holds the values of one rank, \
         and those of the others are lost"
    );
    let own = if entry.ends_with(')') { entry } else { format!("torch.empty_like({entry})") };
    let fix = format!("Make one for each rank: `[{own} for _ in range(world_size)]`");
    Some(Found::error(line, message, fix))
}

/// The tensor that a list has several times: `[x] * n`, `n * [x]`, `[x for _ in range(n)]`.
fn repeated(text: &str) -> Option<String> {
    let text = text.trim();
    // `[x] * n if rank == 0 else None`.
    let text =
        text.strip_suffix("else None").and_then(|text| Some(text.rsplit_once(" if ")?.0)).unwrap_or(text);
    if let Some((entry, rest)) = first_list(text)
        && let Some(times) = rest.trim().strip_prefix('*')
    {
        return (number(times) != Some(1.0)).then_some(entry).filter(|entry| is_tensor(entry));
    }
    if text.ends_with(']')
        && let Some(open) = text.find('[')
        && let Some(times) = text[..open].trim_end().strip_suffix('*')
        && times.chars().all(|letter| letter.is_alphanumeric() || "_.() ".contains(letter))
        && let Some((entry, "")) = first_list(&text[open..])
    {
        return Some(entry).filter(|entry| is_tensor(entry));
    }
    let (entry, rest) = text.strip_prefix('[')?.strip_suffix(']')?.split_once(" for ")?;
    let (over, through) = rest.split_once(" in ")?;
    let is_name = |text: &str| {
        text.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '.')
            && text.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
    };
    let first = entry.split('.').next().unwrap_or_default();
    let same = is_name(entry) && over.split(',').all(|one| one.trim() != first) && !through.contains(" for ");
    (same && is_tensor(entry)).then(|| entry.to_owned())
}

/// The only entry of the list that a text begins with, and what is behind it.
fn first_list(text: &str) -> Option<(String, &str)> {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 1 => return None,
            _ => {}
        }
        if depth == 0 {
            let inner = text.get(..at)?.strip_prefix('[')?.trim();
            let plain = !inner.is_empty() && !inner.contains(" for ") && !inner.starts_with('*');
            return plain.then(|| (inner.to_owned(), &text[at + 1..]));
        }
    }
    None
}

/// Whether an entry may be a tensor: no number, text or None.
fn is_tensor(entry: &str) -> bool {
    let other = matches!(entry, "None" | "True" | "False") || number(entry).is_some();
    !other && !entry.starts_with(['"', '\'', '[', '{', '('])
}

#[cfg(test)]
mod tests {
    use super::repeated;

    #[test]
    fn lists() {
        for text in [
            "[torch.zeros(2, 3)] * n",
            "[x]*dist.get_world_size()",
            "dist.get_world_size() * [x]",
            "[buffer for _ in range(n)]",
            "[buffer for _ in range(n)] if rank == 0 else None",
            "[self.buffer for i in range(n)]",
        ] {
            assert!(repeated(text).is_some(), "{text}");
        }
        for text in [
            "[torch.zeros(2) for _ in range(n)]",
            "[None] * n",
            "[0] * n",
            "[x] * 1",
            "[x, y] * n",
            "[x for x in parts]",
            "[x.data for x in parts]",
            "[x]",
            "[x] + [y]",
            "list(a)",
        ] {
            assert!(repeated(text).is_none(), "{text}");
        }
    }
}
