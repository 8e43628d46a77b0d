//! What the first lines of a requirements file say of its origin.

/// How a requirements file says that it was made.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// `pip-compile --generate-hashes requirements.in`
    pub(super) command: Option<String>,
}

impl Header {
    /// The comments of pip-tools and uv at the beginning of a file.
    pub(super) fn of(text: &str) -> Header {
        let comments = text.trim_start_matches('\u{feff}').lines().take(10);
        let mut comments = comments.map_while(|line| line.trim().strip_prefix('#')).map(str::trim);
        let made = comments.any(|line| line.ends_with("following command:"));
        let command = comments.find(|line| !line.is_empty()).filter(|_| made).map(str::to_owned);
        Header { command }
    }

    /// The file that the tool reads.
    fn source(&self) -> Option<&str> {
        let command = self.command.as_deref()?;
        command.split_whitespace().rfind(|word| word.ends_with(".in") || word.ends_with(".toml"))
    }

    /// Where to require another version, and how to make the file again.
    pub(super) fn again(&self, file: &str) -> String {
        match (&self.command, self.source()) {
            (Some(command), Some(source)) => format!("in {source} and run `{command}`"),
            (Some(command), None) => format!("where it is made from and run `{command}`"),
            (None, _) => {
                format!("where it is made from and run `uv pip compile --generate-hashes -o {file} FILE`")
            }
        }
    }
}
