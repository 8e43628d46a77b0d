//! What a requirements file or a group is for, by its name.

/// What a file or group is for besides running the project, by the words in its name.
pub(crate) fn purpose(name: &str) -> Option<&'static str> {
    const KINDS: &[(&str, &[&str])] = &[
        ("development", &["dev", "develop", "development", "test", "tests", "testing", "lint", "ci"]),
        ("documentation", &["doc", "docs"]),
        ("constraints", &["constraints"]),
    ];
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(['-', '_', '.']).collect();
    KINDS.iter().find(|(_, names)| names.iter().any(|name| words.contains(name))).map(|(kind, _)| *kind)
}
