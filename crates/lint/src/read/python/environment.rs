//! Variables of the environment, as a program reads and sets them: with `os.` or imported from there.

use super::Program;
use super::text::{argument_texts, closing, string};

impl Program {
    /// The key of an entry of the environment, as written: `"RANK"` of `os.environ["RANK"]`.
    pub(crate) fn environment_key<'t>(&self, text: &'t str) -> Option<&'t str> {
        let (head, behind) = text.split_once('[')?;
        let key = behind.strip_suffix(']').filter(|key| !key.contains(']'))?;
        (self.resolved(head.trim()) == "os.environ").then_some(key.trim())
    }

    /// The variable that an expression reads, and what it gets where that is not set, as written: `RANK` and
    /// `0` of `os.environ.get("RANK", 0)`.
    pub(crate) fn environment_read<'t>(&self, text: &'t str) -> Option<(&'t str, Option<&'t str>)> {
        if let Some(key) = self.environment_key(text) {
            return Some((string(key)?, None));
        }
        let (head, behind) = text.split_once('(')?;
        let whole = closing(behind).is_some_and(|end| end + 1 == behind.len());
        let reads = matches!(self.resolved(head.trim()).as_str(), "os.environ.get" | "os.getenv");
        match argument_texts(behind).as_slice() {
            [name] if whole && reads => Some((string(name)?, None)),
            [name, default] if whole && reads => {
                let default = default.strip_prefix("default").map_or(*default, |rest| {
                    rest.trim_start().strip_prefix('=').map_or(*default, str::trim_start)
                });
                Some((string(name)?, Some(default)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::testing::catalog;

    #[test]
    fn reads_with_and_without_the_module() {
        let imported = Program::read(catalog(), "from os import environ, getenv as env\nimport os\n");
        let reads = [
            ("os.environ[\"RANK\"]", Some(("RANK", None))),
            ("environ['RANK']", Some(("RANK", None))),
            ("os.environ.get(\"RANK\", 0)", Some(("RANK", Some("0")))),
            ("environ.get('RANK', default='-1')", Some(("RANK", Some("'-1'")))),
            ("env('RANK')", Some(("RANK", None))),
            ("os.getenv(\"RANK\") or f(\"1\")", None),
            ("os.environ[name]", None),
            ("getenv('RANK')", None),
        ];
        for (text, expected) in reads {
            assert_eq!(imported.environment_read(text), expected, "{text}");
        }
        let other = Program::read(catalog(), "from settings import environ\n");
        assert_eq!(other.environment_read("environ.get('RANK')"), None);
        assert_eq!(other.environment_key("environ['RANK']"), None);
    }
}
