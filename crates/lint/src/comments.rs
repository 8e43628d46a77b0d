//! What comments say of a file.

/// Words that turn a statement into its contrary; `isn't` and `don't` without their ends.
const DENIALS: &[&str] = &["not", "no", "never", "instead", "without", "isn", "don"];

/// Whether a statement denies something: `not for docker --env-file`.
pub(crate) fn denies(statement: &str) -> bool {
    let lower = statement.to_ascii_lowercase();
    lower.split(|letter: char| !letter.is_alphanumeric()).any(|word| DENIALS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_deny() {
        assert!(denies("not for docker") && denies("nvidia isn't the default") && denies("Never: no, (not)"));
        assert!(!denies("notes of nodes") && !denies("the nodes have nvidia") && !denies(""));
    }
}
