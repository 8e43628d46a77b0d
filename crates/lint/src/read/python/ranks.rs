//! What only one rank of a run does.

use super::Program;
use super::parts::{Branch, Call};

impl Program {
    /// The branch that only one rank takes, around a call, in its function.
    pub(crate) fn on_one_rank<'p>(&'p self, call: &'p Call) -> Option<&'p Branch> {
        self.branches_at(&call.at, &call.function)
            .find(|branch| !branch.otherwise && is_one_rank(&branch.condition))
    }
}

/// Whether a condition holds on a single rank of a run, whatever else it asks for.
pub(crate) fn is_one_rank(condition: &str) -> bool {
    let lower = condition.to_ascii_lowercase();
    // Of a run of one process, or of none at all.
    let other = [" or ", "world_size", "num_processes", "distributed and", "not "];
    !other.iter().any(|word| lower.contains(word)) && lower.split(" and ").any(is_first)
}

/// Whether a condition holds on every rank but one: `rank != 0`, `not accelerator.is_main_process`.
pub(crate) fn is_other_ranks(condition: &str) -> bool {
    let bare: String = condition.chars().filter(|letter| !letter.is_whitespace()).collect();
    if let Some(rest) = condition.trim().strip_prefix("not ") {
        let rest = rest.trim();
        return !rest.contains(' ') && rest.contains("is_main_process") && is_first(rest);
    }
    let side = bare.strip_suffix("!=0").or_else(|| bare.strip_suffix(">0"));
    side.is_some_and(|side| !side.contains(['<', '>', '=']) && is_first(&format!("{side}==0")))
}

/// `rank == 0`, `dist.get_rank() == 0`, `is_main_process()`.
fn is_first(part: &str) -> bool {
    let bare: String = part.chars().filter(|letter| !letter.is_whitespace()).collect();
    let bare = match bare.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) if !inner.contains('(') => inner,
        _ => bare.as_str(),
    };
    let last = |text: &str| text.rsplit('.').next().unwrap_or_default().to_owned();
    if matches!(
        last(bare).as_str(),
        "is_main_process" | "is_main_process()" | "is_rank_zero()" | "is_global_zero"
    ) {
        return !bare.contains(['=', '<', '>']);
    }
    let Some(side) = bare.strip_suffix("==0").or_else(|| bare.strip_prefix("0==")) else { return false };
    matches!(last(side).as_str(), "rank" | "global_rank" | "local_rank" | "get_rank()" | "get_global_rank()")
}

#[cfg(test)]
mod tests {
    use super::{is_one_rank, is_other_ranks};

    #[test]
    fn the_other_ranks() {
        for text in ["rank != 0", "dist.get_rank() > 0", "not accelerator.is_main_process", "args.rank!=0"] {
            assert!(is_other_ranks(text), "{text}");
        }
        for text in ["rank == 0", "not rank", "rank != 1", "rank != 0 and x", "world_size > 0", "not done"] {
            assert!(!is_other_ranks(text), "{text}");
        }
    }

    #[test]
    fn conditions() {
        for text in [
            "rank == 0",
            "args.rank==0 and step % 10 == 0",
            "dist.get_rank() == 0",
            "(rank == 0)",
            "is_main_process()",
            "accelerator.is_main_process",
            "0 == self.local_rank",
            "trainer.is_global_zero",
        ] {
            assert!(is_one_rank(text), "{text}");
        }
        for text in [
            "rank != 0",
            "rank == 0 or x",
            "world_size == 1 and rank == 0",
            "dp_rank == 0",
            "not is_main_process()",
            "rank == 1",
            "node_rank == 0",
            "get_rank(group) == 0",
        ] {
            assert!(!is_one_rank(text), "{text}");
        }
    }
}
