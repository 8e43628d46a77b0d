//! What comments say of a file.

/// Words that turn a statement into its contrary; `isn't` and `don't` without their ends.
const DENIALS: &[&str] = &["not", "no", "never", "instead", "without", "isn", "don"];

/// Whether a statement denies something: `not for docker --env-file`.
pub(crate) fn denies(statement: &str) -> bool {
    let lower = statement.to_ascii_lowercase();
    lower.split(|letter: char| !letter.is_alphanumeric()).any(|word| DENIALS.contains(&word))
}

/// Words before a subject in which a denial is about it.
const NEAR: usize = 3;

/// Whether a statement denies something of one of these words: `no nvidia runtime`, and not
/// `nvidia, no option needed`.
pub(crate) fn denies_of(statement: &str, subjects: &[&str]) -> bool {
    let lower = statement.to_ascii_lowercase();
    // Not the rest of `isn't`.
    let words = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.len() > 1);
    let words: Vec<&str> = words.collect();
    let denied = |at: usize| words[at.saturating_sub(NEAR)..at].iter().any(|word| DENIALS.contains(word));
    (0..words.len()).any(|at| subjects.contains(&words[at]) && denied(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_deny() {
        assert!(denies("not for docker") && denies("nvidia isn't the default") && denies("Never: no, (not)"));
        assert!(!denies("notes of nodes") && !denies("the nodes have nvidia") && !denies(""));
    }

    #[test]
    fn denials_are_of_what_follows_soon() {
        for denied in ["nvidia isn't the default runtime", "not with nvidia", "don't make nvidia default"] {
            assert!(denies_of(denied, &["nvidia", "default"]), "{denied}");
        }
        for other in ["nvidia is the default runtime", "the default is nvidia, no option", ""] {
            assert!(!denies_of(other, &["nvidia", "default"]), "{other}");
        }
    }
}
