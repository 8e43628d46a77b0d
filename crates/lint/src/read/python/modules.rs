//! The modules of a program's own directory.

use catalog::Catalog;

use super::Program;
use crate::read::near::Near;

/// Whether a program imports a module, by the last part of its name.
pub(super) fn imports(text: &str, name: &str) -> bool {
    let stem = name.rsplit('/').next().unwrap_or_default().trim_end_matches(".py");
    let part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| {
        let imports = line.starts_with("from ") || line.starts_with("import ");
        imports && line.split(|letter| !part(letter)).any(|word| word == stem)
    })
}

impl Near<Program> {
    /// The program that it is, by its name.
    pub(crate) fn program(&self, catalog: &'static Catalog) -> &Program {
        self.read_with(|over| Program { name: over.name.clone(), ..Program::read(catalog, &over.text) })
    }
}

impl Program {
    /// The module of its directory that an imported name belongs to: `utils.py` of `utils.reduce`,
    /// `lib/utils.py` of `lib.utils.reduce`.
    pub(crate) fn module_of(&self, name: &str) -> Option<&Near<Program>> {
        let module = name.trim_start_matches('.').rsplit_once('.')?.0;
        let path = format!("{}.py", module.replace('.', "/"));
        self.modules.iter().find(|one| {
            one.name.strip_suffix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        })
    }
}
