//! An sshd_config: the lines that are for everybody.

/// A keyword with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// In lower case.
    pub keyword: String,
    pub values: Vec<String>,
    /// From 1.
    pub number: usize,
}

/// An sshd_config, as far as its keywords go.
#[derive(Debug, Default)]
pub(crate) struct SshdConfig {
    /// Those before the first Match.
    pub global: Vec<Line>,
    /// Those for some only.
    pub in_match: Vec<Line>,
}

impl SshdConfig {
    pub(crate) fn read(text: &str) -> SshdConfig {
        let mut config = SshdConfig::default();
        let mut in_match = false;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            let mut words = line
                .split(|letter: char| letter.is_whitespace() || letter == '=')
                .map(|word| word.trim_matches('"').to_owned())
                .filter(|word| !word.is_empty());
            let Some(keyword) = words.next().filter(|_| !line.starts_with('#')) else { continue };
            let keyword = keyword.to_ascii_lowercase();
            let line = Line { keyword, values: words.collect(), number: index + 1 };
            in_match |= line.keyword == "match";
            match in_match {
                true => config.in_match.push(line),
                false => config.global.push(line),
            }
        }
        config
    }

    /// The first value of a keyword, in lower case: the one that counts.
    pub(crate) fn value(&self, keyword: &str) -> Option<(String, usize)> {
        let line = self.global.iter().find(|line| line.keyword == keyword)?;
        Some((line.values.first()?.to_ascii_lowercase(), line.number))
    }

    /// The values of a keyword that adds up, with the line of the first.
    pub(crate) fn all(&self, keyword: &str) -> Option<(Vec<&str>, usize)> {
        let mut lines = self.global.iter().filter(|line| line.keyword == keyword).peekable();
        let number = lines.peek()?.number;
        Some((lines.flat_map(|line| line.values.iter().map(String::as_str)).collect(), number))
    }
}
